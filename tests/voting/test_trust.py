"""`auto`: how far confidence is believed in one question, and the law that surer is never worse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
import naive
from distrivote.voting.electorate import Electorate
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.kernels.pools import make_pools
from distrivote.voting.methods import parse_method
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.trust import GAINS, SPREADS, VOTES, Trust, as_weights
from distrivote.voting.votes import MajorityVote
from strategies import LAW, MANY, Pool, plain_pools


def one(counts, gaps, leads=None) -> Evidence:
    votes, told, led = (np.array([row], dtype=np.float64) for row in (counts, gaps, leads or [0] * len(gaps)))
    return Evidence(votes, told, np.zeros(1), votes, led)


def belief(table: dict[tuple[float, float], float], leads: float = 0.0) -> Trust:
    weights = np.zeros((len(GAINS), len(SPREADS)))
    for (d, spread), chance in table.items():
        weights[np.flatnonzero(d == GAINS)[0], np.flatnonzero(spread == SPREADS)[0]] = chance
    return Trust(as_weights(weights), leads=leads)


def test_shipped_belief_is_the_one_that_is_described():
    chances = {(d, 0.5): math.exp(-(((d - 1.5) / 0.5) ** 2) / 2) for d in GAINS[1:].tolist()}
    whole = sum(chances.values())
    described = belief({(0.0, 0.5): 0.8, **{key: 0.2 * c / whole for key, c in chances.items()}})
    assert np.array(Trust().weights) == pytest.approx(np.array(described.weights))
    assert Trust().separation == pytest.approx(np.sum(Trust().weights, axis=1) @ GAINS, rel=0.01)
    assert (Trust().n_questions, Trust().leads) == (0, 0.1)


def test_log_odds_by_hand():
    # 3 votes against 6 with a gap of 1.5: the variance is 2 * 0.3 ** 2 + 0.9 * (1/3 + 1/6) for both.
    trust = belief({(0.0, 0.3): 0.5, (2.0, 0.3): 0.5})
    variance = 2 * 0.09 + 0.45
    even = 1 + math.exp(-2 / variance)
    told = [math.log((1 + math.exp((2 * gap - 2) / variance)) / even) for gap in (1.5, -1.5)]
    assert trust.told(one([3, 6], [1.5, -1.5]))[0] == pytest.approx(told)
    odds = trust.log_odds(one([3, 6], [1.5, -1.5]))[0]
    assert odds == pytest.approx([VOTES * math.log(3) + told[0], VOTES * math.log(6) + told[1]])


def test_the_others_are_witnesses_as_far_as_they_differ():
    # 4 votes; the others are 3 and 1, whose own spreads add (9 + 1) / 16 to that of the answer.
    trust = belief({(1.0, 0.5): 1.0})
    variance = 0.25 * (1 + 10 / 16) + 0.9 * (1 / 4 + 1 / 4)
    assert trust.told(one([4, 3, 1], [0.7, -0.5, -0.1]))[0, 0] == pytest.approx(0.7 / variance)


def test_leads_by_hand():
    # 3 votes against 6, each far ahead of each, and nothing by order: 0.8 is expected where leads tell.
    variance = 2 * 0.2**2 + 0.07 * (1 / 3 + 1 / 6)
    even = 0.9 + 0.1 * math.exp(-0.32 / variance)
    told = [math.log((0.9 + 0.1 * math.exp((0.8 * lead - 0.32) / variance)) / even) for lead in (1, -1)]
    assert belief({(0.0, 0.5): 1.0}, 0.1).told(one([3, 6], [0, 0], [1, -1]))[0] == pytest.approx(told)
    assert not belief({(0.0, 0.5): 1.0}).told(one([3, 6], [0, 0], [1, -1])).any()


def test_without_evidence_the_votes_count_alone():
    odds = Trust().log_odds(one([3, 6, 0], [0, 0, 0]))[0]
    assert odds.tolist() == [VOTES * math.log(3), VOTES * math.log(6), -math.inf]


def test_huge_evidence_stays_finite():
    trust = belief({(0.0, 0.15): 0.5, (3.0, 0.15): 0.5})
    odds = trust.log_odds(one([10**6, 10**6], [8.0, -8.0]))[0]
    assert np.isfinite(odds).all()
    assert odds[0] > odds[1]


@LAW
@given(plain_pools, st.floats(0.0, 1.0), st.sampled_from(SPREADS.tolist()), st.floats(0.0, 1.0))
def test_log_odds_are_those_of_plain_loops(pool: Pool, share: float, spread: float, leads: float):
    trust = belief({(0.0, spread): 1 - share, (1.25, spread): share}, leads)
    answers, confidences = naive.answered(*pool)
    expected = naive.log_odds(answers, confidences, trust)
    labels = list(dict.fromkeys(answers))
    classes = np.array([[labels.index(answer) for answer in answers]])
    pools = make_pools(classes, np.array([confidences]), len(labels))
    found = trust.log_odds(Electorate(pools).evidence)[0]
    first = found[0] - expected[labels[0]]  # up to a constant
    assert (found - first).tolist() == pytest.approx([expected[label] for label in labels], abs=1e-9)


# The law


def raised(pool: Pool, which: int, factor: float) -> Pool:
    confidences = list(pool.confidences)
    confidences[which] *= factor
    return Pool(pool.answers, confidences)


@st.composite
def large_pools(draw) -> Pool:
    """Pools of 2 to 200 trajectories: a few or many answers, ties, some without an answer."""
    n = draw(st.integers(2, 200))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_answers = draw(st.integers(1, 12))
    answers = rng.zipf(draw(st.sampled_from([1.3, 2.0])), n) % n_answers
    values = np.exp(rng.normal(size=n) * draw(st.sampled_from([0.02, 0.5, 3.0])))
    if draw(st.booleans()):
        values = np.round(values, 1) + 0.1
    labels: list[str | None] = [f"answer {answer}" for answer in answers]
    for index in np.flatnonzero(rng.random(n) < draw(st.sampled_from([0.0, 0.2]))):
        labels[index] = None
    labels[0] = labels[0] or "answer 0"
    return Pool(labels, values.tolist())


CALIBRATIONS = (
    Calibration(),
    Calibration(intercept=1.5, evidence=0.3, share=0.7),
    Calibration(intercept=-0.5, evidence=1.4),
)


@MANY
@given(
    large_pools(),
    st.integers(0, 199),
    st.sampled_from([1 + 1e-12, 1.01, 1.3, 10.0, 1e6]),
    st.sampled_from(
        [
            Trust(),
            belief({(0.0, 0.15): 0.1, (0.5, 0.15): 0.4, (3.0, 1.0): 0.5}),
            belief({(0.0, 0.5): 0.9, (1.0, 0.5): 0.1}, leads=0.6),
        ]
    ),
    st.sampled_from(CALIBRATIONS),
)
def test_a_surer_trajectory_never_makes_its_own_answer_worse(pool, which, factor, trust, calibration):
    which %= len(pool.answers)
    pipeline = Pipeline(MajorityVote(), trust=trust)
    before = distrivote.vote(*pool, method=pipeline, calibration=calibration)
    after = distrivote.vote(*raised(pool, which, factor), method=pipeline, calibration=calibration)
    answer = pool.answers[which]
    if answer is None:
        assert after.probabilities == before.probabilities
        return
    assert after.probabilities[answer] >= before.probabilities[answer] - 1e-9
    if before.answer == answer:
        assert after.answer == answer


@pytest.mark.slow
@LAW
@given(st.lists(large_pools(), min_size=8, max_size=12), st.integers(0, 199), st.sampled_from([1.1, 100.0]))
def test_the_law_holds_in_a_run_whose_trust_stays(pools, which, factor):
    def flat(some):
        labels = [f"answer {n}" for n in range(12)]
        classes = [[-1 if a is None else labels.index(a) for a in pool.answers] for pool in some]
        ends = np.cumsum([0, *map(len, classes)])
        return np.concatenate(classes), np.concatenate([pool.confidences for pool in some]), ends

    trust = distrivote.voting.vote.trust_of(*flat(pools))
    pipeline = Pipeline(MajorityVote(), trust=trust)
    for pool in pools:
        at = which % len(pool.answers)
        answer = pool.answers[at]
        if answer is None:
            continue
        before = distrivote.vote(*pool, method=pipeline)
        after = distrivote.vote(*raised(pool, at, factor), method=pipeline)
        assert after.probabilities[answer] >= before.probabilities[answer] - 1e-9
        assert before.answer != answer or after.answer == answer


def test_an_outlier_does_not_make_its_own_answer_less_probable():
    answers, confidences = ["a"] * 6 + ["b"] * 3, [12.0] * 6 + [10.0, 10.1, 10.2]
    plain = distrivote.vote(answers, confidences, "sc").probability
    surer = distrivote.vote(answers, [25.0, *confidences[1:]], "sc").probability
    assert plain > distrivote.vote(answers, [12.0] * 9, "sc").probability + 0.1
    assert surer >= plain - 1e-9


@pytest.mark.slow
def test_auto_turns_away_in_none_of_1500_random_pools():
    rng = np.random.default_rng(0)
    for _ in range(1500):
        n = int(rng.integers(5, 40))
        answers = rng.integers(0, 4, n).tolist()
        confidences = rng.lognormal(0, 0.5, n)
        before = distrivote.vote(answers, confidences, "auto").answer
        own = [index for index, answer in enumerate(answers) if answer == before]
        confidences[rng.choice(own)] *= rng.choice([1.5, 5.0, 50.0])
        assert distrivote.vote(answers, confidences, "auto").answer == before


@pytest.mark.parametrize("factor", [2.0, 1e3, 1e12])
def test_one_outlier_does_not_overrule_nine_votes(factor):
    confidences = [10.0 + index / 10 for index in range(9)]
    tally = distrivote.vote(["a"] * 9 + ["b"], [*confidences, 10.0 * factor], "auto")
    assert tally.answer == "a"
    assert tally.probabilities["b"] < 0.2


# What it elects


@LAW
@given(plain_pools)
def test_auto_elects_the_most_probable_answer(pool: Pool):
    tally = distrivote.vote(*pool, method="auto")
    assert tally.probabilities[tally.answer] == max(tally.probabilities.values())
    alone = distrivote.vote(*pool, method="dis-gmm")
    assert tally.weighing.voted == alone.answer
    if tally.answer == alone.answer:
        assert (tally.scores, tally.rejected) == (alone.scores, alone.rejected)
        assert repr(tally.split) == repr(alone.split)  # a cut may be NaN
        assert tally.kept_votes == alone.kept_votes
    else:
        assert (tally.rejected, tally.split, tally.kept_votes) == (None, None, tally.votes)
        assert tally.share == pytest.approx(max(tally.scores.values()))
    if tally.answer != tally.majority:
        assert tally.weighing.answer == tally.answer
        assert tally.weighing.odds > 1


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


def test_name_stands_for_distrivoting_with_trust():
    pipeline = parse_method("auto")
    assert replace(pipeline, trust=None) == parse_method("dis-gmm")
    assert pipeline.name == "auto"
    assert parse_method("auto:intervals=5").name == "auto:intervals=5"
    assert pipeline.reads_confidence
    assert not pipeline.needs_confidence


# Sizes


def test_few_that_are_far_surer_are_believed_and_few_that_are_a_little_surer_are_not():
    answers = ["a"] * 4 + ["b"] * 12
    little, far = (
        [x + i / 100 for i in range(4)] + [10.0 + i / 100 for i in range(12)] for x in (11.0, 25.0)
    )
    assert distrivote.vote(answers, little, "auto").answer == "b"
    assert distrivote.vote(answers, far, "auto").answer == "a"


def test_log_probabilities_have_sizes_and_other_negative_numbers_only_an_order():
    answers = ["a"] * 4 + ["b"] * 12
    logprobs = [-0.1 - i / 1000 for i in range(4)] + [-1.1 - i / 1000 for i in range(12)]
    assert distrivote.vote(answers, logprobs, "auto").answer == "a"
    # Moved to both sides of 0: in standard deviations of the pool, where a scale that moves proves nothing.
    assert distrivote.vote(answers, [0.5 + value for value in logprobs], "auto").answer == "b"
