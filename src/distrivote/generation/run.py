"""One run from its settings to its last trajectory, here or on a cluster: what `distrivote generate` does.

A run that is there goes on: it knows what it lacks, and refuses other settings or other questions. How far
it is, is for others to show.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from types import TracebackType
from typing import NamedTuple, Self

from distrivote.benchmarks import load
from distrivote.benchmarks.benchmark import Benchmark
from distrivote.benchmarks.shard import Shard
from distrivote.defaults import BUDGET
from distrivote.engines.base import Engine, Progress, SamplingParams
from distrivote.engines.choice import EngineChoice
from distrivote.errors import InputError
from distrivote.generation.cluster import Cluster, Stored, Work, generate_on_ray
from distrivote.generation.deferred import DeferredEngine
from distrivote.generation.sampling import generate
from distrivote.generation.settings import RunSettings, changed_question, free_name
from distrivote.poll import check_budget
from distrivote.steering import Steering, steering_of
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep
from distrivote.store.runs.writer import RunWriter
from distrivote.voting.stopping import StopRule, stop_rule


class RunProgress(NamedTuple):
    """How far the sampling of a run is, for displays."""

    n_todo: int
    """Trajectories that the run lacked when it was opened."""

    n_questions: int
    """Questions that lacked some."""

    n_added: int = 0
    n_begun: int = 0
    """Questions of which some were added."""

    n_tokens: int = 0
    """Of the trajectories that were added."""

    n_sampled: int = 0
    """Tokens sampled so far, as the engine counts them: also of unfinished trajectories."""

    n_reflections: int = 0
    n_known: int = 0
    """Added trajectories of questions whose right answer is known."""

    n_right: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """What became of a run."""

    path: str
    n_todo: int
    """Trajectories that the run lacked; 0 if it was complete."""

    n_added: int
    n_tokens: int = 0
    n_reflections: int = 0
    accuracy: float | None = None
    """The share of right ones among those added; None where no right answer is known."""

    notes: tuple[str, ...] = ()
    """What should be known about the run, a sentence each."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C while a run was sampled: what had finished is stored, and the same call goes on."""

    def __init__(self, result: RunResult) -> None:
        super().__init__()
        self.result = result


def generate_run(
    engine: Engine | EngineChoice,
    benchmark: Benchmark | str,
    path: str | os.PathLike[str],
    budget: int = BUDGET,
    *,
    params: SamplingParams | None = None,
    steering: Steering = "auto",
    limit: int | None = None,
    stop_when: str | StopRule | None = None,
    same: str | None = None,
    shard: Shard | str | None = None,
    keep: Keep = Keep(),  # noqa: B008
    new: bool = False,
    max_tokens_total: int | None = None,
    cluster: Cluster | None = None,
    watch: Callable[[RunProgress], None] = lambda _: None,
) -> RunResult:
    """Sample every question of a benchmark until it has its budget, and store the trajectories in a run.

    Stopped or killed, the same call goes on: what is stored is not sampled again. A larger budget or limit
    only adds; other settings or other questions are refused with an InputError.

    Args:
        engine: An engine, or a choice of one, which is opened only if the run lacks something.
        benchmark: A benchmark, its name, or the path of a file with questions and answers.
        path: The folder of the run; it is made if there is none.
        budget: Trajectories per question.
        params: How to sample; by default as far as the engine has memory for.
        steering: What steers the sampling: "auto" is SelfStepConf, None is plain sampling, or a controller.
        limit: Only the first questions, this many.
        stop_when: A rule that ends the sampling of a question once its vote is settled.
        same: When two answers are one, by name; by default what the questions say.
        shard: The share of the questions to sample here, as "1/4"; other processes sample the others.
        keep: What to store of each trajectory.
        new: Where the run at `path` has other settings or questions, make `path-2`, `path-3`, ...
        max_tokens_total: Stop in good order after this many tokens.
        cluster: Sample on a Ray cluster; this needs an EngineChoice.
        watch: Called with how far it is.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}", hint="ask for at least one problem", argument="limit")
    whole = load(benchmark, limit=limit) if isinstance(benchmark, str) else benchmark
    if params is None and isinstance(engine, EngineChoice):
        params = SamplingParams(max_tokens=engine.default_max_tokens)
    settings = RunSettings(
        benchmark=whole if limit is None else replace(whole, problems=whole.problems[:limit]),
        params=params or SamplingParams(),
        controller=steering_of(steering),
        budget=budget,
        limit=limit,
        rule=stop_rule(stop_when),
        shard=shard if isinstance(shard, Shard) else Shard.parse(shard),
        same=same,
    )
    return sample_run(
        *(engine, settings, os.fspath(path), keep),
        new=new,
        max_tokens_total=max_tokens_total,
        cluster=cluster,
        watch=watch,
    )


def sample_run(
    engine: Engine | EngineChoice | DeferredEngine,
    settings: RunSettings,
    path: str,
    keep: Keep = Keep(),  # noqa: B008
    *,
    new: bool = False,
    max_tokens_total: int | None = None,
    cluster: Cluster | None = None,
    watch: Callable[[RunProgress], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Sample what the run of that path lacks (see `generate_run`); `note` gets each note as it comes up."""
    if isinstance(engine, EngineChoice):
        with DeferredEngine(engine, note=note) as deferred:
            return sample_run(
                *(deferred, settings, path, keep),
                new=new,
                max_tokens_total=max_tokens_total,
                cluster=cluster,
                watch=watch,
                note=note,
            )
    check_budget(settings.budget)
    if max_tokens_total is not None and max_tokens_total < 1:
        raise InputError(
            f"max_tokens_total is {max_tokens_total}", hint="give 1 or more", argument="max_tokens_total"
        )
    if cluster is not None and not isinstance(engine, DeferredEngine):
        raise InputError("a cluster opens engines of its own: give an EngineChoice, not an open engine")
    manifest = settings.manifest(engine.name, engine.model)
    if new:
        path = free_name(path, manifest, settings.benchmark.problems)
    with _Generation(path, manifest, settings, keep, watch, note) as generation:
        if not generation.progress.n_todo:
            return generation.result()
        if cluster is not None:
            assert isinstance(engine, DeferredEngine)
            made = generation.sample_on_ray(engine.choice, cluster)
        else:
            ready = engine.opened if isinstance(engine, DeferredEngine) else engine
            made = generation.sample(ready, max_tokens_total)
        try:
            generation.take(made, max_tokens_total)
        except KeyboardInterrupt as interrupt:
            raise RunInterrupted(generation.result()) from interrupt
        return generation.result()


