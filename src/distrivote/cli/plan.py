"""`distrivote plan`: what does each budget buy, for a model of which little is known?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.console import open_console
from distrivote.cli.messages import note
from distrivote.cli.options import Json, Seed
from distrivote.errors import InputError

if TYPE_CHECKING:
    from rich.text import Text

    from distrivote.evaluation.results import Result, Row


def plan(
    pass1: Annotated[float, typer.Option(metavar="X", help="The share of right trajectories, 0 to 1.")],
    auroc: Annotated[
        float,
        typer.Option(metavar="X", help="How well confidence tells right from wrong: 0.5 is not at all."),
    ],
    price: Annotated[float, typer.Option(metavar="X", help="Of a million generated tokens.")],
    tokens: Annotated[float, typer.Option(metavar="N", help="Mean length of a trajectory.")],
    budgets: Annotated[
        str, typer.Option(metavar="N,N,...", help="Trajectories per question.")
    ] = "1,8,16,32,64,128,256",
    questions: Annotated[int, typer.Option(metavar="N", help="How many are simulated.")] = 3000,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Say what each budget buys: simulated accuracy and cost per question."""
    import numpy as np

    from distrivote.evaluation.planning import plan as make_plan

    if seed < 0:
        raise InputError(f"seed is {seed}: give a whole number from 0 up")
    result = make_plan(
        pass1,
        auroc,
        np.random.default_rng(seed),
        price_per_million=price,
        n_tokens=tokens,
        budgets=_numbers(budgets),
        n_questions=questions,
    )
    if as_json:
        import json

        given = {"pass1": pass1, "auroc": auroc, "price": price, "tokens": tokens, "seed": seed}
        said = {"simulated": True, **given, "n_questions": questions, "budgets": result.tables[0].rows}
        print(json.dumps(said | {"notes": result.notes}, ensure_ascii=False, indent=2))
        return
    _print_table(result)
    note(*result.notes)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"budgets are {text!r}: write whole numbers with commas, as in 8,32,128") from None


def _print_table(result: Result) -> None:
    from rich.text import Text

    from distrivote.report.columns import Column, lines_of

    rows = result.tables[0].rows
    columns = [
        Column("budget", [Text(f"{row['budget']:,}") for row in rows], right=True, must=True),
        Column("cost", [Text(_money(row["cost"])) for row in rows], right=True),
        Column("majority, %", [_accuracy(row, "sc") for row in rows], right=True),
        Column("DistriVoting, %", [_accuracy(row, "dis-gmm") for row in rows], right=True, must=True),
        Column("gain, points", [_gain(row) for row in rows], right=True),
    ]
    screen = open_console(sys.stdout)
    for line in lines_of(columns, screen.width):
        screen.print(line)


def _accuracy(row: Row, name: str) -> Text:
    """Return an accuracy in percent and its interval, as in 61.4 (59.6–63.1)."""
    from rich.text import Text

    value, low, high = _percents(row, name)
    return Text(f"{value:.1f}").append(f" ({low:.1f}–{high:.1f})", style="dim")


def _gain(row: Row) -> Text:
    """Return a gain in points and its interval, as in +3.4 (+2.6 to +4.1)."""
    from rich.text import Text

    value, low, high = _percents(row, "gain")
    return Text(f"{value:+.1f}").append(f" ({low:+.1f} to {high:+.1f})", style="dim")


def _percents(row: Row, name: str) -> list[float]:
    # Rounding to a tenth first, and adding 0, so that nothing reads -0.0.
    return [round(100 * float(row[field] or 0), 1) + 0.0 for field in (name, f"{name}_low", f"{name}_high")]


def _money(cost: object) -> str:
    """Return a price with as many decimals as it takes to show two digits.

    >>> _money(0.00032), _money(1.5), _money(0.0)
    ('0.00032', '1.50', '0.00')
    """
    from math import floor, log10

    value = float(str(cost))
    decimals = 2 if value <= 0 else max(2, 1 - floor(log10(value)))
    return f"{value:.{decimals}f}"
