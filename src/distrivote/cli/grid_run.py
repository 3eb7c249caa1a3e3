"""Runs the steps of `distrivote reproduce`: samples runs with one engine and evaluates stages."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from distrivote.cli.grid_steps import report_file, settings_of
from distrivote.cli.interrupts import terminated_like_interrupted
from distrivote.cli.messages import note, say
from distrivote.cli.run_sampling import sampled, tell_how_to_go_on
from distrivote.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distrivote.benchmarks import Benchmark
    from distrivote.cli.grid_steps import Grid, Step
    from distrivote.generation.cluster import Cluster
    from distrivote.generation.deferred import DeferredEngine


def carry_out(
    grid: Grid,
    plan: Sequence[Sequence[Step]],
    loaded: dict[str, Benchmark],
    engine: DeferredEngine,
    cluster: Cluster | None,
    processes: int,
    notes: Sequence[str],
    as_json: bool,
) -> None:
    """Sample every stage and evaluate it; with shards only sample."""
    from distrivote.cli.evaluate import check_report

    is_whole = grid.shard.n == 1
    for steps in plan:
        _check_settings(grid, steps, loaded, engine)
        if is_whole:
            os.makedirs(grid.folder, exist_ok=True)
            check_report(report_file(steps), [step.run for step in steps])
    note(*notes)
    runs: list[dict[str, Any]] = []
    reports: list[str] = []
    try:
        with terminated_like_interrupted(), engine:
            for steps in plan:
                runs += _sampled(grid, steps, loaded, engine, cluster, processes, as_json)
                if is_whole:
                    reports.append(_evaluated(grid, steps, notes, as_json))
    except KeyboardInterrupt:
        tell_how_to_go_on()
        raise
    if as_json:
        import json

        print(json.dumps({"runs": runs, "reports": reports}, ensure_ascii=False))
    if not is_whole:
        say(f"shard {grid.shard} is sampled: once all are, the same command without --shard makes the report")


def _check_settings(
    grid: Grid, steps: Sequence[Step], loaded: dict[str, Benchmark], engine: DeferredEngine
) -> None:
    """Raise InputError before anything is sampled if a run in the folder was made with other settings."""
    from distrivote.store.runs.manifest import Manifest, differences
    from distrivote.store.tables.source import is_run

    for step in steps:
        if not is_run(step.run):
            continue
        asked = settings_of(grid, step, loaded[step.benchmark]).manifest(engine.name, engine.model)
        changes = list(differences(Manifest.load(step.run), asked))
        if changes:
            error = InputError(
                f"{step.run} was made with other settings: ask for these, or name another folder with -o"
            )
            for change in changes:
                error.add_note(change)
            raise error


def _sampled(
    grid: Grid,
    steps: Sequence[Step],
    loaded: dict[str, Benchmark],
    engine: DeferredEngine,
    cluster: Cluster | None,
    processes: int,
    as_json: bool,
) -> list[dict[str, Any]]:
    """Sample the runs of a stage one after the other with one engine."""
    from distrivote.store.runs.rows import Keep

    summaries = []
    for number, step in enumerate(steps, 1):
        if sys.stderr.isatty():
            say(f"{step.stage.name}, run {number} of {len(steps)}: {step.run}")
        settings = settings_of(grid, step, loaded[step.benchmark])
        keep = Keep(grid.texts, False, step.stage.top_logprobs)
        run = sampled(engine, settings, step.run, keep, cluster, processes=processes)
        summaries.append(run.document() | {"n_questions": step.n_here})
        if not as_json:
            run.tell()
        if run.stopped:
            raise KeyboardInterrupt
    return summaries


def _evaluated(grid: Grid, steps: Sequence[Step], notes: Sequence[str], as_json: bool) -> str:
    """Write the report of a stage, print its first experiment, and return the path."""
    from dataclasses import replace

    from distrivote.cli.evaluate import evaluate_runs, print_report

    path = report_file(steps)
    report = evaluate_runs(
        [step.run for step in steps],
        steps[0].stage.experiments,
        path,
        against_paper=grid.settings.name is not None,
        notes=notes,
    )
    if not as_json:
        print_report(replace(report, results=report.results[:1]))
    return path
