"""A run over a benchmark: every problem sampled until it has its budget, everything stored as it comes.

What is stored is never sampled again. The random numbers of a trajectory are fixed by the run's seed, its
question and its number, so that a run that was stopped goes on as if it had not been, and a larger budget
only adds.

With a rule that stops sampling early, a question whose vote is settled lacks nothing. Nothing is written
down about that: the rule is asked again about what is stored, and says the same. So what comes in for a
question after it was settled is not stored.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from distrivote.answers.equality import Equality
from distrivote.answers.equivalence import same_answer
from distrivote.engines.base import Engine, Job, Progress, SamplingParams
from distrivote.errors import InputError
from distrivote.flow import SSC, check_budget
from distrivote.problem import Problem
from distrivote.steering import Controller, DeepConfOnline, SelfStepConf
from distrivote.store.runs.classes import Grading
from distrivote.store.runs.rows import Row, row_of
from distrivote.store.runs.run import Run
from distrivote.store.runs.sources import SOURCE, SOURCED, has_top_k, whole_ks
from distrivote.store.runs.writer import RunWriter
from distrivote.trajectory import Trajectory
from distrivote.voting.stopping import Poll, StopRule, stop_rule


def question_seed(seed: int, question_id: str) -> int:
    """Return the seed of one question, the same on every machine.

    >>> question_seed(0, "arithmetic-0001") == question_seed(0, "arithmetic-0001")
    True
    """
    digest = hashlib.blake2b(f"{seed}\n{question_id}".encode(), digest_size=6).digest()
    return int.from_bytes(digest)


class Todo(NamedTuple):
    """What a problem still lacks."""

    problem: Problem
    samples: tuple[int, ...]


def todo(
    problems: Sequence[Problem],
    budget: int,
    done: set[tuple[str, int]],
    settled: Collection[str] = (),
) -> tuple[Todo, ...]:
    """Return the problems that lack samples, and which; those whose id is among `settled` lack none."""
    check_budget(budget)
    lacking = (
        Todo(problem, tuple(i for i in range(budget) if (problem.id, i) not in done))
        for problem in problems
        if problem.id not in settled
    )
    return tuple(item for item in lacking if item.samples)


def settled_questions(run: Run, rule: StopRule, budget: int) -> frozenset[str]:
    """Return the ids of the stored questions of which the rule wants no more."""
    return frozenset(name for name, poll in _polls(run, rule, budget).items() if poll.settled())


def _polls(run: Run, rule: StopRule, budget: int) -> dict[str, Poll]:
    """Return the votes on each question that are stored."""
    table = run.table(("question_id", "sample", "answer", "confidence"))
    polls: dict[str, Poll] = {}
    for name, sample, answer, confidence in zip(
        *(column.to_pylist() for column in table.columns), strict=True
    ):
        poll = polls.setdefault(name, Poll(rule, budget, same=run.grading.same))
        poll.add(sample, answer, math.nan if confidence is None else confidence)
    return polls


@dataclass(frozen=True, slots=True)
class Made:
    """One trajectory that is on its way to the disk."""

    problem: Problem
    trajectory: Trajectory
    correct: bool | None
    """None where the right answer is not known."""


def generate(
    engine: Engine,
    work: Sequence[Todo],
    writer: RunWriter,
    params: SamplingParams,
    controller: Controller | None = SSC,
    *,
    stop_when: str | StopRule | None = None,
    max_tokens_total: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Generator[Made]:
    """Sample what is to be done, store it, and yield it as it comes.

    Closing the iterator, or `max_tokens_total` tokens in this call, ends it in good order: what has
    finished is stored, what was under way is dropped and made again next time. `stop_when` ends the
    sampling of each question once its vote is settled within the budget of the run.
    """
    if isinstance(controller, DeepConfOnline):
        raise InputError("DeepConfOnline needs a warm-up of each question, which a run has not: use `solve`")
    same = Grading.of(writer.manifest).same
    for item in work:
        same.check_truth(item.problem.answer)  # not after hours of sampling
    stopping = _Stopping(stop_rule(stop_when), writer, same)
    writer.flush()
    stored = Run.open(writer.path).table((*SOURCED, SOURCE, "k", "flaw"))
    # Older runs have entropies of the top k: then they go on with such.
    by_top_k, ks = has_top_k(stored), whole_ks(stored)
    work = [item for item in work if not stopping.is_settled(item.problem.id)]
    split = controller.split if isinstance(controller, SelfStepConf) else SSC.split
    jobs = [
        Job(
            item.problem.messages(),
            replace(params, seed=question_seed(params.seed, item.problem.id)),
            item.samples,
            over=partial(stopping.is_settled, item.problem.id),
        )
        for item in work
    ]
    n_tokens = 0
    with closing(engine.sample_all(jobs, controller, watch=watch)) as samples:
        for number, trajectory in samples:
            problem = work[number].problem
            n_tokens += trajectory.n_tokens
            if stopping.is_settled(problem.id):
                continue
            alike = replace(trajectory, entropies=None, self_certainties=None) if by_top_k else trajectory
            row = row_of(problem, alike, seed=jobs[number].params.seed, split=split)
            _check_k(row, ks, writer)
            writer.add(row)
            stopping.add(row)
            yield Made(problem, trajectory, _is_right(row.answer, problem.answer, same))
            if max_tokens_total is not None and n_tokens >= max_tokens_total:
                return


def _check_k(row: Row, ks: set[int], writer: RunWriter) -> None:
    """Refuse a row whose confidence would not compare with the others; a flawed one is marked as it is."""
    if not row.k or row.flaw is not None:
        return
    if ks and row.k not in ks:
        raise InputError(
            f"{writer.path} has confidences of the {max(ks)} most probable tokens, and the replies now come"
            f" with {row.k}: their values do not compare, so use a server that gives {max(ks)}, or begin"
            " another run"
        )
    ks.add(row.k)


class _Stopping:
    """Which questions of a run want no more: at first by what is stored, then by what comes in."""

    def __init__(self, rule: StopRule | None, writer: RunWriter, same: Equality) -> None:
        self._rule, self._budget, self._same = rule, writer.manifest.budget, same
        self._polls: dict[str, Poll] = {}
        if rule is not None:
            writer.flush()
            self._polls = _polls(Run.open(writer.path), rule, self._budget)
        self._settled = {name for name, poll in self._polls.items() if poll.settled()}

    def is_settled(self, question_id: str) -> bool:
        return question_id in self._settled

    def add(self, row: Row) -> None:
        if self._rule is None:
            return
        poll = self._polls.setdefault(row.question_id, Poll(self._rule, self._budget, same=self._same))
        poll.add(row.sample, row.answer, row.confidence)
        if poll.settled():
            self._settled.add(row.question_id)


def _is_right(answer: str | None, truth: str | None, same: Equality) -> bool | None:
    if truth is None:
        return None
    return answer is not None and same_answer(answer, truth, same)
