from __future__ import annotations

import threading

from distrivote.engines.base import BaseEngine, Job, Refused, Sampled, SamplingParams
from distrivote.engines.feed import Feed, Taken
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.trajectory import Trajectory


def job(*indices: int) -> Job:
    return Job((Message("user", "2 + 2?"),), SamplingParams(), indices)


class Echo(BaseEngine):
    """Says the number of a trajectory; refuses 13."""

    name, model = "echo", "echo"

    def sample_job(self, job: Job, controller: object, watch: object):  # type: ignore[no-untyped-def]  # noqa: ARG002
        for index in job.indices:
            if index == 13:
                raise InputError("13 is refused")
            yield Trajectory(str(index), index=index)


def test_jobs_are_taken_in_order_with_the_numbers_that_put_gave() -> None:
    feed = Feed([job(0)])
    assert feed.put(job(1)) == 1
    assert feed.take(wait=False) == Taken(0, job(0))
    assert feed.put(job(2)) == 2
    assert [feed.take(wait=True), feed.take(wait=True)] == [Taken(1, job(1)), Taken(2, job(2))]
    assert feed.take(wait=False) is None


def test_a_closed_feed_gives_what_it_has_and_then_ends() -> None:
    feed = Feed.of([job(0), job(1)])
    assert [number for number, _ in feed] == [0, 1]
    assert feed.take(wait=True) is None


def test_an_engine_that_waits_gets_what_another_thread_adds() -> None:
    feed = Feed()
    found: list[Sampled | Refused] = []
    thread = threading.Thread(target=lambda: found.extend(Echo().sample_fed(feed)))
    thread.start()
    feed.put(job(4, 5))
    feed.put(job(13))
    feed.put(job(6))
    feed.close()
    thread.join(10)
    assert [made.job for made in found] == [0, 0, 1, 2]
    assert isinstance(found[2], Refused)
    assert [made.trajectory.index for made in found if isinstance(made, Sampled)] == [4, 5, 6]


def test_a_job_that_is_over_is_not_begun() -> None:
    feed = Feed.of([job(1)._replace(over=lambda: True), job(2)])
    (made,) = Echo().sample_fed(feed)
    assert made.job == 1
