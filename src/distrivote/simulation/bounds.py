"""The two theorems of the paper as functions, and how tight the second one is.

Right confidences are N(mean_wrong + delta, sd_right ** 2), wrong ones N(mean_wrong, sd_wrong ** 2).

Theorem 1, the share of right over the share of wrong trajectories above the midpoint of the two means:

    R(delta) = Phi(delta / (2 sd_right)) / (1 - Phi(delta / (2 sd_wrong)))

Theorem 2, a lower bound of the probability that a weighted vote is right. S_f is the weighted sum of the
confidences of all right trajectories, S_g that of all wrong ones, regardless of their answers:

    P(vote) >= P(S_f > S_g) = Phi(z)
    z = (delta W_f + mean_wrong (W_f - W_g)) / sqrt(sd_right^2 W2_f + sd_wrong^2 W2_g)

with the sums W and the sums of squares W2 of the weights. It holds since confidences are not negative, so
that no wrong answer has more than S_g. That the bound rises with delta does not prove that the accuracy does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from distrivote.errors import InputError
from distrivote.evaluation.results import Axis, Chart, Column, Result, Row, Table
from distrivote.simulation.model import normal_cdf

_STANDARD = NormalDist()
_MEAN_WRONG = 15.0


def tail_ratio(delta: float, sd_right: float = 1.0, sd_wrong: float = 1.0) -> float:
    """Return R(delta) of theorem 1; infinity if the wrong tail underflows.

    >>> tail_ratio(0.0), round(tail_ratio(2.0), 3)
    (1.0, 5.303)
    """
    _check_spreads(sd_right, sd_wrong)
    right, wrong = normal_cdf(delta / (2 * sd_right)), normal_cdf(-delta / (2 * sd_wrong))
    return right / wrong if wrong > 0 else math.inf


def tail_ratio_derivative(delta: float, sd_right: float = 1.0, sd_wrong: float = 1.0) -> float:
    """Return the derivative of R, which is positive everywhere, for negative delta too.

    dR / d delta = (phi(u) (1 - Phi(v)) / (2 sd_right) + Phi(u) phi(v) / (2 sd_wrong)) / (1 - Phi(v))^2
    with u = delta / (2 sd_right) and v = delta / (2 sd_wrong).
    """
    _check_spreads(sd_right, sd_wrong)
    u, v = delta / (2 * sd_right), delta / (2 * sd_wrong)
    tail = normal_cdf(-v)
    if tail == 0:
        return math.inf
    first = _STANDARD.pdf(u) / (2 * sd_right * tail)
    second = normal_cdf(u) * (_STANDARD.pdf(v) / tail) / (2 * sd_wrong * tail)
    return first + second


@dataclass(frozen=True, slots=True)
class VoteBound:
    """The lower bound of theorem 2 as a function of delta.

    >>> bound = VoteBound.of([1.0] * 45, [1.0] * 55)
    >>> round(bound(2.0), 3), round(bound(4.0), 3)
    (0.0, 0.999)
    """

    weight_right: float
    weight_wrong: float
    square_right: float
    square_wrong: float
    mean_wrong: float = _MEAN_WRONG
    sd_right: float = 1.0
    sd_wrong: float = 1.0

    @classmethod
    def of(
        cls,
        weights_right: Iterable[float],
        weights_wrong: Iterable[float],
        mean_wrong: float = _MEAN_WRONG,
        sd_right: float = 1.0,
        sd_wrong: float = 1.0,
    ) -> VoteBound:
        """Return the bound for the weights of the right and of all wrong trajectories.

        The weights multiply the confidences: all 1 is the weighted vote of the method. Their scale does not
        matter, so the largest becomes 1.
        """
        right, wrong = list(weights_right), list(weights_wrong)
        _check_spreads(sd_right, sd_wrong)
        if any(not 0 <= weight < math.inf for weight in (*right, *wrong)):
            raise InputError("a weight is negative or not finite: weights are numbers from 0 up")
        if not any(right):
            raise InputError("no right trajectory has a weight: there is nothing to bound")
        unit = max([*right, *wrong])
        right, wrong = ([weight / unit for weight in side] for side in (right, wrong))
        square_right, square_wrong = (sum(weight**2 for weight in side) for side in (right, wrong))
        return cls(sum(right), sum(wrong), square_right, square_wrong, mean_wrong, sd_right, sd_wrong)

    @property
    def _spread(self) -> float:
        return math.sqrt(self.sd_right**2 * self.square_right + self.sd_wrong**2 * self.square_wrong)

    def _z(self, delta: float) -> float:
        lead = delta * self.weight_right + self.mean_wrong * (self.weight_right - self.weight_wrong)
        return lead / self._spread

    def __call__(self, delta: float) -> float:
        """Return P(S_f > S_g)."""
        return normal_cdf(self._z(delta))

    def derivative(self, delta: float) -> float:
        """Return dP / d delta = phi(z) W_f / sqrt(sd_right^2 W2_f + sd_wrong^2 W2_g), which is positive."""
        return _STANDARD.pdf(self._z(delta)) * self.weight_right / self._spread


def _check_spreads(sd_right: float, sd_wrong: float) -> None:
    for name, value in (("sd_right", sd_right), ("sd_wrong", sd_wrong)):
        if not 0 < value < math.inf:
            raise InputError(f"{name} is {value}: give a standard deviation above 0")


def expected_bound(delta: float, n_trajectories: int, share_right: float) -> float:
    """Return the bound averaged over how many trajectories are right, each with probability `share_right`.

    All weights and spreads are 1. Without a right trajectory it is 0.
    """
    total = 0.0
    for n in range(1, n_trajectories + 1):
        rest = n_trajectories - n
        total += _binomial(n, n_trajectories, share_right) * VoteBound(n, rest, n, rest)(delta)
    return total


def _binomial(n: int, n_trajectories: int, share: float) -> float:
    """Return the probability of each number of right ones, by logarithms, since the factors may overflow."""
    if share in (0, 1):
        return float(n == share * n_trajectories)
    rest = n_trajectories - n
    ways = math.lgamma(n_trajectories + 1) - math.lgamma(n + 1) - math.lgamma(rest + 1)
    return math.exp(ways + n * math.log(share) + rest * math.log1p(-share))


def vote_accuracy(
    delta: float,
    n_trajectories: int,
    share_right: float,
    n_answers: int,
    rng: np.random.Generator,
    *,
    n_draws: int = 4000,
) -> float:
    """Return the share of draws in which the weighted vote is right, in the setting of theorem 2.

    Each trajectory is right with probability `share_right`, else it gives one of `n_answers` wrong answers,
    all as likely. A sum of Gaussians is Gaussian, so that the sums are drawn and not their terms.
    """
    shares = [share_right, *[(1 - share_right) / n_answers] * n_answers]
    counts = rng.multinomial(n_trajectories, shares, n_draws)
    means = np.full(1 + n_answers, _MEAN_WRONG)
    means[0] += delta
    sums = rng.normal(counts * means, np.sqrt(counts))
    return float((sums[:, 0] > sums[:, 1:].max(axis=1)).mean())


def theory(
    rng: np.random.Generator,
    *,
    n_trajectories: int = 32,
    n_answers: Sequence[int] = (1, 2, 3, 8),
    n_draws: int = 4000,
) -> Result:
    """Return how far the simulated accuracy of a weighted vote is above its lower bound.

    Spreads are 1 and the wrong mean is 15, so that delta counts standard deviations.
    """
    share = 0.4
    lines: list[Row] = []
    for delta in (0.5 * step for step in range(17)):
        bound = expected_bound(delta, n_trajectories, share)
        for n in n_answers:
            name = f"{n} wrong answer{'s' if n > 1 else ''}"
            accuracy = vote_accuracy(delta, n_trajectories, share, n, rng, n_draws=n_draws)
            lines.append({"delta": delta, "series": name, "accuracy": accuracy})
        lines.append({"delta": delta, "series": "lower bound", "accuracy": bound})
    grid = _grid(rng, n_trajectories, n_draws)
    columns = (
        Column("share_right", "right trajectories", "percent", 0),
        Column("delta", "delta (sd)", "number", 1),
        Column("ratio", "R(delta)", "number", 2),
        Column("bound", "lower bound", "percent"),
        Column("accuracy", "simulated, 3 wrong answers", "percent"),
        Column("gap", "above the bound", "percent"),
    )
    return Result(
        "theory",
        "The two theorems",
        (Table("theory-bound", "Simulated accuracy and its lower bound", columns, grid),),
        (_line_chart(lines, share, n_trajectories), _gap_chart(grid)),
        (
            "The bound takes all wrong trajectories for one answer: with one wrong answer it is exact, with"
            " several it is far below wherever the right answer leads without a majority.",
            "That the lower bound rises with delta does not prove that the accuracy rises.",
        ),
    )


def _grid(rng: np.random.Generator, n_trajectories: int, n_draws: int) -> tuple[Row, ...]:
    rows: list[Row] = []
    for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        for delta in (0.0, 1.0, 2.0, 4.0, 6.0, 8.0):
            bound = expected_bound(delta, n_trajectories, share)
            accuracy = vote_accuracy(delta, n_trajectories, share, 3, rng, n_draws=n_draws)
            rows.append(
                {
                    "share_right": share,
                    "delta": delta,
                    "ratio": tail_ratio(delta),
                    "bound": bound,
                    "accuracy": accuracy,
                    "gap": accuracy - bound,
                }
            )
    return tuple(rows)


def _line_chart(lines: Sequence[Row], share: float, n_trajectories: int) -> Chart:
    return Chart(
        "theory-lines",
        "How much does the lower bound say?",
        f"Simulated votes with {share:.0%} of {n_trajectories} trajectories right: it is exact for one wrong"
        " answer, far off for several",
        "lines",
        Axis("delta", "distance of the means, delta (standard deviations)"),
        Axis("accuracy", "accuracy of the weighted vote", "percent"),
        tuple(lines),
        series="series",
    )


def _gap_chart(grid: Sequence[Row]) -> Chart:
    return Chart(
        "theory-gap",
        "Where does the simulated accuracy lie above the bound?",
        "In points, with three wrong answers: most where the right answer leads without a majority",
        "heatmap",
        Axis("delta", "distance of the means, delta (standard deviations)"),
        Axis("share_right", "right trajectories", "percent"),
        tuple(grid),
        value=Axis("gap", "accuracy above the bound", "percent"),
    )
