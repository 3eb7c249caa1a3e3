"""Every error that distrivote raises on purpose.

    DistrivoteError
    ├── InputError            what the caller handed in can't be used (also a ValueError); exit code 2
    │   └── UnknownNameError  a method or option that does not exist; lists the nearest names
    ├── EngineError           a model or its server failed; says whether trying again may help
    └── MissingPackageError   an optional package is not installed; names the extra (also an ImportError)

A message is one sentence that says what came, where, and what to do next; what belongs under it, a line
each, are its notes (`add_note`). Mistakes in our own code are not in this tree: they pass through as they
are.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_MOST_NAMES = 24


class DistrivoteError(Exception):
    """The root: catch it to catch everything that distrivote raises on purpose."""

    exit_code = 1


class InputError(DistrivoteError, ValueError):
    """What the caller handed in can't be used."""

    exit_code = 2


class UnknownNameError(InputError):
    """A name that does not exist; the message lists the nearest ones that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(f"unknown {kind} {name!r}: {suggestion(name, known)}")


def suggestion(name: str, known: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Return the names that somebody may have meant, or what there is if none is near.

    >>> suggestion("tial", ["tail", "mean"]), suggestion("x", ["tail", "mean"], most=1)
    ('did you mean tail?', 'there are tail and 1 more')
    """
    nearest = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    if nearest:
        return f"did you mean {', '.join(nearest)}?"
    more = f" and {len(known) - most:,} more" if len(known) > most else ""
    return f"there are {', '.join(known[:most])}{more}"


class EngineError(DistrivoteError):
    """A model or its server failed."""

    def __init__(self, sentence: str, *, retryable: bool = False) -> None:
        super().__init__(sentence)
        self.retryable = retryable
        """Whether the same call may work later."""


class MissingPackageError(DistrivoteError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: pip install 'distrivote[{extra}]'"
        )
