"""`distrivote vote`: from a file of sampled answers to the answers to believe."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.console import open_console
from distrivote.cli.progress import Progress
from distrivote.errors import InputError

if TYPE_CHECKING:
    from distrivote.report.printouts import Printout
    from distrivote.store.results import Totals
    from distrivote.store.tables import AnswerTable


def vote(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Sampled answers: .jsonl, .csv or .parquet, or - for standard input."
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="How to vote, dis-gmm if not said; repeat for several.",
            show_default=False,
        ),
    ] = None,
    question_column: Annotated[
        str, typer.Option(metavar="NAME", help="Column of the question's id.")
    ] = "question_id",
    answer_column: Annotated[
        str, typer.Option(metavar="NAME", help="Column of the answer; blank means none.")
    ] = "answer",
    confidence_column: Annotated[
        str, typer.Option(metavar="NAME", help="Column of the confidence: positive, higher is surer.")
    ] = "confidence",
    truth_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of the right answer. Without it ground_truth and correct are used if there.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column that tells several models or runs apart."),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTION",
            help="Show only this question and how its answer came about; with --by, as BY/QUESTION.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also write a row per question and method: .jsonl, .csv, .tsv or .parquet.",
        ),
    ] = None,
) -> None:
    """Vote on every question of a file of sampled answers.

    A row is a trajectory: question_id, answer, confidence, and where known ground_truth or correct.
    Majority voting is always shown beside.

    Keep the rows of a question together: then the file is streamed, and memory holds no more than a
    few batches and the largest question, however long the file. A file in another order gives the
    same result, but all its rows are held in memory, at about 70 bytes each, and a note says so.

    \b
    Methods:
      sc  wsc  bon  borda  mob  mob-poly  hier
      wsc-top50  wsc-gmm  wsc-kmeans  wsc-meanshift
      dis-top50  dis-gmm  dis-kmeans  dis-meanshift
      hier-top50  hier-gmm  wsc-top50-reject  wsc-gmm-reject
      and with parameters, as in wsc-top:0.1 or dis-gmm:intervals=5

    On a terminal the first 40 questions are shown; in a pipe every question is a line of
    tab-separated fields.
    """
    from distrivote.store.tables import Columns, open_table
    from distrivote.store.writing import check_output
    from distrivote.voting.methods import parse_method

    pipelines = {pipeline.name: pipeline for pipeline in map(parse_method, method or ["dis-gmm"])}
    if output is not None:
        if explain is not None:
            raise InputError("-o writes the votes on all questions: leave out -o or --explain")
        check_output(output, file)
    columns = Columns(
        question=question_column,
        answer=answer_column,
        confidence=confidence_column
        if any(pipeline.needs_confidence for pipeline in pipelines.values())
        else None,
        by=by,
        truth=truth_column,
    )
    methods = tuple(pipelines)
    with open_table(file, columns) as table:
        if explain is None:
            _vote_on_all(table, methods, as_json, output)
        else:
            explain_question(table, methods, as_json, explain)


def _vote_on_all(table: AnswerTable, methods: tuple[str, ...], as_json: bool, output: str | None) -> None:
    from distrivote.report.printouts import notes_of, print_summary
    from distrivote.store.questions import QuestionCameBack, hold_questions, stream_questions
    from distrivote.store.result_tables import long_table
    from distrivote.store.results import Totals, hold_elections
    from distrivote.store.writing import writing

    def vote_once(printout: Printout, held: bool) -> Totals:
        totals, progress = Totals(methods), Progress()
        group = hold_questions if held else stream_questions
        with ExitStack() as stack:
            stack.callback(progress.clear)
            writer = stack.enter_context(writing(output)) if output is not None else None
            for results in hold_elections(group(table.batches()), methods):
                totals.add(results)
                printout.add(results)
                if writer is not None:
                    writer.write(long_table(results, table.columns.by))
                progress.show(table.done, totals.n_trajectories)
        return totals

    for held in (False, True):
        with closing(_printout(table, as_json)) as printout:
            try:
                totals = vote_once(printout, held)
            except QuestionCameBack:
                continue
            printout.finish(totals)
        break
    if not as_json and not sys.stdout.isatty():
        print_summary(open_console(sys.stderr), totals)
    _say([_unsorted(table, totals.n_trajectories)] if held else [])
    _say(notes_of(totals))


def explain_question(table: AnswerTable, methods: tuple[str, ...], as_json: bool, wanted: str) -> None:
    """Print how the vote on one question came about."""
    from distrivote.report.explanation import explanation, told
    from distrivote.report.printouts import JsonPrintout, tally_json
    from distrivote.report.terminal import count
    from distrivote.report.text import shortened
    from distrivote.store.lookup import ballot_of, find_question
    from distrivote.store.questions import QuestionCameBack, hold_questions, stream_questions
    from distrivote.store.results import Totals, hold_elections
    from distrivote.voting.vote import vote as vote_on

    try:
        one = find_question(stream_questions(table.batches()), wanted)
    except QuestionCameBack:
        one = find_question(hold_questions(table.batches()), wanted)
        _say([_unsorted(table)])
    ballot = ballot_of(one)
    tallies = [vote_on(ballot, method=name) for name in methods]
    (results,) = hold_elections([one], methods)
    if as_json:
        totals = Totals(methods)
        totals.add(results)
        with closing(JsonPrintout(sys.stdout.buffer, table.columns.by)) as document:
            document.add(results)
            document.explanations = [tally_json(tally, told(tally)) for tally in tallies]
            document.finish(totals)
        return
    console = open_console(sys.stdout)
    truth = one.truths[0].as_py() if one.truths is not None else None
    name = str(one.ids[0]) if one.by is None else f"{one.by[0]}/{one.ids[0]}"
    for tally in tallies:
        known = int(results.verdicts[tally.method].right[0])
        right = None if known < 0 else bool(known)
        console.print()
        title = (
            f"question {shortened(name, 40)} · {tally.method} · {count(len(ballot.classes), 'trajectory')}"
        )
        console.print(explanation(title, ballot, tally, console.width, right, truth))
    console.print()


def _printout(table: AnswerTable, as_json: bool) -> Printout:
    from distrivote.report.printouts import JsonPrintout, TablePrintout, TabPrintout

    if as_json:
        return JsonPrintout(sys.stdout.buffer, table.columns.by)
    if sys.stdout.isatty():
        return TablePrintout(open_console(sys.stdout))
    return TabPrintout(sys.stdout.buffer, table.columns.by)


def _unsorted(table: AnswerTable, n_rows: int | None = None) -> str:
    rows = "all rows" if n_rows is None else f"{n_rows:,} rows"
    return f"{table.name} is not sorted by {table.columns.question}: {rows} held in memory; sort it to stream"


def _say(notes: list[str]) -> None:
    from distrivote.report.text import visible

    for note in notes:
        print(f"note: {visible(note)}", file=sys.stderr)
