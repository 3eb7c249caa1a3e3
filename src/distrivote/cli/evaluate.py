"""`distrivote evaluate`: the paper's tables and figures, on stored runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.answer_options import FileAnswer, Same, compared_by
from distrivote.cli.column_options import By, TableOptions
from distrivote.cli.console import open_console
from distrivote.cli.groups import OptionGroup, grouped
from distrivote.cli.messages import note, say
from distrivote.cli.options import OUTPUT, Data, FileSignal, Json
from distrivote.cli.progress import ProgressDisplay
from distrivote.defaults import EVALUATION_BUDGET, LEADERBOARD_BUDGET, N_REPEATS
from distrivote.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distrivote.evaluation.results import Report
    from distrivote.store.tables.source import Columns

_ALL = "all"
_METHODS, _LEADERBOARD = "methods", "leaderboard"
"""The experiments that compare the methods of -m; `all` includes the first only with -m, and the second,
which needs many pools, not at all."""


@dataclass(frozen=True, slots=True)
class EvaluationOptions(OptionGroup):
    """Which experiments, with how many draws of how many trajectories."""

    panel: ClassVar[str] = "Evaluation"

    experiment: Annotated[
        list[str] | None,
        typer.Option(
            "--experiment",
            "-e",
            metavar="NAME",
            help="Experiment, main by default; repeat for several, or all. --list prints the names.",
            show_default=False,
        ),
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"Trajectories per vote; by default {EVALUATION_BUDGET}, or as many as every question has.",
            show_default=False,
        ),
    ] = None
    repeats: Annotated[int, typer.Option(metavar="N", help="Draws per question.")] = N_REPEATS
    seed: Annotated[
        int, typer.Option(metavar="N", help="Random seed; the same seed gives the same numbers.")
    ] = 0
    signal: FileSignal = None
    answer: FileAnswer = None
    same: Same = None
    against_paper: Annotated[
        bool, typer.Option("--against-paper", help="Add the paper's numbers to the tables.")
    ] = False
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="Compare these methods, as in -m dis-gmm -m wsc-top:0.1 -m package.module:function; it adds"
            " -e methods, or a row to -e leaderboard.",
            show_default=False,
        ),
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What -m is compared with; sc by default.", show_default=False),
    ] = None
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="RULE",
            help="A stopping rule for -e stopping, such as gain:0.01; repeat for several.",
            show_default=False,
        ),
    ] = None
    slots: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Trajectories in progress at a time, for -e stopping; by default one after the other.",
            show_default=False,
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Processes; by default as many as there are processors. The numbers are the same.",
            show_default=False,
        ),
    ] = None
    data: Data = None
    times: Annotated[
        bool, typer.Option("--times", help="Also report how long it took (differs from run to run).")
    ] = False

    def names(self) -> Sequence[str]:
        """Return the names of the experiments."""
        from distrivote.evaluation.experiments.registry import EXPERIMENTS, experiments_named

        asked = self.experiment or ([] if self.method else ["main"])
        apart = (_METHODS, _LEADERBOARD)
        names = [name for name in EXPERIMENTS if name not in apart] if _ALL in asked else list(asked)
        names += [_LEADERBOARD] if _ALL in asked and _LEADERBOARD in asked else []
        if self.method and not set(apart).intersection(names):
            names.append(_METHODS)
        if self.baseline is not None and not set(apart).intersection(names):
            raise InputError("--baseline is what -m is compared with: name methods with -m, or leave it out")
        experiments_named(names)
        return names

    @property
    def is_leaderboard(self) -> bool:
        return _LEADERBOARD in (self.experiment or ())

    def report(self, runs: Sequence[str], columns: Columns, display: ProgressDisplay) -> Report:
        """Return the report on stored runs and published pools."""
        import os
        import time
        from dataclasses import replace

        from distrivote.evaluation.driver import evaluate as evaluate_pools
        from distrivote.evaluation.experiments.registry import experiments_named, reads_of
        from distrivote.evaluation.loading import Loaded, load_pool_sets
        from distrivote.evaluation.published import large_enough, load_published, named_or_at_hand
        from distrivote.pools.registry import is_pool_name

        display.tell(0.0, "reading")
        names = self.names()
        reads = reads_of(experiments_named(names))
        same = compared_by(self.answer, self.same)
        loaded = Loaded((), ())
        files = [run for run in runs if not is_pool_name(run)]
        if files:
            loaded = load_pool_sets(files, columns=columns, signal=self.signal, reads=reads, same=same)
        if len(files) < len(runs) or not runs:
            pools = named_or_at_hand([run for run in runs if is_pool_name(run)], self.data)
            published = load_published(
                pools,
                data=self.data,
                signal=self.signal,
                reads=reads,
                same=same,
                watch=lambda what: display.tell(0.0, what),
            )
            loaded = loaded.joined(published)
        budget = self.budget
        if self.is_leaderboard:
            budget = LEADERBOARD_BUDGET if budget is None else budget
            kept = large_enough(loaded.pool_sets, budget)
            loaded = Loaded(kept.pool_sets, (*loaded.notes, *kept.notes))
        report = evaluate_pools(
            loaded.pool_sets,
            names,
            budget=budget,
            n_repeats=self.repeats,
            seed=self.seed,
            against_paper=self.against_paper,
            rules=self.rule or (),
            methods=self.method or (),
            baseline=self.baseline,
            slots=self.slots,
            n_workers=self.workers or os.cpu_count() or 1,
            watch=lambda share, what: display.tell(share, what, f"{share:.0%}"),
            clock=time.perf_counter if self.times else None,
        )
        return replace(report, notes=(*loaded.notes, *report.notes))


@grouped
def evaluate(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="Folders of runs, files of sampled answers with the right ones, as for vote, or published"
            " pools, as in pools:boinf.",
            show_default=False,
        ),
    ] = None,
    *,
    asked: EvaluationOptions,
    columns: TableOptions,
    by: By = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also write the report: .html, .parquet, .csv, .json, .md or .tex; repeat for several.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Also draw the charts into a folder, as SVG and PNG.", rich_help_panel=OUTPUT
        ),
    ] = None,
    as_json: Json = False,
    list_them: Annotated[
        bool, typer.Option("--list", help="List the experiments.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Evaluate stored runs whose right answers are known, as the paper does.

    Votes are repeated on random draws from each question's trajectories. Accuracies come with their 95%
    interval over questions, and methods are compared on the same draws: the best is bold, and those that
    do not clearly differ from it are marked. -e leaderboard ranks methods over many pools; without RUN
    these are the published ones on this machine (distrivote pools).

    On a terminal tables are shown; in a pipe every row is a line of tab-separated fields, shares from 0
    to 1.
    """
    if list_them:
        _print_list(as_json)
        return
    if not run and not asked.is_leaderboard:
        raise InputError("name at least one run: distrivote evaluate RUN; --list has the experiments")
    from distrivote.evaluation.scoring import EVALUATION

    runs = _with_folders_opened(run or [])
    asked.names()
    _check_outputs(output or (), figures, runs)
    with ProgressDisplay() as display:
        report = asked.report(runs, columns.columns(by, positive_for=EVALUATION), display)
        written = _written(report, output or (), figures, display)
    if as_json:
        from distrivote.report.files.files import report_json

        sys.stdout.write(report_json(report))
    else:
        print_report(report)
    for line in written:
        say(line)


