from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.confidence import MEASURES, measure_named, token_confidence
from distrivote.errors import InputError, UnknownNameError
from distrivote.trajectory import Insertion, Interventions, Trajectory
from strategies import LAW

NAN, INF = math.nan, math.inf


def trajectory(
    confidences: list[float], tokens: list[str] | None = None, logprobs: list[float] | None = None
) -> Trajectory:
    """Return a trajectory with the given token confidences, k = 2."""
    tokens = tokens or ["t"] * len(confidences)
    top = np.array([[-0.5 * c, -1.5 * c] for c in confidences]).reshape(-1, 2)
    own = np.zeros(len(tokens)) if logprobs is None else np.array(logprobs)
    return Trajectory("".join(tokens), tuple(tokens), top, own)


def value(name: str, reply: Trajectory, **where: object) -> float:
    where.setdefault("step_ends", np.array([reply.n_tokens] if reply.n_tokens else [], dtype=np.int64))
    return measure_named(name).of(reply, **where).value  # type: ignore[arg-type]


def naive_group_means(values: list[float], size: int) -> list[float]:
    if len(values) < size:
        return [sum(values) / len(values)]
    return [sum(values[i : i + size]) / size for i in range(len(values) - size + 1)]


def test_mean_is_the_mean_over_all_tokens() -> None:
    assert value("mean", trajectory([1.0, 2.0, 6.0])) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("answer_end", "expected"),
    [(1, 1.5), (4, 1.5), (5, 6.0), (8, 6.0), (9, 20.0), (None, 20.0), (99, 20.0)],
)
def test_answer_step_is_the_step_in_which_the_answer_ends(answer_end: int | None, expected: float) -> None:
    #                              steps: |-----------|  |---------|  |-|
    reply = trajectory([1.0, 2.0, 5.0, 7.0, 20.0], ["ab", "\n\n", "cd", "\n\n", "e"])
    ends = np.array([2, 4, 5])
    assert value("answer-step", reply, step_ends=ends, answer_end=answer_end) == pytest.approx(expected)


def test_a_token_without_text_does_not_move_the_answer() -> None:
    reply = trajectory([1.0, 2.0, 4.0, 8.0], ["4", "", "\n\n", "bye"])
    assert value("answer-step", reply, step_ends=np.array([3, 4]), answer_end=1) == pytest.approx(7 / 3)


def test_answer_step_needs_the_steps() -> None:
    with pytest.raises(InputError, match="step_ends"):
        measure_named("answer-step").of(trajectory([1.0]))


def test_answer_step_refuses_steps_of_another_trajectory() -> None:
    with pytest.raises(InputError, match="do not cut 2 tokens"):
        measure_named("answer-step").of(trajectory([1.0, 2.0]), step_ends=np.array([5]))


def test_tail_is_the_mean_of_the_last_tokens() -> None:
    assert value("tail:2", trajectory([9.0, 1.0, 2.0])) == pytest.approx(1.5)
    assert value("tail", trajectory([9.0] * 100 + [1.0] * 2048)) == pytest.approx(1.0)


def test_groups_slide_by_one_token() -> None:
    reply = trajectory([8.0, 2.0, 4.0, 6.0])
    assert value("lowest-group:2", reply) == pytest.approx(3.0)
    assert value("bottom-groups:2", reply) == pytest.approx(3.0)


def test_bottom_groups_is_the_mean_of_the_lowest_tenth() -> None:
    reply = trajectory([float(c) for c in range(1, 31)])
    assert value("bottom-groups:1", reply) == pytest.approx(2.0)
    assert value("lowest-group:1", reply) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["tail", "lowest-group", "bottom-groups"])
def test_a_short_trajectory_is_one_group(name: str) -> None:
    assert value(name, trajectory([1.0, 2.0, 6.0])) == pytest.approx(3.0)


@pytest.mark.parametrize("name", ["logprob", "perplexity"])
def test_log_probability_and_perplexity_are_the_geometric_mean_probability(name: str) -> None:
    reply = trajectory([1.0, 1.0, 1.0], logprobs=np.log([0.5, 0.25, 1.0]).tolist())
    assert value(name, reply) == pytest.approx(0.5)


def test_entropy_is_one_for_certainty_and_one_over_k_for_even_odds() -> None:
    even = Trajectory("ab", ("a", "b"), np.log(np.full((2, 4), 0.2)), np.zeros(2))
    certain = Trajectory("a", ("a",), np.array([[0.0, -900.0]]), np.zeros(1))
    assert value("entropy", even) == pytest.approx(0.25)
    assert value("entropy", certain) == pytest.approx(1.0)


def test_self_certainty_of_even_odds_is_tiny_but_positive() -> None:
    even = Trajectory("a", ("a",), np.log(np.full((1, 4), 0.25)), np.zeros(1))
    assert 0 < value("self-certainty", even) < 1e-12


def test_tokens_without_a_value_are_left_out_first() -> None:
    top = np.array([[-1.0, -3.0], [NAN, NAN], [-2.0, -6.0]])
    reply = Trajectory("abc", ("a", "b", "c"), top, np.zeros(3))
    assert value("mean", reply) == 3.0
    assert value("tail:2", reply) == 3.0
    assert value("lowest-group:2", reply) == 3.0


