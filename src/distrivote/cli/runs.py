"""`distrivote runs`, `show`, `compact`, `export`: what is in stored runs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from distrivote.cli.answer_options import FileAnswer, Same, compared_by
from distrivote.cli.console import open_console
from distrivote.cli.messages import note, say
from distrivote.cli.options import Json, Method, Partial
from distrivote.defaults import METHOD
from distrivote.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from distrivote.store.runs.rows import Row
    from distrivote.store.runs.run import Run

_RUN_FACTS = ["run", "benchmark", "model", "ssc", "questions", "trajectories", "tokens"]
_SHORTEST, _SHORTEST_NAME = 9, 17
_RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")]


def runs(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where to look for runs.")] = ".",
    as_json: Json = False,
) -> None:
    """List the stored runs in a folder."""
    from distrivote.store.runs.folder import runs_in
    from distrivote.store.runs.run import Run

    try:
        stored = [Run.open(place, partial=True) for place in runs_in(folder)]
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder} is not a folder: name one that holds runs") from None
    found = [_facts(run) for run in stored]
    for run in stored:
        note(*(f"{run.path}: {each}" for each in run.notes))
    if as_json:
        _print_json(found)
    elif not found:
        say(f"no runs in {folder}")
    else:
        if sys.stdout.isatty():
            found = [_shown_briefly(facts, folder) for facts in found]
            if _is_wide(found):
                _print_blocks(found)
                return
        _print_table(found, _RUN_FACTS)


def _is_wide(found: list[dict[str, Any]]) -> bool:
    """Whether a table of the runs would truncate names on this terminal."""
    from distrivote.report.terminal.columns import total_width

    def length(value: object) -> int:
        return len(f"{value:,}" if isinstance(value, int) else str(value))

    widths = [max(len(name), *(length(facts[name]) for facts in found)) for name in _RUN_FACTS]
    return total_width(widths) > open_console(sys.stdout).width


def _print_blocks(found: list[dict[str, Any]]) -> None:
    """Print each run as its name and, below it, its facts."""
    from rich.padding import Padding
    from rich.text import Text

    from distrivote.nouns import count
    from distrivote.report.text import visible

    screen = open_console(sys.stdout)
    screen.print()
    for facts in found:
        tokens = () if facts["tokens"] is None else (count(facts["tokens"], "token"),)
        parts = (
            *(facts["benchmark"], facts["model"], f"SelfStepConf {facts['ssc']}"),
            *(count(facts["questions"], "question"), count(facts["trajectories"], "trajectory"), *tokens),
        )
        screen.print(Padding(Text(visible(facts["run"]), style="bold"), (0, 0, 0, 2)))
        screen.print(Padding(Text(" · ".join(visible(part) for part in parts), style="dim"), (0, 0, 0, 4)))
    screen.print()


def _shown_briefly(facts: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return the facts of a run for a terminal: its name in the folder, its benchmark without the source."""
    name = os.path.relpath(facts["run"], folder)
    return facts | {
        "run": facts["run"] if name == "." else name,
        "benchmark": facts["benchmark"].partition(": ")[0],
    }


def show(
    run: _RunArgument,
    question: Annotated[str | None, typer.Argument(metavar="QUESTION", help="Its id.")] = None,
    sample: Annotated[int | None, typer.Argument(metavar="SAMPLE", help="Its number, from 0.")] = None,
    method: Method = METHOD,
    answer: FileAnswer = None,
    same: Same = None,
    partial: Partial = False,
) -> None:
    """Show a run's questions, the vote on one of them, or one trajectory."""
    from distrivote.report.text import visible_lines
    from distrivote.store.runs.run import Run

    rule = compared_by(answer, same)
    stored = Run.open(run, rule, partial=partial)
    noted = stored.notes
    note(*noted)
    system = stored.manifest.system
    if question is None:
        if system is not None:
            say(f"system message: {visible_lines(system)}")
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
        _say_scores(stored)
        return
    if system is not None:
        _print_lines(f"system message: {system}")
    _print_question(stored, question)
    if sample is None:
        from distrivote.cli.vote import explain_question
        from distrivote.store.columns import CONFIDENCE
        from distrivote.store.tables.source import Columns, open_table
        from distrivote.voting.methods import parse_method

        pipeline = parse_method(method)
        columns = Columns(
            confidence=CONFIDENCE if pipeline.reads_confidence else None,
            positive_for=pipeline.name if pipeline.needs_positive else None,
            partial=partial,
        )
        with open_table(run, columns, rule) as table:
            explain_question(table, (pipeline.name,), False, question)
        _print_classes(stored, question)
        note(*(each for each in table.notes if each not in noted))
    else:
        _print_sample(stored.row(question, sample), _scores_of(stored, question, sample))


def _say_scores(run: Run) -> None:
    """Print which columns scorers have added, and how many scores each has."""
    from distrivote.store.runs.scores import known_scores

    for name in run.score_names:
        column = run.scores(name)
        say(f"{name}: {len(known_scores(column.table())):,} scores by {column.record.scorer}")


def _scores_of(run: Run, question: str, sample: int) -> dict[str, float | None]:
    table = run.table(("sample", *run.score_names), question)
    row: dict[str, Any] = next((row for row in table.to_pylist() if row["sample"] == sample), {})
    return {name: row.get(name) for name in run.score_names}


