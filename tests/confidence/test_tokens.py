from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.confidence import (
    entries_given,
    token_confidence,
    token_entropy,
    token_logprob,
    token_margin,
    token_self_certainty,
)
from distrivote.confidence.tokens import token_confidences
from distrivote.errors import InputError
from strategies import LAW

NAN, INF = math.nan, math.inf


def naive_top(row: list[float], k: int) -> list[float]:
    usable = [x for x in row if not math.isnan(x) and not math.isinf(x) and x > -1000]
    return sorted(usable, reverse=True)[:k]


def naive_confidence(row: list[float], k: int) -> float:
    top = naive_top(row, k)
    return -sum(top) / len(top) if top else NAN


def naive_entropy(row: list[float], k: int) -> float:
    top = naive_top(row, k)
    if not top:
        return NAN
    total = sum(math.exp(x - top[0]) for x in top)
    shares = [math.exp(x - top[0]) / total for x in top]
    return -sum(p * math.log(p) for p in shares if p)


def naive_self_certainty(row: list[float], k: int) -> float:
    top = naive_top(row, k)
    if len(top) < 2:
        return NAN
    log_total = top[0] + math.log(sum(math.exp(x - top[0]) for x in top))
    return -sum(math.log(len(top)) + x - log_total for x in top) / len(top)


TWINS = [
    (token_confidence, naive_confidence),
    (token_entropy, naive_entropy),
    (token_self_certainty, naive_self_certainty),
]

good = st.floats(-60, 0)
entries = st.one_of(good, good, good, st.sampled_from([NAN, -INF, -9999.0, -1000.0]))


@st.composite
def tables(draw: st.DrawFn, entry: st.SearchStrategy[float] = entries) -> list[list[float]]:
    """Return log-probabilities of a few tokens; a single one is not the commonest number in a row."""
    width = draw(st.integers(2, 6))
    row = st.lists(entry, min_size=width, max_size=width)
    first = [draw(good), draw(good), *draw(st.lists(entry, min_size=width - 2, max_size=width - 2))]
    table = [first, *draw(st.lists(row, max_size=5))]
    counts = [sum(not math.isnan(x) for x in row) for row in table]
    n_most = max(counts.count(n) for n in counts if n > 1)
    return [first] if counts.count(1) > n_most else table


def test_confidence_is_minus_the_mean_of_the_k_most_probable() -> None:
    table = np.array([[-0.5, -9.0, -4.0, -2.5], [-3.0, -1.0, -2.0, -50.0]])
    assert token_confidence(table, k=3).values.tolist() == pytest.approx([7.0 / 3, 2.0])


def test_a_peaked_distribution_is_surer_than_a_flat_one_in_every_measure() -> None:
    table = np.log([[0.97, 0.01, 0.01, 0.01], [0.25, 0.25, 0.25, 0.25]])
    for measure in (token_confidence, token_self_certainty):
        peaked, flat = measure(table, 4).values
        assert peaked > flat
    peaked, flat = token_margin(table).values
    assert peaked > flat
    assert token_entropy(table, 4).values[0] < token_entropy(table, 4).values[1]


def test_even_odds_have_the_entropy_log_k_and_no_self_certainty() -> None:
    table = np.log(np.full((1, 8), 0.05))
    assert token_entropy(table, 8).values[0] == pytest.approx(math.log(8))
    assert token_self_certainty(table, 8).values[0] == pytest.approx(0, abs=1e-12)


def test_entropy_and_self_certainty_of_a_known_pair() -> None:
    table = np.log([[0.6, 0.2, 0.2]])
    shares = (0.75, 0.25)
    entropy = -sum(p * math.log(p) for p in shares)
    certainty = -sum(math.log(2 * p) for p in shares) / 2
    assert token_entropy(table, 2).values[0] == pytest.approx(entropy)
    assert token_self_certainty(table, 2).values[0] == pytest.approx(certainty)


def test_an_extra_entry_for_the_sampled_token_does_not_count() -> None:
    table = np.array([[-0.1, -3.0, NAN], [-0.1, -3.0, NAN], [-0.1, -3.0, -30.0]])
    result = token_confidence(table)
    assert result.k == 2
    assert result.n_lost == 0
    assert result.values.tolist() == pytest.approx([1.55, 1.55, 1.55])


def test_fewer_entries_everywhere_are_a_smaller_k_and_no_loss() -> None:
    table = np.full((4, 20), NAN)
    table[:, :5] = [-0.1, -2.0, -3.0, -4.0, -5.0]
    assert token_confidence(table, k=20)[1:] == (0, 5)


def test_a_smaller_k_than_given_takes_the_most_probable() -> None:
    result = token_confidence(np.array([[-5.0, -1.0, -3.0]]), k=2)
    assert (result.values[0], result.k, result.n_lost) == (2.0, 2, 0)


@pytest.mark.parametrize("bad", [NAN, INF, -INF, -9999.0, -1000.0])
def test_an_unusable_entry_is_left_out_and_its_token_counted(bad: float) -> None:
    table = np.array([[-1.0, -3.0, -5.0], [-1.0, bad, -5.0], [-1.0, -3.0, -5.0]])
    result = token_confidence(table)
    assert result.values.tolist() == [3.0, 3.0, 3.0]
    assert (result.n_lost, result.k) == (1, 3)


