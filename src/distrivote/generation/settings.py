"""The settings of a run: what is sampled and how, and what is missing in a stored run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from distrivote.answers.equality import Equality, equality
from distrivote.answers.kinds import kind_named
from distrivote.benchmarks.benchmark import Benchmark
from distrivote.benchmarks.shard import Shard
from distrivote.engines.base import SamplingParams
from distrivote.generation.sampling import Todo, settled_questions, todo
from distrivote.problem import Problem
from distrivote.steering import Controller
from distrivote.store.runs.manifest import TOTAL, Manifest, differences
from distrivote.store.runs.run import Run
from distrivote.store.tables.labels import text_array
from distrivote.store.tables.source import is_run
from distrivote.voting.stopping import StopRule


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What is sampled and how, without the engine and the folder."""

    benchmark: Benchmark
    params: SamplingParams
    controller: Controller | None
    budget: int
    """Trajectories per question."""

    limit: int | None = None
    """How many questions are sampled; None for all of the benchmark."""

    rule: StopRule | None = None
    """What ends the sampling of a question early."""

    total: int | None = None
    """How many trajectories all questions have together; None: each has its budget."""

    shard: Shard = field(default_factory=Shard)
    """The share of the questions that is sampled here; other processes may add theirs to the same run."""

    same: str | None = None
    """When two answers are equal, by name; None: what the problems say."""

    answer: str | None = None
    """What an answer is, the name of a kind; None: what the benchmark or its template says."""

    def __post_init__(self) -> None:
        for problem in self.benchmark.problems:
            self.equality.check_truth(problem.answer)

    @property
    def is_by_question(self) -> bool:
        """Whether what is sampled of a question depends on its other trajectories."""
        return self.rule is not None or (self.controller is not None and self.controller.n_warmup > 0)

    @property
    def kind(self) -> str | None:
        """What an answer is, as the run records it; None: what the template says."""
        return self.benchmark.answer if self.answer is None else self.answer

    @property
    def equality(self) -> Equality:
        usual = self.benchmark.problems[0].same if self.kind is None else kind_named(self.kind)
        return equality(usual if self.same is None else self.same)

    def manifest(self, engine: str, model: str, request: Mapping[str, Any] | None = None) -> Manifest:
        """Return the manifest of the run; all shares of one run have the same.

        `request` is what the engine adds to every request.
        """
        return Manifest.of(
            engine=engine,
            model=model,
            template=self.benchmark.problems[0].template,
            benchmark=f"{self.benchmark.name}: {self.benchmark.source}",
            params=self.params,
            ssc=self.controller,
            budget=self.budget,
            limit=self.limit,
            stop_when=self._ends,
            same=self.equality.name,
            system=self.benchmark.system,
            answer=self.kind,
            request=request,
        )

    @property
    def _ends(self) -> str | None:
        """What ends questions early, as the run records it."""
        if self.total is not None:
            return f"{TOTAL}{self.total}"
        return None if self.rule is None else self.rule.name

    def lacking(self, path: str, done: set[tuple[str, int]] | None = None) -> tuple[Todo, ...]:
        """Return what is missing of this share in the run at `path`; `done` is read from it if not given."""
        is_begun = is_run(path)
        if done is None:
            done = Run.open(path, partial=True).done() if is_begun else set()
        settled: frozenset[str] = frozenset()
        if self.rule is not None and is_begun:
            settled = settled_questions(Run.open(path, partial=True), self.rule, self.budget)
        if self.total is not None and len(done) >= self.total:
            return ()
        return todo(self.shard.of(self.benchmark.problems), self.budget, done, settled)

    def n_lacking(self, work: Sequence[Todo], n_done: int) -> int:
        """Return the maximum number of trajectories that are still to be sampled."""
        n = sum(len(item.samples) for item in work)
        return n if self.total is None else min(n, self.total - n_done)


def free_name(path: str, manifest: Manifest, problems: Sequence[Problem]) -> str:
    """Return the first of RUN, RUN-2, RUN-3, ... that is free or has these settings and questions."""

    def is_other(name: str) -> bool:
        was = Manifest.load(name)
        return any(differences(was, manifest)) or changed_question(name, problems) is not None

    number, name = 1, path
    while is_run(name) and is_other(name):
        number += 1
        name = f"{path}-{number}"
    return name


def changed_question(path: str, problems: Sequence[Problem]) -> str | None:
    """Return the id of the first problem that a run holds with another text, None if there is none."""
    table = Run.open(path, partial=True).table(("question_id", "question"))
    held: dict[str, set[str]] = {}
    for pair in table.drop_null().group_by(table.column_names).aggregate([]).to_pylist():
        held.setdefault(pair["question_id"], set()).add(pair["question"])
    for problem in problems:
        (text,) = text_array([problem.question]).to_pylist()
        if held.get(problem.id, {text}) != {text}:
            return problem.id
    return None
