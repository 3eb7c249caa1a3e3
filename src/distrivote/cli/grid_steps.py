"""The steps of `distrivote reproduce`: a run for each benchmark and arm of a stage, and its command.

A step is equivalent to one `distrivote generate`, the end of a stage to one `distrivote evaluate`: both can
be written out as commands.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from distrivote.cli.run_sampling import quoted_without_key
from distrivote.cli.steering_options import SteeringOptions
from distrivote.defaults import EVALUATION_BUDGET, TEMPERATURE

if TYPE_CHECKING:
    from distrivote.benchmarks import Benchmark
    from distrivote.benchmarks.shard import Shard
    from distrivote.engines.base import SamplingParams
    from distrivote.evaluation.paper.grid import Arm, Stage
    from distrivote.evaluation.paper.model_settings import ModelSettings
    from distrivote.generation.settings import RunSettings
    from distrivote.steering import Controller

_CHOICE = ("gpqa-diamond", "easy-choice")
"""Multiple-choice benchmarks, whose prompts always say how to answer."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The arguments of the command."""

    model: str
    folder: str
    settings: ModelSettings
    max_tokens: int
    scale: float
    shard: Shard
    seed: int
    steering: SteeringOptions
    texts: bool
    engine_words: tuple[str, ...]
    """The options that choose the engine, as they were given."""

    def steering_in(self, arm: Arm) -> SteeringOptions:
        """Return the settings of SelfStepConf in an arm: those of a sweep override the user's."""
        if not arm.ssc:
            return replace(self.steering, ssc=False, as_published=False)
        return replace(self.steering, ssc=True, **arm.changes or {})

    def params(self, stage: Stage) -> SamplingParams:
        """Return how the trajectories of a stage are sampled."""
        from distrivote.engines.base import SamplingParams

        settings = self.settings
        return SamplingParams(
            temperature=settings.temperature if stage.temperature is None else stage.temperature,
            top_p=settings.top_p,
            max_tokens=self.max_tokens,
            seed=self.seed,
            thinking=settings.thinking,
        )

    def controller(self, arm: Arm) -> Controller | None:
        return self.steering_in(arm).controller()

    def check(self, stage: Stage) -> None:
        """Raise InputError for invalid settings, before anything is downloaded or sampled."""
        self.params(stage)
        for arm in stage.arms:
            self.controller(arm)


@dataclass(frozen=True, slots=True)
class Step:
    """One run of the grid."""

    stage: Stage
    arm: Arm
    benchmark: str
    """As the user gave it: a name, NAME=FILE or a file."""

    run: str
    """The path of its folder."""

    n_questions: int
    """Of the run, in all shards."""

    n_here: int
    """Of this shard."""

    budget: int
    limit: int | None
    """The number of questions where these are not all."""

    @property
    def n_trajectories(self) -> int:
        """Of this shard."""
        return self.n_here * self.budget


def short_name(benchmark: str) -> str:
    """Return a benchmark's name as part of a run's name.

    >>> short_name("aime2025=copies/aime_2025.jsonl"), short_name("mine/q.jsonl"), short_name("arithmetic")
    ('aime2025', 'q', 'arithmetic')
    """
    from distrivote.benchmarks import BENCHMARKS

    before, equals, _ = benchmark.partition("=")
    if equals and before in BENCHMARKS:
        return before
    return os.path.splitext(os.path.basename(benchmark))[0]


def steps_of(grid: Grid, stage: Stage, benchmarks: Mapping[str, int]) -> list[Step]:
    """Return the runs of a stage on benchmarks, each with its number of questions."""
    from distrivote.evaluation.paper.grid import scaled

    steps = []
    for benchmark, n_all in benchmarks.items():
        share = scaled(n_all, stage.budget, grid.scale)
        for arm in stage.arms:
            path = os.path.join(grid.folder, stage.name, f"{short_name(benchmark)}-{arm.name}")
            steps.append(
                Step(
                    *(stage, arm, benchmark, path, share.n_questions),
                    n_here=len(range(share.n_questions)[grid.shard.number - 1 :: grid.shard.n]),
                    budget=share.budget,
                    limit=share.n_questions if share.n_questions < n_all else None,
                )
            )
    return steps


