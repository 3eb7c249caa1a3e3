"""Published pools as pool sets, under their names; and which of many sets a budget allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from distrivote.answers.equality import Same
from distrivote.errors import InputError
from distrivote.evaluation.experiments.leaderboard import SIGNAL
from distrivote.evaluation.loading import Loaded, load_pool_sets
from distrivote.evaluation.pools import PoolSet
from distrivote.pools.opening import open_pools, pools_at_hand
from distrivote.pools.registry import Listed, pools_named

_MOST_NAMES = 3
"""So many names stand in a note."""


def named_or_at_hand(names: Sequence[str], data: str | os.PathLike[str] | None) -> tuple[Listed, ...]:
    """Return the pools of these names; without names those at hand that have a signal."""
    if names:
        return tuple(dict.fromkeys(listed for name in names for listed in pools_named(name)))
    found = tuple(listed for listed in pools_at_hand(data) if listed.of.has_signal)
    if not found:
        raise InputError(
            "no published pools are at hand",
            hint="name some, as in pools:boinf, or a folder of copies with `data`",
        )
    return found


def load_published(
    pools: Sequence[Listed],
    *,
    data: str | os.PathLike[str] | None = None,
    signal: str | None = None,
    reads: Collection[str] = ("lengths",),
    same: Same | None = None,
    watch: Callable[[str], None] | None = None,
) -> Loaded:
    """Return published pools as pool sets; what is not here is fetched.

    Args:
        data: A folder with copies; None: the one that DISTRIVOTE_DATA names.
        signal: What votes use; None: what the registry says.
        watch: Called with what is done.
    """
    sets: list[PoolSet] = []
    notes: list[str] = []
    remarks: dict[str, list[str]] = {}
    for opened in open_pools(pools, data=data, watch=watch):
        pool, of = opened.listed
        wanted = opened.signal if signal is None else signal
        loaded = load_pool_sets([str(opened.run)], signal=wanted, reads=reads, same=same)
        settings = {SIGNAL: of.signal if signal is None else signal}
        sets += [
            replace(
                each,
                name=pool.name,
                model=pool.model,
                benchmark=pool.benchmark,
                settings={**each.settings, **settings},
            )
            for each in loaded.pool_sets
        ]
        folder = opened.run.name
        notes += [note.replace(folder, pool.name) for note in loaded.notes]
        if opened.remark is not None:
            remarks.setdefault(opened.remark, []).append(pool.name)
    said = [f"{_listed(names)}: {remark}" for remark, names in remarks.items()]
    return Loaded(tuple(sets), (*said, *notes))


def _listed(names: Sequence[str]) -> str:
    """Return the names of a few pools, or what most of many begin with and their number."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    first, last = min(names), max(names)
    shared = [a for a, b in zip(first.split("/"), last.split("/"), strict=False) if a == b]
    return f"{'/'.join(shared) or 'pools'} ({len(names)} pools)"


def large_enough(sets: Sequence[PoolSet], budget: int) -> Loaded:
    """Return the sets whose questions all have so many trajectories, and a note on the others."""
    kept = tuple(each for each in sets if each.smallest >= budget)
    if not kept:
        raise InputError(
            f"no pool has {budget} trajectories of every question",
            hint="give a smaller `budget`",
            argument="budget",
        )
    small = [each.name for each in sets if each.smallest < budget]
    if not small:
        return Loaded(kept, ())
    return Loaded(kept, (f"{_listed(small)}: fewer than {budget} trajectories of a question, so left out",))
