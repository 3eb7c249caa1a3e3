"""The published sets by name."""

from __future__ import annotations

from typing import NamedTuple

from distrivote.errors import UnknownNameError
from distrivote.pools.boinf import BOINF
from distrivote.pools.deepconf import BRUMO
from distrivote.pools.own_runs import OWN_RUNS
from distrivote.pools.prefix_consistency import PREFIX_CONSISTENCY
from distrivote.pools.prs import PRS
from distrivote.pools.published import PREFIX, PublishedPool, PublishedSet, headings, under
from distrivote.pools.scorio import SCORIO

POOLS: dict[str, PublishedSet] = {
    each.name: each for each in (BOINF, BRUMO, PRS, PREFIX_CONSISTENCY, SCORIO, OWN_RUNS)
}
"""The names that `pools:NAME` begins with -> what they mean."""


class Listed(NamedTuple):
    """A pool and its set."""

    pool: PublishedPool
    of: PublishedSet


def pools_named(name: str) -> tuple[Listed, ...]:
    """Return the pools of a set, of a benchmark in it, or the one of this name; `pools:` may precede it.

    >>> [len(pools_named(name)) for name in ("boinf", "pools:boinf/aime2024", "boinf/aime2024/Qwen3-4B")]
    [35, 11, 1]
    """
    wanted = name.removeprefix(PREFIX).rstrip("/")
    found = [Listed(pool, of) for of in POOLS.values() for pool in of.pools if under(pool.name, wanted)]
    if not found:
        of = POOLS.get(wanted.partition("/")[0])
        near = [pool.name for pool in of.pools] if of is not None else list(POOLS)
        raise UnknownNameError("pool", wanted, [*near, *(headings(of.pools) if of is not None else ())])
    return tuple(found)


def is_pool_name(text: str) -> bool:
    """Return whether this names published pools and not a file."""
    return text.startswith(PREFIX)
