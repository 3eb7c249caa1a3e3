"""`distrivote vote`: from a file of sampled answers to the answers to believe."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from distrivote.cli.answer_options import FileAnswer, Inputs, RunCode, Same, compared_by
from distrivote.cli.column_options import By, TableOptions
from distrivote.cli.console import open_console
from distrivote.cli.groups import grouped
from distrivote.cli.messages import note
from distrivote.cli.options import OUTPUT, WITHHELD, BeliefOptions, Data, FileSignal, Json, MethodOptions
from distrivote.cli.progress import ProgressDisplay
from distrivote.defaults import METHOD
from distrivote.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distrivote.answers.equality import Same as SameRule
    from distrivote.report.printouts import Printout
    from distrivote.store.results.votes import Bar, Totals
    from distrivote.store.tables.questions import Questions
    from distrivote.store.tables.source import AnswerTable, Columns


@grouped
def vote(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Sampled answers: .jsonl, .csv or .parquet, - for standard input, or a published pool, as"
            " in pools:brumo.",
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help=f"How to vote, {METHOD} by default; repeat for several.",
            show_default=False,
            rich_help_panel=MethodOptions.panel,
        ),
    ] = None,
    signal: FileSignal = None,
    answer: FileAnswer = None,
    same: Same = None,
    data: Data = None,
    run_code: RunCode = False,
    inputs: Inputs = None,
    *,
    belief: BeliefOptions,
    columns: TableOptions,
    by: By = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTION",
            help="Show only this question and explain its vote; with --by, as BY/QUESTION.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: Json = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also write a row per question and method: .jsonl, .csv, .tsv or .parquet.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Vote on every question of a file of sampled answers.

    A row is a trajectory: question_id, answer, confidence, and where known ground_truth or correct.
    Majority voting is always shown too; answers without a confidence count only there.

    Keep the rows of a question together: then the file is streamed, and memory holds no more than a
    few batches and the largest question, however long the file. A file in another order gives the
    same result, but all its rows are held in memory, at about 70 bytes each, and a note says so.

    \b
    Methods:
      sc  wsc  bon  borda  root  mob  mob-poly  hier
      wsc-top50  wsc-gmm  wsc-kmeans  wsc-meanshift
      dis-top50  dis-gmm  dis-kmeans  dis-meanshift
      hier-top50  hier-gmm  wsc-top50-reject  wsc-gmm-reject
      auto: the default, dis-gmm unless votes and confidences favour another answer
      and with parameters, as in wsc-top:0.1 or dis-gmm:intervals=5;
      dis-gmm:released counts as the authors' released script does

    On a terminal the first 40 questions are shown; in a pipe every question is a line of
    tab-separated fields. Exit code 3 says that --min-probability withheld an answer.
    """
    from distrivote.pools.registry import is_pool_name
    from distrivote.store.results.files import check_output
    from distrivote.store.results.votes import Bar
    from distrivote.store.tables.source import open_table
    from distrivote.voting.methods import parse_method

    if is_pool_name(file):
        file, signal = _published(file, data, signal)
    pipelines = {pipeline.name: pipeline for pipeline in map(parse_method, method or [METHOD])}
    if output is not None:
        if explain is not None:
            raise InputError("-o writes the votes on all questions: leave out -o or --explain")
        check_output(output, file)
    calibration = belief.read()
    bar = Bar(calibration, belief.least(calibration, pipelines), belief.max_error is not None)
    confident = signal is not None or any(pipeline.reads_confidence for pipeline in pipelines.values())
    needs_positive = next((name for name, each in pipelines.items() if each.needs_positive), None)
    read = columns.columns(by, positive_for=needs_positive)
    rule = compared_by(answer, same, run_code, inputs)
    chosen = _chosen(file, read if confident else replace(read, confidence=None), signal, rule)
    methods = tuple(pipelines)
    with open_table(file, chosen.columns, rule) as table:
        bar = replace(bar, no_probability=table.no_probability)
        if explain is None:
            n_withheld = vote_on_all(table, chosen, methods, bar, as_json, output)
        else:
            n_withheld = explain_question(table, methods, as_json, explain, bar, chosen)
        note(*table.notes)
    if n_withheld:
        raise typer.Exit(WITHHELD)


