"""Answers as components: which are shown, and whether a mixture finds them."""

from __future__ import annotations

import numpy as np
import pytest

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.answers import Answer, mixture_row, most_frequent
from evaluation.made_pools import pool, pool_set, random_set


def test_the_most_frequent_answers_of_all_questions_are_compared() -> None:
    first = pool("q1", [0, 0, 0, 1, 1, -1], [5, 6, 7, 1, 2, 9])
    second = pool("q2", [1, 1, 1, 1, 0, 0], [4, 4, 4, 4, 8, np.nan], right=[1])
    found = most_frequent([first, second])
    assert [(answer.name, len(answer.values), answer.right) for answer in found] == [
        ("q2, answer 1", 4, True),
        ("q1, answer 1", 3, True),
        ("q1, answer 2", 2, False),
        ("q2, answer 2", 1, False),
    ]


def test_answers_that_lie_apart_are_the_components_of_their_mixture() -> None:
    apart = [Answer(name, True, np.array([at, at + 0.1, at + 0.2])) for name, at in (("a", 1.0), ("b", 9.0))]
    assert mixture_row(apart) == {"answers": 2, "n": 6, "told": 1.0, "largest": 0.5, "rand": 1.0}


def test_answers_with_the_same_confidences_are_not_told_apart() -> None:
    # Each component holds half of either answer: (2 pairs of 4 in both) against 12 * 12 / 28 by chance.
    values = np.array([1.0, 1.1, 9.0, 9.1])
    row = mixture_row([Answer("a", True, values), Answer("b", False, values)])
    assert (row["told"], row["largest"]) == (0.5, 0.5)
    assert row["rand"] == pytest.approx((4 - 144 / 28) / (12 - 144 / 28))


def test_eight_are_drawn_together_and_thirty_one_by_one() -> None:
    (result,) = evaluate([random_set(12, 60)], ["answers-as-components"], n_repeats=1).results
    answers, mixture = result.tables
    assert len(answers.rows) == 30
    assert [row["answers"] for row in mixture.rows] == [8, 30]
    together, each = result.charts
    assert len({row["answer"] for row in together.rows}) == 8
    assert len({row["answer"] for row in each.rows}) == 30
    assert each.facet == "answer"


def test_a_single_answer_is_shown_alone() -> None:
    made = pool_set(pool("q1", [0, 0, 0], [5.0, 6.0, 7.0]))
    (result,) = evaluate([made], ["answers-as-components"], n_repeats=1).results
    assert [row["answers"] for row in result.tables[1].rows] == [1]
    assert "there is only one answer" in result.charts[0].subtitle
