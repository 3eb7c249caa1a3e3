"""Which models a run has: a column says it where `merge` has put several together, else the manifest."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from distrivote.nouns import count
from distrivote.store.columns import MODEL


def models_of(stored: pa.Table) -> list[str]:
    """Return the distinct models of rows in their order; none for a run of one model.

    >>> models_of(pa.table({"model": ["b", "a", None, "b"]}))
    ['b', 'a']
    """
    found: list[str] = stored[MODEL].drop_null().unique().to_pylist()
    return found


def together_note(models: Sequence[str]) -> str:
    """Return the sentence about models that vote together."""
    named = ", ".join(models)
    return (
        f"{count(len(models), 'model')} vote together ({named}): confidences count by their rank within their"
        " model"
    )
