"""Several signals made into one: noise gets no say, two good ones beat each, scales don't matter."""

from __future__ import annotations

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.voting.signals import combine
from distrivote.voting.vote import lessons_of

N_QUESTIONS, N = 60, 32


class Made:
    """Questions in which right answers (class 0) are surer by two independent signals, and noise."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        shape = N_QUESTIONS * N
        right = rng.random(shape) < 0.45
        self.classes = np.where(right, 0, rng.integers(1, 5, shape))
        self.offsets = np.arange(N_QUESTIONS + 1) * N
        self.good = np.exp(rng.normal(2.0, 0.1, shape) + 0.15 * right)
        self.better = np.exp(rng.normal(0.0, 0.5, shape) + 1.2 * right)
        self.noise = np.exp(rng.normal(0.0, 1.0, shape))
        self.misleading = np.exp(rng.normal(0.0, 1.0, shape) - 2.0 * right)
        self.right = right

    def separation(self, values: np.ndarray) -> float:
        logs = np.log(values)
        return float((logs[self.right].mean() - logs[~self.right].mean()) / logs[~self.right].std())


def test_noise_and_what_misleads_get_next_to_no_weight() -> None:
    made = Made()
    signals = {"good": made.good, "better": made.better, "noise": made.noise, "bad": made.misleading}
    weights = combine(signals, made.classes, made.offsets).weights
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights["bad"] == 0.0
    assert weights["noise"] < 0.1
    assert weights["better"] > weights["good"] > 0.2


def test_two_signals_together_separate_better_than_each() -> None:
    made = Made()
    both = combine({"good": made.good, "better": made.better}, made.classes, made.offsets).confidences
    assert made.separation(both) > max(made.separation(made.good), made.separation(made.better))


def test_a_signal_that_comes_five_times_counts_about_once() -> None:
    made = Made()
    once = combine({"a": made.good, "b": made.better}, made.classes, made.offsets)
    copies = {f"a{i}": made.good for i in range(5)}
    often = combine(copies | {"b": made.better}, made.classes, made.offsets)
    assert often.weights["a0"] == pytest.approx(often.weights["a4"])
    assert abs(often.weights["b"] - once.weights["b"]) < 0.1
    assert made.separation(often.confidences) == pytest.approx(made.separation(once.confidences), rel=0.05)


def test_weights_and_confidences_are_those_of_the_formula() -> None:
    made = Made(1)
    signals = {"good": made.good, "better": made.better}
    # Some do not answer, class 0 is a class like any other, and one value is missing.
    made.classes[::7] = -1
    made.good[5] = np.nan
    there = made.classes >= 0
    z = []
    for values in signals.values():
        logs = np.log(values).reshape(N_QUESTIONS, N)
        known = there.reshape(N_QUESTIONS, N) & ~np.isnan(logs)
        rows = [
            [(x - row[k].mean()) / row[k].std() if ok else 0.0 for x, ok in zip(row, k, strict=True)]
            for row, k in zip(logs, known, strict=True)
        ]
        z.append(np.ravel(rows))
    alike = np.array([[a @ b / there.sum() for b in z] for a in z])
    worth = [lessons_of(made.classes, values, made.offsets).separation for values in signals.values()]
    assert min(worth) > 0
    weights = np.linalg.inv(alike + 0.1 * np.eye(2)) @ worth
    found = combine(signals, made.classes, made.offsets)
    assert list(found.weights.values()) == pytest.approx(weights / weights.sum())
    together = weights @ np.array(z)
    spread = np.sqrt((together[there] ** 2).mean())
    assert found.confidences == pytest.approx(np.exp(0.1 * together / spread))


def test_units_do_not_matter() -> None:
    made = Made()
    plain = combine({"a": made.good, "b": made.better}, made.classes, made.offsets)
    scaled = combine({"a": 1000 * made.good, "b": made.better**3}, made.classes, made.offsets)
    assert np.allclose(plain.confidences, scaled.confidences)


def test_a_signal_that_alone_is_worth_something_votes_as_it_is() -> None:
    made = Made()
    found = combine({"better": made.better, "bad": made.misleading}, made.classes, made.offsets)
    assert found.weights == {"better": 1.0, "bad": 0.0}
    assert found.confidences is made.better


def test_a_signal_that_adds_only_the_noise_of_another_gets_no_weight() -> None:
    made = Made()
    # Its own worth is above 0, but beside the other it would only take away.
    echo = np.exp(np.log(made.better) - 0.9 * made.right)
    assert combine({"echo": echo}, made.classes, made.offsets).weights == {"echo": 1.0}
    found = combine({"better": made.better, "echo": echo}, made.classes, made.offsets)
    assert found.weights == {"better": 1.0, "echo": 0.0}


def test_without_any_worth_all_are_equally_sure() -> None:
    made = Made()
    bad = {"bad": made.misleading, "worse": made.misleading**2}
    found = combine(bad, made.classes, made.offsets)
    assert found.weights == {"bad": 0.0, "worse": 0.0}
    assert np.unique(found.confidences).tolist() == [1.0]


def test_a_missing_value_leaves_the_say_to_the_other_signals() -> None:
    made = Made()
    gappy, other = made.better.copy(), made.good.copy()
    gappy[:3] = np.nan
    other[0] = np.nan
    found = combine({"gappy": gappy, "other": other}, made.classes, made.offsets)
    assert np.isnan(found.confidences[0])
    assert np.isfinite(found.confidences[1:]).all()


def test_a_single_question_works() -> None:
    made = Made()
    found = combine({"a": made.good[:N], "b": made.better[:N]}, made.classes[:N], np.array([0, N]))
    assert np.isfinite(found.confidences).all()


def test_questions_that_tell_nothing_give_no_weights() -> None:
    ones = np.ones(4)
    found = combine({"a": ones, "b": 2 * ones}, np.zeros(4, dtype=np.int64), np.array([0, 4]))
    assert found.weights == {"a": 0.0, "b": 0.0}


def test_no_signal_is_refused() -> None:
    with pytest.raises(InputError, match="no signal"):
        combine({}, np.zeros(1, dtype=np.int64), np.array([0, 1]))
