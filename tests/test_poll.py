"""The conductor of one question: no engine, no clock, no thread, no file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import Ballot, Equality, Problem, SelfStepConf, Trajectory, solution_of
from distrivote.answers.forms import plainly_equal
from distrivote.confidence import TrajectoryConfidence
from distrivote.engines.base import SamplingParams
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import EngineError, InputError
from distrivote.flow import sample_into
from distrivote.poll import Poll
from distrivote.reading import Reading
from distrivote.solution import Solution
from distrivote.steering import ENDED, DeepConfOnline
from distrivote.voting.stopping import BetaRule, Consensus, VoteHolds
from strategies import LAW


def reply(answer: str | None, confidence: float, index: int = 0, width: int = 20) -> Trajectory:
    """Return a trajectory whose last step has this confidence; without entries if width is 0."""
    text = "I do not know." if answer is None else f"It is \\boxed{{{answer}}}."
    tokens = ("Let me see.\n\n", text)
    top = np.full((2, width), -5.0)
    top[1] = -confidence
    return Trajectory("".join(tokens), tokens, top, np.array([-0.5, -0.5]), "stop", index)


def read(index: int, answer: str | None, confidence: float = 9.0) -> Reading:
    return Reading(index, answer, (TrajectoryConfidence(confidence, 20),))


@st.composite
def pools(draw: st.DrawFn) -> list[Trajectory]:
    """Draw trajectories of one question: some silent, some without log-probabilities, some ended."""
    found = []
    for index in range(draw(st.integers(1, 12))):
        answer = draw(st.sampled_from(["4", "4.0", "5", "\\frac{1}{2}", "0.5", None]))
        confidence = draw(st.floats(1.0, 20.0))
        width = draw(st.sampled_from([20, 20, 20, 0]))
        trajectory = reply(answer, confidence, index, width)
        if draw(st.integers(0, 5)) == 0:
            trajectory = replace(trajectory, finish_reason=ENDED)
        found.append(trajectory)
    return found


METHODS = st.sampled_from(["auto", "sc", "wsc", "dis-gmm"])
RULES = st.sampled_from([None, BetaRule(0.9), Consensus(0.8, 3), VoteHolds(0.9, "sc")])


def said(solution: Solution) -> tuple[object, ...]:
    """Return everything that a solution says about the vote."""
    return (
        repr(solution.tally),  # NaN is not equal to itself
        solution.ballot.classes.tolist(),
        np.nan_to_num(solution.ballot.confidences, nan=-1.0).tolist(),
        solution.ballot.labels,
        solution.ballot.notes,
        [trajectory.index for trajectory in solution.trajectories],
        [(r.index, r.answer, r.answer_end, r.step_ends.tolist(), r.is_ended) for r in solution.readings],
        solution.is_settled,
        solution.stopped,
    )


def polled(trajectories: Sequence[Trajectory], **how: object) -> Poll:
    poll = Poll("How many?", budget=16, **how)  # type: ignore[arg-type]
    for trajectory in trajectories:
        poll.add(trajectory)
    return poll


# Laws


@LAW
@given(pools(), METHODS, RULES, st.randoms(use_true_random=False))
def test_the_order_of_arrival_makes_no_difference(
    found: list[Trajectory], method: str, rule: BetaRule | None, random: object
) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    how = {"method": method, "stop_when": rule}
    assert said(polled(shuffled, **how).finish()) == said(polled(found, **how).finish())


@LAW
@given(pools(), METHODS)
def test_one_at_a_time_gives_the_same_as_all_at_once(found: list[Trajectory], method: str) -> None:
    together = polled(found, method=method).finish()
    poll = Poll("How many?", budget=16, method=method)
    for trajectory in found:
        reading = poll.take(trajectory)
        assert (reading.index, reading.is_ended) == (trajectory.index, trajectory.finish_reason == ENDED)
        poll.tally()
    assert said(poll.finish()) == said(together)
    assert said(polled(found, method=method, eager=True).finish()) == said(together)
    ballot = Ballot.from_trajectories(found, extract="boxed")
    assert ballot.classes.tolist() == together.ballot.classes.tolist()
    assert np.array_equal(ballot.confidences, together.ballot.confidences, equal_nan=True)
    assert ballot.notes == together.ballot.notes


@LAW
@given(pools(), METHODS, RULES)
def test_a_tally_on_the_way_changes_nothing_and_the_last_one_is_the_final_one(
    found: list[Trajectory], method: str, rule: BetaRule | None
) -> None:
    poll = Poll("How many?", budget=16, method=method, stop_when=rule)
    for n, trajectory in enumerate(found, 1):
        poll.add(trajectory)
        assert repr(poll.tally()) == repr(polled(found[:n], method=method).finish().tally)
        assert repr(poll.so_far(1).tally) == repr(polled(found[:1], method=method).finish().tally)
    assert repr(poll.tally()) == repr(poll.finish().tally)
    assert (
        said(poll.finish())
        == said(poll.finish())
        == said(polled(found, method=method, stop_when=rule).finish())
    )


@pytest.mark.slow
@LAW
@given(pools(), METHODS)
def test_what_is_settled_was_settled_by_the_same_votes(found: list[Trajectory], method: str) -> None:
    rule = BetaRule(0.8)
    poll = Poll("How many?", budget=16, method=method, stop_when=rule)
    for n, trajectory in enumerate(found, 1):
        poll.add(trajectory)
        ballot = polled(found[:n]).finish().ballot
        assert poll.settled == rule.settled(ballot, 16 - n)


@LAW
@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_fewer_entries_that_come_late_count_as_if_they_had_come_first(extra: list[bool]) -> None:
    # Most servers give the sampled token's entry on top where it is not among the most probable.
    found = []
    for index, has_extra in enumerate(extra):
        top = np.full((3, 6), np.nan)
        top[:, :5] = -np.linspace(1.0, 9.0, 5)
        if has_extra:
            top[0, 5] = top[1, 5] = -40.0
        tokens = ("It is", " \\boxed{4}", ".")
        logprobs = np.array([-40.0, -40.0, -1.0])
        found.append(Trajectory("".join(tokens), tokens, top, logprobs, "stop", index))
    batch = polled(found).finish().ballot.confidences.tolist()
    poll = Poll("How many?", budget=16, eager=True)
    for trajectory in found:
        poll.add(trajectory)
        poll.tally()
    assert poll.finish().ballot.confidences.tolist() == batch
    backwards = polled(found[::-1], eager=True).finish().ballot.confidences.tolist()
    assert backwards == batch
    assert len(set(batch)) == 1


# What to sample


def test_the_whole_budget_is_one_batch_without_a_warm_up() -> None:
    poll = Poll("How many?", budget=8)
    batch = poll.next_batch()
    assert batch is not None
    assert (batch.indices, batch.steering) == (range(8), SelfStepConf())
    assert poll.next_batch() is None


def test_plain_sampling_has_no_controller() -> None:
    batch = Poll("How many?", budget=2, steering=None).next_batch()
    assert batch is not None
    assert batch.steering is None


def test_a_warm_up_comes_first_and_the_rest_goes_by_it() -> None:
    rule = DeepConfOnline(eta=50, n_warmup=3)
    poll = Poll("How many?", budget=5, steering=rule)
    first = poll.next_batch()
    assert first is not None
    assert (first.indices, first.steering) == (range(3), rule)
    for index, confidence in enumerate((5.0, 7.0, 9.0)):
        poll.add(reply("4", confidence, index))
    rest = poll.next_batch()
    assert rest is not None
    assert (rest.indices, rest.steering) == (range(3, 5), rule.after([5.0, 6.0, 7.0]))
    assert poll.next_batch() is None


def test_the_threshold_is_by_the_controllers_measure_and_the_vote_by_ones_own() -> None:
    rule = DeepConfOnline(eta=50, window=1, n_warmup=2)
    poll = Poll("How many?", budget=3, steering=rule, measure="mean")
    poll.next_batch()
    for index in range(2):
        poll.add(reply("4", 9.0, index))
    rest = poll.next_batch()
    assert rest is not None
    assert rest.steering == rule.after([5.0])
    assert poll.finish().ballot.confidences.tolist() == [7.0, 7.0]


def test_a_budget_within_the_warm_up_has_one_batch() -> None:
    poll = Poll("How many?", budget=4, steering=DeepConfOnline())
    batch = poll.next_batch()
    assert batch is not None
    assert batch.indices == range(4)
    assert poll.next_batch() is None


def test_a_poll_that_is_settled_wants_nothing_more() -> None:
    poll = Poll("How many?", budget=32, steering=DeepConfOnline(n_warmup=4), stop_when="beta")
    poll.next_batch()
    for index in range(4):
        poll.add(reply("4", 9.0, index))
    assert poll.settled
    assert poll.next_batch() is None


def test_the_controller_looks_for_answers_as_the_question_has_them() -> None:
    guarded = SelfStepConf(guard=True)
    for template, stated in (("math", False), ("plain", True)):
        steering = Poll(Problem("How many?", template=template), steering=guarded).steering
        assert steering is not None
        assert steering.has_answer("The answer is 4.") == stated
        assert steering.has_answer(r"\boxed{4}")
    own = Poll("How many?", steering=guarded, extract=lambda text: text.split()[-1]).steering
    assert own is not None
    assert own.has_answer("anything")


# Settled


class Never:
    """A rule that keeps what it is shown."""

    name = "never"

    def __init__(self) -> None:
        self.seen: list[list[int]] = []

    def settled(self, ballot: Ballot, n_left: int) -> bool:  # noqa: ARG002
        self.seen.append(ballot.classes.tolist())
        return False


def test_equal_answers_are_counted_as_one_in_any_order() -> None:
    poll = Poll("How many?", budget=8, stop_when=BetaRule())
    for index, answer in ((3, "0.5"), (0, "\\frac12"), (2, "1/2")):
        poll.accept(read(index, answer))
        assert not poll.settled
    poll.accept(read(1, "$0.5$", math.nan))
    assert poll.settled


def test_two_answers_are_compared_once() -> None:
    asked: list[tuple[str, str]] = []

    def equal(a: str, b: str) -> bool:
        asked.append((a, b))
        return a.lower() == b.lower()

    rule = Never()
    poll = Poll("How many?", budget=8, stop_when=rule, same=Equality("own", equal=equal))
    for index, answer in enumerate(["a", "b", "A", None, "b", "c"]):
        poll.accept(read(index, answer))
        assert not poll.settled
    assert rule.seen[-1] == [0, 1, 0, -1, 1, 2]
    assert len(asked) == len(set(asked))


def test_answers_that_all_differ_are_hardly_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    n_compared = 0

    def counted(a: str, b: str) -> bool:
        nonlocal n_compared
        n_compared += 1
        return plainly_equal(a, b)

    monkeypatch.setattr("distrivote.answers.equivalence.plainly_equal", counted)
    rule = Never()
    poll = Poll("How many?", budget=64, stop_when=rule, same="notation")
    for index in range(64):
        poll.accept(read(index, str(index) if index % 2 else f"x^{index}"))
        assert not poll.settled
    assert rule.seen[-1] == list(range(64))
    assert n_compared == 0


def test_nothing_is_settled_before_the_first_trajectory_and_without_a_rule() -> None:
    class Always:
        name = "always"

        def settled(self, ballot: Ballot, n_left: int) -> bool:
            return len(ballot.classes) + n_left == 2

    poll = Poll("How many?", budget=2, stop_when=Always())
    assert not poll.settled
    poll.accept(read(0, None, math.nan))
    assert poll.settled
    assert not polled([reply("4", 9.0)] * 16).settled


def test_a_rule_is_asked_once_about_the_same_votes() -> None:
    rule = Never()
    poll = Poll("How many?", budget=2, stop_when=rule)
    poll.add(reply("4", 9.0))
    for _ in range(3):
        assert not poll.settled
    assert len(rule.seen) == 1


def test_the_engine_is_stopped_before_the_last_trajectory_is_handed_out() -> None:
    class Source(ReplayEngine):
        closed, n_made = False, 0

        def sample(self, *args: object, **kwargs: object):  # type: ignore[no-untyped-def, override]
            try:
                for trajectory in super().sample(*args, **kwargs):  # type: ignore[arg-type]
                    self.n_made += 1
                    yield trajectory
            finally:
                self.closed = True

    source = Source([reply("4", 9.0)] * 40)
    stream = sample_into(Poll("How many?", budget=40, stop_when="beta"), source, SamplingParams())
    found = [next(stream) for _ in range(4)]
    assert source.closed
    assert list(stream) == []
    assert [trajectory.index for trajectory in found] == [0, 1, 2, 3]
    assert source.n_made == 4
    left = Source([reply("4", 9.0)] * 40)
    stream = sample_into(Poll("How many?", budget=40, stop_when="beta"), left, SamplingParams())
    next(stream)
    stream.close()
    assert left.closed


# The end


def test_trajectories_that_were_ended_have_no_vote() -> None:
    ended = replace(reply("5", 3.0, 1), finish_reason=ENDED)
    solution = polled([reply("4", 9.0), ended]).finish()
    assert solution.ballot.labels == ("4",)
    assert solution.ballot.classes.tolist() == [0, -1]
    assert solution.ballot.confidences.tolist() == [9.0, 3.0]
    assert [reading.answer for reading in solution.readings] == ["4", "5"]
    assert "1 of 2 trajectories was ended for low confidence and has no vote" in solution.tally.notes


def test_a_failure_is_noted_and_the_rest_votes() -> None:
    failure = EngineError("the server is gone")
    solution = polled([reply("4", 9.0)], stop_when="beta:0.5").finish(failure)
    told = "the engine failed after 1 of 16 trajectories, which the vote rests on: the server is gone"
    assert (solution.answer, solution.stopped, solution.n_saved) == ("4", told, 0)
    assert solution.tally.notes[0] == told


def test_a_failure_before_the_first_trajectory_is_raised() -> None:
    with pytest.raises(EngineError, match="gone"):
        Poll("How many?").finish(EngineError("gone"))


def test_why_the_sampling_stopped_is_said() -> None:
    settled = polled([reply("4", 9.0, index) for index in range(4)], stop_when="beta").finish()
    assert settled.stopped == "the vote was settled after 4 of 16 trajectories (beta:0.95)"
    assert (settled.is_settled, settled.n_saved, settled.n_tokens_saved) == (True, 12, 24)
    whole = polled([reply("4", 9.0, index) for index in range(16)], stop_when="beta").finish()
    assert (whole.stopped, whole.is_settled, whole.n_saved) == (None, False, 0)
    broken_off = polled([reply("4", 9.0)], stop_when="beta").finish()
    assert (broken_off.stopped, broken_off.is_settled, broken_off.n_saved) == (None, False, 0)


def test_an_improbable_answer_is_withheld() -> None:
    found = [reply("4", 9.0), reply("5", 9.0, 1)]
    assert polled(found).finish().withheld is None
    assert polled(found, min_probability=0.99).finish().withheld is not None
    with pytest.raises(InputError, match="least probability"):
        Poll("How many?", min_probability=2.0)


def test_without_any_trajectory_there_is_no_answer() -> None:
    solution = Poll("How many?").finish()
    assert (solution.answer, solution.best, solution.n_tokens_saved) == (None, None, 0)


def test_trajectories_whose_confidences_do_not_compare_are_refused() -> None:
    for found in ([5, 9], [9, 5]):
        poll = Poll("How many?", eager=True)
        poll.add(reply("4", 9.0, 0, width=found[0]))
        with pytest.raises(InputError, match="do not compare"):
            poll.add(reply("4", 9.0, 1, width=found[1]))
        with pytest.raises(InputError, match="do not compare"):
            polled([reply("4", 9.0, 0, width=width) for width in found]).finish()


def test_a_solution_of_finished_trajectories_is_that_of_a_poll() -> None:
    found = [reply("4", 9.0), reply("5", 8.0, 1), reply("4", 7.0, 2)]
    assert solution_of("How many?", found, method="sc").tally == polled(found, method="sc").finish().tally


def test_a_rule_sees_only_trajectories_before_which_no_number_is_missing() -> None:
    poll = Poll("?", budget=16, method="sc", steering=None, stop_when="beta:0.8")
    for index in (1, 2, 3, 5):
        poll.add(Trajectory("It is \\boxed{4}.", index=index))
        assert not poll.settled
    poll.add(Trajectory("It is \\boxed{4}.", index=0))
    assert poll.settled
    assert len(poll.finish().trajectories) == 5


def test_with_a_rule_each_batch_doubles_what_was_begun() -> None:
    poll = Poll("?", budget=40, method="sc", steering=None, stop_when="beta")
    sizes, number = [], 0
    while (batch := poll.next_batch()) is not None:
        sizes.append(len(batch.indices))
        for index in batch.indices:
            number += 1
            poll.add(Trajectory(f"It is \\boxed{{{number}}}.", index=index))
    assert sizes == [8, 8, 16, 8]


def test_without_a_rule_all_are_begun_at_once() -> None:
    batch = Poll("?", budget=40, steering=None).next_batch()
    assert batch is not None
    assert batch.indices == range(40)


def test_a_question_without_hope_says_so() -> None:
    poll = Poll("?", budget=16, method="sc", steering=None, stop_when="sure:0.95")
    for index in range(12):
        poll.add(Trajectory(f"It is \\boxed{{{index}}}.", index=index))
    assert poll.settled
    said = "no answer was likely to reach a probability of 95% after 12 of 16 trajectories (sure:0.95:sc)"
    assert poll.finish().stopped == said
