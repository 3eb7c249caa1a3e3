"""`distrivote plan`: accuracy and cost of each budget, from given figures or from a stored run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from distrivote.cli.console import open_console
from distrivote.cli.messages import note
from distrivote.cli.options import Json
from distrivote.cli.sampling_options import Seed
from distrivote.defaults import PLANNED_BUDGETS, SEED
from distrivote.errors import InputError

if TYPE_CHECKING:
    from rich.text import Text

    from distrivote.evaluation.results import Result, Row


def plan(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="A run or a file with right answers, in which the figures that are not given are measured.",
            show_default=False,
        ),
    ] = None,
    pass1: Annotated[
        float | None,
        typer.Option(metavar="X", help="The share of right trajectories, 0 to 1.", show_default=False),
    ] = None,
    auroc: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="AUROC of the confidence, right against wrong answers: 0.5 is chance.",
            show_default=False,
        ),
    ] = None,
    price: Annotated[
        float | None,
        typer.Option(metavar="X", help="Price of a million generated tokens.", show_default=False),
    ] = None,
    tokens: Annotated[
        float | None, typer.Option(metavar="N", help="Mean length of a trajectory.", show_default=False)
    ] = None,
    budgets: Annotated[str, typer.Option(metavar="N,N,...", help="Trajectories per question.")] = ",".join(
        map(str, PLANNED_BUDGETS)
    ),
    questions: Annotated[int, typer.Option(metavar="N", help="How many are simulated.")] = 3000,
    seed: Seed = SEED,
    as_json: Json = False,
) -> None:
    """Estimate what each budget buys: simulated accuracy and cost per question.

    Give what you know of the model, or a RUN to measure it in. Without --price the cost is in tokens.
    """
    import numpy as np

    from distrivote.simulation.planning import plan as make_plan

    if seed < 0:
        raise InputError(f"seed is {seed}: give a whole number from 0 up")
    given = _Known(pass1, auroc, tokens)
    notes: list[str] = []
    known = _known(given) if run is None else _measured(run, given, notes)
    result = make_plan(
        known.pass1,
        known.auroc,
        np.random.default_rng(seed),
        price_per_million=0.0 if price is None else price,
        n_tokens=known.tokens,
        budgets=_numbers(budgets),
        n_questions=questions,
    )
    if as_json:
        import json

        used = {"run": run, **known._asdict(), "price": price, "seed": seed}
        said = {"simulated": True, **used, "n_questions": questions, "budgets": result.tables[0].rows}
        print(json.dumps(said | {"notes": [*notes, *result.notes]}, ensure_ascii=False, indent=2))
        return
    _print_table(result, priced=price is not None)
    note(*notes, *result.notes)


class _Known(NamedTuple):
    """What is known of a model; None: not yet."""

    pass1: float | None
    auroc: float | None
    tokens: float | None


class _All(NamedTuple):
    """The same, with nothing missing."""

    pass1: float
    auroc: float
    tokens: float


def _known(given: _Known) -> _All:
    lacking = [f"--{name}" for name, value in given._asdict().items() if value is None]
    if lacking:
        raise InputError(
            f"a plan needs {', '.join(lacking)}: give what you know of the model, or name a run or a file to"
            " measure it in (distrivote plan RUN)"
        )
    return _All(*(float(value) for value in given if value is not None))


def _measured(run: str, given: _Known, notes: list[str]) -> _All:
    """Return what is given, and measure the rest in a run or a file."""
    import math

    from distrivote.evaluation.loading import load_pool_sets
    from distrivote.nouns import count
    from distrivote.simulation.planning import measured

    loaded = load_pool_sets([run])
    found = measured([pool for each in loaded.pool_sets for pool in each.pools])
    told = {
        f"pass@1 {found.pass1:.1%}": found.pass1,
        f"AUROC {found.auroc:.2f}": found.auroc,
        f"{found.n_tokens:,.0f} tokens per trajectory": found.n_tokens,
    }
    words = ", ".join(said for said, value in told.items() if not math.isnan(value))
    trajectories, questions = count(found.n_trajectories, "trajectory"), count(found.n_questions, "question")
    notes += [*loaded.notes, f"Measured in {run}, {trajectories} of {questions}: {words}"]
    values = {"pass1": found.pass1, "auroc": found.auroc, "tokens": found.n_tokens}
    chosen = {name: values[name] if value is None else value for name, value in given._asdict().items()}
    unknown = [name for name, value in chosen.items() if math.isnan(value)]
    if unknown:
        raise InputError(
            f"{run} does not tell {' and '.join(_WHY_UNKNOWN[name] for name in unknown)}: give"
            f" {' and '.join(f'--{name}' for name in unknown)}"
        )
    return _All(**chosen)


_WHY_UNKNOWN = {
    "pass1": "pass@1",
    "auroc": "the AUROC (it has no confidences, or all answers are right, or all wrong)",
    "tokens": "the length of a trajectory",
}


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"budgets are {text!r}: write whole numbers with commas, as in 8,32,128") from None


def _print_table(result: Result, priced: bool) -> None:
    from rich.text import Text

    from distrivote.report.terminal.columns import Column, left_out, lines_of

    rows = result.tables[0].rows
    columns = [
        Column("budget", [Text(f"{row['budget']:,}") for row in rows], right=True, must=True),
        Column("cost", [Text(_money(row["cost"])) for row in rows], right=True)
        if priced
        else Column("tokens", [Text(f"{row['n_tokens']:,.0f}") for row in rows], right=True),
        Column("majority, %", [_accuracy(row, "sc") for row in rows], right=True),
        Column("DistriVoting, %", [_accuracy(row, "dis-gmm") for row in rows], right=True, must=True),
        Column("gain, points", [_gain(row) for row in rows], right=True),
    ]
    screen = open_console(sys.stdout)
    for line in [*lines_of(columns, screen.width), *left_out(columns, screen.width)]:
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
