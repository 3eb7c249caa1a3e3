"""`distrivote reproduce`: the paper's grid for a model, sampled and evaluated by one command that goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.options import (
    ApiKey,
    AsPublished,
    BaseUrl,
    EngineName,
    Guard,
    Json,
    Option,
    Parallel,
    Ray,
    Seed,
    Shard,
    Slots,
    Split,
    Thinking,
    Threads,
    WorkerCpus,
    WorkerGpus,
    Workers,
    engine_of,
)
from distrivote.cli.run_sampling import Opened
from distrivote.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distrivote.benchmarks import Benchmark
    from distrivote.cli.grid_steps import Step


def reproduce(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="As --model of generate: a folder, ORG/NAME, or a GGUF file."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where runs and reports go.")
    ],
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Instead of the main grid: alpha-delta, alpha, delta, step-split, reflection-token or"
            " temperature-0; repeat it for several.",
            show_default=False,
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Instead of the paper's: a name, NAME=FILE or a file; repeat it for several.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="A share of the work: fewer trajectories per question, and below 16 fewer questions.",
        ),
    ] = 1.0,
    shard: Shard = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print every step and what it takes, and do nothing.")
    ] = False,
    tokens_per_second: Annotated[
        float | None,
        typer.Option(metavar="X", help="What the engine makes in all, for the hours of --dry-run."),
    ] = None,
    engine: EngineName = None,
    base_url: BaseUrl = None,
    api_key: ApiKey = None,
    slots: Slots = None,
    threads: Threads = None,
    parallel: Parallel = None,
    option: Option = None,
    ray: Ray = None,
    workers: Workers = 1,
    worker_cpus: WorkerCpus = 1.0,
    worker_gpus: WorkerGpus = 0.0,
    thinking: Thinking = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The longest trajectory; the paper's for the model if not said.",
            show_default=False,
        ),
    ] = None,
    ssc: Annotated[
        bool, typer.Option("--ssc/--no-ssc", help="With the arms of SelfStepConf, or the plain ones alone.")
    ] = True,
    split: Split = None,
    guard: Guard = False,
    as_published: AsPublished = False,
    seed: Seed = 0,
    texts: Annotated[bool, typer.Option("--texts/--no-texts", help="Store the texts.")] = True,
    as_json: Json = False,
) -> None:
    """Make the paper's grid for a model: its benchmarks, with and without SelfStepConf, then the report.

    512 trajectories of every question, with the paper's settings of the model, or its defaults for a model
    that it does not have; then its tables with its own numbers beside, as FOLDER/grid.html. Stopped or
    killed, the same command goes on. Several processes share the work with --shard; the same command
    without it makes the report.
    """
    from distrivote.benchmarks.shard import Shard as Share
    from distrivote.cli.grid_plan import print_plan
    from distrivote.cli.grid_run import carry_out
    from distrivote.cli.grid_steps import Grid, notes_on, steps_of
    from distrivote.evaluation.paper.grid import DEFAULT_MAX_TOKENS, check_scale, stages_named
    from distrivote.evaluation.paper.model_settings import model_settings
    from distrivote.generation.cluster import Cluster

    if tokens_per_second is not None and tokens_per_second <= 0:
        raise InputError(f"tokens_per_second is {tokens_per_second:g}: give a number above 0")
    choice = engine_of(engine, model, base_url, api_key, option, slots, threads, parallel)
    cluster = None if ray is None else Cluster(ray, workers, worker_cpus, worker_gpus)
    settings = model_settings(model, thinking)
    room = choice.default_max_tokens if choice.engine == "embedded" else DEFAULT_MAX_TOKENS
    engine_words = _words(
        engine=engine,
        base_url=base_url,
        api_key=api_key,
        slots=slots,
        threads=threads,
        parallel=parallel,
        option=option,
    )
    if ray is not None:
        engine_words += _words(ray=ray, workers=workers, worker_cpus=worker_cpus, worker_gpus=worker_gpus)
    grid = Grid(
        model=model,
        folder=output.rstrip("/") or output,
        settings=settings,
        max_tokens=settings.max_tokens or room if max_tokens is None else max_tokens,
        scale=scale,
        shard=Share.parse(shard),
        seed=seed,
        split=split,
        guard=guard,
        as_published=as_published,
        texts=texts,
        engine_words=engine_words,
    )
    check_scale(scale)
    stages = stages_named(tuple(sweep or ()), ssc)
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
    carry_out(grid, plan, loaded, Opened(choice), cluster, notes, as_json)


def _words(**given: object) -> tuple[str, ...]:
    """Return the options that were given, as words of a command."""
    words: list[str] = []
    for name, value in given.items():
        for each in value if isinstance(value, list) else [] if value is None else [value]:
            words += [f"--{name.replace('_', '-')}", str(each)]
    return tuple(words)


def _n_questions(benchmark: str) -> int:
    """Return how many questions a benchmark has, without fetching it where that is known."""
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