class _Generation:
    """A run that is open for sampling; it is made if there is none, and goes on if there is one."""

    def __init__(
        self,
        path: str,
        manifest: Manifest,
        settings: RunSettings,
        keep: Keep,
        watch: Callable[[RunProgress], None],
        note: Callable[[str], None],
    ) -> None:
        self._path, self._settings, self._watch, self._note = path, settings, watch, note
        self._writer = RunWriter(path, manifest, keep=keep)
        self._notes: list[str] = []
        self._tell(*self._writer.notes)
        changed = changed_question(path, settings.benchmark.problems)
        if changed is not None:
            raise InputError(
                f"question {changed!r} of {path} was sampled with another text than"
                f" {settings.benchmark.source} has now",
                hint="restore the file, or make another run with `new=True`",
            )
        done = self._writer.done()
        self._n_before = len(done)
        self._work = settings.lacking(path, done)
        self._begun: set[str] = set()
        self._is_here = True
        n_todo = sum(len(item.samples) for item in self._work)
        self.progress = RunProgress(n_todo, len(self._work))

    def _tell(self, *notes: str) -> None:
        self._notes += notes
        for each in notes:
            self._note(each)

    def sample(self, engine: Engine, max_tokens_total: int | None) -> Generator[Stored]:
        """Sample what is lacking and yield it as it is stored (see `generate`)."""

        def watch(progress: Progress) -> None:
            self.progress = self.progress._replace(n_sampled=progress.n_tokens)
            self._watch(self.progress)

        settings = self._settings
        made = generate(
            *(engine, self._work, self._writer, settings.params, settings.controller),
            stop_when=settings.rule,
            max_tokens_total=max_tokens_total,
            watch=watch,
        )
        with closing(made):
            for item in made:
                record = item.trajectory.interventions
                n_reflections = 0 if record is None else record.n_reflections
                yield Stored(item.problem.id, item.trajectory.n_tokens, n_reflections, item.correct)

    def sample_on_ray(self, choice: EngineChoice, cluster: Cluster) -> Generator[Stored]:
        """Let a cluster sample what is lacking and yield it as it is stored (see `generate_on_ray`)."""
        self._is_here = False
        manifest, settings = self._writer.manifest, self._settings
        work = Work(
            *(choice, self._path, manifest, self._writer.keep),
            *(settings.params, settings.controller, manifest.stop_when),
        )
        return generate_on_ray(work, self._work, cluster, self._tell)

    def take(self, made: Generator[Stored], max_tokens_total: int | None) -> None:
        """Count what is stored until all is, or until there are enough tokens."""
        self._watch(self.progress)
        with closing(made):
            for item in made:
                self._begun.add(item.question_id)
                was = self.progress
                self.progress = was._replace(
                    n_added=was.n_added + 1,
                    n_begun=len(self._begun),
                    n_tokens=was.n_tokens + item.n_tokens,
                    n_reflections=was.n_reflections + item.n_reflections,
                    n_known=was.n_known + (item.correct is not None),
                    n_right=was.n_right + bool(item.correct),
                )
                self._watch(self.progress)
                if max_tokens_total is not None and self.progress.n_tokens >= max_tokens_total:
                    return

    def result(self) -> RunResult:
        """Return what has become of it so far."""
        done = self.progress
        # An interrupt may come between the storing of one and its counting.
        n_added = len(self._writer.done()) - self._n_before if self._is_here else done.n_added
        accuracy = done.n_right / done.n_known if done.n_known else None
        return RunResult(
            *(self._path, done.n_todo, n_added, done.n_tokens, done.n_reflections, accuracy),
            notes=tuple(self._notes),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
