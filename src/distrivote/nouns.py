"""Numbers with their nouns and verbs: 1 trajectory is, 2 trajectories are."""

from __future__ import annotations

_SINGULAR = {
    "are": "is",
    "were": "was",
    "have": "has",
    "do": "does",
    "go": "goes",
    "they": "it",
    "them": "it",
}


def count(n: int, noun: str) -> str:
    """Return the number with its noun.

    >>> count(1, "trajectory"), count(1200, "trajectory"), count(0, "reply"), count(2, "kept vote")
    ('1 trajectory', '1,200 trajectories', '0 replies', '2 kept votes')
    """
    return f"{n:,} {plural(n, noun)}"


def plural(n: int, noun: str) -> str:
    """Return the noun alone, in the form for the number.

    >>> plural(1, "column"), plural(2, "column")
    ('column', 'columns')
    """
    if n == 1:
        return noun
    is_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return noun[:-1] + "ies" if is_y else noun + "s"


def verb(n: int, plural: str) -> str:
    """Return the verb or pronoun in the form for the number; the argument is the plural form.

    >>> verb(1, "are"), verb(2, "are"), verb(1, "hold"), verb(1, "they")
    ('is', 'are', 'holds', 'it')
    """
    return plural if n != 1 else _SINGULAR.get(plural, f"{plural}s")