def _published(name: str, data: str | None, signal: str | None) -> tuple[str, str | None]:
    """Return the run of a published pool, and the signal that votes use."""
    from distrivote.pools.opening import open_pools
    from distrivote.pools.registry import pools_named

    found = pools_named(name)
    if len(found) > 1:
        raise InputError(
            f"{name} has {len(found)} pools: name one, such as pools:{found[0].pool.name}, or evaluate them"
        )
    (opened,) = open_pools(found, data=data)
    if opened.remark is not None:
        note(f"{opened.listed.pool.name}: {opened.remark}")
    return str(opened.run), opened.signal if signal is None else signal


class Chosen(NamedTuple):
    """The signal to vote with: one column, or a mix of several that was computed already."""

    columns: Columns
    mix: list[Questions] | None = None

    def questions(self, table: AnswerTable, group: Callable[..., Iterator[Questions]]) -> Iterator[Questions]:
        from distrivote.store.tables.classes import questions_of

        return questions_of(table, group) if self.mix is None else iter(self.mix)


def _chosen(file: str, columns: Columns, signal: str | None, same: SameRule | None) -> Chosen:
    """Return the columns with the signal; a mix is computed here, and its weights are printed."""
    if signal is None:
        return Chosen(columns)
    from distrivote.store.signal_columns import AUTO, mixed_questions, weight_words, with_signal

    if signal != AUTO:
        return Chosen(with_signal(columns, signal))
    mixed = mixed_questions(file, columns, same)
    for model, weights in mixed.weights.items():
        note(f"signals{f' of {model}' if model else ''}: {weight_words(weights)}")
    note(*mixed.notes)
    return Chosen(replace(columns, confidence=None), mixed.questions)


def vote_on_all(
    table: AnswerTable,
    chosen: Chosen,
    methods: tuple[str, ...],
    bar: Bar,
    as_json: bool,
    output: str | None,
) -> int:
    """Vote on every question; return how many answers were withheld."""
    from distrivote.cli.memory import keep_freed
    from distrivote.nouns import count
    from distrivote.report.printouts import notes_of, print_summary
    from distrivote.store.results.files import writing
    from distrivote.store.results.tables import long_table
    from distrivote.store.results.votes import NotPositive, Totals, hold_elections, scale_of_rows
    from distrivote.store.tables.questions import QuestionCameBack, hold_questions, stream_questions
    from distrivote.voting.scales import NOTES, Scale

    keep_freed()
    held, scale = False, Scale.POSITIVE

    def vote_once(printout: Printout) -> Totals:
        totals = Totals(methods, bar)
        progress = ProgressDisplay()
        group = hold_questions if held else stream_questions
        with ExitStack() as stack:
            stack.enter_context(progress)
            writer = stack.enter_context(writing(output)) if output is not None else None
            elections = hold_elections(chosen.questions(table, group), methods, bar, table.same, scale)
            for results in elections:
                totals.add(results)
                printout.add(results)
                if writer is not None:
                    writer.write(long_table(results, table.columns.by))
                rows = count(totals.n_trajectories, "trajectory")
                progress.tell(table.done, "voting", f"{table.done:4.0%} read", rows)
        return totals

    while True:
        with closing(_printout(table, as_json)) as printout:
            try:
                totals = vote_once(printout)
            except QuestionCameBack:
                held = True
            except NotPositive:  # one scale for the whole file, so all of it is read first
                scale = scale_of_rows(table.batches())
            else:
                printout.finish(totals)
                break
    if not as_json and not sys.stdout.isatty():
        print_summary(open_console(sys.stderr), totals)
    if held:
        note(_unsorted(table, totals.n_trajectories))
    note(*notes_of(totals, table.lacks), *([] if scale is Scale.POSITIVE else [NOTES[scale]]))
    return sum(totals.n_withheld.get(name, 0) for name in methods)


