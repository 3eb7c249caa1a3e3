"""A kind made from a named extraction, a pattern, or a caller's function."""

from __future__ import annotations

import re

from distrivote.answers.equality import NAMED
from distrivote.answers.extract import OwnExtractor, extractor
from distrivote.answers.kinds.kind import Kind


def own_kind(extract: str | re.Pattern[str] | OwnExtractor) -> Kind:
    """Return the kind whose answers are extracted in that way, and compared as mathematics.

    It searches the whole text, including the thinking, because the caller chose the extraction.

    >>> own_kind("number").find("It is 12.").answer
    '12'
    """
    name = extract if isinstance(extract, str) else "own"
    return Kind(name, extractor(extract), NAMED["math"], f"extracted by {name}", reads_thinking=True)
