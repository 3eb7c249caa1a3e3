"""What a run teaches about its confidences: against plain loops, by hand, and on runs that mislead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
import naive
from distrivote.simulation.model import Simulation, draw
from distrivote.voting.kernels.evidence import Evidence
from distrivote.voting.lessons import (
    FEWEST,
    SCATTERS,
    STRENGTHS,
    Lessons,
    learned,
    log_likelihoods,
)
from distrivote.voting.trust import GAINS, LEADS, SPREADS, TELLS, Trust
from distrivote.voting.vote import trust_of
from strategies import FEW

N = 200


def evidence(*rows: tuple[list[int], list[float]], within: float = 1.0) -> Evidence:
    width = max(len(counts) for counts, _ in rows)
    tables = [
        np.array([[*row[at], *[0] * (width - len(row[at]))] for row in rows], dtype=float) for at in (0, 1)
    ]
    return Evidence(tables[0], tables[1], np.full(len(rows), within), tables[0], np.zeros_like(tables[0]))


def gaps_of(counts: list[int], means: list[float]) -> list[float]:
    """The gaps that go with these mean scores, which are centred first."""
    total = sum(counts)
    middle = sum(n * mean for n, mean in zip(counts, means, strict=True)) / total
    return [(mean - middle) * total / (total - n) for n, mean in zip(counts, means, strict=True)]


@FEW
@given(
    st.lists(st.tuples(st.integers(1, 20), st.floats(-2, 2)), min_size=2, max_size=4),
    st.integers(0, len(STRENGTHS) - 1),
    st.integers(0, len(SCATTERS) - 1),
    st.floats(0.3, 1.0),
)
def test_likelihoods_are_those_of_plain_loops(answers, row, column, noise):
    counts, means = map(list, zip(*answers, strict=True))
    found = log_likelihoods(evidence((counts, gaps_of(counts, means))), noise)[0]
    expected = [
        [
            naive.question_log_likelihood(counts, means, strength, scatter, spread, noise)
            for spread in SPREADS.tolist()
        ]
        for strength, scatter in ((0.0, 0.1), (STRENGTHS[row], SCATTERS[column]))
    ]
    zero = np.flatnonzero(STRENGTHS == 0)[0]
    # Up to a constant per question: differences to one place of the grid are compared.
    assert found[row, column] - found[zero, 0, 0] == pytest.approx(
        np.array(expected[1]) - expected[0][0], abs=1e-6
    )
    assert found[zero, 0] - found[zero, 0, 0] == pytest.approx(
        np.array(expected[0]) - expected[0][0], abs=1e-6
    )


def test_questions_that_all_agree_or_with_equal_confidences_teach_nothing():
    agreed = learned(evidence(([5, 0], [0.0, 0.0])))
    flat = learned(evidence(([3, 2], [0.0, 0.0]), within=0.0))
    assert (agreed.n_questions, flat.n_questions) == (0, 0)
    assert agreed.trust() == flat.trust() == Trust()


def test_two_thirds_of_the_votes_are_an_agreement():
    one = learned(evidence(([4, 2], [0.5, -0.5])))
    other = learned(evidence(([5, 3], [0.5, -0.5])))
    assert one.agreed.any()
    assert not one.contested.any()
    assert other.contested.any()
    assert not other.agreed.any()


def test_noise_is_the_variance_within_answers_with_ten_trajectories_held():
    # 5 trajectories of 2 answers leave 3 degrees of freedom.
    lessons = learned(evidence(([3, 2], [0.5, -0.5]), within=1.5))
    assert lessons.noise == pytest.approx((1.5 + 10 * 0.9) / (3 + 10))


def test_questions_one_by_one_add_up():
    rows = [([6, 2], gaps_of([6, 2], [0.3, -0.4])), ([3, 2, 1], gaps_of([3, 2, 1], [0.1, 0.4, -0.9]))]
    # The same noise, so that the order does not matter.
    within = 0.9 * 6
    first = learned(evidence(rows[0], within=within))
    both = learned(evidence(rows[1], within=2.7), first)
    assert both.n_questions == 2
    assert both.agreed == pytest.approx(first.agreed)
    assert both.contested.any()


def test_few_questions_keep_the_belief_that_ships():
    row = ([3, 2], [1.0, -1.0])
    assert learned(evidence(*[row] * (FEWEST - 1))).trust() == Trust(n_questions=FEWEST - 1)
    assert learned(evidence(*[row] * FEWEST)).trust().weights != Trust().weights


def test_eight_contested_questions_are_held_against_what_was_learned():
    agreed, contested = ([9, 1], [1.0, -1.0]), ([3, 2], [2.0, -2.0])
    lessons = learned(evidence(*[agreed] * 40, *[contested] * 24))
    assert (lessons.n_questions, lessons.n_contested) == (64, 24)
    # All that was learned is above 0 here, and 8 / (8 + 24) of it goes back to the votes alone.
    assert lessons.separation > 1
    assert 1 - np.sum(lessons.trust().weights[0]) == pytest.approx(0.75, abs=0.01)


def test_many_questions_fade_to_as_many_as_asked():
    lessons = learned(evidence(*[([3, 2], [1.0, -1.0])] * 20))
    faded = lessons.faded(10)
    assert (faded.n_questions, faded.n_contested, lessons.faded(20)) == (10, 10, lessons)
    assert faded.contested == pytest.approx(lessons.contested / 2)
    assert faded.noise != Lessons().noise


def test_beliefs_are_probabilities_and_none_is_in_a_negative_gain():
    for sign in (-1, 1):
        trust = learned(evidence(*[([5, 1], [sign, -sign])] * 30, *[([3, 2], [sign, -sign])] * 30)).trust()
        assert np.sum(trust.weights) == pytest.approx(1)
        assert np.min(trust.weights) >= 0
        assert np.sign(trust.separation) == sign
    # The last one was misleading the other way round: everything was on the votes alone.
    worse = learned(evidence(*[([5, 1], [-1, 1])] * 30, *[([3, 2], [-1, 1])] * 30)).trust()
    assert np.sum(worse.weights[0]) == pytest.approx(1, abs=1e-6)


def test_agreed_questions_turn_the_direction_of_contested_ones():
    contested = [([3, 3], [1.5, -1.5])] * 20
    up = learned(evidence(*contested, *[([9, 1], [1.0, -1.0])] * 20)).trust()
    down = learned(evidence(*contested, *[([9, 1], [-1.0, 1.0])] * 20)).trust()
    assert up.separation > 0.5
    assert up.separation == pytest.approx(-down.separation, rel=0.05)
    assert np.dot(np.sum(down.weights, axis=1), GAINS) < 0.05


def test_contested_questions_tell_the_strength_and_not_its_sign():
    # Their votes favour the answer with the higher scores; the agreed questions say that it misleads.
    contested = [([5, 3], [1.5, -1.5])] * 12
    down = learned(evidence(*contested, *[([9, 1], [-1.0, 1.0])] * 40))._belief().sum(axis=(1, 2))
    ratios = down[STRENGTHS < 0][::-1] / down[STRENGTHS > 0]
    assert ratios == pytest.approx(np.full_like(ratios, ratios[0]))
    assert ratios[0] > 1


def test_the_spread_is_a_half_before_anything_is_learned():
    belief = Lessons()._belief().sum(axis=(0, 1))
    assert SPREADS[belief.argmax()] == 0.5


def test_a_question_that_teaches_nothing_is_left_out_of_those_that_do():
    telling, silent = ([3, 2], [1.0, -1.0]), ([3, 2], [0.0, 0.0])
    assert learned(evidence(telling, silent, within=0.0)).n_questions == 1


# Whole runs


def pools_with(separation: float, n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    simulation = Simulation(separation=separation, confidently_wrong=0.0, unanswered=0.0, hard_unanswered=0.0)
    drawn = draw(simulation, n, 64, np.random.default_rng(7))
    return drawn.classes.ravel(), drawn.confidences.ravel(), np.arange(n + 1) * 64


@pytest.mark.parametrize(("separation", "low", "high"), [(-1.0, -1.2, -0.3), (0.0, -0.2, 0.2), (2.0, 0.9, 2)])
def test_separation_of_a_run_is_learned_without_labels(separation, low, high):
    trust = trust_of(*pools_with(separation))
    assert low < trust.separation < high
    assert trust.n_questions > 150


def accuracies(drawn) -> dict[str, float]:
    won = distrivote.vote_batch(drawn.classes, drawn.confidences, ["auto", "sc", "dis-gmm"])
    return {
        name: float((drawn.correct & (drawn.classes == winners[:, None])).any(axis=1).mean())
        for name, winners in won.items()
    }


HARD = Simulation(easy_rate=0.7, hard_share=0.5, confidently_wrong=0.0, popularity=1.0)


@pytest.mark.parametrize("separation", [-2.0, -1.0, -0.5])
@pytest.mark.parametrize("n", [30, 200])
def test_runs_that_mislead_are_left_to_the_majority(separation, n):
    drawn = draw(replace(HARD, separation=separation), n, 32, np.random.default_rng(1))
    found = accuracies(drawn)
    assert found["dis-gmm"] < found["sc"] - 0.02
    assert found["auto"] >= found["sc"] - (0.05 if n == 30 else 0.01)


def test_a_minority_of_careless_outliers_is_recognised():
    rng = np.random.default_rng(2)
    drawn = draw(replace(HARD, separation=0.3), N, 32, rng)
    careless = ~drawn.correct & (rng.random(drawn.classes.shape) < 0.15)
    outlying = drawn._replace(confidences=np.where(careless, 3 * drawn.confidences, drawn.confidences))
    found = accuracies(outlying)
    assert found["dis-gmm"] < found["sc"] - 0.05
    assert found["auto"] >= found["sc"] - 0.01


def test_a_strong_signal_keeps_the_gain_of_distrivoting():
    found = accuracies(draw(replace(HARD, separation=2.0), N, 32, np.random.default_rng(3)))
    assert found["dis-gmm"] > found["sc"] + 0.05
    assert found["auto"] - found["sc"] >= 0.9 * (found["dis-gmm"] - found["sc"])


def test_leads_are_believed_less_where_less_is_left_of_the_order():
    def run(gap: float) -> Trust:
        return learned(evidence(*[([5, 1], [gap, -gap])] * 30, *[([3, 2], [gap, -gap])] * 30)).trust()

    assert run(1.5).leads == LEADS
    assert run(-1.5).leads == pytest.approx(0.0, abs=1e-6)
    partly = learned(evidence(*[([3, 2], [0.2, -0.2])] * FEWEST)).trust()
    left = 1 - np.sum(partly.weights[0])
    assert 0 < left < TELLS
    assert partly.leads == pytest.approx(LEADS * left / TELLS)


def test_faded_lessons_keep_their_proportions() -> None:
    lessons = Lessons(np.full(3, 4.0), np.full(3, 8.0), 10.0, 20.0, 16, 8)
    faded = lessons.faded(4)
    assert (faded.squares, faded.free, faded.n_questions, faded.n_contested) == (2.5, 5.0, 4, 2)
    assert (faded.agreed == 1.0).all()
    assert (faded.contested == 2.0).all()
    assert lessons.faded(16) is lessons
