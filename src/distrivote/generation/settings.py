"""The settings of a run: what is sampled and how, and what a stored run lacks of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from distrivote.answers.equality import Equality, equality
from distrivote.benchmarks.benchmark import Benchmark
from distrivote.benchmarks.shard import Shard
from distrivote.engines.base import SamplingParams
from distrivote.generation.sampling import Todo, settled_questions, todo
from distrivote.problem import Problem
from distrivote.steering import Controller
from distrivote.store.runs.manifest import Manifest, differences
from distrivote.store.runs.run import Run
from distrivote.store.tables.labels import text_array
from distrivote.store.tables.source import is_run
from distrivote.voting.stopping import StopRule


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What is sampled, and how; not by which engine, and not where it is stored."""

    benchmark: Benchmark
    params: SamplingParams
    controller: Controller | None
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
