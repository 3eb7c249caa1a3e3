"""Numbers that can't lie: tiny, huge, equal and nearly equal confidences against exact fractions."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import distrivote
from distrivote.errors import InputError
from faults.exact_votes import VOTES, winner

TINY, HUGE = 1e-100, 1e100
N_POOLS = 60
CLEAR = Fraction(1, 10**13)
"""A comparison that is this close to the edge of the tie rule, or of an interval, may fall on either side."""

Draw = Callable[[random.Random], float]
KINDS: dict[str, Draw] = {
    "tiny": lambda rng: TINY * rng.uniform(1, 4),
    "huge": lambda rng: HUGE * rng.uniform(0.25, 1),
    "all equal": lambda _: 14.25,
    "two values": lambda rng: rng.choice((0.1, 0.3)),
    "a tiny and a huge value": lambda rng: rng.choice((TINY, HUGE)),
    "tenths": lambda rng: rng.randrange(1, 40) / 10,
    "a few roundings apart": lambda rng: 14 * (1 + rng.randrange(4) * 2.0**-52),
    "two hundred orders of magnitude": lambda rng: 10.0 ** rng.uniform(-99.9, 99.9),
    "usual": lambda rng: rng.gauss(14, 2) if rng.random() < 0.99 else 0.01,
}


@pytest.mark.parametrize("method", VOTES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_winner_is_that_of_exact_arithmetic(method: str, kind: str) -> None:
    n_compared = 0
    for seed in range(N_POOLS):
        rng = random.Random(f"{kind} {seed}")
        n = rng.choice((1, 2, 3, 5, 16, 64))
        answers = [rng.choice("abcd") for _ in range(n)]
        confidences = [KINDS[kind](rng) for _ in range(n)]
        tally = distrivote.vote(answers, confidences, method)
        assert all(math.isfinite(score) and score >= 0 for score in tally.scores.values())
        assert 0 <= tally.share <= 1
        expected = winner(method, answers, confidences)
        if expected.doubt > CLEAR:
            n_compared += 1
            assert tally.answer == expected.answer, (seed, answers, confidences)
    assert n_compared >= N_POOLS / 4


@pytest.mark.parametrize("method", [*VOTES, "dis-gmm", "wsc-kmeans", "wsc-gmm-reject", "dis-top50"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_number_brings_a_warning_or_nan(method: str, kind: str) -> None:
    rng = random.Random(kind)
    pools = [
        ([rng.randrange(4) for _ in range(n)], [KINDS[kind](rng) for _ in range(n)]) for n in (1, 2, 33, 128)
    ]
    with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("error")
        for answers, confidences in pools:
            tally = distrivote.vote(answers, confidences, method)
            assert tally.answer in answers
            assert all(math.isfinite(score) for score in tally.scores.values())
            assert math.isfinite(tally.share)
            assert tally.explain()


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, 1e300, 1e-300, 5e-324, -1e300, 0.0, -0.0, -1.0, -1e-99]
)
def test_what_is_no_confidence_is_refused(value: float) -> None:
    with pytest.raises(
        InputError, match="confidences are finite" if value > 0 or value < -9 else "needs positive"
    ):
        distrivote.vote(["a", "b"], [1.0, value], "wsc")


def test_nan_is_a_confidence_that_is_missing() -> None:
    assert distrivote.vote(["b", "b", "a"], [math.nan, math.nan, 1.0], "wsc").answer == "a"
    assert distrivote.vote(["b", "b", "a"], [math.nan] * 3, "wsc").answer == "b"
    assert distrivote.vote(["a", None], [1.0, math.nan], "wsc").answer == "a"
    assert distrivote.vote(["a", "b", "b"], [1.0, math.nan, math.nan], "sc").answer == "b"


MILLION = 10**6
LARGE = ["sc", "wsc", "bon", "borda", "hier", "mob-poly", "wsc-top50", "dis-gmm"]


def exact_sums(classes: np.ndarray, confidences: np.ndarray) -> list[float]:
    return [math.fsum(confidences[classes == each]) for each in range(int(classes.max()) + 1)]


def test_a_million_trajectories_are_voted_on_without_a_warning() -> None:
    rng = np.random.default_rng(7)
    classes = rng.integers(0, 4, MILLION)
    confidences = rng.normal(14, 2, MILLION).clip(0.01)
    winners = distrivote.vote_batch(classes[None], confidences[None], LARGE)
    sums = exact_sums(classes, confidences)
    assert winners["wsc"][0] == int(np.argmax(sums))
    assert winners["sc"][0] == int(np.bincount(classes).argmax())
    assert winners["bon"][0] == classes[confidences.argmax()]
    assert all(0 <= winner[0] < 4 for winner in winners.values())


def tied_million() -> tuple[np.ndarray, np.ndarray]:
    """Return two answers with equal sums: 0.1 added up a million times is 100000.00000133288."""
    classes = np.tile([0, 1, 0], MILLION // 3)
    confidences = np.where(classes == 0, 0.1, 0.2)
    order = np.random.default_rng(0).permutation(len(classes))
    return classes[order], confidences[order]


@pytest.mark.parametrize("swap", [False, True])
def test_a_tie_of_a_million_trajectories_goes_to_the_answer_seen_first(swap: bool) -> None:
    classes, confidences = tied_million()
    classes = 1 - classes if swap else classes
    start = int(np.flatnonzero(classes == 0)[0])
    for first in (0, start):
        some = np.roll(classes, -first), np.roll(confidences, -first)
        assert distrivote.vote_batch(some[0][None], some[1][None], ["wsc"])["wsc"][0] == some[0][0]


def test_a_tie_inside_an_interval_goes_to_the_answer_seen_first() -> None:
    classes, confidences = tied_million()
    # A third answer, far above, makes the tie that of the lower interval.
    classes, confidences = np.append(classes, 2), np.append(confidences, 1e9)
    for first in (0, int(np.flatnonzero(classes != classes[0])[0])):
        labels = np.roll(classes, -first).tolist()
        tally = distrivote.vote(labels, np.roll(confidences, -first), "hier:intervals=2")
        assert tally.scores[labels[0]] > 0


@pytest.mark.parametrize("seed", range(4))
def test_a_lead_of_one_part_in_a_hundred_thousand_million_decides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    half = MILLION // 10
    one = rng.uniform(1, 100, half)
    classes = np.repeat([0, 1], half)
    confidences = np.concatenate([one, rng.permutation(one)])
    order = rng.permutation(2 * half)
    classes, confidences = classes[order], confidences[order]
    sums = exact_sums(classes, confidences)
    assert sums[0] == sums[1]
    assert distrivote.vote_batch(classes[None], confidences[None], ["wsc"])["wsc"][0] == classes[0]
    last = int(np.flatnonzero(classes != classes[0])[0])
    confidences[last] += 1e-11 * sums[0]
    assert distrivote.vote_batch(classes[None], confidences[None], ["wsc"])["wsc"][0] == classes[last]


def test_ranks_of_ten_thousand_different_answers_tie_where_they_should() -> None:
    # Best of one: every answer has the same chance, and the one that came first wins.
    from distrivote.voting.kernels.ranks import _bests_of

    chances = _bests_of(1, 10_000)[1:]
    assert np.ptp(chances) <= 1e-12 * chances.max()
    assert math.isclose(math.fsum(_bests_of(100, 10_000)), 1.0, rel_tol=1e-14)