def explain_question(
    table: AnswerTable,
    methods: tuple[str, ...],
    as_json: bool,
    wanted: str,
    bar: Bar | None = None,
    chosen: Chosen | None = None,
) -> int:
    """Explain the vote on one question; return how many answers were withheld."""
    from rich.text import Text

    from distrivote.nouns import count
    from distrivote.report.documents import tally_document
    from distrivote.report.printouts import JsonPrintout
    from distrivote.report.terminal.explanation import explanation
    from distrivote.report.text import shortened
    from distrivote.store.beliefs import learned_first, models_of, worth_first
    from distrivote.store.results.votes import MAJORITY, Bar, Totals, results_of
    from distrivote.store.tables.lookup import ballot_of, find_question
    from distrivote.store.tables.questions import QuestionCameBack, hold_questions, stream_questions
    from distrivote.voting.abstaining import withheld_sentence
    from distrivote.voting.methods import parse_method
    from distrivote.voting.models import EQUAL
    from distrivote.voting.scales import Seen
    from distrivote.voting.vote import tally_on

    bar = replace(bar or Bar(), no_probability=table.no_probability)
    chosen = chosen or Chosen(table.columns)
    seen = Seen()

    def questions(group: Callable[..., Iterator[Questions]]) -> Iterator[Questions]:
        for some in chosen.questions(table, group):
            seen.add(some.classes, some.confidences)
            yield some

    try:
        stream, beliefs = learned_first(questions(stream_questions))
        stream, worth = worth_first(stream)
        one = find_question(stream, wanted)
    except QuestionCameBack:
        stream, beliefs = learned_first(questions(hold_questions))
        stream, worth = worth_first(stream)
        one = find_question(stream, wanted)
        note(_unsorted(table))
    if bar.each_alone:
        beliefs, worth = {}, EQUAL
    (model,) = models_of(one)
    lacking = () if table.lacks is None else (f"{table.name} has no column {table.lacks!r}",)
    ballot, scale = ballot_of(one, lacking), seen.scale
    pipelines = [parse_method(name).believing(beliefs.get(model)) for name in (*methods, MAJORITY)]
    *tallies, majority = (
        tally_on(ballot, pipeline, bar.calibration, scale, worth).without_probability(bar.no_probability)
        for pipeline in pipelines
    )
    reasons = [withheld_sentence(tally, bar.min_probability) for tally in tallies]
    n_withheld = sum(reason is not None for reason in reasons)
    results = results_of(one, tallies, majority, bar, table.same)
    if as_json:
        totals = Totals(methods, bar)
        totals.add(results)
        with closing(JsonPrintout(sys.stdout.buffer, table.columns.by)) as document:
            document.add(results)
            document.explanations = [
                tally_document(tally, ballot, min_probability=bar.min_probability) for tally in tallies
            ]
            document.finish(totals)
        return n_withheld
    console = open_console(sys.stdout)
    truth = one.truths[0].as_py() if one.truths is not None else None
    name = str(one.ids[0]) if one.by is None else f"{one.by[0]}/{one.ids[0]}"
    for tally, reason in zip(tallies, reasons, strict=True):
        known = int(results.verdicts[tally.method].given_right[0])
        right = None if known < 0 else bool(known)
        console.print()
        title = (
            f"question {shortened(name, 40)} · {tally.method} · {count(len(ballot.classes), 'trajectory')}"
        )
        console.print(explanation(title, tally, console.width, right, truth))
        if reason is not None:
            console.print(Text(f"\n  {reason}", style="bold"))
    console.print()
    return n_withheld


def _printout(table: AnswerTable, as_json: bool) -> Printout:
    from distrivote.report.printouts import JsonPrintout, TablePrintout, TabPrintout

    if as_json:
        return JsonPrintout(sys.stdout.buffer, table.columns.by)
    if sys.stdout.isatty():
        return TablePrintout(open_console(sys.stdout), table.columns.by)
    return TabPrintout(sys.stdout.buffer, table.columns.by)


def _unsorted(table: AnswerTable, n_rows: int | None = None) -> str:
    from distrivote.nouns import count

    rows = "all rows" if n_rows is None else count(n_rows, "row")
    return f"{table.name} is not sorted by {table.columns.question}: {rows} held in memory; sort it to stream"
