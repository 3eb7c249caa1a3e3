"""`distrivote doctor`: what works here, and what to install for the rest."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.console import open_console
from distrivote.cli.model_options import ApiKey, BaseUrl, ExtraBody, Header, ReasoningEffort
from distrivote.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from distrivote.cli.findings import Finding


_GAP = 3
_NARROWEST = 24
"""Columns needed for the details; on a narrower terminal they are below the name."""


def doctor(
    base_url: BaseUrl = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Look for this GGUF file, or for this model of the server.",
            show_default=False,
        ),
    ] = None,
    api_key: ApiKey = None,
    extra_body: ExtraBody = None,
    header: Header = None,
    reasoning_effort: ReasoningEffort = None,
    as_json: Json = False,
) -> None:
    """Say what works here, and what to install for the rest.

    Nothing is fetched. A server that is named by --base-url is asked for a few tokens: whether it answers,
    how many log-probabilities it gives, and how SelfStepConf works with it.

    The exit code is 0 if votes come out right and every server that was named answers, whatever else is
    missing, and 1 if not.
    """
    from distrivote.cli.findings import (
        core_finding,
        engine_findings,
        extra_findings,
        place,
        plugin_findings,
        server_findings,
    )
    from distrivote.engines.openai.extras import Extras, header_of, parse_body

    extras = Extras(parse_body(extra_body) or {}, dict(map(header_of, header or ())), reasoning_effort)
    needed = [core_finding(), *server_findings(base_url or (), model, api_key, extras)]
    core, *servers = needed
    engines = engine_findings(None if base_url else model)
    findings = [core, *engines, *servers, *extra_findings(), *plugin_findings()]
    if as_json:
        _print_json(place(), findings)
    elif sys.stdout.isatty():
        _print_table(place(), findings)
    else:
        _print_lines(findings)
    raise typer.Exit(0 if all(each.state == "works" for each in needed) else 1)


def _print_json(where: dict[str, str | int], findings: Sequence[Finding]) -> None:
    import json
    from dataclasses import asdict

    found = [asdict(finding) for finding in findings]
    print(json.dumps({**where, "findings": found}, ensure_ascii=False, indent=2))


def _print_lines(findings: Sequence[Finding]) -> None:
    from distrivote.report.text import visible

    print("kind\tname\tstate\tdetail\tfix")
    for each in findings:
        print("\t".join(map(visible, (each.kind, each.name, each.state, each.detail, each.fix or ""))))


def _print_table(where: dict[str, str | int], findings: Sequence[Finding]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from distrivote.report.terminal.columns import Column, lines_of
    from distrivote.report.terminal.palette import CHECK, CROSS, palette
    from distrivote.report.text import visible

    colours, screen = palette(), open_console(sys.stdout)
    marks = {
        "works": (CHECK, colours.right),
        "missing": ("–", colours.quiet),
        "fails": (CROSS, colours.wrong),
    }

    def tell(finding: Finding, indent: int) -> None:
        for text in (finding.detail, finding.fix):
            if text:
                screen.print(Padding(Text(visible(text)), (0, 0, 0, indent)))

    heading = (
        f"distrivote {where['distrivote']} · Python {where['python']} · {where['system']}"
        f" · {where['n_processors']} processors"
    )
    screen.print(Text(heading, style="dim"), overflow="ellipsis", no_wrap=True)
    for kind in ("core", "engine", "server", "extra"):
        shown = [finding for finding in findings if finding.kind == kind]
        if not shown:
            continue
        states = [Text(f"{marks[each.state][0]} {each.state}", marks[each.state][1]) for each in shown]
        columns = [
            Column(kind, [Text(visible(each.name)) for each in shown], must=True),
            Column("", states, must=True),
        ]
        screen.print()
        header, *rows = lines_of(columns, screen.width)
        screen.print(header)
        start = max(row.cell_len for row in rows) + _GAP
        for row, finding in zip(rows, shown, strict=True):
            if kind == "server" or start > screen.width - _NARROWEST:
                screen.print(row)
                tell(finding, 4)
            else:
                row.pad_right(start - row.cell_len)
                told = _told(finding).wrap(screen, screen.width - start)
                for number, line in enumerate(told):
                    screen.print(row + line if number == 0 else Text(" " * start) + line)
    screen.print()


def _told(finding: Finding) -> Text:
    """Return the fix, then the details."""
    from rich.text import Text

    from distrivote.report.text import visible

    detail = Text(visible(finding.detail), style="dim")
    return Text.assemble(finding.fix, "  ", detail) if finding.fix else detail
