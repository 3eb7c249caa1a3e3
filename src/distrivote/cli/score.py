"""`distrivote score`: a column of scores from outside, added to a run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.costs import MaxCost, Price, affordable
from distrivote.cli.groups import grouped
from distrivote.cli.interrupts import terminated_like_interrupted
from distrivote.cli.messages import note, say
from distrivote.cli.model_options import ModelOptions
from distrivote.cli.options import Json, Partial
from distrivote.cli.progress import ProgressDisplay, time_left
from distrivote.cli.run_sampling import tell_how_to_go_on
from distrivote.errors import InputError

if TYPE_CHECKING:
    from distrivote.voting.pipeline import Pipeline


@grouped
def score(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")],
    scorer: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="SCORER",
            help="command:CMD; package.module:function; ptrue or ptrue:answer, which ask a model whether it"
            " is true; judge or judge:answer, which ask for a mark from 0 to 9; score, pooling or classify,"
            " the addresses of a server with a reward model.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The name of the column; reward, ptrue, judge, score or that of the function by default.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="Then vote by these scores, as in -m bon -m mob: repeat it for several methods.",
            show_default=False,
        ),
    ] = None,
    *,
    model: ModelOptions,
    price: Price = None,
    max_cost: MaxCost = None,
    partial: Partial = False,
    as_json: Json = False,
) -> None:
    """Give every trajectory of a run a score, in a new column for --signal.

    A command reads JSON lines (question_id, trajectory, question, text, answer) and writes a number for
    each. After an interruption the same command resumes: it scores only what is missing, and equal
    replies once. Higher scores are better; any finite numbers will do. With -m, the run is then voted on
    by the scores: best of N with a reward model is one command.
    """
    from distrivote.voting.methods import parse_method

    pipelines = [parse_method(each) for each in method or ()]
    if pipelines and as_json:
        raise InputError("--json prints what was scored: leave out --json, or vote with distrivote vote")
    from distrivote.scorers.names import uses_engine
    from distrivote.scorers.run import ScoreInterrupted, ScoreProgress, score_run, told

    n_tokens = affordable(max_cost, price)
    asks_model = uses_engine(scorer)
    if n_tokens is not None and not asks_model:
        raise InputError(f"--max-cost counts tokens of a model, and {scorer} has none: leave it out")
    choice = model.choice() if asks_model else None
    begun = time.monotonic()
    stopped = False
    with ProgressDisplay() as display, terminated_like_interrupted():

        def watch(progress: ScoreProgress) -> None:
            seconds = time.monotonic() - begun
            display.tell(
                progress.n_done / max(1, progress.n_todo),
                "scoring",
                f"{progress.n_done:,}/{progress.n_todo:,}",
                f"{progress.n_done / seconds:,.0f}/s" if seconds > 0 else "",
                *time_left(seconds, progress.n_done, progress.n_todo),
            )

        try:
            result = score_run(
                *(run, scorer),
                name=name,
                engine=choice,
                max_tokens_total=n_tokens,
                partial=partial,
                watch=watch,
            )
        except ScoreInterrupted as interrupt:
            result, stopped = interrupt.result, True
    note(*result.notes)
    if result.n_unreadable:
        note(f"{result.n_unreadable:,} trajectories lack what {scorer} reads, and have no score")
    if result.n_without:
        note(f"{scorer} gave no score for {result.n_without:,} trajectories")
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps({"run": run, **asdict(result), "stopped": stopped}, ensure_ascii=False))
    else:
        print(told(result, run))
        if result.is_spent:
            say(f"--max-cost is reached, and {result.n_left:,} are left: a higher one goes on")
    if stopped:
        tell_how_to_go_on()
        raise typer.Exit(130)
    if pipelines and not result.is_spent:
        _vote(run, result.column, pipelines, partial)


def _vote(run: str, column: str, pipelines: Sequence[Pipeline], partial: bool) -> None:
    """Vote on the run by the scores, as `vote --signal` does."""
    from distrivote.cli.vote import Chosen, vote_on_all
    from distrivote.store.results.votes import Bar
    from distrivote.store.signal_columns import with_signal
    from distrivote.store.tables.source import Columns, open_table

    positive = next((each.name for each in pipelines if each.needs_positive), None)
    columns = with_signal(Columns(positive_for=positive, partial=partial), column)
    methods = tuple(dict.fromkeys(each.name for each in pipelines))
    with open_table(run, columns) as table:
        vote_on_all(table, Chosen(columns), methods, Bar(no_probability=table.no_probability), False, None)
        note(*table.notes)
