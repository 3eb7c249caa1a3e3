"""Several models in one pool: the rule against a slow twin, cases by hand, and its laws."""

from __future__ import annotations

import math
from itertools import permutations
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.errors import InputError
from distrivote.voting.lessons import FEWEST
from distrivote.voting.models import EQUAL, HOLD, ROUNDS, Worth, comparable, shares_of, worth_of
from distrivote.voting.vote import elect, vote

NAMES = ["a", "b", "c"]


def slow_worth(questions, names):
    """The module's docstring, one number at a time; questions are lists of {answer: share} by model."""
    telling = [q for q in questions if sum(bool(shares) for shares in q) > 1]
    n, m = len(telling), len(names)
    if m < 2 or n < FEWEST:
        return dict.fromkeys(names, 1.0)
    weights = [1.0] * m
    for _ in range(ROUNDS):
        accuracies, same, pairs = [], 0.0, 0.0
        for k in range(m):
            agreed = asked = 0.0
            for q in telling:
                support = {}
                for j in range(m):
                    if j != k:
                        for answer, share in q[j].items():
                            support[answer] = support.get(answer, 0.0) + weights[j] * share
                best = max(support.values(), default=0.0)
                if not q[k] or best <= 1e-9:
                    continue
                consensus = [answer for answer, value in support.items() if value >= best - 1e-9]
                agreed += sum(q[k].get(answer, 0.0) for answer in consensus) / len(consensus)
                asked += 1
            accuracies.append((agreed + 0.5) / (asked + 1.0))
        for q in telling:
            total = {}
            for j in range(m):
                for answer, share in q[j].items():
                    total[answer] = total.get(answer, 0.0) + weights[j] * share
            top = max(total.values())
            wrong = [{a: s for a, s in q[j].items() if total[a] < top - 1e-9} for j in range(m)]
            for i in range(m):
                for j in range(m):
                    if i != j:
                        same += sum(s * wrong[j].get(a, 0.0) for a, s in wrong[i].items())
                        pairs += sum(wrong[i].values()) * sum(wrong[j].values())
        chance = min(max(same / pairs, 1e-3), 1.0) if pairs > 1e-12 else 1.0
        raw = [max(math.log(p / (1 - p)) - math.log(chance), 0.0) for p in accuracies]
        if not any(raw):
            return dict.fromkeys(names, 1.0)
        weights = [each / (sum(raw) / m) for each in raw]
    return {name: 1 + (w - 1) * n / (n + HOLD) for name, w in zip(names, weights, strict=True)}


def as_shares(question):
    """Return a question of lists of answers, one list for each model, as a table."""
    classes = np.array([answer for answers in question for answer in answers], dtype=np.int64)
    models = np.repeat(np.arange(len(question)), [len(answers) for answers in question])
    return shares_of(classes, models, len(question))


def as_dicts(question):
    return [
        {a: answers.count(a) / len(answers) for a in answers if a >= 0} if answers else {}
        for answers in question
    ]


