"""A kind made of an extraction by name, a pattern, or a function of the caller's."""

from __future__ import annotations

import re

from distrivote.answers.equality import NAMED
from distrivote.answers.extract import OwnExtractor, extractor
from distrivote.answers.kinds.kind import Kind


def own_kind(extract: str | re.Pattern[str] | OwnExtractor) -> Kind:
    """Return the kind whose answers are found in that way, and compared as mathematics.

    It looks at the whole text: who names an extraction says where answers are.

    >>> own_kind("number").find("It is 12.").answer
    '12'
    """
    name = extract if isinstance(extract, str) else "own"
    return Kind(name, extractor(extract), NAMED["math"], f"extracted by {name}", reads_thinking=True)