@pytest.mark.parametrize("bad", [NAN, -INF, -9999.0])
def test_a_token_with_nothing_left_has_no_value(bad: float) -> None:
    table = np.array([[-1.0, -3.0], [bad, bad], [-2.0, -3.0]])
    for measure in (token_confidence, token_entropy, token_self_certainty):
        result = measure(table, 20)
        assert np.isnan(result.values).tolist() == [False, True, False]
        assert result.n_lost == 1


def test_one_entry_left_has_a_confidence_but_no_self_certainty_and_no_margin() -> None:
    table = np.array([[-1.0, -3.0], [-0.5, -INF]])
    assert token_confidence(table).values[1] == 0.5
    assert token_entropy(table).values[1] == 0.0
    assert np.isnan(token_self_certainty(table).values[1])
    assert np.isnan(token_margin(table).values[1])


def test_very_improbable_entries_stay_as_they_are() -> None:
    assert token_confidence(np.array([[-0.0, -20.0, -40.0]])).values[0] == 20.0


@pytest.mark.parametrize("width", [0, 3])
def test_no_entries_at_all_give_no_values_and_no_losses(width: int) -> None:
    table = np.full((2, width), NAN)
    for measure in (token_confidence, token_entropy, token_self_certainty):
        result = measure(table, 20)
        assert np.isnan(result.values).all()
        assert (len(result.values), result.n_lost, result.k) == (2, 0, 0)
    assert np.isnan(token_margin(table).values).all()


def test_no_tokens_give_no_values() -> None:
    assert len(token_confidence(np.empty((0, 20))).values) == 0
    assert len(token_entropy(np.empty((0, 0))).values) == 0
    assert len(token_logprob(np.empty(0)).values) == 0


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, True, None])
def test_a_k_below_two_is_refused(k: object) -> None:
    with pytest.raises(InputError, match="at least the 2 most probable"):
        token_confidence(np.array([[-1.0, -2.0]]), k=k)  # type: ignore[arg-type]


def test_one_entry_per_token_is_refused() -> None:
    with pytest.raises(InputError, match="1 log-probability per token"):
        token_confidence(np.array([[-1.0], [-2.0]]))


def test_of_two_equally_common_numbers_of_entries_the_larger_is_k() -> None:
    assert entries_given(np.array([[-1.0, -2.0, NAN], [-1.0, -2.0, -3.0]])) == 3


def test_tokens_without_entries_do_not_decide_k() -> None:
    assert entries_given(np.array([[NAN, NAN], [NAN, NAN], [-1.0, -2.0]])) == 2


def test_sampled_log_probabilities_lose_their_sentinels() -> None:
    result = token_logprob(np.array([-0.5, NAN, -9999.0, -INF, -40.0]))
    assert np.isnan(result.values).tolist() == [False, True, True, True, False]
    assert result.n_lost == 3


def test_the_input_is_not_changed() -> None:
    table = np.array([[-3.0, -INF, -1.0], [-3.0, -2.0, -1.0]])
    before = table.copy()
    for measure, _ in TWINS:
        measure(table, 2)
    np.testing.assert_array_equal(table, before)


@LAW
@given(tables(), st.integers(2, 8))
def test_every_measure_agrees_with_its_twin(table: list[list[float]], k: int) -> None:
    for measure, twin in TWINS:
        result = measure(np.array(table), k)
        expected = [twin(row, result.k) for row in table]
        np.testing.assert_allclose(result.values, expected, rtol=1e-9, atol=1e-9)
        assert result.n_lost == sum(len(naive_top(row, result.k)) < result.k for row in table)


@LAW
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_entries_does_not_matter(table: list[list[float]], random: object) -> None:
    shuffled = [random.sample(row, len(row)) for row in table]  # type: ignore[attr-defined]
    for measure, _ in TWINS:
        one, other = measure(np.array(table), 4), measure(np.array(shuffled), 4)
        np.testing.assert_allclose(one.values, other.values, rtol=1e-12, atol=1e-12)
        assert one[1:] == other[1:]


@LAW
@given(tables(), st.integers(2, 8))
def test_entropies_lie_between_zero_and_log_k(table: list[list[float]], k: int) -> None:
    result = token_entropy(np.array(table), k)
    values = result.values[~np.isnan(result.values)]
    assert (values >= 0).all()
    assert (values <= math.log(result.k)).all()


@LAW
@given(tables(good))
def test_a_confidence_is_at_least_log_k_where_the_probabilities_sum_to_one(
    table: list[list[float]],
) -> None:
    logs = np.array(table)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    result = token_confidence(logs)
    assert (result.values >= math.log(result.k) - 1e-9).all()


@pytest.mark.parametrize("lost", [None, -9999.0, -np.inf, np.nan])
@pytest.mark.parametrize("sizes", [(3, 1, 4), (1,), (2, 0, 3), ()])
def test_several_trajectories_are_measured_as_each_alone(sizes: tuple[int, ...], lost: float | None) -> None:
    rng = np.random.default_rng(7)
    tops = [-rng.exponential(3.0, (size, 20)) for size in sizes]
    if lost is not None and sizes:
        tops[0][0, 3] = lost
    together = token_confidences(tops, 20)
    for one, top in zip(together, tops, strict=True):
        alone = token_confidence(top, 20)
        np.testing.assert_array_equal(one.values, alone.values)
        assert (one.n_lost, one.k) == (alone.n_lost, alone.k)


def test_trajectories_of_unlike_width_are_measured_each_alone() -> None:
    tops = [np.full((2, 5), -1.0), np.full((3, 20), -2.0)]
    assert [each.k for each in token_confidences(tops, 20)] == [5, 20]
