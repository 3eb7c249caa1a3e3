"""A run over a benchmark: every problem is sampled until it has its budget, and stored as it arrives.

What is stored is never sampled again. The random numbers of a trajectory depend only on the run's seed, its
question and its number, so that a run that was stopped continues as if it had not been, and a larger budget
only adds.

With a rule that stops sampling early, a question whose vote is settled is complete. That is not stored: the
rule is evaluated again on what is stored, with the same result. So trajectories that arrive after a question
was settled are not stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from distrivote.answers.equality import Equality
from distrivote.answers.equivalence import GRADING_BUDGET, same_answer
from distrivote.answers.extract import extractor
from distrivote.answers.kinds import kind_named
from distrivote.defaults import SPLIT
from distrivote.engines.base import Engine, Job, Progress, SamplingParams, always
from distrivote.errors import InputError
from distrivote.generation.result import Stored
from distrivote.poll import Poll, check_budget
from distrivote.problem import Problem
from distrivote.rounds import Todo as Todo
from distrivote.rounds import by_doubling, by_warmup, by_worth, in_blocks
from distrivote.steering import Controller, Steering, steering_of
from distrivote.store.runs.classes import Grading
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row, reading_of, row_of
from distrivote.store.runs.run import Run
from distrivote.store.runs.sources import SOURCE, SOURCED, has_top_k, whole_ks
from distrivote.trajectory import Trajectory
from distrivote.voting.ballot import Ballot
from distrivote.voting.stopping import StopRule, stop_rule


def question_seed(seed: int, question_id: str) -> int:
    """Return the seed of one question, the same on every machine.

    >>> question_seed(0, "arithmetic-0001") == question_seed(0, "arithmetic-0001")
    True
    """
    digest = hashlib.blake2b(f"{seed}\n{question_id}".encode(), digest_size=6).digest()
    return int.from_bytes(digest)


def todo(
    problems: Sequence[Problem],
    budget: int,
    done: set[tuple[str, int]],
    settled: Collection[str] = (),
) -> tuple[Todo, ...]:
    """Return the problems with missing samples, and which; those whose id is in `settled` are complete."""
    check_budget(budget)
    lacking = (
        Todo(problem, tuple(i for i in range(budget) if (problem.id, i) not in done))
        for problem in problems
        if problem.id not in settled
    )
    return tuple(item for item in lacking if item.samples)


def settled_questions(run: Run, rule: StopRule, budget: int) -> frozenset[str]:
    """Return the ids of the stored questions that the rule settles."""
    return frozenset(_Polls(rule, budget, run, None).settled)


class Writer(Protocol):
    """Takes rows: a `RunWriter`, or one in another process."""

    @property
    def path(self) -> str: ...
    @property
    def manifest(self) -> Manifest: ...
    def has(self, question_id: str, sample: int) -> bool: ...
    def add(self, row: Row) -> None: ...
    def flush(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Made:
    """One trajectory that was given to the writer."""

    problem: Problem
    trajectory: Trajectory
    correct: bool | None
    """None if the right answer is not known."""


def stored_of(made: Made) -> Stored:
    """Return what is reported about a trajectory that was stored."""
    sampled, record = made.trajectory, made.trajectory.interventions
    n_reflections = 0 if record is None else record.n_reflections
    return Stored(made.problem.id, sampled.index, sampled.n_tokens, n_reflections, made.correct)


def generate(
    engine: Engine,
    work: Sequence[Todo],
    writer: Writer,
    params: SamplingParams,
    steering: Steering = "auto",
    *,
    stop_when: str | StopRule | None = None,
    total: int | None = None,
    max_tokens_total: int | None = None,
    watch: Callable[[Progress], None] | None = None,
    take: Callable[[Todo], bool] | None = None,
) -> Generator[Made]:
    """Sample the missing trajectories, store them, and yield them as they arrive.

    Closing the iterator, or `max_tokens_total` tokens in this call, stops it cleanly: what has finished is
    stored, unfinished trajectories are dropped and sampled again next time. `stop_when` ends the sampling of
    each question once its vote is settled within the budget of the run; `total` is how many trajectories all
    questions together have at the end, spread to where they help most. `take` is called before the first
    trajectory of a piece of work and says whether this process does it.
    """
    sampling = Sampling(writer, params, steering, work, stop_when=stop_when, total=total)
    yield from sampling.made(engine, work, max_tokens_total=max_tokens_total, watch=watch, take=take)


class Sampling:
    """The sampling of a run by its settings and by what is stored, which is read here once.

    Without a stopping rule, a total and a warm-up, `made` may be called by several threads at once.
    """

    def __init__(
        self,
        writer: Writer,
        params: SamplingParams,
        steering: Steering,
        work: Sequence[Todo],
        *,
        stop_when: str | StopRule | None = None,
        total: int | None = None,
    ) -> None:
        self._writer, self._params, self._total = writer, params, total
        self._rule = stop_rule(stop_when)
        controller = steering_of(steering)
        self._same = Grading.of(writer.manifest).same
        for item in work:
            self._same.check_truth(item.problem.answer)  # not after hours of sampling
        writer.flush()
        run = Run.open(writer.path, partial=True)
        stored = run.table((*SOURCED, SOURCE, "k", "flaw"))
        # Older runs have entropies of the top k, and continue with those.
        self._by_top_k, self._ks = has_top_k(stored), whole_ks(stored)
        self._split = controller.split if controller is not None and controller.split is not None else SPLIT
        self._kind = None if writer.manifest.answer is None else kind_named(writer.manifest.answer)
        if controller is not None and work:
            # All questions of a run have the same template.
            find = extractor(work[0].problem.extractor) if self._kind is None else self._kind.find
            controller = controller.answering(find)
        self._controller = controller
        self._polls = _Polls(self._rule, writer.manifest.budget, run, controller, kept=total is not None)

    def known_ks(self) -> frozenset[int]:
        """Return the numbers of log-probabilities behind the confidences so far."""
        return frozenset(tuple(self._ks))

    def made(
        self,
        engine: Engine,
        work: Sequence[Todo],
        *,
        max_tokens_total: int | None = None,
        watch: Callable[[Progress], None] | None = None,
        take: Callable[[Todo], bool] | None = None,
    ) -> Generator[Made]:
        """Sample the work, store it, and yield it as it arrives (see `generate`)."""
        polls, writer = self._polls, self._writer
        n_tokens = n_before = 0

        def tell(progress: Progress) -> None:
            if watch is not None:
                watch(progress._replace(n_tokens=n_before + progress.n_tokens))

        for some in self._rounds([item for item in work if not polls.is_settled(item.problem.id)], take):
            n_before = n_tokens
            jobs = [self._job(item, take) for item in some]
            with closing(engine.sample_all(jobs, self._controller, watch=tell)) as samples:
                for number, trajectory in samples:
                    problem = some[number].problem
                    n_tokens += trajectory.n_tokens
                    if polls.is_settled(problem.id) or writer.has(problem.id, trajectory.index):
                        continue
                    row = self._row(problem, trajectory, jobs[number].params.seed)
                    check_k(row, self._ks, writer)
                    writer.add(row)
                    polls.add(row)
                    yield Made(problem, trajectory, _is_right(row.answer, problem.answer, self._same))
                    if max_tokens_total is not None and n_tokens >= max_tokens_total:
                        return

    def _rounds(self, work: Sequence[Todo], take: Callable[[Todo], bool] | None) -> Iterable[Sequence[Todo]]:
        polls, budget = self._polls, self._writer.manifest.budget
        if self._total is not None:
            return by_worth(work, self._total, lambda: polls.n_rows, polls.ballot)
        if self._rule is not None:
            return by_doubling(work, budget, polls.is_settled)
        if self._controller is not None and self._controller.n_warmup:
            return by_warmup(work, self._controller.n_warmup)
        return (work if take is None else in_blocks(work),)

    def _job(self, item: Todo, take: Callable[[Todo], bool] | None) -> Job:
        return Job(
            item.problem.messages(),
            replace(self._params, seed=question_seed(self._params.seed, item.problem.id)),
            item.samples,
            over=partial(self._polls.is_settled, item.problem.id),
            controller=self._polls.controller(item),
            take=always if take is None else partial(take, item),
        )

    def _row(self, problem: Problem, trajectory: Trajectory, seed: int) -> Row:
        if self._by_top_k:
            trajectory = replace(trajectory, entropies=None, self_certainties=None)
        return row_of(problem, trajectory, seed=seed, split=self._split, extract=self._kind)


def check_k(row: Row, ks: set[int], writer: Writer) -> None:
    """Refuse a row whose confidence is not comparable with the others; a flawed row is already marked."""
    if not row.k or row.flaw is not None:
        return
    if ks and row.k not in ks:
        raise InputError(
            f"{writer.path} has confidences of the {max(ks)} most probable tokens, and the replies now come"
            f" with {row.k}: these are not comparable, so use a server that gives {max(ks)}, or begin"
            " another run"
        )
    ks.add(row.k)


_VOTES = ("question_id", "sample", "answer", "confidence", "finish_reason")
_COURSES = ("step_ends", "step_confidences", "confidence_lowest_group", "token_confidences")


def _row(values: dict[str, Any]) -> Row:
    """Return a row of some columns of a run."""
    lists = {name for name in _COURSES if isinstance(values.get(name), list)}
    known: dict[str, Any] = {
        name: np.array(value) if name in lists else value for name, value in values.items()
    }
    return Row(**{name: value for name, value in known.items() if value is not None})


class _Polls:
    """Which questions of a run are settled: first by what is stored, then by what arrives."""

    def __init__(
        self,
        rule: StopRule | None,
        budget: int,
        run: Run,
        controller: Controller | None,
        *,
        kept: bool = False,
    ) -> None:
        self._rule, self._budget = rule, budget
        warms_up = controller is not None and controller.n_warmup > 0
        self._controller = controller if warms_up else None
        self._kept = kept or warms_up or rule is not None
        self.n_rows = 0
        """How many trajectories there are, where votes are kept."""

        self._same = run.grading.same
        self._polls: dict[str, Poll] = {}
        self.settled: set[str] = set()
        if not self._kept:
            return
        # The courses of a warm-up are read only where there is one.
        columns = [*_VOTES, *(_COURSES if warms_up else ())]
        for row in run.table(columns).to_pylist():
            self._accept(_row(row))
        for name in self._polls if rule is not None else ():
            self._ask(name)

    def ballot(self, question_id: str) -> Ballot | None:
        """Return the votes of a question so far, by the numbers of the trajectories; None without any."""
        poll = self._polls.get(question_id)
        return None if poll is None else poll.ballot()

    def is_settled(self, question_id: str) -> bool:
        return question_id in self.settled

    def controller(self, item: Todo) -> Controller | None:
        """Return what steers these trajectories, where that depends on the question."""
        if self._controller is None:
            return None
        return self._poll(item.problem.id).steering_from(item.samples[0])

    def add(self, row: Row) -> None:
        if self._kept:
            self._accept(row)
        if self._rule is not None:
            self._ask(row.question_id)

    def _accept(self, row: Row) -> None:
        self.n_rows += 1
        own = None if self._controller is None else self._controller.measure
        self._poll(row.question_id).accept(reading_of(row, own))

    def _poll(self, name: str) -> Poll:
        if name not in self._polls:
            self._polls[name] = Poll(
                Problem(name, id=name),
                budget=self._budget,
                stop_when=self._rule,
                same=self._same.for_pool(GRADING_BUDGET),
                steering=self._controller,
            )
        return self._polls[name]

    def _ask(self, name: str) -> None:
        if self._polls[name].settled:
            self.settled.add(name)


def _is_right(answer: str | None, truth: str | None, same: Equality) -> bool | None:
    if truth is None:
        return None
    return answer is not None and same_answer(answer, truth, same)