def questions_of(rng, accuracies, n=12, size=4):
    return [
        [[0 if rng.random() < p else int(rng.integers(-1, 5)) for _ in range(size)] for p in accuracies]
        for _ in range(n)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_the_worth_of_models_is_that_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    questions = questions_of(rng, [0.9, 0.5, 0.2][: 2 + seed % 2], n=8 + seed)
    names = NAMES[: 2 + seed % 2]
    found = worth_of([as_shares(q) for q in questions], names)
    assert found.weights == pytest.approx(slow_worth([as_dicts(q) for q in questions], names))


def test_the_better_model_weighs_more_and_its_accuracy_is_found_without_labels():
    # Chance of failing by luck: the estimates have a standard deviation below 0.03.
    questions = questions_of(np.random.default_rng(7), [0.9, 0.6, 0.3], n=100, size=8)
    found = worth_of([as_shares(q) for q in questions], NAMES)
    assert found.weights["a"] > found.weights["b"] > found.weights["c"]
    assert found.accuracies["a"] == pytest.approx(0.92, abs=0.12)
    assert sum(found.weights.values()) == pytest.approx(3.0)


def test_few_questions_leave_all_weights_equal():
    questions = questions_of(np.random.default_rng(1), [1.0, 0.0, 0.5], n=FEWEST - 1)
    assert set(worth_of([as_shares(q) for q in questions], NAMES).weights.values()) == {1.0}


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_models_makes_no_difference(order, seed):
    questions = [as_shares(q) for q in questions_of(np.random.default_rng(seed), [0.8, 0.5, 0.3])]
    straight = worth_of(questions, NAMES).weights
    mixed = worth_of([q[list(order)] for q in questions], [NAMES[i] for i in order]).weights
    assert mixed == pytest.approx(straight)


def test_models_that_answer_alike_weigh_alike():
    questions = [as_shares([q[0], q[0], q[1]]) for q in questions_of(np.random.default_rng(3), [0.8, 0.4])]
    weights = worth_of(questions, NAMES).weights
    assert weights["a"] == weights["b"]


def test_one_model_has_the_weight_one_and_keeps_its_confidences():
    values = np.array([3.0, np.nan, -2.0])
    assert worth_of([np.ones((1, 1))] * 50, ["a"]).weights == {"a": 1.0}
    assert comparable(values, ["a"] * 3, np.zeros(3, int)) is values
    assert EQUAL.of(["a", "a"]).tolist() == [1.0, 1.0]


def test_confidences_are_compared_within_their_model():
    found = comparable(np.array([5.0, 900.0, 7.0, 100.0]), ["a", "b", "a", "b"], np.zeros(4, int))
    low, high = (math.exp(0.1 * NormalDist().inv_cdf(p)) for p in (0.25, 0.75))
    assert found == pytest.approx([low, high, high, low])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(-5, 5)), min_size=1, max_size=12))
def test_another_scale_of_one_model_changes_nothing(rows):
    models, values = [m for m, _ in rows], np.array([v for _, v in rows])
    classes = np.zeros(len(rows), int)
    scaled = np.where(np.array(models) == "a", 8.0 * values, values)
    if len(set(models)) > 1:
        assert np.array_equal(comparable(values, models, classes), comparable(scaled, models, classes))


def test_missing_confidences_and_answers_stay_missing():
    found = comparable(np.array([np.nan, 2.0, 3.0]), ["a", "a", "b"], np.array([0, -1, 1]))
    assert np.isnan(found[:2]).all()
    assert found[2] == 1.0


def test_a_vote_with_one_model_is_the_vote_without_models():
    answers, confidences = ["x", "y", "x", None], [3.0, 9.0, 2.0, 1.0]
    assert repr(vote(answers, confidences, models=["a"] * 4)) == repr(vote(answers, confidences))


def test_a_model_of_more_worth_outvotes_a_larger_number():
    answers, models = ["x"] * 3 + ["y"] * 4, ["a"] * 3 + ["b"] * 4
    worth = Worth({"a": 1.5, "b": 0.5}, {})
    result = vote(answers, models=models, worth=worth)
    assert (result.answer, result.majority) == ("x", "y")
    assert "2 models vote together: a (3 answers, weight 1.50), b (4 answers, weight 0.50)" in result.notes
    assert vote(answers, models=models).answer == "y"


@pytest.mark.parametrize("seed", range(8))
def test_one_vote_and_a_batch_of_votes_agree(seed):
    rng = np.random.default_rng(seed)
    classes, models = rng.integers(-1, 3, 24), rng.choice(["a", "b", "c"], 24).tolist()
    values = np.where(rng.random(24) < 0.2, np.nan, rng.normal(size=24))
    worth = Worth({"a": 1.4, "b": 1.0, "c": 0.6}, {})
    labels = [None if c < 0 else int(c) for c in classes]
    offsets = np.array([0, 24])
    for name in ("auto", "dis-gmm", "sc"):
        one = vote(labels, values, name, models=models, worth=worth)
        many = elect(classes, values, offsets, [name], models=models, worth=worth)[name]
        assert one.answer == many.winner[0]


def test_a_list_of_models_has_one_for_each_answer():
    with pytest.raises(InputError, match="2 answers but 1 models"):
        vote(["x", "y"], models=["a"])
