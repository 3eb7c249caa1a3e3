"""A run over a benchmark: every problem sampled until it has its budget, everything stored as it comes.

What is stored is never sampled again. The random numbers of a trajectory are fixed by the run's seed, its
question and its number, so that a run that was stopped goes on as if it had not been, and a larger budget
only adds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from distrivote.answers.equivalence import same_answer
from distrivote.engines.base import Engine, Job, Progress, SamplingParams
from distrivote.problem import Problem
from distrivote.selfstepconf import Controller, SelfStepConf
from distrivote.solve import SSC, check_budget
from distrivote.store.run_rows import row_of
from distrivote.store.run_writer import RunWriter
from distrivote.trajectory import Trajectory


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


def todo(problems: Sequence[Problem], budget: int, done: set[tuple[str, int]]) -> tuple[Todo, ...]:
    """Return the problems that lack samples, and which."""
    check_budget(budget)
    lacking = (
        Todo(problem, tuple(i for i in range(budget) if (problem.id, i) not in done)) for problem in problems
    )
    return tuple(item for item in lacking if item.samples)


@dataclass(frozen=True, slots=True)
class Made:
    """One trajectory that is on its way to the disk."""

    problem: Problem
    trajectory: Trajectory
    answer: str | None
    correct: bool | None
    """None where the right answer is not known."""


def generate(
    engine: Engine,
    work: Sequence[Todo],
    writer: RunWriter,
    params: SamplingParams,
    controller: Controller | None = SSC,
    *,
    max_tokens_total: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Generator[Made]:
    """Sample what is to be done, store it, and yield it as it comes.

    Closing the iterator, or `max_tokens_total` tokens in this call, ends it in good order: what has
    finished is stored, what was under way is dropped and made again next time.
    """
    split = controller.split if isinstance(controller, SelfStepConf) else SSC.split
    jobs = [
        Job(
            item.problem.messages(),
            replace(params, seed=question_seed(params.seed, item.problem.id)),
            item.samples,
        )
        for item in work
    ]
    n_tokens = 0
    with closing(engine.sample_all(jobs, controller, watch=watch)) as samples:
        for number, trajectory in samples:
            problem = work[number].problem
            row = row_of(problem, trajectory, seed=jobs[number].params.seed, split=split)
            writer.add(row)
            n_tokens += trajectory.n_tokens
            yield Made(problem, trajectory, row.answer, _is_right(row.answer, problem.answer))
            if max_tokens_total is not None and n_tokens >= max_tokens_total:
                return


def _is_right(answer: str | None, truth: str | None) -> bool | None:
    if truth is None:
        return None
    return answer is not None and same_answer(answer, truth)