@pytest.mark.parametrize("name", MEASURES)
def test_a_reply_without_log_probabilities_has_no_confidence_and_no_note(name: str) -> None:
    no_steps = np.empty(0, dtype=np.int64)
    bare = measure_named(name).of(Trajectory("The answer is 4."), step_ends=no_steps)
    assert math.isnan(bare.value)
    assert bare.notes == ()
    tokens_only = Trajectory("4!", ("4", "!"), np.empty((2, 0)), np.full(2, NAN))
    result = measure_named(name).of(tokens_only, step_ends=np.array([2]), answer_end=1)
    assert math.isnan(result.value)
    assert result.notes == ()


@pytest.mark.parametrize(("n_bad", "noted"), [(0, False), (1, False), (2, True)])
def test_more_than_one_percent_of_damaged_tokens_is_noted(n_bad: int, noted: bool) -> None:
    top = np.tile([-0.5, -4.0, -6.0], (100, 1))
    top[:n_bad, 1] = -9999.0
    result = measure_named("mean").of(Trajectory("t" * 100, ("t",) * 100, top, np.zeros(100)))
    assert bool(result.notes) == noted
    if noted:
        assert "2 of its 100 tokens lack some of their 3 log-probabilities" in result.notes[0]


def test_a_cut_off_distribution_has_no_confidence_and_says_why() -> None:
    top = np.tile([0.0, -INF, -INF], (5, 1))
    result = measure_named("mean").of(Trajectory("ttttt", ("t",) * 5, top, np.zeros(5)))
    assert math.isnan(result.value)
    assert "before top-p" in result.notes[-1]


@pytest.mark.parametrize("name", ["answer-steps", "tail:", "tail:0", "tail:x", "tail:-3", "mean:4", ""])
def test_an_unknown_measure_is_an_error_that_names_some(name: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown measure"):
        measure_named(name)


def test_the_number_of_entries_that_counted_is_recorded() -> None:
    assert measure_named("mean").of(trajectory([1.0])).k == 2
    assert measure_named("logprob").of(trajectory([1.0])).k == 0


@st.composite
def replies(draw: st.DrawFn) -> Trajectory:
    """Return trajectories with whole distributions over four tokens."""
    n = draw(st.integers(1, 12))
    weights = draw(st.lists(st.lists(st.floats(-30, 0), min_size=4, max_size=4), min_size=n, max_size=n))
    logs = np.array(weights)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return Trajectory("t" * n, ("t",) * n, logs, logs[:, draw(st.integers(0, 3))])


@LAW
@given(replies(), st.sampled_from([*MEASURES, "tail:2", "lowest-group:3", "bottom-groups:2"]))
def test_every_measure_is_positive(reply: Trajectory, name: str) -> None:
    assert value(name, reply, answer_end=1) > 0


@LAW
@given(replies(), st.sampled_from(["mean", "entropy", "self-certainty"]))
def test_sharpening_every_distribution_makes_a_reply_surer(reply: Trajectory, name: str) -> None:
    sharper = reply.top_logprobs * 2
    sharper -= np.log(np.exp(sharper).sum(axis=1, keepdims=True))
    other = Trajectory(reply.text, reply.tokens, sharper, reply.logprobs)
    assert value(name, other) >= value(name, reply) * (1 - 1e-9)


@LAW
@given(replies(), st.integers(1, 15))
def test_groups_agree_with_their_twin(reply: Trajectory, size: int) -> None:
    confidences = token_confidence(reply.top_logprobs).values.tolist()
    means = sorted(naive_group_means(confidences, size))
    n_bottom = max(1, len(means) // 10)
    assert value(f"lowest-group:{size}", reply) == pytest.approx(means[0])
    assert value(f"bottom-groups:{size}", reply) == pytest.approx(sum(means[:n_bottom]) / n_bottom)
    tail = confidences[-size:]
    assert value(f"tail:{size}", reply) == pytest.approx(sum(tail) / len(tail))


def test_injected_tokens_without_log_probabilities_are_not_lost_ones() -> None:
    top = np.log([[0.6, 0.3], [np.nan, np.nan], [0.5, 0.4]])
    record = Interventions((Insertion(1, 1),))
    steered = Trajectory("a wait b", ("a", " wait", " b"), top, top[:, 0], interventions=record)
    assert measure_named("mean").of(steered).notes == ()
    assert measure_named("mean").of(replace(steered, interventions=None)).notes != ()


def test_entropy_and_self_certainty_of_the_whole_distribution_go_first() -> None:
    top = np.log([[0.6, 0.3], [0.5, 0.4]])
    bare = Trajectory("ab", ("a", "b"), top, top[:, 0])
    reply = replace(bare, entropies=np.array([1.0, 3.0]), self_certainties=np.array([5.0, 6.0]))
    entropy, certainty = measure_named("entropy").of(reply), measure_named("self-certainty").of(reply)
    assert (entropy.value, entropy.k) == (pytest.approx(math.exp(-2)), 0)
    assert (certainty.value, certainty.k) == (5.5, 0)
    assert measure_named("entropy").of(bare).k == 2
    for name in ("mean", "logprob"):
        assert value(name, reply) == value(name, bare)


def test_a_token_without_a_value_of_the_whole_distribution_is_left_out_and_counted() -> None:
    top = np.log([[0.6, 0.3], [0.5, 0.4]])
    values = np.array([1.0, NAN])
    reply = Trajectory("ab", ("a", "b"), top, top[:, 0], entropies=values, self_certainties=values)
    found = measure_named("entropy").of(reply)
    assert found.value == pytest.approx(math.exp(-1))
    assert len(found.notes) == 1