def notes_on(grid: Grid, plan: Sequence[Sequence[Step]]) -> Iterator[str]:
    """Yield notes on how the settings differ from the paper's."""
    settings = grid.settings
    if settings.name is None:
        yield (
            f"the paper does not have {grid.model}: it gets the paper's defaults (temperature"
            f" {settings.temperature:g}, top-p {settings.top_p:g}), {grid.max_tokens:,} tokens per trajectory"
            " at most, and no published numbers beside its own"
        )
    elif grid.max_tokens != settings.max_tokens:
        yield (
            f"trajectories have {grid.max_tokens:,} tokens at most and in the paper {settings.max_tokens:,}:"
            " its numbers do not compare where some are cut"
        )
    if grid.scale < 1:
        for steps in plan:
            first, whole = steps[0], steps[0].stage.budget
            fewer = "" if all(step.limit is None for step in steps) else ", and of fewer questions"
            yield (
                f"{first.stage.name} at a scale of {grid.scale:g}: {first.budget} trajectories per question"
                f" where the paper has {whole}{fewer}"
            )
            if settings.name is not None and first.budget < min(EVALUATION_BUDGET, whole):
                yield (
                    f"{first.stage.name}: votes are over {first.budget} trajectories at most and in the paper"
                    f" over {min(EVALUATION_BUDGET, whole)}: its numbers do not compare"
                )


def settings_of(grid: Grid, step: Step, benchmark: Benchmark) -> RunSettings:
    """Return the settings of a step on a benchmark that was loaded completely."""
    from distrivote.generation.settings import RunSettings

    chosen = benchmark if step.limit is None else benchmark.spread(step.limit)
    if grid.settings.system is not None:
        chosen = chosen.told(grid.settings.system)
    if _is_plain(grid, step):
        chosen = chosen.put_with("plain")
    params, controller = grid.params(step.stage), grid.controller(step.arm)
    return RunSettings(chosen, params, controller, step.budget, step.limit, shard=grid.shard)


def _is_plain(grid: Grid, step: Step) -> bool:
    """Whether the authors asked this model these questions without an instruction."""
    return grid.settings.plain and short_name(step.benchmark) not in _CHOICE


def generate_command(grid: Grid, step: Step) -> list[str]:
    """Return the `distrivote generate` command equivalent to a step, as quoted shell words."""
    thinking, temperature = grid.settings.thinking, grid.params(step.stage).temperature
    words = ["generate", step.benchmark, "-o", step.run, "--model", grid.model, *grid.engine_words]
    words += ["--budget", str(step.budget), "--max-tokens", str(grid.max_tokens)]
    if temperature != TEMPERATURE:
        words += ["--temperature", f"{temperature:g}"]
    if thinking is not None:
        words.append("--thinking" if thinking else "--no-thinking")
    if step.limit is not None:
        words += ["--limit", str(step.limit), "--spread"]
    if grid.shard.n > 1:
        words += ["--shard", str(grid.shard)]
    if grid.seed:
        words += ["--seed", str(grid.seed)]
    if not step.arm.ssc:
        words.append("--no-ssc")
    else:
        usual = asdict(SteeringOptions())
        for name, value in asdict(grid.steering_in(step.arm)).items():
            if value != usual[name]:
                flag = f"--{name.replace('_', '-')}"
                words += [flag] if value is True else [flag, str(value)]
    if _is_plain(grid, step):
        words += ["--template", "plain"]
    if grid.settings.system is not None:
        words += ["--system", grid.settings.system]
    words += [] if grid.texts else ["--no-texts"]
    words += ["--top-logprobs"] if step.stage.top_logprobs else []
    return ["distrivote", *quoted_without_key(words)]


def evaluate_command(grid: Grid, steps: Sequence[Step]) -> list[str]:
    """Return the `distrivote evaluate` command equivalent to the end of a stage, as quoted shell words."""
    stage = steps[0].stage
    folder = os.path.dirname(steps[0].run)
    runs = [step.run for step in steps] if _has_others(folder, steps) else [folder]
    experiments = [word for name in stage.experiments for word in ("-e", name)]
    beside = [] if grid.settings.name is None else ["--against-paper"]
    words = ["evaluate", *runs, *experiments, *beside, "-o", report_file(steps)]
    return ["distrivote", *quoted_without_key(words)]


def report_file(steps: Sequence[Step]) -> str:
    return f"{os.path.dirname(steps[0].run)}.html"


def _has_others(folder: str, steps: Sequence[Step]) -> bool:
    """Whether a folder holds other things than the runs of a stage."""
    own = {os.path.basename(step.run) for step in steps}
    return os.path.isdir(folder) and any(name not in own for name in os.listdir(folder))
