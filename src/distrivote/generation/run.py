"""One run from its settings to its last trajectory, here or on a cluster: what `distrivote generate` does.

An existing run continues with what is missing, and refuses other settings or other questions. Displays show
the progress.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeAlias

from distrivote.benchmarks import load
from distrivote.benchmarks.benchmark import Benchmark
from distrivote.benchmarks.shard import Shard
from distrivote.defaults import BUDGET
from distrivote.engines.abilities import carried_out
from distrivote.engines.base import Engine, Progress, SamplingParams
from distrivote.engines.choice import EngineChoice
from distrivote.errors import InputError
from distrivote.generation.cluster import Cluster, generate_on_ray
from distrivote.generation.deferred import DeferredEngine
from distrivote.generation.processes import ClientWork, check_processes, generate_in_processes
from distrivote.generation.result import RunInterrupted as RunInterrupted
from distrivote.generation.result import RunProgress as RunProgress
from distrivote.generation.result import RunResult as RunResult
from distrivote.generation.result import Stored
from distrivote.generation.sampling import Todo, generate, stored_of
from distrivote.generation.settings import RunSettings, changed_question, free_name
from distrivote.generation.sharing import Sharing
from distrivote.generation.worker import Work
from distrivote.poll import check_budget
from distrivote.rounds import check_total
from distrivote.steering import Steering, steering_of
from distrivote.store.columns import FINISH_REASON
from distrivote.store.runs.leases import Leases
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, n_ended
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from distrivote.store.tables.source import is_run
from distrivote.voting.stopping import StopRule, stop_rule

Pass: TypeAlias = Callable[[Sequence[Todo], Callable[[Todo], bool] | None], Generator[Stored]]
"""Samples the work that this process may take."""


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
    total: int | None = None,
    answer: str | None = None,
    same: str | None = None,
    shard: Shard | str | None = None,
    keep: Keep = Keep(),  # noqa: B008
    new: bool = False,
    max_tokens_total: int | None = None,
    cluster: Cluster | None = None,
    processes: int = 1,
    watch: Callable[[RunProgress], None] = lambda _: None,
) -> RunResult:
    """Sample every question of a benchmark until it has its budget, and store the trajectories in a run.

    After a stop or a kill the same call continues: what is stored is not sampled again. A larger budget or
    limit only adds; other settings or other questions raise InputError.

    Args:
        engine: An engine, or an EngineChoice, which is opened only if something is missing.
        benchmark: A benchmark, its name, or the path of a file with questions and answers.
        path: The folder of the run; it is created if there is none.
        budget: Trajectories per question.
        params: How to sample; by default with the token limit of the engine.
        steering: What steers the sampling: "auto" is SelfStepConf, None is plain sampling, or a controller.
        limit: The number of questions, from the first; by default all.
        stop_when: A rule that ends the sampling of a question once its vote is settled.
        total: How many trajectories all questions have together, spread to where they help most; then
            `budget` is the most that one may have. A larger total only adds.
        answer: What an answer is, the name of a kind; by default what the benchmark or its template says.
        same: When two answers are equal, by name; by default what the questions say.
        shard: The share of the questions to sample here, as "1/4"; other processes sample the others.
        keep: What to store of each trajectory.
        new: If the run at `path` has other settings or questions, make `path-2`, `path-3`, ...
        max_tokens_total: Stop cleanly after this number of tokens.
        cluster: Sample on a Ray cluster; this needs an EngineChoice.
        processes: How many processes read from the servers; this needs an EngineChoice.
        watch: Called with the progress.
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
        total=total,
        shard=shard if isinstance(shard, Shard) else Shard.parse(shard),
        answer=answer,
        same=same,
    )
    return sample_run(
        *(engine, settings, os.fspath(path), keep),
        new=new,
        max_tokens_total=max_tokens_total,
        cluster=cluster,
        processes=processes,
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
    processes: int = 1,
    watch: Callable[[RunProgress], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
) -> RunResult:
    """Sample what is missing in the run at `path` (see `generate_run`); `note` is called with each note."""
    if isinstance(engine, EngineChoice):
        with DeferredEngine(engine, note=note) as deferred:
            return sample_run(
                *(deferred, settings, path, keep),
                new=new,
                max_tokens_total=max_tokens_total,
                cluster=cluster,
                processes=processes,
                watch=watch,
                note=note,
            )
    check_budget(settings.budget)
    check_processes(processes, engine.choice if isinstance(engine, DeferredEngine) else None)
    is_other = settings.rule is not None or settings.shard != Shard() or cluster is not None or processes > 1
    check_total(settings.total, len(settings.benchmark.problems), other=is_other)
    if max_tokens_total is not None and max_tokens_total < 1:
        raise InputError(
            f"max_tokens_total is {max_tokens_total}", hint="give 1 or more", argument="max_tokens_total"
        )
    if cluster is not None and settings.controller is not None and settings.controller.n_warmup:
        raise InputError(
            f"{settings.controller.name} needs a warm-up of each question, which a cluster does not wait for",
            hint="leave out the cluster, or sample shares of the questions with `shard`",
        )
    if cluster is not None and not isinstance(engine, DeferredEngine):
        raise InputError("a cluster opens its own engines: give an EngineChoice, not an open engine")
    settings = _steered_as_possible(engine, settings, None if new else path)
    manifest = settings.manifest(engine.name, engine.model, getattr(engine, "request_settings", None))
    if new:
        path = free_name(path, manifest, settings.benchmark.problems)
    with _Generation(path, manifest, settings, keep, watch, note) as generation:
        if not generation.progress.n_todo:
            return generation.result()
        if cluster is not None:
            assert isinstance(engine, DeferredEngine)
            made = generation.sample_on_ray(engine.choice, cluster)
        elif processes > 1:
            assert isinstance(engine, DeferredEngine)
            made = generation.sample_in_processes(
                replace(engine.choice, model=engine.model), processes, max_tokens_total
            )
        else:
            ready = engine.opened if isinstance(engine, DeferredEngine) else engine
            made = generation.sample(ready, max_tokens_total)
        try:
            generation.take(made, max_tokens_total)
        except KeyboardInterrupt as interrupt:
            raise RunInterrupted(generation.result()) from interrupt
        return generation.result()


_STEERED = ("embedded", "vllm", "transformers")
"""Engines that support every optional controller, so that they need not be opened for the check."""


def _steered_as_possible(
    engine: Engine | DeferredEngine, settings: RunSettings, path: str | None
) -> RunSettings:
    """Return the settings without an optional controller that the engine does not support.

    A run that was begun with it requires it.
    """
    controller = settings.controller
    if controller is None or not controller.optional:
        return settings
    if path is not None and is_run(path) and Manifest.load(path).ssc is not None:
        return replace(settings, controller=controller.required())
    if isinstance(engine, DeferredEngine):
        if engine.name in _STEERED:
            return settings
        engine = engine.opened
    return replace(settings, controller=carried_out(engine, controller))


def _ends_nothing(settings: RunSettings) -> tuple[str, ...]:
    """Return a note if no trajectory comes after the warm-up of a controller that ends some."""
    controller, budget = settings.controller, settings.budget
    if controller is None or not controller.ends_trajectories or budget > controller.n_warmup:
        return ()
    return (
        f"{controller.name} ends nothing here: its warm-up takes {controller.n_warmup} trajectories of a"
        f" question, and the budget is {budget}",
    )


class _Generation:
    """A run that is open for sampling; it is created if there is none, and continued if there is one."""

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
        self._tell(*self._writer.notes, *_ends_nothing(settings))
        changed = changed_question(path, settings.benchmark.problems)
        if changed is not None:
            raise InputError(
                f"question {changed!r} of {path} was sampled with another text than"
                f" {settings.benchmark.source} has now",
                hint="restore the file, or make another run with `new=True`",
            )
        done = self._writer.done()
        self._work = settings.lacking(path, done)
        self._begun: set[str] = set()
        self._is_here = True
        self.progress = RunProgress(settings.n_lacking(self._work, len(done)), len(self._work))

    def _tell(self, *notes: str) -> None:
        self._notes += notes
        for each in notes:
            self._note(each)

    def sample(self, engine: Engine, max_tokens_total: int | None) -> Generator[Stored]:
        """Sample what is missing and yield it as it is stored (see `generate`)."""

        settings = self._settings

        def pass_over(work: Sequence[Todo], take: Callable[[Todo], bool] | None) -> Generator[Stored]:
            spent = self.progress.n_tokens
            made = generate(
                *(engine, work, self._writer, settings.params, settings.controller),
                stop_when=settings.rule,
                total=settings.total,
                max_tokens_total=None if max_tokens_total is None else max_tokens_total - spent,
                watch=self._see,
                take=take,
            )
            with closing(made):
                for item in made:
                    yield stored_of(item)

        return self._shared(pass_over, max_tokens_total)

    def sample_in_processes(
        self, choice: EngineChoice, n: int, max_tokens_total: int | None
    ) -> Generator[Stored]:
        """Sample what is missing by several processes and yield it (see `generate_in_processes`)."""
        manifest, settings = self._writer.manifest, self._settings
        work = ClientWork(
            choice, self._path, manifest, settings.params, settings.controller, manifest.stop_when
        )

        def pass_over(items: Sequence[Todo], take: Callable[[Todo], bool] | None) -> Generator[Stored]:
            assert take is not None
            return generate_in_processes(
                *(work, n, items, self._writer, take),
                whole=settings.is_by_question,
                watch=self._see,
                note=self._tell,
            )

        return self._shared(pass_over, max_tokens_total)

    def _see(self, progress: Progress) -> None:
        self.progress = self.progress._replace(n_sampled=progress.n_tokens)
        self._watch(self.progress)

    def _shared(self, pass_over: Pass, max_tokens_total: int | None) -> Generator[Stored]:
        """Do the work that no other process has leased, then what they left, until nothing is missing."""
        work: Sequence[Todo] = self._work
        tell = self._tell_of_others

        def lacking() -> Sequence[Todo]:
            return self._settings.lacking(self._path, self._writer.done())

        with Leases(self._path) as leases:
            sharing = Sharing(leases, self._writer, whole=self._settings.is_by_question)
            try:
                if self._settings.total is not None:
                    sharing.take_all(tell)
                    yield from pass_over(lacking(), None)
                    return
                while work:
                    yield from pass_over(work, sharing.take)
                    is_spent = max_tokens_total is not None and self.progress.n_tokens >= max_tokens_total
                    if is_spent or not sharing.left:
                        return
                    work = sharing.rest(lacking, tell)
            finally:
                self._writer.flush()  # before the leases are returned

    def _tell_of_others(self) -> None:
        sentence = "other processes are sampling the rest of this run: this one waits for them"
        if sentence not in self._notes:
            self._tell(sentence)

    def sample_on_ray(self, choice: EngineChoice, cluster: Cluster) -> Generator[Stored]:
        """Sample what is missing on a cluster and yield it as it is stored (see `generate_on_ray`)."""
        self._is_here = False
        manifest, settings = self._writer.manifest, self._settings
        work = Work(
            *(choice, self._path, manifest, self._writer.keep),
            *(settings.params, settings.controller, manifest.stop_when),
        )
        with Leases(self._path) as leases:
            sharing = Sharing(leases, self._writer, whole=True)
            sharing.take_all(self._tell_of_others, settings.shard)
            lacking = settings.lacking(self._path, self._writer.done())
            if lacking:
                yield from generate_on_ray(work, lacking, cluster, self._tell, self._see)

    def take(self, made: Generator[Stored], max_tokens_total: int | None) -> None:
        """Count what is stored until nothing is missing, or until the token limit is reached."""
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
        """Return the result so far."""
        done = self.progress
        # An interrupt may come after a trajectory is stored and before it is counted.
        n_added = self._writer.n_added
        n_doubled = self._writer.n_doubled()
        self._writer.look()
        missing = ((item.problem.id, sample) for item in self._work for sample in item.samples)
        n_there = sum(self._writer.has(*key) for key in missing)
        if not self._is_here:
            # The workers of a cluster store more than they report if they end early.
            n_added = max(n_there, done.n_added)
        accuracy = done.n_right / done.n_known if done.n_known else None
        return RunResult(
            *(self._path, done.n_todo, n_added - n_doubled, done.n_tokens, done.n_reflections, accuracy),
            notes=tuple(self._notes),
            n_doubled=n_doubled,
            n_elsewhere=max(0, n_there - n_added),
            n_ended=self._n_ended(),
        )

    def _n_ended(self) -> int | None:
        controller = self._settings.controller
        if controller is None or not controller.ends_trajectories:
            return None
        return n_ended(Run.open(self._path, partial=True).table((FINISH_REASON,)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
