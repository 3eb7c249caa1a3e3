"""The AUROC of all questions together, against scikit-learn, and its interval against a plain bootstrap."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.estimates import N_RESAMPLES, resamples
from distrivote.evaluation.pooled_auroc import mean_auroc, pooled_auroc
from distrivote.evaluation.pools import Pool
from evaluation.made_pools import pool, pool_set, random_set

sklearn_metrics = pytest.importorskip("sklearn.metrics")


def rounded(pools: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """Return the pools with many equal confidences."""
    return tuple(dataclasses.replace(one, confidence=np.round(one.confidence)) for one in pools)


def joined(pools: list[Pool]) -> tuple[np.ndarray, np.ndarray]:
    there = [one.classes >= 0 for one in pools]
    right = np.concatenate([one.correct[who] for one, who in zip(pools, there, strict=True)])
    return right, np.concatenate([one.confidence[who] for one, who in zip(pools, there, strict=True)])


def test_it_agrees_with_scikit_learn_in_the_pool_and_in_every_resample() -> None:
    pools = rounded(random_set(5, 12).pools)
    found = pooled_auroc(pools, "made", 3)
    assert found.value == pytest.approx(sklearn_metrics.roc_auc_score(*joined(list(pools))), abs=1e-12)
    drawn = resamples(3, "made", 5).astype(int)
    for index in range(0, N_RESAMPLES, 100):
        again = [one for one, times in zip(pools, drawn[index], strict=True) for _ in range(times)]
        assert found.resampled[index] == pytest.approx(sklearn_metrics.roc_auc_score(*joined(again)))
    low, high = found.interval or (0.0, 0.0)
    assert (low, high) == tuple(np.quantile(found.resampled, [0.025, 0.975]))
    assert low < found.value < high


def test_answers_that_are_all_right_or_all_wrong_have_no_auroc() -> None:
    for right in ((0, 1), ()):
        one = pool("q", [0, 0, 1], [1.0, 2.0, 3.0], right)
        found = pooled_auroc((one, dataclasses.replace(one, question="r")), "made", 0)
        assert np.isnan(found.value)
        assert found.interval is None


def test_a_single_question_has_no_interval() -> None:
    found = pooled_auroc((pool("q", [0, 1, 0, 1], [2.0, 1.0, 3.0, 4.0]),), "made", 0)
    assert found.value == 0.5
    assert found.interval is None


def test_benchmarks_weigh_as_much_as_they_have_questions() -> None:
    parts = [pooled_auroc(random_set(n, 20, seed=n).pools, str(n), 0) for n in (2, 6)]
    both = mean_auroc(parts)
    assert both.value == pytest.approx((2 * parts[0].value + 6 * parts[1].value) / 8)
    assert len(both.questions) == 8


def test_a_difference_is_real_only_on_enough_of_the_same_questions() -> None:
    good = random_set(8, 40)
    noise = [dataclasses.replace(one, confidence=one.confidence[::-1].copy()) for one in good.pools]
    ours, theirs = pooled_auroc(good.pools, "made", 0), pooled_auroc(noise, "made", 0)
    assert ours.really_differs(theirs)
    assert not ours.really_differs(ours)
    assert not pooled_auroc(good.pools[:5], "made", 0).really_differs(pooled_auroc(noise[:5], "made", 0))
    other = [dataclasses.replace(one, question=f"other {one.question}") for one in noise]
    assert not ours.really_differs(pooled_auroc(other, "made", 0))


def test_separation_shows_it_with_its_interval() -> None:
    (result,) = evaluate([random_set(6, 24)], ["separation"], n_repeats=1).results
    (row,) = result.tables[0].rows
    assert float(row["made_low"] or 0) < float(row["made"] or 0) < float(row["made_high"] or 0)
    (alone,) = evaluate([pool_set(pool("q", [0, 0], [1.0, 2.0]))], ["separation"], n_repeats=1).results
    assert alone.tables[0].rows[0].get("made") is None
