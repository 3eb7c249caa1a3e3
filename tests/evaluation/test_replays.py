"""Replaying stored trajectories to stopping rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import Trajectory
from distrivote.evaluation.replays import Looks, as_they_finish, in_rounds, one_by_one, schedule
from distrivote.poll import Poll
from distrivote.voting.stopping import BetaRule
from strategies import FEW

NAN = float("nan")


def looks(answers: str, share: float = 0.8) -> Looks:
    return Looks(BetaRule(share), np.array([ord(a) - 97 for a in answers]), np.full(len(answers), NAN))


def test_one_by_one_stops_at_the_first_settled_look() -> None:
    stop = one_by_one(looks("abbbaaaa"), np.array([1.0, 2, 3, 4, 5, 6, 7, 8]))
    assert stop.finished.tolist() == [True] * 4 + [False] * 4  # 3 to 1: 1 - 6/32
    assert (stop.spent, stop.lost, stop.n_rounds) == (10.0, 0.0, 4)


def test_what_is_never_settled_takes_the_whole_budget() -> None:
    costs = np.arange(1.0, 13.0)
    for stop in (
        one_by_one(looks("ab" * 6), costs),
        in_rounds(looks("ab" * 6), costs, 4),
        as_they_finish(looks("ab" * 6), costs, 4),
    ):
        assert stop.finished.all()
        assert (stop.spent, stop.lost) == (78.0, 0.0)


def test_with_slots_the_rule_waits_for_the_lower_numbers() -> None:
    # Two slots: 0 runs until 10; 1 to 5 take 2 each, one after the other, until 10.
    costs = np.array([10.0, 2, 2, 2, 2, 2, 50, 50, 50, 50])
    stop = in_rounds(looks("aaaaaaaaaa"), costs, 2)
    assert stop.finished.tolist() == [True] * 5 + [False] * 5
    # 5 had come to its end too, and is looked at after 0.
    assert (stop.spent, stop.lost) == (20.0, 2.0)
    early = as_they_finish(looks("aaaaaaaaaa"), costs, 2)
    assert early.finished.tolist() == [False, True, True] + [False] * 7
    # 0 had come to 4 of its 10 by then.
    assert (early.spent, early.lost) == (8.0, 4.0)


def test_rounds_double_and_end_before_the_next_begins() -> None:
    stop = in_rounds(looks("ab" * 4 + "c" * 24, 0.95), np.ones(32), 64)
    assert stop.n_rounds == 3
    # All of a round finish at once; the look after the one that settles it comes first.
    assert 8 < np.count_nonzero(stop.finished) <= 32
    assert stop.spent == 32.0


def test_the_slot_that_is_free_first_is_taken() -> None:
    starts, ends = schedule(np.array([5.0, 1.0, 1.0, 1.0]), 2)
    assert starts.tolist() == [0.0, 0.0, 1.0, 2.0]
    assert ends.tolist() == [5.0, 1.0, 2.0, 3.0]


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=40),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
@FEW
def test_rounds_are_those_of_a_poll(answers: list[int], n_slots: int, random: object) -> None:
    """A slow twin: a poll that is driven by the same schedule stops at the same trajectories."""
    costs = np.array([random.randint(1, 30) for _ in answers], dtype=np.float64)  # type: ignore[attr-defined]
    stop = in_rounds(Looks(BetaRule(0.8), np.array(answers), np.full(len(answers), NAN)), costs, n_slots)
    poll = Poll("?", budget=len(answers), method="sc", steering=None, stop_when=BetaRule(0.8))
    finished: list[int] = []
    while (batch := poll.next_batch()) is not None:
        _, ends = schedule(costs[batch.indices.start : batch.indices.stop], n_slots)
        for place in np.argsort(ends, kind="stable"):
            finished.append(batch.indices[int(place)])
            poll.add(Trajectory(f"It is \\boxed{{{answers[finished[-1]]}}}.", index=finished[-1]))
            if poll.settled:
                break
    assert sorted(finished) == np.flatnonzero(stop.finished).tolist()


@pytest.mark.parametrize("n_slots", [1, 3, 100])
def test_nothing_is_lost_where_nothing_is_in_progress(n_slots: int) -> None:
    stop = in_rounds(looks("aaaa" + "b" * 12, 0.95), np.full(16, 3.0), n_slots)
    assert stop.lost == (0.0 if n_slots == 1 else stop.spent - 12.0)
