"""`distrivote pools`: the published sets of sampled answers, and which of them are at hand."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from distrivote.cli.options import Data, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distrivote.pools.published import PublishedSet

_LIST = ("name", "pools", "at hand", "signal", "size", "licence")


def pools(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A set, a benchmark in it or a pool, as in boinf/aime2024; all sets by default.",
            show_default=False,
        ),
    ] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List published sets of sampled answers, or tell all about one.

    distrivote evaluate pools:NAME fetches, converts and evaluates them; vote takes a single pool. A
    file is fetched once, from the commit that is named here, and its checksum is compared.
    """
    from distrivote.pools.opening import pools_at_hand
    from distrivote.pools.registry import POOLS, pools_named

    some = None if name is None else pools_named(name)
    here = {listed.pool.name for listed in pools_at_hand(data, name)}
    if some is None:
        rows = [_facts(of, here) for of in POOLS.values()]
        if as_json:
            _print_json(rows)
        else:
            _print_table(rows, _LIST)
        return
    (of,) = {listed.of.name: listed.of for listed in some}.values()
    shown = [
        {
            "name": listed.pool.name,
            "model": listed.pool.model,
            "benchmark": listed.pool.benchmark,
            "files": len(listed.pool.files),
            "at hand": "yes" if listed.pool.name in here else "no",
        }
        for listed in some
    ]
    if as_json:
        files = {each.pool.name: [(file.path, file.sha256) for file in each.pool.files] for each in some}
        listed_files = {
            pool: [{"path": path, "sha256": sha256} for path, sha256 in found]
            for pool, found in files.items()
        }
        rows = [{**row, "files": listed_files[str(row["name"])]} for row in shown]
        _print_json({**_facts(of, here), **_more(of), "pools": rows})
        return
    _print_facts(of)
    _print_table(shown, ("name", "at hand", "files", "model", "benchmark"))


def _facts(of: PublishedSet, here: set[str]) -> dict[str, Any]:
    n = sum(pool.name in here for pool in of.pools)
    at_hand = "all" if n == len(of.pools) else str(n) if n else "no"
    return {
        "name": of.name,
        "pools": len(of.pools),
        "at hand": at_hand,
        "signal": of.signal,
        "size": _size(of.n_bytes),
        "licence": of.licence,
    }


def _size(n_bytes: int | None) -> str:
    """Return a size in words.

    >>> _size(8_098_890), _size(960_411_000_000), _size(None)
    ('8.1 MB', '960.4 GB', 'not known')
    """
    if n_bytes is None:
        return "not known"
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"


def _more(of: PublishedSet) -> dict[str, str]:
    return {
        "about": of.about,
        "home": of.home,
        "from": of.at,
        "licence": of.licence,
        "size": _size(of.n_bytes),
        "the signal is": of.signal_is,
        "it can show": of.shows,
        "checksums": "known of all files" if of.is_checked else "not known",
        "converter": of.format or "none",
        "to get it": _how(of),
    }


def _how(of: PublishedSet) -> str:
    if of.how:
        return of.how
    where = of.archive.rpartition("/")[2].partition("?")[0] if of.archive else "the files"
    copy = f", or {of.copy.file}, a converted copy, into DIR" if of.copy is not None else ""
    return (
        f"distrivote evaluate pools:{of.name} fetches it; without a network put {where} into"
        f" DIR/{of.name}{copy}, and say --data DIR"
    )


def _print_json(found: Any) -> None:
    print(json.dumps(found, ensure_ascii=False, indent=2))


def _print_facts(of: PublishedSet) -> None:
    facts = _more(of)
    if not sys.stdout.isatty():
        for name, value in facts.items():
            print(f"{name}\t{value}")
        print()
        return
    import textwrap

    from distrivote.cli.console import open_console

    width = open_console(sys.stdout).width
    widest = max(map(len, facts))
    print()
    for name, value in facts.items():
        print(
            textwrap.fill(
                value,
                width,
                initial_indent=f"  {name:{widest}}  ",
                subsequent_indent=" " * (widest + 4),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


def _print_table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    if not sys.stdout.isatty():
        print("\t".join(names))
        for row in rows:
            print("\t".join(str(row[name]) for name in names))
        return
    from rich.text import Text

    from distrivote.cli.console import open_console
    from distrivote.report.terminal.columns import Column, left_out, lines_of

    columns: list[Column] = []
    for name in names:
        is_number = all(isinstance(row[name], int) for row in rows)
        cells = [Text(str(row[name])) for row in rows]
        is_kept = is_number or not columns  # names are what readers copy
        columns.append(Column(name, cells, right=is_number, least=None if is_kept else 9, most=60))
    screen = open_console(sys.stdout)
    screen.print()
    for line in [*lines_of(columns, screen.width), *left_out(columns, screen.width)]:
        screen.print(line)
    screen.print()
