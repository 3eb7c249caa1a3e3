"""`distrivote import`: files of other tools as a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.answer_options import FileAnswer, Same, read_as
from distrivote.cli.column_options import ColumnOptions
from distrivote.cli.groups import grouped
from distrivote.cli.messages import note, say
from distrivote.cli.options import OUTPUT, Json, StorageOptions
from distrivote.cli.steering_options import Split
from distrivote.cli.words import worded
from distrivote.defaults import SPLIT
from distrivote.errors import InputError

if TYPE_CHECKING:
    from contextlib import ExitStack

    from distrivote.benchmarks import Benchmark
    from distrivote.store.importing import Imported


@grouped
def import_files(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Files, folders of them, or hf:ORG/NAME[/CONFIG][:SPLIT], a data set of the hub.",
            show_default=False,
        ),
    ],
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="deepconf, ssc-steps, openai, vllm, lm-eval, inspect, nemo-skills, search-and-learn,"
            " self-certainty, prefix-consistency, prs, answer-tokens, scorio, responses, table,"
            " or package.module:function; detected by default.",
        ),
    ] = None,
    extract: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How answers are found in texts: auto, boxed, choice, number, a pattern; auto by"
            " default, if the file has no answers.",
            show_default=False,
        ),
    ] = None,
    answer: FileAnswer = None,
    split: Split = None,
    same: Same = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="The model's name, stored in the run.")] = "",
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The benchmark's name, stored in the run; that of --truth, else the format, by default.",
            show_default=False,
        ),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK",
            help="Take right answers from a benchmark or a file with id and answer, by the question's id.",
        ),
    ] = None,
    question_pattern: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Finds a question's id in the id that a file gives."),
    ] = None,
    *,
    columns: ColumnOptions,
    text_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whole replies to find answers in; text or response by default.",
            show_default=False,
            rich_help_panel=ColumnOptions.panel,
        ),
    ] = None,
    storage: StorageOptions,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="RUN", help="The folder of the new run.", rich_help_panel=OUTPUT
        ),
    ],
    as_json: Json = False,
) -> None:
    """Turn files that other tools wrote into a run.

    Pickles are read without executing any code in them. Data without log-probabilities is imported for
    majority voting, and a note says so.
    """
    import warnings
    from contextlib import ExitStack

    from distrivote.benchmarks import load
    from distrivote.cli.progress import ProgressDisplay
    from distrivote.nouns import count
    from distrivote.store.importers.base import ImportOptions
    from distrivote.store.importers.registry import sources
    from distrivote.store.importing import import_files as import_all

    kind = read_as(answer, same) if answer is not None else None
    if kind is not None and extract is not None:
        raise InputError("--answer and --extract both say how answers are found: leave one of them out")
    read = columns.columns(positive_for="a run")
    known = None if truth is None else load(truth)
    with ExitStack() as stack:
        given = [_local(each, stack) for each in source]
        files = sources(given, file_format)
        n_bytes = sum(path.stat().st_size for path, _ in files) or 1
        with warnings.catch_warnings(record=True) as noted, ProgressDisplay() as display:

            def watch(n_read: int, n_rows: int) -> None:
                share = n_read / n_bytes
                display.tell(share, "importing", f"{share:4.0%} read", count(n_rows, "trajectory"))

            warnings.simplefilter("always")
            imported = import_all(
                files,
                output,
                reading=ImportOptions(
                    extract if kind is None else kind, split or SPLIT, columns=read, text=text_column
                ),
                keep=storage.keep(),
                model=model,
                benchmark=known.name if benchmark is None and known is not None else benchmark,
                same=same if kind is None else kind,
                question_pattern=question_pattern,
                truths=None if known is None else _truths(known),
                watch=watch,
            )
    for warning in noted:
        note(str(warning.message))
    if as_json:
        _print_json(output, imported)
        return
    kinds = ", ".join(f"{n} {name}" for name, n in imported.formats.items())
    made, asked = count(imported.n_trajectories, "trajectory"), count(imported.n_questions, "question")
    print(f"{output}: {made} of {asked} from {count(imported.n_files, 'file')} ({kinds})")
    note(*imported.notes)


def _local(source: str, stack: ExitStack) -> str:
    """Return the path of a source; a data set of the hub is fetched into a temporary folder."""
    from distrivote.benchmarks.replies import PREFIX, fetched_file

    if not source.startswith(PREFIX):
        return source
    import tempfile
    from pathlib import Path

    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="distrivote-"))
    say(f"fetching {source}")
    return str(fetched_file(source, Path(folder)))


def _truths(benchmark: Benchmark) -> dict[str, str]:
    return {problem.id: problem.answer for problem in benchmark.problems if problem.answer is not None}


def _print_json(output: str, imported: Imported) -> None:
    import json
    from dataclasses import asdict

    print(
        json.dumps(
            {"run": output, **asdict(imported), "notes": [worded(each) for each in imported.notes]},
            ensure_ascii=False,
        )
    )
