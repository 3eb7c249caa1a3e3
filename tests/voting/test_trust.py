"""`auto`: how far confidence is believed, in one question and over a run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import distrivote
from distrivote.evaluation.simulate import Simulation, draw
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.methods import parse_method
from distrivote.voting.trust import SEPARATIONS, VOTES, Trust, learned, likelihoods
from distrivote.voting.vote import trust_of
from strategies import LAW, Pool, plain_pools


def one(counts, gaps, precisions) -> Evidence:
    return Evidence(*(np.array([values], dtype=np.float64) for values in (counts, gaps, precisions)))


def test_shipped_belief_is_a_probability():
    assert math.fsum(Trust().weights) == pytest.approx(1)
    assert min(Trust().weights) > 0
    assert len(Trust().weights) == len(SEPARATIONS)


def test_shipped_belief_is_the_one_that_is_described():
    belief = dict(zip(SEPARATIONS.tolist(), Trust().weights, strict=True))
    assert belief[0.0] == pytest.approx(0.35)
    assert [belief[d] for d in (-2.0, -1.0, -0.5)] == pytest.approx([0.015, 0.035, 0.05])
    # Where it helps: a fifth alike from 3 to 25, the rest falls off by e over 1.5 standard deviations.
    assert belief[25.0] == pytest.approx(0.55 * 0.2 / 6, rel=1e-5)
    assert [belief[0.5] / belief[d] for d in (1.0, 1.5, 2.0)] == pytest.approx(
        [math.exp(n / 3) for n in (1, 2, 3)]
    )
    far = 0.11 * (3 + 4.5 + 6.5 + 10 + 15 + 25) / 6
    helpful = [d for d in belief if d > 0]
    usual = [math.exp(-d / 1.5) for d in helpful]
    mean = math.fsum(d * u for d, u in zip(helpful, usual, strict=True)) / math.fsum(usual)
    assert Trust().separation == pytest.approx(-0.03 - 0.035 - 0.025 + 0.44 * mean + far)
    assert Trust().n_questions == 0


def test_log_odds_by_hand():
    belief = tuple(1.0 if d == 2.0 else 0.0 for d in SEPARATIONS)
    odds = Trust(belief).log_odds(one([3, 6], [1.5, -1.5], [0.5, 0.5]))[0]
    assert odds == pytest.approx(
        [VOTES * math.log(3) + 0.5 * (2 * 1.5 - 2), VOTES * math.log(6) + 0.5 * (2 * -1.5 - 2)]
    )


def test_without_evidence_the_majority_is_preferred():
    evidence = one([3, 6], [0, 0], [0, 0])
    preference = Trust().preference(evidence, np.array([1]), np.array([0]))
    assert preference == pytest.approx([VOTES * math.log(3 / 6)])


@LAW
@given(plain_pools)
def test_auto_answers_what_majority_or_distrivoting_says(pool: Pool):
    auto, dis, majority = (
        distrivote.vote(pool.answers, pool.confidences, method=method) for method in ("auto", "dis-gmm", "sc")
    )
    assert auto.answer in (dis.answer, majority.answer)
    assert auto.weighing.answer == dis.answer
    assert (auto.answer == dis.answer) or auto.weighing.odds <= 1


@LAW
@given(plain_pools)
def test_single_votes_and_elections_agree(pool: Pool):
    labels = sorted({answer for answer in pool.answers if answer is not None})
    classes = np.array([-1 if answer is None else labels.index(answer) for answer in pool.answers])
    ends = np.array([0, len(classes)])
    outcome = distrivote.elect(classes, np.array(pool.confidences), ends, ["auto"])["auto"]
    assert labels[outcome.winner[0]] == distrivote.vote(*pool, method="auto").answer


def test_equal_confidences_leave_it_to_the_majority():
    assert distrivote.vote(list("abb"), [5.0] * 3, method="auto").answer == "b"


def test_without_confidences_the_majority_decides():
    tally = distrivote.vote(["a", "b", "b", "b"], None, method="auto")
    assert (tally.answer, tally.fallback, tally.weighing) == ("b", True, None)
    assert tally.notes == ("No answer has a confidence, so majority voting decides, not auto.",)


def test_votes_of_all_are_weighed_against_the_confidences_that_there_are():
    few, many = (["a"] * 4 + ["b"] * n for n in (4, 40))
    confidences = [9.0, 9.2, 9.1, 9.3, 3.0, 3.1, 2.9, 3.2]
    assert distrivote.vote(few, confidences, "auto").answer == "a"
    lacking = distrivote.vote(many, confidences + [None] * 36, "auto")
    assert (lacking.answer, lacking.weighing.answer, lacking.n_unmeasured) == ("b", "a", 36)
    assert lacking.probabilities["b"] > distrivote.vote(few, confidences, "auto").probabilities["b"]


def test_far_surer_minority_is_believed_and_the_reason_is_said():
    tally = distrivote.vote(["a"] * 8 + ["b"] * 12, [9.0, 9.2] * 4 + [3.0, 3.1, 2.9] * 4, method="auto")
    assert tally.answer == "a"
    assert "Confidence was trusted" in tally.explain()


def test_slightly_surer_minority_is_not_believed_and_the_reason_is_said():
    confidences = np.random.default_rng(0).normal(15, 1, 30)
    tally = distrivote.vote(list("aabbbc") * 5, confidences, method="auto")
    assert (tally.answer, tally.weighing.answer) == ("b", "a")
    assert "Confidence was not trusted" in tally.explain()


def pools_with(separation: float, n: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    simulation = Simulation(separation=separation, confidently_wrong=0.0, unanswered=0.0, hard_unanswered=0.0)
    drawn = draw(simulation, n, 64, np.random.default_rng(7))
    return drawn.classes.ravel(), drawn.confidences.ravel(), np.arange(n + 1) * 64


@pytest.mark.parametrize(("separation", "low", "high"), [(-1.0, -1.5, -0.3), (0.0, -0.3, 0.4), (2.0, 1.2, 3)])
def test_separation_of_a_run_is_learned_without_labels(separation, low, high):
    trust = trust_of(*pools_with(separation))
    assert low < trust.separation < high
    assert trust.n_questions > 150


def test_questions_learned_one_by_one_are_remembered():
    told = likelihoods(one([3, 2], [2.0, -2.0], [0.5, 0.5]))
    trust = learned(told, learned(told))
    assert trust.n_questions == 2
    near = SEPARATIONS.tolist().index(2.0)
    assert trust.weights[near] > learned(told).weights[near] > Trust().weights[near]


def test_a_question_is_likely_where_popular_answers_are_surer_by_that_much():
    # 3 and 1 votes count 3 ** 1.25 to 1; the gap is 1 for the first answer, -1 for the second, and d is
    # exp(precision * (d * gap - d * d / 2)) times as likely as 0.
    (likely,) = likelihoods(one([3, 1], [1.0, -1.0], [0.5, 0.5]))
    popular = 3**VOTES / (3**VOTES + 1)
    expected = [
        popular * math.exp(0.5 * (d - d * d / 2)) + (1 - popular) * math.exp(0.5 * (-d - d * d / 2))
        for d in SEPARATIONS
    ]
    assert likely == pytest.approx(np.array(expected) / max(expected), rel=1e-9)


def test_one_question_moves_the_belief_by_a_ninth():
    # All likelihood is on d = 1, and the belief at the start counts as 8 questions.
    told = (SEPARATIONS == 1.0).astype(np.float64)[None]
    trust = learned(told)
    expected = [(8 * w + (d == 1.0)) / 9 for d, w in zip(SEPARATIONS, Trust().weights, strict=True)]
    assert trust.weights == pytest.approx(expected)
    # What was learned counts with the belief: 8 and 1 questions behind it, and 1 more.
    again = learned(told, trust)
    assert again.weights == pytest.approx(
        [(9 * w + (d == 1.0)) / 10 for d, w in zip(SEPARATIONS, expected, strict=True)]
    )


def test_huge_evidence_stays_finite():
    odds = Trust().log_odds(one([1, 1], [1e6, -1e6], [1e3, 1e3]))
    assert np.isfinite(odds).all()
    assert odds[0, 0] > odds[0, 1]


def test_question_where_all_agree_is_not_counted():
    assert learned(likelihoods(one([3, 0], [0, 0], [0, 0]))) == Trust()


def test_batch_of_a_misleading_model_is_left_to_the_majority():
    classes, confidences, _ = pools_with(-1.0)
    shape = (200, 64)
    winners = distrivote.vote_batch(classes.reshape(shape), confidences.reshape(shape), ["auto", "sc"])
    assert np.mean(winners["auto"] == winners["sc"]) > 0.98


def test_name_stands_for_distrivoting_with_trust():
    pipeline = parse_method("auto")
    assert replace(pipeline, trust=None) == parse_method("dis-gmm")
    assert parse_method("auto:intervals=5").name == "auto:intervals=5"
