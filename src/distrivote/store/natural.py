"""Natural order of names: 2 before 10."""

from __future__ import annotations

import re


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts names by the numbers in them.

    >>> sorted(["q10", "q2", "q1"], key=natural_key)
    ['q1', 'q2', 'q10']
    """
    # Numbers are compared by length and digits: Python does not parse more than 4,300 digits.
    return [
        (len(number := part.lstrip("0")), number) if part.isdecimal() else (-1, part)
        for part in re.split(r"(\d+)", text)
    ]
