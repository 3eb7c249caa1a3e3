"""The order in which many questions are sampled: all at once, or in rounds that depend on the votes so far.

With a stopping rule each round doubles the trajectories of every question that is not settled: what is in
progress when a vote is settled is lost. With a total over all questions each first gets a few trajectories,
and then samples go where the answer is expected to gain most (`voting.allocation`). A warm-up comes first.
A round is computed from the existing votes alone, so that a run that was stopped can continue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from distrivote.defaults import METHOD, STOP_FIRST_ROUND
from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.voting.allocation import FIRST, Worth, next_round, round_size, worth
from distrivote.voting.ballot import Ballot


class Todo(NamedTuple):
    """The missing samples of a problem."""

    problem: Problem
    samples: tuple[int, ...]


BLOCK = 64
"""The number of trajectories of one question that a process takes together."""


def in_blocks(work: Sequence[Todo]) -> tuple[Todo, ...]:
    """Return the work in blocks, whose boundaries are the same in every process.

    >>> [item.samples[0] for item in in_blocks([Todo(Problem("2 + 2?"), tuple(range(10, 130)))])]
    [10, 64, 128]
    """
    return tuple(
        Todo(item.problem, tuple(number for number in item.samples if number // BLOCK == block))
        for item in work
        for block in sorted({number // BLOCK for number in item.samples})
    )


def check_total(total: int | None, n_questions: int, *, other: bool) -> None:
    """Raise InputError unless a total makes sense; `other`: whether a rule, a share or a cluster is used."""
    if total is None:
        return
    if total < n_questions:
        raise InputError(
            f"total is {total} and there are {n_questions} questions",
            hint="give at least one trajectory for each question",
            argument="total",
        )
    if other:
        raise InputError(
            "a total is spread over all questions by one process, and ends each of them by itself",
            hint="leave out the rule, the shard and the cluster",
            argument="total",
        )


def by_doubling(
    work: Sequence[Todo], budget: int, is_settled: Callable[[str], bool]
) -> Iterator[tuple[Todo, ...]]:
    """Yield the rounds of a run with a rule; sample each round before asking for the next."""
    begin, end = 0, STOP_FIRST_ROUND
    while begin < budget:
        some = (
            Todo(item.problem, tuple(number for number in item.samples if begin <= number < end))
            for item in work
            if not is_settled(item.problem.id)
        )
        wanted = tuple(item for item in some if item.samples)
        if wanted:
            yield wanted
        begin, end = end, 2 * end


def by_warmup(work: Sequence[Todo], n_warmup: int) -> Iterator[tuple[Todo, ...]]:
    """Yield the warm-up of all questions, then the rest."""
    for begin, end in ((0, n_warmup), (n_warmup, None)):
        some = (
            Todo(
                item.problem,
                tuple(number for number in item.samples if begin <= number and (end is None or number < end)),
            )
            for item in work
        )
        wanted = tuple(item for item in some if item.samples)
        if wanted:
            yield wanted


def by_worth(
    work: Sequence[Todo],
    total: int,
    n_stored: Callable[[], int],
    ballot: Callable[[str], Ballot | None],
    method: str = METHOD,
) -> Iterator[tuple[Todo, ...]]:
    """Yield the rounds of a run with a total; sample each round before asking for the next."""
    lacking = {item.problem.id: list(item.samples) for item in work}
    known: dict[str, tuple[int, Worth]] = {}

    def taken(item: Todo, n: int) -> Todo:
        mine = lacking[item.problem.id]
        samples, lacking[item.problem.id] = mine[:n], mine[n:]
        return Todo(item.problem, tuple(samples))

    left = total - n_stored()
    first = []
    for item in work:
        n = min(sum(number < FIRST for number in item.samples), max(left, 0))
        left -= n
        first.append(taken(item, n))
    if any(item.samples for item in first):
        yield tuple(item for item in first if item.samples)
    while (left := total - n_stored()) > 0:
        worths = []
        for item in work:
            name = item.problem.id
            votes = ballot(name)
            n = 0 if votes is None else len(votes.classes)
            if votes is None:
                known[name] = (n, Worth(0.0, 0))
            elif known.get(name, (-1,))[0] != n:
                known[name] = (n, worth(votes, len(lacking[name]), method))
            worths.append(known[name][1])
        given = next_round(worths, round_size(left, len(work))).tolist()
        some = [taken(item, n) for item, n in zip(work, given, strict=True) if n]
        if not any(item.samples for item in some):
            return
        yield tuple(item for item in some if item.samples)