def _print_sample(row: Row, scores: dict[str, float | None]) -> None:
    """Print the stored facts of a trajectory, then its text."""
    from rich.padding import Padding

    from distrivote.report.terminal.trajectory import facts_of, trajectory_text
    from distrivote.store.runs.rows import trajectory_of

    console = open_console(sys.stdout)
    console.print()
    console.print(Padding(facts_of(row), (0, 0, 0, 2), expand=False), style="dim")
    if scores:
        shown = (f"{name} {'–' if value is None else f'{value:.6g}'}" for name, value in scores.items())
        console.print(Padding(" · ".join(shown), (0, 0, 0, 2), expand=False), style="dim")
    console.print()
    if row.text:
        console.print(trajectory_text(trajectory_of(row)))
    else:
        console.print("  the run does not hold this text" if row.text is None else "  the reply is empty")
    console.print()


def _print_question(run: Run, question_id: str) -> None:
    """Print the question, if the run has its text."""
    asked = run.table(("question",), question_id)["question"].drop_null()
    if len(asked):
        _print_lines(asked[0].as_py())


def _print_lines(text: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from distrivote.report.text import visible_lines

    open_console(sys.stdout).print(Padding(Text(visible_lines(text)), (1, 2, 0, 2)))


def _print_classes(run: Run, question_id: str) -> None:
    """Print which answers were counted as the same, and which as right."""
    from rich.padding import Padding

    from distrivote.report.terminal.classes import answer_classes, class_lines

    table = run.table(("answer", "answer_class", "correct", "ground_truth"), question_id)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    found = answer_classes(columns["answer"], columns["answer_class"], columns["correct"])
    truth = next((each for each in columns["ground_truth"] if each is not None), None)
    screen, same = open_console(sys.stdout), run.grading.same
    for line in class_lines(found, f"{same.name} (version {same.version})", truth, screen.width - 4):
        screen.print(Padding(line, (0, 2)), no_wrap=True)
    screen.print()


def compact(run: _RunArgument, same: Same = None, partial: Partial = False) -> None:
    """Merge a run's parts into few, and store which answers are the same and which are right.

    Verdicts of another grader or version are computed again. From then on, the run's answers are compared by
    the rule that --same names.
    """
    from distrivote.nouns import count, verb
    from distrivote.store.runs.compaction import compact as merge

    done = merge(run, same=same, partial=partial)
    note(*done.notes)
    are = verb(done.n_parts_before, "are")
    before, rows = count(done.n_parts_before, "part"), count(done.n_rows, "trajectory")
    print(f"{run}: {before} {are} now {done.n_parts:,}, with {rows}")


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
    same: Same = None,
    partial: Partial = False,
) -> None:
    """Write a run as a plain table of answers and confidences, for DeepConf's tools, or for publication."""
    from distrivote.nouns import count
    from distrivote.store.results.files import check_output, writing
    from distrivote.store.runs.run import Run

    if file_format not in ("table", "deepconf", "run"):
        raise UnknownNameError("format", file_format, ("table", "deepconf", "run"))
    if file_format == "table":
        check_output(output, run)
    stored = Run.open(run, same, partial=partial)
    if file_format == "deepconf":
        from distrivote.store.runs.deepconf_layout import export_deepconf

        written = count(export_deepconf(stored, output), "question")
    elif file_format == "run":
        from distrivote.store.runs.export import export_run

        written = count(export_run(stored, output), "trajectory")
    else:
        columns = ["question_id", "sample", "answer", "confidence", "ground_truth", "correct", "n_tokens"]
        table = stored.table([*columns, *stored.score_names])
        with writing(output) as writer:
            writer.write(table)
        written = count(table.num_rows, "row")
    note(*stored.notes)
    say(f"{output}: {written}")


def _facts(run: Run) -> dict[str, Any]:
    from distrivote.store.runs.run import known_tokens

    manifest, questions = run.manifest, run.questions()
    return {
        "run": str(run.path),
        "benchmark": manifest.benchmark,
        "model": manifest.model,
        "ssc": "off" if manifest.ssc is None else "on",
        "budget": manifest.budget,
        "questions": len(questions),
        "trajectories": sum(question.n_trajectories for question in questions),
        "tokens": known_tokens(questions),
    }


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))


def _print_table(rows: list[dict[str, Any]], names: list[str]) -> None:
    """Print aligned columns on a terminal, tab-separated lines in a pipe."""
    from distrivote.report.text import shortened, visible

    def cell(value: object) -> str:
        return f"{value:,}" if isinstance(value, int) else "–" if value is None else shortened(str(value), 60)

    if not sys.stdout.isatty():
        print("\t".join(names))
        for row in rows:
            print("\t".join("" if row[name] is None else visible(str(row[name])) for name in names))
        return
    from rich.text import Text

    from distrivote.report.terminal.columns import Column, left_out, lines_of

    columns: list[Column] = []
    for name in names:
        is_number = all(isinstance(row[name], int | None) for row in rows)
        least = None if is_number else _SHORTEST if columns else _SHORTEST_NAME
        cells = [Text(cell(row[name])) for row in rows]
        ends: list[Text] = []
        if name == "run":  # the end of a path identifies the run
            parts = [visible(row[name]).rpartition(os.sep) for row in rows]
            cells = [Text(folder) for folder, _, _ in parts]
            ends = [Text(slash + last) for _, slash, last in parts]
        columns.append(Column(name, cells, right=is_number, least=least, ends=ends))
    screen = open_console(sys.stdout)
    screen.print()
    for line in [*lines_of(columns, screen.width), *left_out(columns, screen.width)]:
        screen.print(line)
    screen.print()
