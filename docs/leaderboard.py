"""Write docs/leaderboard.md: `python docs/leaderboard.py --data DIR`, or `make leaderboard DATA=DIR`.

DIR has copies of published pools, as `distrivote pools` says; without it the pools that were fetched before
are used. Pools without a signal are left out: no vote there differs from the majority.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from distrivote.defaults import LEADERBOARD_BUDGET
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.published import large_enough, load_published, named_or_at_hand
from distrivote.evaluation.results import Report, Table
from distrivote.pools.registry import POOLS, Listed
from distrivote.report.files.markdown import escaped, explained_table

PAGE = Path(__file__).with_name("leaderboard.md")
INTRO = """\
# Leaderboard

Votes compared on samples that others have published, and on our own. [leaderboard.py](leaderboard.py)
makes this page (`make leaderboard DATA=DIR`). `distrivote pools` lists the samples; one command puts a vote
of yours into the table:

```text
distrivote evaluate -e leaderboard pools:boinf pools:brumo -m mine:vote
```

A pool is one model on one benchmark. Every pool has the same weight, whatever its number of questions. Each
vote uses {budget} trajectories, drawn {repeats} times from those of a question, and all methods vote on the
same draws. Intervals are 95%, by bootstrap over questions, paired; pools of one benchmark share their
questions, so that eleven models on thirty questions count as thirty questions. *Real* means that the interval
excludes 0. `auto` sees one question; *auto, whole run* learns its trust from all questions of a pool, without
labels.

**Read it by signal.** The first table is a mean over what happens to be published, and most pools have only
lengths: a method at its top is one that does little harm where confidence says little. Sets without a signal
are left out, since no vote differs from the majority there.
"""


def page(report: Report, pools: Sequence[Listed]) -> str:
    """Return the text of the page."""
    (result,) = report.results
    rankings = [table for table in result.tables if table.name.startswith("ranking")]
    where, differences = (_named(result.tables, name) for name in ("where", "differences"))
    intro = INTRO.format(budget=report.settings["budget"], repeats=report.settings["n_repeats"])
    parts = [intro.rstrip(), "## What the pools are", sets_table(pools)]
    for table in rankings:
        _, _, signal = table.title.partition("; signal: ")
        parts.append(f"## {f'Signal: {signal}' if signal else 'All pools'}")
        parts += [escaped(table.title), explained_table(table)]
    parts += ["## Where methods win and lose", explained_table(where)]
    parts += [
        "## Differences by pool",
        "In percentage points, from the majority.",
        explained_table(differences),
    ]
    notes = [*report.notes, *result.notes]
    if notes:
        parts += ["## Notes", "\n".join(f"- {escaped(note)}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def sets_table(pools: Sequence[Listed]) -> str:
    """Return what each set is, and what it can show."""
    rows = ["| set | pools here | signal | licence | what it can show |", "|---|--:|---|---|---|"]
    for name, of in POOLS.items():
        n = sum(listed.of.name == name for listed in pools)
        rows.append(
            f"| [{name}]({of.home}) | {n} of {len(of.pools)} | {of.signal_is} | {of.licence} | {of.shows} |"
            if of.home.startswith("https://")
            else f"| {name} | {n} of {len(of.pools)} | {of.signal_is} | {of.licence} | {of.shows} |"
        )
    return "\n".join(rows)


def _named(tables: Sequence[Table], name: str) -> Table:
    return next(table for table in tables if table.name == name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/leaderboard.md.")
    parser.add_argument("--data", help="a folder with copies of published pools")
    parser.add_argument("--repeats", type=int, default=16)
    parser.add_argument("--output", type=Path, default=PAGE)
    asked = parser.parse_args()
    pools = named_or_at_hand((), asked.data)
    loaded = load_published(pools, data=asked.data, reads=(), watch=print)
    kept = large_enough(loaded.pool_sets, LEADERBOARD_BUDGET)
    report = evaluate(
        kept.pool_sets, ["leaderboard"], budget=LEADERBOARD_BUDGET, n_repeats=asked.repeats, n_workers=1
    )
    here = [listed for listed in pools if listed.pool.name in {each.name for each in kept.pool_sets}]
    asked.output.write_text(page(report, here), "utf-8")


if __name__ == "__main__":
    main()
