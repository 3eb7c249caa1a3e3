"""Online DistriVoting: the line that trajectories have to stay above, and what ends by it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import DistriVotingOnline, SelfStepConf, Trajectory, solve
from distrivote.engines.base import Job, SamplingParams
from distrivote.errors import InputError
from distrivote.steering import ENDED, Controller, End, Injection
from distrivote.steering.course import Course, Line, line_of
from distrivote.trajectory import Interventions
from steered_engine import Steered
from strategies import LAW


def record(levels: Sequence[float], step: int = 10) -> Interventions:
    return Interventions((), tuple(range(step, step * len(levels) + 1, step)), tuple(levels))


def course(levels: Sequence[float], step: int = 10) -> Course:
    return Course.of(record(levels, step))


WARM = [record([9.0, 9.0, 9.0]), record([9.4, 9.2, 9.0]), record([5.0, 5.0, 5.0]), record([5.4, 5.2, 5.0])]
RULE = DistriVotingOnline().after([9.0, 9.1, 5.0, 5.1], WARM, cut=9.0)


def slow_score(tokens: Sequence[float]) -> float:
    """Return the score of a trajectory by the confidences of its tokens, an even number of them."""
    mean, recent = np.mean(tokens), np.mean(tokens[len(tokens) // 2 :])
    return float((mean + recent) / 2)


@given(st.lists(st.floats(0.1, 30), min_size=1, max_size=12), st.integers(1, 8))
@LAW
def test_the_score_is_that_of_the_tokens(levels: list[float], half_step: int) -> None:
    tokens = np.repeat(levels, 2 * half_step)
    whole = course(levels, 2 * half_step)
    end, beyond = whole.scores(np.array([whole.n_tokens, 1e9]))
    assert end == pytest.approx(slow_score(tokens))
    assert beyond == end


def test_a_step_without_a_confidence_is_as_what_was_before() -> None:
    assert course([8.0, math.nan]).sums == course([8.0, 8.0]).sums
    assert course([math.nan, 6.0]).sums == (0.0, 0.0, 60.0)


def test_the_line_is_where_a_new_trajectory_is_worth_as_much() -> None:
    """By hand: two of each side, all of 20 tokens, judged after 10 of them."""
    courses = [course([level, level]) for level in (9.0, 11.0, 5.0, 7.0)]
    line = line_of(courses, [True, True, False, False], strictness=1.0)
    # Means 10 and 6, variance (2 + 2) / 2 = 2, so that chance explains 2 of 16; prior (2 + 1) / (4 + 2).
    difference = 4 * (1 - 2 / 16)
    least = 0.5 * 10 / 20
    assert line.tokens == (10.0,)
    assert line.scores[0] == pytest.approx(8 + 2 / difference * math.log(least / (1 - least)))


def test_the_stricter_the_higher_the_line() -> None:
    lines = [line_of([course([x, x]) for x in (9.0, 11.0, 5.0, 7.0)], [True, True, False, False], strictness)
             for strictness in (0.5, 1.0, 1.5)]  # fmt: skip
    assert sorted(line.scores[0] for line in lines) == [line.scores[0] for line in lines]


@pytest.mark.parametrize("is_upper", [[True] * 4, [False] * 4])
def test_one_side_alone_ends_nothing(is_upper: list[bool]) -> None:
    courses = [course([level, level]) for level in (9.0, 9.5, 5.0, 5.5)]
    assert line_of(courses, is_upper, 1.0) == Line()


def test_sides_that_do_not_differ_end_nothing() -> None:
    courses = [course([level, level]) for level in (9.0, 5.0, 5.1, 8.9)]
    line = line_of(courses, [True, True, False, False], 1.5)
    assert not line.is_above(course([0.1]))


def test_nearly_done_is_not_ended() -> None:
    """The same score ends a trajectory early on and not shortly before its end."""
    courses = [course([level] * 20) for level in (8.0, 11.0, 5.0, 8.0)]
    line = line_of(courses, [True, True, False, False], 1.0)
    assert line.scores[0] > line.scores[-1]


def test_longer_than_the_likely_right_ones_needs_more() -> None:
    """Once all of the upper side would have finished, a trajectory has to be surer than before."""
    upper = [course([level] * 4) for level in (8.0, 11.0)]
    lower = [course([level] * 20) for level in (5.0, 8.0)]
    line = line_of([*upper, *lower], [True, True, False, False], 1.0)
    before, behind = np.interp([35, 55], line.tokens, line.scores)
    assert behind > before


def said(levels: Sequence[float], rule: Controller = RULE) -> list[object]:
    """Return what the rule says at the end of each step of four tokens."""
    stream = rule.start()
    found: list[object] = []
    for level in levels:
        for text in ("a", "b", "c"):
            assert stream.push(text, level) is None
        found.append(stream.push("d\n\n", level))
        if isinstance(found[-1], End):
            break
    return found


def test_a_trajectory_ends_at_a_step_below_the_line() -> None:
    assert said([5.0]) == [End()]
    assert said([9.0, 9.0, 9.0]) == [None] * 3
    assert said([9.0, 1.0, 1.0])[-1] == End()


def test_without_a_warm_up_a_cut_or_steps_nothing_ends() -> None:
    rule = DistriVotingOnline()
    values = [9.0, 9.1, 5.0, 5.1]
    for each in (
        rule,
        rule.after(values, WARM),
        rule.after(values, [None] * 4, 9.0),
        rule.after([], [], 9.0),
    ):
        assert said([0.1] * 4, each) == [None] * 4
    assert said([0.1] * 4, DistriVotingOnline(strictness=0.0).after(values, WARM, 9.0)) == [None] * 4


def test_it_may_reflect_first() -> None:
    rule = DistriVotingOnline(steps=SelfStepConf()).after([9.0, 9.1, 5.0, 5.1], WARM, cut=9.0)
    assert said([9.5, 5.0], rule) == [None, Injection("wait")]
    stream = rule.start()
    actions = [stream.push(f"{level}\n\n", level) for level in (9.5, 3.0, 3.0)]
    assert actions == [None, Injection("wait"), End()]
    assert stream.record().step_confidences == (9.5, 3.0, 3.0)


def test_an_engine_with_one_threshold_gets_the_lowest_of_the_line() -> None:
    rule = RULE.by_window(64)
    assert (rule.window, rule.threshold) == (64, min(RULE.floor.scores))
    assert DistriVotingOnline().by_window(64).threshold is None


def test_its_settings_have_no_line() -> None:
    assert DistriVotingOnline() == RULE
    assert RULE.ends_trajectories
    assert RULE.measure is None
    assert RULE.told([Trajectory("a", finish_reason=ENDED), Trajectory("b")]) == (
        "1 of 2 trajectories ended for low confidence"
    )


@given(st.lists(st.floats(1, 12), min_size=1, max_size=12))
@LAW
def test_a_finished_trajectory_would_have_ended_where_a_live_one_does(levels: list[float]) -> None:
    # Steps of four tokens and an unfinished last one, as most replies have.
    live = said(levels)
    n_steps = len(live) if isinstance(live[-1], End) else None
    ended = RULE.ended_at(record([*levels, 9.0], step=4), np.empty(0))
    assert ended == (None if n_steps is None else 4 * n_steps)


@pytest.mark.parametrize("options", [{"strictness": -1.0}, {"strictness": math.nan}, {"n_warmup": 0}])
def test_bad_settings_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="give"):
        DistriVotingOnline(**options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="as published"):
        DistriVotingOnline(steps=SelfStepConf.as_published())


def test_a_question_is_asked_with_a_warm_up_and_unsure_trajectories_end() -> None:
    engine = Steered()
    solution = solve(engine, "2 + 2?", budget=16, steering=DistriVotingOnline(n_warmup=8))
    ended = [each.index for each in solution.trajectories if each.finish_reason == ENDED]
    assert ended == [9, 11, 13, 15]
    assert solution.answer == "4"
    assert engine.n_tokens == 8 * 4 + 4 * 4 + 4 * 1
    assert "4 of 16 trajectories were ended for low confidence" in " ".join(solution.tally.notes)


def test_with_a_rule_it_samples_in_rounds() -> None:
    solution = solve(
        Steered(), "2 + 2?", budget=64, steering=DistriVotingOnline(n_warmup=8), stop_when="beta"
    )
    assert len(solution.trajectories) < 64
    assert solution.answer == "4"


def test_jobs_have_controllers_of_their_own() -> None:
    jobs = [Job((), SamplingParams(), range(1, 3), controller=RULE), Job((), SamplingParams(), range(1, 3))]
    found = [
        (each.job, each.trajectory.finish_reason) for each in Steered().sample_all(jobs, DistriVotingOnline())
    ]
    assert found == [(0, ENDED), (0, "stop"), (1, "stop"), (1, "stop")]
    assert [each.trajectory.finish_reason for each in Steered().sample_all(jobs, None)] == ["stop"] * 4


def test_it_has_a_name() -> None:
    assert DistriVotingOnline().name == "DistriVoting online"
