"""Scoring: every ask answered, the same numbers whatever else is asked and however it is cut."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.evaluation import scoring
from distrivote.evaluation.drawn import OneAnswer, Stages, Voting
from distrivote.evaluation.draws import draw
from distrivote.evaluation.pools import Pool, PoolSet
from distrivote.evaluation.scoring import Ask, Scores, score
from distrivote.voting.methods import parse_method
from distrivote.voting.vote import vote_batch
from evaluation.made_pools import pool, pool_set, random_set


def ask(method: str, budget: int = 16, **more: object) -> Ask:
    return dataclasses.replace(Ask(0, budget, Voting(parse_method(method))), **more)  # type: ignore[arg-type]


def same(one: Scores, other: Scores) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[key][name].questions, other[key][name].questions, equal_nan=True)
        and np.array_equal(one[key][name].repeats, other[key][name].repeats)
        for key in one
        for name in one[key]
    )


def test_every_draw_is_voted_on() -> None:
    made = random_set(5)
    asks = [ask(method) for method in ("sc", "wsc", "dis-gmm", "hier-top30")]
    scores = score([made], asks, n_repeats=7, seed=3)
    for one in asks:
        method = one.measure.pipeline.name  # type: ignore[attr-defined]
        right = np.empty((5, 7))
        for i, each in enumerate(made.pools):
            which = draw(each.question, each.n_trajectories, 16, 7, seed=3)
            winners = vote_batch(each.classes[which], each.confidence[which], [method])[method]
            right[i] = each.right_classes[np.maximum(winners, 0)] & (winners >= 0)
        sample = scores[one]["correct"]
        np.testing.assert_allclose(sample.questions, right.mean(axis=1), rtol=1e-15)
        np.testing.assert_array_equal(sample.repeats, right.sum(axis=0))


def test_numbers_do_not_depend_on_what_else_is_asked_or_how_it_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = random_set(9)
    asks = [ask("dis-gmm"), ask("wsc-top50"), ask("dis-gmm", 8), Ask(0, 16, Stages(parse_method("dis-gmm")))]
    together = score([made], asks, n_repeats=6, seed=0)
    for one in asks:
        assert same({one: together[one]}, score([made], [one], n_repeats=6, seed=0))
    monkeypatch.setattr(scoring, "BATCH", 200)
    monkeypatch.setattr(scoring, "_TOGETHER", 1)
    assert same(together, score([made], asks, n_repeats=6, seed=0))


def test_another_question_changes_nothing_for_the_others() -> None:
    made = random_set(6)
    fewer = dataclasses.replace(made, pools=made.pools[:4])
    all_of_them = score([made], [ask("dis-gmm")], n_repeats=8, seed=0)[ask("dis-gmm")]["correct"]
    some = score([fewer], [ask("dis-gmm")], n_repeats=8, seed=0)[ask("dis-gmm")]["correct"]
    np.testing.assert_array_equal(all_of_them.questions[:4], some.questions)


def test_workers_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    made = random_set(6)
    monkeypatch.setattr(scoring, "BATCH", 200)
    monkeypatch.setattr(scoring, "_WORTH_WORKERS", 0)
    asks = [ask("dis-gmm"), ask("sc")]
    alone = score([made], asks, n_repeats=4, seed=0)
    parts: list[float] = []
    assert same(alone, score([made], asks, n_repeats=4, seed=0, n_workers=2, watch=parts.append))
    assert parts == sorted(parts)
    assert parts[-1] == pytest.approx(1.0)


def test_without_confidences_only_what_needs_none_is_measured() -> None:
    made = pool_set(pool("q", [0, 0, 1], [np.nan] * 3))
    scores = score([made], [ask("sc", 3), ask("wsc", 3)], n_repeats=2, seed=0)
    assert list(scores) == [ask("sc", 3)]
    assert scores[ask("sc", 3)]["correct"].questions.tolist() == [1.0]


def test_an_answer_without_a_confidence_counts_in_the_majority_and_for_pass_at_1() -> None:
    made = pool_set(pool("q", [0, 0, 1], [np.nan, np.nan, 2.0]))
    alone = Ask(0, 3, OneAnswer())
    for asks in ([ask("sc", 3)], [ask("sc", 3), ask("wsc", 3)]):
        scores = score([made], asks, n_repeats=2, seed=0)
        assert scores[asks[0]]["correct"].questions.tolist() == [1.0]
        assert [scores[each]["correct"].questions[0] for each in asks[1:]] == [0.0] * len(asks[1:])
    found = score([made], [alone], n_repeats=300, seed=0)[alone]["correct"]
    assert 0.5 < found.questions[0] < 0.85


def test_another_measure_of_confidence_is_voted_with() -> None:
    classes = np.array([0, 1, 1])
    each = Pool("q", classes, classes == 0, np.array([1.0, 2.0, 3.0]), {"tail": np.array([9.0, 1.0, 1.0])})
    made = PoolSet("s", "m", "b", (each,))
    scores = score([made], [ask("bon", 3), ask("bon", 3, confidence="tail")], n_repeats=1, seed=0)
    assert scores[ask("bon", 3)]["correct"].questions.tolist() == [0.0]
    assert scores[ask("bon", 3, confidence="tail")]["correct"].questions.tolist() == [1.0]


def test_a_confidence_that_is_not_positive_is_named() -> None:
    with pytest.raises(InputError, match="confidence 1 of question q is -2"):
        score([pool_set(pool("q", [0, 1], [1.0, -2.0]))], [ask("wsc", 2)], n_repeats=1, seed=0)
