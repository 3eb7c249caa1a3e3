"""What the measures of a run were computed from: values from different sources are not comparable.

Confidences come from the k most probable tokens. Entropies may come from the whole distribution if an engine
sees it; others come from the most probable tokens, as all did before runs had a column for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from distrivote.errors import InputError
from distrivote.store.columns import QUESTION_ID

SOURCED = ("entropy", "self_certainty")
"""The columns that may come from either source."""

SOURCE = "whole_distribution"
_SHOWN = 3
_VOTE_APART = 'use `method="sc"`, which needs none, or vote on them apart with `by="k"`'


def mixed_sources(stored: pa.Table, pool: Sequence[str] = (QUESTION_ID,)) -> list[str]:
    """Return the questions that hold values of both sources; the columns `pool` identify pools.

    >>> entropies, whole = [0.5, 0.6, 0.7], [True, None, None]
    >>> table = {"question_id": ["a", "a", "b"], "entropy": entropies, "whole_distribution": whole}
    >>> mixed_sources(pa.table(table))
    ['a']
    """
    known = _measured(stored).group_by(list(pool), use_threads=False)
    spans = known.aggregate([(SOURCE, "min"), (SOURCE, "max")])
    mixed = spans.filter(pc.not_equal(spans[f"{SOURCE}_min"], spans[f"{SOURCE}_max"]))
    return [str(name) for name in mixed[pool[0]].to_pylist()]


def has_top_k(stored: pa.Table) -> bool:
    """Return whether a run holds values from the most probable tokens."""
    return not pc.all(_measured(stored)[SOURCE], min_count=0).as_py()


def whole_ks(stored: pa.Table) -> set[int]:
    """Return the numbers k of the confidences without a flaw."""
    rows = zip(stored["k"].to_pylist(), stored["flaw"].to_pylist(), strict=True)
    return {k for k, flaw in rows if k and flaw is None}


def _measured(stored: pa.Table) -> pa.Table:
    """Return the rows that have one of the values; without a source they came from the top k."""
    valid = [pc.is_valid(stored[name]) for name in SOURCED if name in stored.column_names]
    filled = pc.fill_null(stored[SOURCE], False)
    stored = stored.set_column(stored.schema.get_field_index(SOURCE), SOURCE, filled)
    return stored.filter(reduce(pc.or_, valid))


def check_sources(stored: pa.Table, name: str, pool: Sequence[str] = (QUESTION_ID,)) -> None:
    """Raise InputError if a pool mixes values of both sources."""
    mixed = mixed_sources(stored, pool)
    if mixed:
        raise InputError(
            f"question {mixed[0]} of {name} mixes entropies of the whole distribution and of the most"
            " probable tokens, which are not comparable",
            hint='use another signal, or `method="sc"`, which needs none',
            argument="signal",
        )


def check_ks(
    stored: pa.Table, name: str, pool: Sequence[str] = (QUESTION_ID,), advice: str = _VOTE_APART
) -> None:
    """Raise InputError if a pool mixes confidences of different k."""
    known = stored.filter(pc.greater(stored["k"], 0)).group_by(list(pool), use_threads=False)
    spans = known.aggregate([("k", "min"), ("k", "max")])
    mixed = spans.filter(pc.less(spans["k_min"], spans["k_max"])).slice(0, 1).to_pylist()
    if mixed:
        raise InputError(
            f"question {mixed[0][pool[0]]} of {name} mixes confidences of the {mixed[0]['k_min']} and of the"
            f" {mixed[0]['k_max']} most probable tokens, which are not comparable",
            hint=advice,
        )


def source_notes(mixed: Collection[str]) -> tuple[str, ...]:
    """Return the sentence about questions that mix both sources, if there are any."""
    if not mixed:
        return ()
    named = ", ".join(sorted(mixed)[:_SHOWN])
    more = f" and {len(mixed) - _SHOWN:,} more" if len(mixed) > _SHOWN else ""
    return (
        "entropy and self-certainty are not comparable in questions that mix those of the whole distribution"
        f" and of the most probable tokens: {named}{more}",
    )
