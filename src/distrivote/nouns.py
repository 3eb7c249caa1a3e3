"""Numbers with their nouns, as sentences say them: 1 trajectory, 2 trajectories."""

from __future__ import annotations


def count(n: int, noun: str) -> str:
    """Return the number with its noun.

    >>> count(1, "trajectory"), count(1200, "trajectory"), count(0, "reply"), count(2, "kept vote")
    ('1 trajectory', '1,200 trajectories', '0 replies', '2 kept votes')
    """
    return f"{n:,} {noun if n == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    is_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return noun[:-1] + "ies" if is_y else noun + "s"
