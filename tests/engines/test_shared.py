from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing

import pytest

from distrivote.engines.base import BaseEngine, BatchEngine, Job, Progress, Refused, Sampled, SamplingParams
from distrivote.engines.feed import Feed
from distrivote.engines.shared import SharedEngine, fed_in_groups
from distrivote.errors import EngineError, InputError
from distrivote.problem import Message
from distrivote.trajectory import Trajectory


def job(*indices: int) -> Job:
    return Job((Message("user", "2 + 2?"),), SamplingParams(), indices)


class Continuous(BaseEngine):
    """Takes jobs whenever there are any; each trajectory ends when the test says so. Refuses 13."""

    name, model = "continuous", "continuous"

    def __init__(self) -> None:
        self.ended: dict[int, threading.Event] = {}
        self.dropped: list[int] = []
        self.fails = False

    def sample_fed(  # type: ignore[override]
        self,
        feed: Feed,
        controller: object = None,  # noqa: ARG002
        *,
        watch: object = None,  # noqa: ARG002
    ) -> Generator[Sampled | Refused]:
        live: list[tuple[int, Job, int]] = []
        while True:
            while (taken := feed.take(wait=not live)) is not None:
                if not taken.job.take():
                    continue
                if 13 in taken.job.indices:
                    yield Refused(taken.number, InputError("13 is refused"))
                    continue
                for index in taken.job.indices:
                    self.ended.setdefault(index, threading.Event())
                    live.append((taken.number, taken.job, index))
            if self.fails:
                raise EngineError("the GPU is gone")
            if not live:
                return
            for number, asked, index in list(live):
                if asked.over():
                    live.remove((number, asked, index))
                    self.dropped.append(index)
                elif self.ended[index].wait(0.005):
                    live.remove((number, asked, index))
                    yield Sampled(number, Trajectory(str(index), index=index))


def in_thread(engine: SharedEngine, asked: Job, found: list[int]) -> threading.Thread:
    def act() -> None:
        found.extend(made.trajectory.index for made in engine.sample_all([asked]))

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def ends(inner: Continuous, *indices: int) -> None:
    for index in indices:
        inner.ended.setdefault(index, threading.Event()).set()


def test_no_caller_waits_for_a_trajectory_of_another() -> None:
    inner = Continuous()
    with SharedEngine(inner) as engine:
        slow: list[int] = []
        quick: list[int] = []
        first = in_thread(engine, job(1, 2), slow)
        ends(inner, 2, 3, 4)
        in_thread(engine, job(3, 4), quick).join(20)
        assert sorted(quick) == [3, 4]
        assert first.is_alive()
        ends(inner, 1)
        first.join(20)
        assert sorted(slow) == [1, 2]


def test_closing_a_call_drops_its_trajectories_and_no_others() -> None:
    inner = Continuous()
    with SharedEngine(inner) as engine:
        other: list[int] = []
        thread = in_thread(engine, job(7), other)
        ends(inner, 5)
        with closing(engine.sample_all([job(5, 6)])) as samples:
            assert next(samples).trajectory.index == 5
        ends(inner, 7)
        thread.join(20)
        assert other == [7]
    assert inner.dropped == [6]


def test_a_refusal_is_of_one_call_and_a_failure_of_all() -> None:
    inner = Continuous()
    engine = SharedEngine(inner)
    with pytest.raises(InputError, match="13 is refused"):
        list(engine.sample_all([job(13)]))
    ends(inner, 1)
    assert [made.trajectory.index for made in engine.sample_all([job(1)])] == [1]
    inner.fails = True
    for _ in range(2):
        with pytest.raises(EngineError, match="the GPU is gone"):
            list(engine.sample_all([job(2)]))
    engine.close()


def test_a_job_that_another_process_has_ends_its_call() -> None:
    with SharedEngine(Continuous()) as engine:
        assert list(engine.sample_all([job(1)._replace(take=lambda: False)])) == []


def test_a_call_can_be_ended_by_its_watch() -> None:
    def stop(_: Progress) -> None:
        raise KeyError

    with SharedEngine(Continuous()) as engine, pytest.raises(KeyError):
        list(engine.sample_all([job(1)], watch=stop))


class Together(BatchEngine):
    """Notes which jobs it got together, and waits in the first call."""

    name, model = "together", "together"

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.goes_on = threading.Event()

    def sample_jobs(self, jobs: Sequence[Job], *_: object) -> Generator[Sampled]:
        self.groups.append(len(jobs))
        self.goes_on.wait(20)
        for number, asked in enumerate(jobs):
            if 13 in asked.indices:
                raise InputError("13 is refused")
            for index in asked.indices:
                yield Sampled(number, Trajectory(str(index), index=index))


def test_what_came_during_a_group_is_the_next_group() -> None:
    engine, feed = Together(), Feed([job(0)])
    found: list[Sampled | Refused] = []
    thread = threading.Thread(target=lambda: found.extend(fed_in_groups(engine, feed, None, None, 4)))
    thread.start()
    while not engine.groups:
        time.sleep(0.001)
    for index in (1, 2, 3, 4, 13):
        feed.put(job(index))
    feed.close()
    engine.goes_on.set()
    thread.join(20)
    assert engine.groups == [1, 4, 1]
    assert [made.job for made in found] == [0, 1, 2, 3, 4, 5]
    assert isinstance(found[5], Refused)
