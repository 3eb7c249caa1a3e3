"""`distrivote reproduce`: the paper's grid for a model, sampled and evaluated by one resumable command."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup, grouped
from distrivote.cli.model_options import ModelOptions
from distrivote.cli.options import OUTPUT, Json, Texts
from distrivote.cli.run_sampling import deferred
from distrivote.cli.sampling_options import MachineOptions, SamplingOptions, Seed, Thinking
from distrivote.cli.steering_options import AsPublished, Guard, Split, SteeringOptions
from distrivote.defaults import SEED
from distrivote.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distrivote.benchmarks import Benchmark
    from distrivote.cli.grid_steps import Step


_GRID = "Grid"


@dataclass(frozen=True, slots=True)
class PaperModelOptions(ModelOptions):
    """The model that the grid is made for, and its engine."""

    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="As --model of generate: a folder, ORG/NAME, or a GGUF file."),
    ]

    def words(self) -> tuple[str, ...]:
        """Return the given options as words of a command."""
        return _words({name: value for name, value in asdict(self).items() if name != "model"})


@dataclass(frozen=True, slots=True)
class ArmOptions(OptionGroup):
    """Which arms are sampled, and the settings of SelfStepConf in them."""

    panel: ClassVar[str] = SteeringOptions.panel

    ssc: Annotated[
        bool, typer.Option("--ssc/--no-ssc", help="With the arms of SelfStepConf, or the plain ones alone.")
    ] = True
    split: Split = None
    guard: Guard = False
    as_published: AsPublished = False

    def steering(self) -> SteeringOptions:
        """Return the settings that the arms have in common."""
        asked = SteeringOptions(
            ssc=self.ssc, split=self.split, guard=self.guard, as_published=self.as_published
        )
        asked.controller()
        return asked


@grouped
def reproduce(
    *,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Instead of the main grid: alpha-delta, alpha, delta, step-split, reflection-token or"
            " temperature-0; repeat it for several.",
            show_default=False,
            rich_help_panel=_GRID,
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Instead of the paper's: a name, NAME=FILE or a file; repeat it for several.",
            show_default=False,
            rich_help_panel=_GRID,
        ),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="A share of the work: fewer trajectories per question, and below 16 fewer questions.",
            rich_help_panel=_GRID,
        ),
    ] = 1.0,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print every step and what it needs, and exit.", rich_help_panel=_GRID
        ),
    ] = False,
    tokens_per_second: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="The engine's total speed, for the hours of --dry-run.",
            rich_help_panel=_GRID,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The longest trajectory; by default the paper's for the model.",
            show_default=False,
            rich_help_panel=SamplingOptions.panel,
        ),
    ] = None,
    thinking: Thinking = None,
    seed: Seed = SEED,
    arms: ArmOptions,
    model: PaperModelOptions,
    machines: MachineOptions,
    texts: Texts = True,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="The folder for runs and reports.",
            rich_help_panel=OUTPUT,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Run the paper's grid for a model: its benchmarks, with and without SelfStepConf, then the report.

    512 trajectories of every question, with the paper's settings of the model, or its defaults for a model
    that it does not have; then its tables next to the paper's numbers, as FOLDER/grid.html. After an
    interruption the same command resumes. Several processes can share the work by --shard; the command
    without it makes the report.
    """
    from distrivote.cli.grid_plan import print_plan
    from distrivote.cli.grid_run import carry_out
    from distrivote.cli.grid_steps import Grid, notes_on, steps_of
    from distrivote.evaluation.paper.grid import DEFAULT_MAX_TOKENS, check_scale, stages_named
    from distrivote.evaluation.paper.model_settings import model_settings

    if tokens_per_second is not None and tokens_per_second <= 0:
        raise InputError(f"tokens_per_second is {tokens_per_second:g}: give a number above 0")
    choice, cluster = model.choice_of_one(), machines.cluster()
    settings = model_settings(model.model, thinking)
    room = choice.default_max_tokens if choice.engine == "embedded" else DEFAULT_MAX_TOKENS
    on_ray = asdict(machines) if cluster is not None else {}
    for name in ("shard", "processes"):
        on_ray.pop(name, None)
    grid = Grid(
        model=model.model,
        folder=output.rstrip("/") or output,
        settings=settings,
        max_tokens=settings.max_tokens or room if max_tokens is None else max_tokens,
        scale=scale,
        shard=machines.share(),
        seed=seed,
        steering=arms.steering(),
        texts=texts,
        engine_words=(*model.words(), *_words(on_ray)),
    )
    check_scale(scale)
    stages = stages_named(tuple(sweep or ()), arms.ssc)
    for stage in stages:
        grid.check(stage)
    asked = [tuple(benchmark or stage.benchmarks) for stage in stages]
    names = list(dict.fromkeys(name for some in asked for name in some))
    if dry_run:
        sizes = {name: _n_questions(name) for name in names}
    else:
        loaded = {name: _loaded(name) for name in names}
        sizes = {name: len(each) for name, each in loaded.items()}
    plan = [
        steps_of(grid, stage, {name: sizes[name] for name in some})
        for stage, some in zip(stages, asked, strict=True)
    ]
    _check_names(plan)
    notes = list(notes_on(grid, plan))
    if dry_run:
        print_plan(grid, plan, notes, tokens_per_second, as_json)
        return
    carry_out(grid, plan, loaded, deferred(choice), cluster, machines.processes, notes, as_json)


def _words(given: Mapping[str, object]) -> tuple[str, ...]:
    """Return the given options as words of a command."""
    words: list[str] = []
    for name, value in given.items():
        for each in value if isinstance(value, list) else [] if value is None else [value]:
            words += [f"--{name.replace('_', '-')}", str(each)]
    return tuple(words)


def _n_questions(benchmark: str) -> int:
    """Return how many questions a benchmark has, without downloading it if that is known."""
    from distrivote.evaluation.paper.grid import BENCHMARKS

    return BENCHMARKS.get(benchmark) or len(_loaded(benchmark))


def _loaded(benchmark: str) -> Benchmark:
    from distrivote.benchmarks import load

    return load(benchmark)


def _check_names(plan: Sequence[Sequence[Step]]) -> None:
    for steps in plan:
        seen: dict[str, str] = {}
        for step in steps:
            other = seen.setdefault(step.run, step.benchmark)
            if other != step.benchmark:
                raise InputError(
                    f"{other} and {step.benchmark} would both be {step.run}: rename one of the files"
                )
