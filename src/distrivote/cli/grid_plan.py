"""`distrivote reproduce --dry-run`: every step, what it needs, and the equivalent command."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from distrivote.cli.console import open_console
from distrivote.cli.grid_estimates import Estimate, estimate, row_of, totals_of
from distrivote.cli.grid_steps import evaluate_command, generate_command
from distrivote.cli.messages import note

if TYPE_CHECKING:
    from distrivote.cli.grid_steps import Grid, Step


def print_plan(
    grid: Grid,
    stages: Sequence[Sequence[Step]],
    notes: Sequence[str],
    tokens_per_second: float | None,
    as_json: bool,
) -> None:
    """Print the plan of some stages, given as their steps."""
    plans = [[estimate(grid, step) for step in steps] for steps in stages]
    if as_json:
        print(json.dumps(_document(grid, plans, notes, tokens_per_second), ensure_ascii=False, indent=2))
        return
    if not sys.stdout.isatty():
        _print_lines(grid, plans, tokens_per_second)
        note(*notes)
        return
    screen = open_console(sys.stdout)
    for estimates in plans:
        _print_table(estimates, tokens_per_second, screen.width)
    if len(plans) > 1:
        _print_total(plans, tokens_per_second)
    print("Equivalent to these commands:\n")
    for estimates in plans:
        for command in _commands(grid, estimates):
            print("\n".join(_wrapped(command, screen.width)))
    print()
    note(*notes)


def _print_total(plans: Sequence[Sequence[Estimate]], tokens_per_second: float | None) -> None:
    from distrivote.nouns import count

    totals = totals_of([each for estimates in plans for each in estimates], tokens_per_second)
    said = f"{count(totals['n_trajectories'], 'trajectory')}, {compact(totals['n_tokens']).rstrip()} tokens"
    hours = "" if tokens_per_second is None else f", {totals['hours']:,.1f} hours"
    print(f"All together: {said}, {compact(totals['n_bytes'])}B{hours}\n")


def _commands(grid: Grid, estimates: Sequence[Estimate]) -> Iterator[list[str]]:
    for each in estimates:
        yield generate_command(grid, each.step)
    if grid.shard.n == 1:
        yield evaluate_command(grid, [each.step for each in estimates])


def _print_table(estimates: Sequence[Estimate], tokens_per_second: float | None, width: int) -> None:
    from rich.text import Text

    from distrivote.report.terminal.columns import Column, indented, lines_of

    totals = totals_of(estimates, tokens_per_second)
    names = [each.step.run.rsplit("/", 1)[-1] for each in estimates]
    arms = [f"-{each.step.arm.name}" for each in estimates]
    begins = [Text(name.removesuffix(arm)) for name, arm in zip(names, arms, strict=True)]
    rows = [row_of(each, tokens_per_second) for each in estimates]

    def column(header: str, name: str, show: Any) -> Column:
        cells = [Text(show(row[name])) for row in [*rows, totals]]
        return Column(header, cells, right=True, must=True)

    columns = [
        Column("run", [*begins, Text("total")], ends=[*map(Text, arms), Text()], least=16, must=True),
        Column(
            "questions",
            [Text(f"{each.step.n_here} × {each.step.budget}") for each in estimates] + [Text()],
            right=True,
            must=True,
        ),
        column("trajectories", "n_trajectories", lambda n: f"{n:,}"),
        column("tokens", "n_tokens", lambda n: compact(n).rstrip()),
        column("storage", "n_bytes", lambda n: f"{compact(n)}B"),
    ]
    if tokens_per_second is not None:
        columns.append(column("hours", "hours", lambda n: f"{n:,.1f}"))
    if totals["n_stored"]:
        columns.append(column("stored", "n_stored", lambda n: f"{n:,}"))
    screen = open_console(sys.stdout)
    screen.print(Text(f"\n{estimates[0].step.stage.name}", style="bold"))
    for line in lines_of(columns, width):
        screen.print(line)
    screen.print()
    for sentence in _sentences(estimates, totals, tokens_per_second):
        screen.print(indented(sentence, width, "dim"))
    screen.print()


def _sentences(
    estimates: Sequence[Estimate], totals: dict[str, Any], tokens_per_second: float | None
) -> Iterator[str]:
    from distrivote.nouns import count

    arms = {each.step.arm.name for each in estimates}
    each_arm = totals["n_trajectories"] // len(arms)
    yield f"{count(each_arm, 'trajectory')} an arm, {count(len(arms), 'arm')}"
    for source in dict.fromkeys(each.tokens_from for each in estimates):
        yield f"lengths: {source}"
    if tokens_per_second is not None:
        yield f"hours: at {tokens_per_second:,.0f} tokens per second in all"
        listed = ", ".join(f"{n}: {each:,.1f}" for n, each in totals["hours_by_engines"].items())
        yield f"hours with more engines of that speed: {listed}"
    yield f"storage with the confidences of single tokens: {compact(totals['n_bytes_with_tokens'])}B"
    if totals["n_stored"]:
        left = (
            f"{totals['n_left']:,} trajectories are left, {compact(totals['n_tokens_left']).rstrip()} tokens"
        )
        hours = totals.get("hours_left")
        yield left + ("" if hours is None else f", {hours:,.1f} hours")


def _document(
    grid: Grid, plans: Sequence[Sequence[Estimate]], notes: Sequence[str], tokens_per_second: float | None
) -> dict[str, Any]:
    settings = grid.settings
    return {
        "model": grid.model,
        "published_as": settings.name,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": grid.max_tokens,
        "thinking": settings.thinking,
        "scale": grid.scale,
        "shard": str(grid.shard),
        "stages": [
            {
                "stage": estimates[0].step.stage.name,
                "steps": [
                    row_of(each, tokens_per_second) | {"command": " ".join(generate_command(grid, each.step))}
                    for each in estimates
                ],
                "evaluate": " ".join(evaluate_command(grid, [each.step for each in estimates])),
                "totals": totals_of(estimates, tokens_per_second),
            }
            for estimates in plans
        ],
        "totals": totals_of([each for estimates in plans for each in estimates], tokens_per_second),
        "notes": list(notes),
    }


def _print_lines(grid: Grid, plans: Sequence[Sequence[Estimate]], tokens_per_second: float | None) -> None:
    """Print a line of tab-separated fields for each step, its command last."""
    rows = [
        row_of(each, tokens_per_second) | {"command": " ".join(command)}
        for estimates in plans
        for each, command in zip(estimates, _commands(grid, estimates), strict=False)
    ]
    print(*rows[0], sep="\t")
    for row in rows:
        print(*row.values(), sep="\t")
    for estimates in plans if grid.shard.n == 1 else ():
        steps = [each.step for each in estimates]
        print(*[""] * (len(rows[0]) - 1), " ".join(evaluate_command(grid, steps)), sep="\t")


def compact(value: float) -> str:
    """Return a large number with about three digits and a prefix, to which a unit can be appended.

    >>> compact(950), compact(451_234_000), compact(2_490_000_000_000)
    ('950 ', '451 M', '2.49 T')
    """
    units = ["", "k", "M", "G", "T"]
    index = 0
    while value >= 999.5 and index < len(units) - 1:
        value /= 1000
        index += 1
    decimals = 0 if not index or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{decimals}f} {units[index]}"


def _wrapped(words: Sequence[str], width: int) -> list[str]:
    """Return a command on lines that a shell joins again; an option stays with its value."""
    lines, line = [], words[0]
    groups: list[str] = []
    for before, word in pairwise(words):
        if before.startswith("-") and not word.startswith("-") and groups:
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    for group in groups:
        if len(f"{line} {group} \\") > width:
            lines.append(f"{line} \\")
            line = f"    {group}"
        else:
            line = f"{line} {group}"
    return [*lines, line]
