"""One run from its settings to its last trajectory, here or on a cluster.

`Sampling` holds the settings; a `Generation` is a run that is open for it: it knows what the run lacks,
refuses to go on with other questions or settings, and samples. How far it is, is for others to show.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from distrivote.answers.equality import Equality, equality
from distrivote.benchmarks.benchmark import Benchmark
from distrivote.benchmarks.shard import Shard
from distrivote.engines.base import Engine, Progress, SamplingParams
from distrivote.engines.choice import EngineChoice
from distrivote.errors import InputError
from distrivote.generation.cluster import Cluster, Stored, Work, generate_on_ray
from distrivote.generation.sampling import Todo, generate, settled_questions, todo
from distrivote.problem import Problem
from distrivote.steering import SelfStepConf
from distrivote.store.runs.manifest import Manifest, differences
from distrivote.store.runs.rows import Keep
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from distrivote.store.tables.labels import text_array
from distrivote.store.tables.source import is_run
from distrivote.voting.stopping import StopRule


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is sampled, and how; not by which engine, and not where it is stored."""

    benchmark: Benchmark
    params: SamplingParams
    controller: SelfStepConf | None
    budget: int
    """Trajectories per question."""

    limit: int | None = None
    """How many questions were asked for; None for all that the benchmark has."""

    rule: StopRule | None = None
    """What ends the sampling of a question early."""

    shard: Shard = field(default_factory=Shard)
    """The share of the questions that is sampled here; others may sample theirs into the same run."""

    same: str | None = None
    """When two answers are one, by name; None: what the problems say."""

    def __post_init__(self) -> None:
        for problem in self.benchmark.problems:
            self.equality.check_truth(problem.answer)

    @property
    def equality(self) -> Equality:
        return equality(self.benchmark.problems[0].same if self.same is None else self.same)

    def manifest(self, engine: str, model: str) -> Manifest:
        """Return the settings as the run records them; the shares of one run all record the same."""
        return Manifest.of(
            engine=engine,
            model=model,
            template=self.benchmark.problems[0].template,
            benchmark=f"{self.benchmark.name}: {self.benchmark.source}",
            params=self.params,
            ssc=self.controller,
            budget=self.budget,
            limit=self.limit,
            stop_when=None if self.rule is None else self.rule.name,
            same=self.equality.name,
            system=self.benchmark.system,
        )

    def lacking(self, path: str, done: set[tuple[str, int]] | None = None) -> tuple[Todo, ...]:
        """Return what the run of that path lacks of this share; `done` is read from it if not given."""
        is_begun = Path(path).exists()
        if done is None:
            done = Run.open(path).done() if is_begun else set()
        settled: frozenset[str] = frozenset()
        if self.rule is not None and is_begun:
            settled = settled_questions(Run.open(path), self.rule, self.budget)
        return todo(self.shard.of(self.benchmark.problems), self.budget, done, settled)


class Generation:
    """A run that is open for sampling; it is made if there is none, and goes on if there is one."""

    def __init__(self, path: str, manifest: Manifest, sampling: Sampling, keep: Keep = Keep()) -> None:  # noqa: B008
        self._path, self._sampling = path, sampling
        self._writer = RunWriter(path, manifest, keep=keep)
        self.notes = self._writer.notes
        problems = sampling.benchmark.problems
        changed = changed_question(path, problems)
        if changed is not None:
            raise InputError(
                f"question {changed!r} of {path} was sampled with another text than"
                f" {sampling.benchmark.source} has now: restore the file, or make another run with --new"
            )
        done = self._writer.done()
        self._n_before = len(done)
        self.work = sampling.lacking(path, done)

    @property
    def n_todo(self) -> int:
        """Trajectories that were lacking when it was opened."""
        return sum(len(item.samples) for item in self.work)

    @property
    def n_added(self) -> int:
        return len(self._writer.done()) - self._n_before

    def sample(
        self,
        engine: Engine,
        *,
        max_tokens_total: int | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> Generator[Stored]:
        """Sample what is lacking and yield it as it is stored (see `generate`)."""
        made = generate(
            *(engine, self.work, self._writer, self._sampling.params, self._sampling.controller),
            max_tokens_total=max_tokens_total,
            stop_when=self._sampling.rule,
            watch=watch,
        )
        try:
            for item in made:
                record = item.trajectory.interventions
                n_reflections = 0 if record is None else record.n_reflections
                yield Stored(item.problem.id, item.trajectory.n_tokens, n_reflections, item.correct)
        finally:
            made.close()

    def sample_on_ray(
        self, choice: EngineChoice, cluster: Cluster, note: Callable[[str], None] = lambda _: None
    ) -> Generator[Stored]:
        """Let a cluster sample what is lacking and yield it as it is stored (see `generate_on_ray`)."""
        if not self.work:
            return
        manifest = self._writer.manifest
        work = Work(
            *(choice, self._path, manifest, self._writer.keep),
            *(self._sampling.params, self._sampling.controller, manifest.stop_when),
        )
        yield from generate_on_ray(work, self.work, cluster, note)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()


def free_name(path: str, manifest: Manifest, problems: Sequence[Problem]) -> str:
    """Return the first of RUN, RUN-2, RUN-3, ... that is free or has these settings and questions."""

    def is_other(name: str) -> bool:
        was = Manifest.load(Path(name))
        return any(differences(was, manifest)) or changed_question(name, problems) is not None

    number, name = 1, path
    while is_run(name) and is_other(name):
        number += 1
        name = f"{path}-{number}"
    return name


def changed_question(path: str, problems: Sequence[Problem]) -> str | None:
    """Return the id of the first problem that a run holds with another text, None if there is none."""
    table = Run.open(path).table(("question_id", "question"))
    held: dict[str, set[str]] = {}
    for pair in table.drop_null().group_by(table.column_names).aggregate([]).to_pylist():
        held.setdefault(pair["question_id"], set()).add(pair["question"])
    for problem in problems:
        (text,) = text_array([problem.question]).to_pylist()
        if held.get(problem.id, {text}) != {text}:
            return problem.id
    return None