def check_report(path: str, runs: Sequence[str]) -> None:
    """Raise errors about the report before hours of sampling, not after."""
    _check_outputs([path], None, runs)


def evaluate_runs(
    runs: Sequence[str],
    experiments: Sequence[str],
    path: str,
    *,
    against_paper: bool,
    notes: Sequence[str] = (),
) -> Report:
    """Evaluate stored runs as the command does and write the report, with the given notes first."""
    from dataclasses import replace

    from distrivote.store.tables.source import Columns

    asked = EvaluationOptions(experiment=list(experiments), against_paper=against_paper)
    with ProgressDisplay() as display:
        report = asked.report(runs, Columns(), display)
        written = _written(replace(report, notes=(*notes, *report.notes)), [path], None, display)
    for line in written:
        say(line)
    return report


def _with_folders_opened(paths: Sequence[str]) -> list[str]:
    """Replace a folder that is not a run by the runs in it."""
    from distrivote.pools.registry import is_pool_name
    from distrivote.store.runs.folder import runs_in

    opened: list[str] = []
    for path in paths:
        if is_pool_name(path):
            opened.append(path)
            continue
        try:
            found = runs_in(path)
        except OSError:  # a file
            found = []
        opened += [path] if path in found else found or [path]
    return opened


def _check_outputs(outputs: Sequence[str], figures: str | None, runs: Sequence[str]) -> None:
    """Raise errors about the output files before hours of work, not after."""
    from distrivote.report.files.files import check_result_file

    for path in outputs:
        check_result_file(path, runs)
    if figures is not None:
        import distrivote.report.charts.figures  # noqa: F401  # names the missing package


def _written(
    report: Report, outputs: Sequence[str], figures: str | None, display: ProgressDisplay
) -> list[str]:
    from distrivote.nouns import count
    from distrivote.report.files.files import write_report

    said = []
    for index, path in enumerate(outputs):
        display.tell(index / len(outputs), f"writing {path}")
        write_report(report, path)
        said.append(f"{path}: {count(len(report.results), 'experiment')}")
    if figures is not None:
        from distrivote.report.charts.figures import write_figures

        files = write_figures(report, figures, lambda done, n: display.tell(done / n, "drawing"))
        said.append(f"{figures}: {count(len(files), 'file')}")
    return said


def print_report(report: Report) -> None:
    """Print the tables to standard output and the notes to standard error."""
    if sys.stdout.isatty():
        _print_tables(report)
    else:
        from distrivote.report.files.files import wide_lines
        from distrivote.store.results.tables import tab_header

        sys.stdout.flush()
        for fields in wide_lines(report):
            sys.stdout.buffer.write(tab_header(fields))
        sys.stdout.buffer.flush()
    note(*report.notes)
    for result in report.results:
        note(*(f"{result.experiment}: {each}" for each in result.notes))


def _print_tables(report: Report) -> None:
    from rich.text import Text

    from distrivote.report.settings import settings_line
    from distrivote.report.terminal.table import result_table

    console = open_console(sys.stdout)
    console.print(Text(settings_line(report), style="dim"))
    for result in report.results:
        for table in result.tables:
            console.print()
            console.print(result_table(table, console.width))
    console.print()


def _print_list(as_json: bool) -> None:
    from distrivote.evaluation.experiments.registry import EXPERIMENTS

    if as_json:
        import json

        rows = [{"experiment": each.name, "title": each.title} for each in EXPERIMENTS.values()]
        print(json.dumps(rows, ensure_ascii=False, indent=2))
    elif sys.stdout.isatty():
        import textwrap

        widest = max(map(len, EXPERIMENTS))
        below, width = " " * (widest + 4), open_console(sys.stdout).width
        for each in EXPERIMENTS.values():
            print(
                textwrap.fill(
                    each.title, width, initial_indent=f"  {each.name:{widest}}  ", subsequent_indent=below
                )
            )
    else:
        for each in EXPERIMENTS.values():
            print(f"{each.name}\t{each.title}")
