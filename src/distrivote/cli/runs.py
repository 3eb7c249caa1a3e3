"""`distrivote runs`, `show`, `compact`, `export`: what is in stored runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from distrivote.cli.console import open_console
from distrivote.cli.options import Json, Method
from distrivote.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distrivote.store.runs import Run

_RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")]


def runs(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where to look for runs.")] = ".",
    as_json: Json = False,
) -> None:
    """List the stored runs in a folder."""
    from pathlib import Path

    from distrivote.store.runs import Run
    from distrivote.store.tables import is_run

    if not Path(folder).is_dir():
        raise InputError(f"{folder} is not a folder: name one that holds runs")
    places = [Path(folder), *sorted(path for path in Path(folder).iterdir() if path.is_dir())]
    stored = [Run.open(place) for place in places if is_run(str(place))]
    found = [_facts(run) for run in stored]
    for run in stored:
        _print_notes(f"{run.path}: {note}" for note in run.notes)
    if as_json:
        _print_json(found)
    elif not found:
        print(f"no runs in {folder}", file=sys.stderr)
    else:
        _print_table(found, ["run", "benchmark", "model", "ssc", "questions", "trajectories", "tokens"])


def show(
    run: _RunArgument,
    question: Annotated[str | None, typer.Argument(metavar="QUESTION", help="Its id.")] = None,
    sample: Annotated[int | None, typer.Argument(metavar="SAMPLE", help="Its number, from 0.")] = None,
    method: Method = "dis-gmm",
) -> None:
    """Show a run's questions, the vote on one of them, or one trajectory."""
    from distrivote.store.runs import Run

    stored = Run.open(run)
    _print_notes(stored.notes)
    if question is None:
        _print_table(
            [
                {
                    "question": q.id,
                    "trajectories": q.n_trajectories,
                    "tokens": q.n_tokens,
                    "truth": q.ground_truth,
                }
                for q in stored.questions()
            ],
            ["question", "trajectories", "tokens", "truth"],
        )
        return
    _print_question(stored, question)
    if sample is None:
        from distrivote.cli.vote import explain_question
        from distrivote.store.tables import Columns, open_table
        from distrivote.voting.methods import parse_method

        pipeline = parse_method(method)
        columns = Columns() if pipeline.reads_confidence else Columns(confidence=None)
        with open_table(run, columns) as table:
            explain_question(table, (pipeline.name,), False, question)
        _print_notes(note for note in table.notes if note not in stored.notes)
    else:
        from distrivote.report.trajectory import trajectory_text

        open_console(sys.stdout).print(trajectory_text(stored.trajectory(question, sample)))


def _print_question(run: Run, question_id: str) -> None:
    """Print what was asked, where the run says it."""
    from rich.padding import Padding
    from rich.text import Text

    from distrivote.report.text import visible_lines

    asked = run.table(("question",), question_id)["question"].drop_null()
    if len(asked):
        text = visible_lines(asked[0].as_py())
        open_console(sys.stdout).print(Padding(Text(text), (1, 2, 0, 2)))


def compact(run: _RunArgument) -> None:
    """Merge a run's parts into few, and fill in which answers are the same."""
    from distrivote.store.run_compact import compact as merge

    done = merge(run)
    _print_notes(done.notes)
    print(f"{run}: {done.n_parts_before} parts are now {done.n_parts}, with {done.n_rows:,} trajectories")


def export(
    run: _RunArgument,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A table: .jsonl, .csv, .tsv or .parquet; a new folder for deepconf and run.",
        ),
    ],
    file_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="table; deepconf for its traces as JSON; run for a copy without questions and texts.",
        ),
    ] = "table",
) -> None:
    """Write a run as a plain table of answers and confidences, for DeepConf's tools, or to be given away."""
    from distrivote.store.runs import Run
    from distrivote.store.writing import check_output, writing

    if file_format not in ("table", "deepconf", "run"):
        raise UnknownNameError("format", file_format, ("table", "deepconf", "run"))
    if file_format == "table":
        check_output(output, run)
    stored = Run.open(run)
    if file_format == "deepconf":
        from distrivote.store.export_deepconf import export_deepconf

        written = f"{export_deepconf(stored, output):,} questions"
    elif file_format == "run":
        from distrivote.store.export_run import export_run

        written = f"{export_run(stored, output):,} trajectories"
    else:
        columns = ["question_id", "sample", "answer", "confidence", "ground_truth", "correct", "n_tokens"]
        table = stored.table(columns)
        with writing(output) as writer:
            writer.write(table)
        written = f"{table.num_rows:,} rows"
    _print_notes(stored.notes)
    print(f"{output}: {written}", file=sys.stderr)


def _facts(run: Run) -> dict[str, Any]:
    manifest, questions = run.manifest, run.questions()
    return {
        "run": str(run.path),
        "benchmark": manifest.benchmark,
        "model": manifest.model,
        "ssc": "off" if manifest.ssc is None else "on",
        "budget": manifest.budget,
        "questions": len(questions),
        "trajectories": sum(question.n_trajectories for question in questions),
        "tokens": sum(question.n_tokens for question in questions),
    }


def _print_notes(notes: Iterable[str]) -> None:
    from distrivote.report.text import visible

    for note in notes:
        print(f"note: {visible(note)}", file=sys.stderr)


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))


def _print_table(rows: list[dict[str, Any]], names: list[str]) -> None:
    """Print aligned columns on a terminal, tab-separated lines in a pipe."""
    from distrivote.report.text import shortened

    def cell(value: object) -> str:
        return f"{value:,}" if isinstance(value, int) else "" if value is None else shortened(str(value), 60)

    if not sys.stdout.isatty():
        print("\t".join(names))
        for row in rows:
            print("\t".join("" if row[name] is None else str(row[name]) for name in names))
        return
    from rich.text import Text

    from distrivote.report.columns import Column, lines_of

    columns = [
        Column(
            name,
            [Text(cell(row[name])) for row in rows],
            right=all(isinstance(row[name], int) for row in rows),
        )
        for name in names
    ]
    screen = open_console(sys.stdout)
    screen.print()
    for line in lines_of(columns, screen.width):
        screen.print(line)
    screen.print()
