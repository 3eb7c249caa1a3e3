"""`distrivote simulate`: a run drawn from a model of pools, for planning and testing."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.console import open_console
from distrivote.cli.options import OUTPUT, Json
from distrivote.cli.sampling_options import Seed
from distrivote.defaults import SEED
from distrivote.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distrivote.cli.progress import ProgressDisplay
    from distrivote.evaluation.pools import PoolSet
    from distrivote.simulation.preset_models import Preset
    from distrivote.store.runs.rows import Row

RIGHT = "truth"
"""The right answer of every simulated question."""


def simulate(
    preset: Annotated[
        str | None,
        typer.Argument(
            metavar="PRESET",
            help="Such as deepseek-r1-8b/aime2025, or deepseek-r1-8b for a run per benchmark.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="RUN",
            help="The folder of the new run, or of runs.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Per benchmark; by default as many as it has.", show_default=False, min=1
        ),
    ] = None,
    trajectories: Annotated[int, typer.Option(metavar="N", help="Per question.", min=1)] = 128,
    tokens: Annotated[
        int, typer.Option(metavar="N", help="Mean length of a trajectory; 0: no lengths.", min=0)
    ] = 0,
    seed: Seed = SEED,
    listed: Annotated[bool, typer.Option("--list", help="List the presets.")] = False,
    as_json: Json = False,
) -> None:
    """Draw a run from a model of answers and confidences: simulated, not sampled from a language model.

    It stores what any run stores, so that vote, evaluate and show work on it.
    """
    from dataclasses import replace

    from distrivote.cli.progress import ProgressDisplay
    from distrivote.simulation.preset_models import presets, presets_named

    if listed:
        _print_list(list(presets().values()), as_json)
        return
    if preset is None:
        raise InputError("no preset is named: see distrivote simulate --list")
    if output is None:
        raise InputError("the run has no folder: name a new folder with -o")
    if seed < 0:
        raise InputError(f"seed is {seed}: give a whole number from 0 up")
    chosen = [
        replace(each, simulation=replace(each.simulation, n_tokens=float(tokens)))
        for each in presets_named(preset)
    ]
    several = len(chosen) > 1
    targets = [os.path.join(output, each.benchmark) if several else output for each in chosen]
    for target in targets:
        if os.path.exists(target):
            raise InputError(f"{target} exists already: name a new folder for the run")
    with ProgressDisplay() as progress:
        made = [
            _simulated(each, target, questions, trajectories, seed, progress)
            for each, target in zip(chosen, targets, strict=True)
        ]
    if as_json:
        _print_json(made)
        return
    from distrivote.nouns import count

    for each in made:
        n, m = int(each["n_questions"]), int(each["n_trajectories"])
        print(f"{each['run']}: {count(m, 'simulated trajectory')} of {count(n, 'question')}")


def _simulated(
    preset: Preset,
    target: str,
    n_questions: int | None,
    n_trajectories: int,
    seed: int,
    progress: ProgressDisplay,
) -> dict[str, str | int]:
    """Draw the pools of a preset, store them and return what was stored."""
    import zlib

    import numpy as np

    from distrivote.simulation.model import simulate as simulate_pools

    n = preset.n_questions if n_questions is None else n_questions
    # Presets differ in their random numbers, so that a model's benchmarks do not vary together.
    rng = np.random.default_rng([seed, zlib.crc32(preset.name.encode())])
    pools = simulate_pools(
        preset.simulation,
        n,
        n_trajectories,
        rng,
        name=preset.name,
        model=f"simulated {preset.model}",
        benchmark=preset.benchmark,
    )
    _write(pools, preset, target, n_trajectories, seed, progress)
    return {
        "run": str(target),
        "preset": preset.name,
        "n_questions": n,
        "n_trajectories": n * n_trajectories,
        "seed": seed,
    }


def _write(
    pools: PoolSet, preset: Preset, target: str, n_trajectories: int, seed: int, progress: ProgressDisplay
) -> None:
    """Store the pools as a run, which is renamed to its final name when it is complete."""
    from dataclasses import asdict

    from distrivote.answers.remarks import Remarks
    from distrivote.store.results.files import new_folder
    from distrivote.store.runs.classes import Grading
    from distrivote.store.runs.manifest import Manifest
    from distrivote.store.runs.writer import RunWriter

    manifest = Manifest(
        engine="simulate",
        model=pools.model,
        template="",
        benchmark=pools.benchmark,
        sampling={"simulated": True, "preset": preset.name, **asdict(preset.simulation)},
        budget=n_trajectories,
        limit=len(pools.pools),
        seed=seed,
        same="text",
    )
    manifest = Grading.of(manifest).recorded_in(manifest, told=False, remarks=Remarks())
    with new_folder(target) as beside, RunWriter(beside, manifest, max_rows=8192, max_wait=None) as writer:
        for row in _rows(pools, progress):
            writer.add(row)


def _rows(pools: PoolSet, progress: ProgressDisplay) -> Iterator[Row]:
    from distrivote.store.runs.rows import Row

    for done, pool in enumerate(pools.pools):
        progress.tell(done / len(pools.pools), pools.name, f"{done / len(pools.pools):.0%}")
        right = pool.right_classes.tolist()
        labels = [RIGHT if is_right else f"wrong {number}" for number, is_right in enumerate(right)]
        question = f"Simulated question {pool.question} of {pools.name}: there is no text."
        lengths = [None] * pool.n_trajectories if pool.n_tokens is None else pool.n_tokens.tolist()
        columns = (pool.classes.tolist(), pool.correct.tolist(), pool.confidence.tolist(), lengths)
        for sample, (number, correct, confidence, length) in enumerate(zip(*columns, strict=True)):
            yield Row(
                question_id=pool.question,
                sample=sample,
                answer=labels[number] if number >= 0 else None,
                answer_class=number,
                correct=correct,
                ground_truth=RIGHT,
                confidence=confidence,
                n_tokens=length,
                question=question,
            )


def _print_list(presets: list[Preset], as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        _print_json([asdict(preset) for preset in presets])
        return
    from rich.text import Text

    from distrivote.report.terminal.columns import Column, left_out, lines_of

    def share(value: float) -> Text:
        return Text(f"{100 * value:.1f}")

    columns = [
        Column("preset", [Text(preset.name) for preset in presets], must=True),
        Column("questions", [Text(str(preset.n_questions)) for preset in presets], right=True),
        Column("pass@1", [share(preset.simulation.pass1) for preset in presets], right=True),
        Column("AUROC", [Text(f"{preset.simulation.auroc:.3f}") for preset in presets], right=True),
        Column("hard", [share(preset.simulation.hard_share) for preset in presets], right=True),
        Column(
            "confidently wrong",
            [share(preset.simulation.confidently_wrong) for preset in presets],
            right=True,
        ),
    ]
    screen = open_console(sys.stdout)
    for line in [*lines_of(columns, screen.width), *left_out(columns, screen.width)]:
        screen.print(line)
    screen.print(
        Text("  A model's name alone makes a run per benchmark. These are simulations.", style="dim")
    )


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))
