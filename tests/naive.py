"""Slow, obvious twins of everything in `distrivote.voting`, written from the text of the method.

Plain loops over one pool at a time, exact fractions wherever a sum decides. Nothing here knows how
the fast code works, and nothing here is fast. NumPy appears for its quantile and where the order of
a sum is its own, scikit-learn for the fit of the released script.

A pool is two lists in the order of the trajectories: an answer (None for none) and a confidence. A
split returns one bool per trajectory, True for positive. A vote takes answers and confidences (which
may be negated ones) and returns the winner and the scores.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from sklearn.mixture import GaussianMixture

from distrivote.voting.trust import GAINS, SPREADS, Trust

Answer = Hashable
Number = float | Fraction | Decimal
Split = Callable[[Sequence[float]], list[bool]]
Vote = Callable[[Sequence[Answer], Sequence[float]], tuple[Answer, dict[Answer, Number]]]

TOLERANCE = Fraction(1, 10**12)


# Ties


def first_best(scores: dict[Answer, Number]) -> Answer:
    """Return the first key, in the order of the dict, whose score ties with the best one."""
    exact = {answer: Fraction(score) for answer, score in scores.items()}
    best = max(exact.values())
    for answer, score in exact.items():
        if best - score <= TOLERANCE * abs(best):
            return answer
    raise AssertionError("the best score ties with itself")


def ascending(confidences: Sequence[float]) -> list[int]:
    """Return the indices from least to most sure; of equal confidences the earlier is surer."""
    return sorted(range(len(confidences)), key=lambda i: (confidences[i], -i))


# Votes


def majority(answers: Sequence[Answer], _: Sequence[float]) -> tuple[Answer, dict[Answer, Number]]:
    scores: dict[Answer, Number] = {}
    for answer in answers:
        scores[answer] = scores.get(answer, 0) + 1
    return first_best(scores), scores


def weighted(
    answers: Sequence[Answer], weights: Sequence[float | Fraction]
) -> tuple[Answer, dict[Answer, Number]]:
    scores: dict[Answer, Number] = {}
    for answer, weight in zip(answers, weights, strict=True):
        scores[answer] = scores.get(answer, Fraction(0)) + Fraction(weight)
    return first_best(scores), scores


def best_of_n(answers: Sequence[Answer], confidences: Sequence[float]) -> tuple[Answer, dict[Answer, Number]]:
    scores: dict[Answer, Number] = {}
    for answer, confidence in zip(answers, confidences, strict=True):
        scores[answer] = max(scores.get(answer, confidence), confidence)
    surest = first_best(dict(enumerate(confidences)))
    return answers[surest], scores


def borda(
    answers: Sequence[Answer], confidences: Sequence[float], p: float = 0.5
) -> tuple[Answer, dict[Answer, Number]]:
    n = len(answers)
    most_sure_first = ascending(confidences)[::-1]
    points = [0.0] * n
    for r, index in enumerate(most_sure_first, start=1):
        points[index] = float(n - r + 1) ** p
    return weighted(answers, points)


def root(
    answers: Sequence[Answer], confidences: Sequence[float], p: float = 0.5
) -> tuple[Answer, dict[Answer, Number]]:
    own: dict[Answer, list[Fraction]] = {}
    for answer, confidence in zip(answers, confidences, strict=True):
        own.setdefault(answer, []).append(Fraction(confidence))
    scores: dict[Answer, Number] = {
        answer: Fraction(float(len(some)) ** p) * sum(some) / len(some) for answer, some in own.items()
    }
    return first_best(scores), scores


def best_of_m_shares(
    answers: Sequence[Answer], confidences: Sequence[float], m: int
) -> dict[Answer, Decimal]:
    """Return how probably each answer is that of the surest of m trajectories drawn at random."""
    n = len(answers)
    shares = dict.fromkeys(answers, Decimal(0))
    with localcontext(prec=50):
        for i, index in enumerate(ascending(confidences), start=1):
            shares[answers[index]] += (Decimal(i) / n) ** m - (Decimal(i - 1) / n) ** m
    return shares


def mob_candidates(n: int, q: float) -> list[int]:
    candidates: list[int] = []
    written = Fraction(str(q))
    above, below = n, 1
    while 1 not in candidates:
        m = max(1, above // below)
        if m not in candidates:
            candidates.append(m)
        above, below = above * written.numerator, below * written.denominator
    return candidates


def mob_adaptive(
    answers: Sequence[Answer], confidences: Sequence[float], q: float = 0.75
) -> tuple[Answer, dict[Answer, Number]]:
    if len(answers) == 1:
        return answers[0], {answers[0]: 1.0}
    candidates = mob_candidates(len(answers), q)
    shares = {m: best_of_m_shares(answers, confidences, m) for m in candidates}
    changes = {}
    for larger, smaller in pairwise(candidates):
        changes[larger] = sum(abs(shares[larger][a] - shares[smaller][a]) for a in set(answers))
    smallest = min(changes.values())
    m = min(m for m, change in changes.items() if change - smallest <= Decimal("1e-12"))
    scores: dict[Answer, Number] = dict(shares[m])
    return first_best(scores), scores


def mob_poly(answers: Sequence[Answer], confidences: Sequence[float]) -> tuple[Answer, dict[Answer, Number]]:
    scores: dict[Answer, Number] = dict(best_of_m_shares(answers, confidences, math.isqrt(len(answers))))
    return first_best(scores), scores


def interval_indices(confidences: Sequence[float], n_intervals: int = 10) -> list[int]:
    """Return the interval of each confidence: open below, closed above, the first also below."""
    lowest, highest = min(confidences), max(confidences)
    h = (highest - lowest) / n_intervals
    if h == 0:
        return [0] * len(confidences)
    return [min(max(math.ceil((c - lowest) / h) - 1, 0), n_intervals - 1) for c in confidences]


def hierarchical(
    answers: Sequence[Answer], confidences: Sequence[float], n_intervals: int = 10
) -> tuple[Answer, dict[Answer, Number]]:
    """Vote in each interval, then between the intervals' answers; confidences may be negative."""
    indices = interval_indices(confidences, n_intervals)
    interval_answers: list[Answer] = []
    interval_weights: list[Fraction] = []
    for interval in range(n_intervals):
        members = [i for i, index in enumerate(indices) if index == interval]
        if not members:
            continue
        answer, _ = weighted([answers[i] for i in members], [confidences[i] for i in members])
        own = [Fraction(confidences[i]) for i in members if answers[i] == answer]
        interval_answers.append(answer)
        interval_weights.append(sum(own) / len(own))
    return weighted(interval_answers, interval_weights)


# Splits


def no_split(confidences: Sequence[float]) -> list[bool]:
    return [True] * len(confidences)


def unless_one_sided(positive: list[bool]) -> list[bool]:
    """Return the split as it is if both sides have members; else everything is positive."""
    return positive if any(positive) and not all(positive) else [True] * len(positive)


def top(confidences: Sequence[float], fraction: float = 0.5) -> list[bool]:
    quantile = np.quantile(confidences, float(1 - Fraction(str(fraction))))
    return unless_one_sided([bool(c >= quantile) for c in confidences])


def two_means_cut(confidences: Sequence[float]) -> int:
    """Return how many of the lowest confidences are the lower of the two best clusters.

    Cutting off the k lowest of n lowers the sum of squares by n * S^2 / (k (n - k)), where S is the
    sum of their distances from the mean of all: the larger, the better. Needs two different values.
    """
    values = sorted(Fraction(c) for c in confidences)
    n = len(values)
    mean = sum(values) / n
    gains = {}
    below = Fraction(0)
    for k in range(1, n):
        below += values[k - 1] - mean
        if values[k - 1] < values[k]:
            gains[k] = below**2 / (k * (n - k))
    best = max(gains.values())
    return min(k for k, gain in gains.items() if best - gain <= TOLERANCE * best)


def kmeans(confidences: Sequence[float]) -> list[bool]:
    if min(confidences) == max(confidences):
        return [True] * len(confidences)
    smallest_positive = sorted(confidences)[two_means_cut(confidences)]
    return [c >= smallest_positive for c in confidences]


def bandwidth(confidences: Sequence[float]) -> float:
    """Return the mean distance to the (0.3 n)-th nearest, itself included, added up 500 at a time."""
    nearest = max(int(len(confidences) * 0.3), 1)
    distances = [sorted(abs(c - other) for other in confidences)[nearest - 1] for c in sorted(confidences)]
    parts = [float(np.sum(distances[i : i + 500])) for i in range(0, len(distances), 500)]
    return sum(parts) / len(confidences)


def shifted_centres(confidences: Sequence[float], radius: float) -> list[float]:
    """Return the centres of the mean-shift clusters, that of most values first."""
    values = sorted(confidences)
    found: dict[float, int] = {}
    for centre in values:
        for _ in range(301):
            inside = [value for value in values if abs(value - centre) <= radius]
            previous, centre = centre, math.fsum(inside) / len(inside)
            if abs(centre - previous) <= 1e-3 * radius:
                break
        found[centre] = len(inside)
    chosen: list[float] = []
    for centre in sorted(found, key=lambda c: (found[c], c), reverse=True):
        if all(abs(centre - other) > radius for other in chosen):
            chosen.append(centre)
    return chosen


def meanshift(confidences: Sequence[float]) -> list[bool]:
    radius = bandwidth(confidences)
    if radius == 0:
        return [True] * len(confidences)
    centres = shifted_centres(confidences, radius)
    midpoint = (min(centres) + max(centres)) / 2
    nearest = [min(centres, key=lambda centre: abs(value - centre)) for value in confidences]
    return unless_one_sided([centre > midpoint for centre in nearest])


class Standardised(NamedTuple):
    z: list[float]
    mean: float
    sd: float


def standardise(confidences: Sequence[float]) -> Standardised:
    """Return (C - mean) / population sd, exact but for the last rounding."""
    unit = Fraction(2) ** math.frexp(max(confidences))[1]
    values = [Fraction(c) / unit for c in confidences]
    mean = sum(values) / len(values)
    sd = Fraction(math.sqrt(sum((v - mean) ** 2 for v in values) / len(values)))
    return Standardised([float((v - mean) / sd) for v in values], float(mean * unit), float(sd * unit))


class Mixture(NamedTuple):
    """Two Gaussians on z, the one with the lower mean first."""

    weights: list[float]
    means: list[float]
    variances: list[float]
    n_rounds: int


def log_density(z: float, weight: float, mean: float, variance: float) -> float:
    return math.log(weight) - math.log(2 * math.pi * variance) / 2 - (z - mean) ** 2 / (2 * variance)


def starting_point(z: Sequence[float], cut: int) -> tuple[list[float], list[float], list[float]]:
    """Return the weights, means and variances of the two sides of a cut of the sorted values."""
    ordered = sorted(z)
    weights, means, variances = [], [], []
    for side in (ordered[:cut], ordered[cut:]):
        mean = math.fsum(side) / len(side)
        weights.append(len(side) / len(z))
        means.append(mean)
        variances.append(math.fsum((x - mean) ** 2 for x in side) / len(side) + 1e-6)
    return weights, means, variances


def fit_gmm(z: Sequence[float], cut: int) -> Mixture:
    """Fit two Gaussians by EM from the two sides of the cut."""
    weights, means, variances = starting_point(z, cut)
    previous = -math.inf
    n_rounds = 0
    while n_rounds < 100:
        n_rounds += 1
        posteriors, log_likelihoods = [], []
        for x in z:
            logs = [log_density(x, weights[k], means[k], variances[k]) for k in (0, 1)]
            highest = max(logs)
            total = highest + math.log(sum(math.exp(log - highest) for log in logs))
            posteriors.append([math.exp(log - total) for log in logs])
            log_likelihoods.append(total)
        n_k = []
        for k in (0, 1):
            r = [posterior[k] for posterior in posteriors]
            n_k.append(math.fsum(r) + 10 * sys.float_info.epsilon)
            means[k] = math.fsum(r[i] * z[i] for i in range(len(z))) / n_k[k]
            squares = math.fsum(r[i] * (z[i] - means[k]) ** 2 for i in range(len(z)))
            variances[k] = squares / n_k[k] + 1e-6
        weights = [n / sum(n_k) for n in n_k]
        likelihood = math.fsum(log_likelihoods) / len(z)
        if abs(likelihood - previous) < 1e-3:
            break
        previous = likelihood
    if means[0] > means[1]:
        weights, means, variances = weights[::-1], means[::-1], variances[::-1]
    return Mixture(weights, means, variances, n_rounds)


def is_positive(z: float, fit: Mixture) -> bool:
    if z >= fit.means[1]:
        return True
    if z <= fit.means[0]:
        return False
    negative, positive = (log_density(z, fit.weights[k], fit.means[k], fit.variances[k]) for k in (0, 1))
    return positive > negative


def gmm(confidences: Sequence[float]) -> list[bool]:
    if min(confidences) == max(confidences):
        return [True] * len(confidences)
    z = standardise(confidences).z
    fit = fit_gmm(z, two_means_cut(confidences))
    return unless_one_sided([is_positive(x, fit) for x in z])


# The whole way


class Method(NamedTuple):
    split: Split
    reject: bool
    vote: Vote
    weighed: bool = False


class Result(NamedTuple):
    winner: Answer | None
    scores: dict[Answer, float]
    rejected: Answer | None
    n_kept: int


METHODS = {
    "auto": Method(gmm, True, hierarchical, weighed=True),
    "sc": Method(no_split, False, majority),
    "wsc": Method(no_split, False, weighted),
    "bon": Method(no_split, False, best_of_n),
    "borda": Method(no_split, False, borda),
    "root": Method(no_split, False, root),
    "mob": Method(no_split, False, mob_adaptive),
    "mob-poly": Method(no_split, False, mob_poly),
    "hier": Method(no_split, False, hierarchical),
    "wsc-top50": Method(top, False, weighted),
    "wsc-gmm": Method(gmm, False, weighted),
    "wsc-kmeans": Method(kmeans, False, weighted),
    "wsc-meanshift": Method(meanshift, False, weighted),
    "dis-top50": Method(top, True, hierarchical),
    "dis-gmm": Method(gmm, True, hierarchical),
    "dis-kmeans": Method(kmeans, True, hierarchical),
    "dis-meanshift": Method(meanshift, True, hierarchical),
    "hier-top50": Method(top, False, hierarchical),
    "hier-gmm": Method(gmm, False, hierarchical),
    "wsc-top50-reject": Method(top, True, weighted),
    "wsc-gmm-reject": Method(gmm, True, weighted),
}
"""The names that users and the paper know."""

VARIANTS = {
    "wsc-top:0.1": Method(partial(top, fraction=0.1), False, weighted),
    "wsc-top:0.75": Method(partial(top, fraction=0.75), False, weighted),
    "dis-gmm:intervals=5": Method(gmm, True, partial(hierarchical, n_intervals=5)),
    "hier:intervals=3": Method(no_split, False, partial(hierarchical, n_intervals=3)),
    "mob:0.1": Method(no_split, False, partial(mob_adaptive, q=0.1)),
    "mob:q=0.5": Method(no_split, False, partial(mob_adaptive, q=0.5)),
    "borda:p=1": Method(no_split, False, partial(borda, p=1)),
    "root:0.3": Method(no_split, False, partial(root, p=0.3)),
    "root-gmm": Method(gmm, False, root),
    "root-gmm-reject:p=1.5": Method(gmm, True, partial(root, p=1.5)),
}
"""Names with parameters."""


def rank_scores(confidences: Sequence[float]) -> list[float]:
    """Return the normal score of every confidence's rank; equal ones share the mean of theirs."""
    n = len(confidences)
    by_place = [NormalDist().inv_cdf((place + 0.5) / n) for place in range(n)]
    ranked = sorted(confidences)
    return [
        math.fsum(s for s, other in zip(by_place, ranked, strict=True) if other == value)
        / ranked.count(value)
        for value in confidences
    ]


def evidence(answers: Sequence[Answer], confidences: Sequence[float]) -> dict[Answer, float]:
    """Return, by answer, how far its mean score lies above that of all others."""
    scores = rank_scores(confidences)
    found = {}
    for answer in answers:
        own = [s for s, other in zip(scores, answers, strict=True) if other == answer]
        rest = [s for s, other in zip(scores, answers, strict=True) if other != answer]
        found[answer] = math.fsum(own) / len(own) - math.fsum(rest) / len(rest) if rest else 0.0
    return found


def leads(answers: Sequence[Answer], confidences: Sequence[float]) -> dict[Answer, float]:
    """Return, by answer, how far its trajectories lead the others, the mean over all pairs."""

    def lead(one: float, other: float) -> float:
        ratio = math.log(one) - math.log(other)
        return math.copysign(min(max((abs(ratio) - 0.3) / 0.5, 0.0), 1.0), ratio)

    found = {}
    for answer in answers:
        own = [c for c, other in zip(confidences, answers, strict=True) if other == answer]
        rest = [c for c, other in zip(confidences, answers, strict=True) if other != answer]
        pairs = [lead(one, other) for one in own for other in rest]
        found[answer] = math.fsum(pairs) / len(pairs) if pairs else 0.0
    return found


def log_odds(
    answers: Sequence[Answer], confidences: Sequence[float], trust: Trust | None = None
) -> dict[Answer, float]:
    """Return the log-odds of each answer, up to a constant."""
    trust = trust or Trust()
    counts = {answer: list(answers).count(answer) for answer in answers}
    led = leads(answers, confidences)
    odds = {}
    for answer, gap in evidence(answers, confidences).items():
        odds[answer] = 1.25 * math.log(counts[answer])
        others = [n for other, n in counts.items() if other != answer]
        if not others:
            continue
        rest = sum(others)
        cases = [(trust.leads, led[answer], 0.8, 0.2, 0.07)]
        for d, row in zip(GAINS.tolist(), trust.weights, strict=True):
            for spread, weight in zip(SPREADS.tolist(), row, strict=True):
                cases.append(((1 - trust.leads) * weight, gap, d, spread, trust.noise))
        ratio = even = 0.0
        for weight, surer, d, spread, noise in cases:
            variance = spread**2 * (1 + sum(n * n for n in others) / rest**2)
            variance += noise * (1 / counts[answer] + 1 / rest)
            ratio += weight * math.exp((d * surer - d * d / 2) / variance)
            even += weight * math.exp(-d * d / 2 / variance)
        odds[answer] += math.log(ratio / even)
    return odds


def question_log_likelihood(
    counts: Sequence[int],
    means: Sequence[float],
    strength: float,
    scatter: float,
    spread: float,
    noise: float,
) -> float:
    """Return how likely the mean scores of the answers are, by the model of `lessons`, over all levels."""
    gains = [step / 4 for step in range(-12, 13)]
    chances = [math.exp(-(((d - strength) / scatter) ** 2) / 2) for d in gains]
    popular = [n**1.25 for n in counts]
    nobody = 0.5**1.25
    total = math.fsum(popular) + nobody
    value = 0.0
    for d, chance in zip(gains, chances, strict=True):
        for right, weight in [*enumerate(popular), (None, nobody)]:
            values = [mean - d * (place == right) for place, mean in enumerate(means)]
            density = _density_over_levels(values, [spread**2 + noise / n for n in counts])
            value += chance / math.fsum(chances) * weight / total * density
    return math.log(value)


def _density_over_levels(values: Sequence[float], variances: Sequence[float]) -> float:
    """Return the integral of the normal densities over their common mean."""
    weights = [1 / variance for variance in variances]
    level = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
    squares = math.fsum(w * (v - level) ** 2 for w, v in zip(weights, values, strict=True))
    scale = math.prod(math.sqrt(w / (2 * math.pi)) for w in weights)
    return scale * math.exp(-squares / 2) * math.sqrt(2 * math.pi / math.fsum(weights))


def select(items: Sequence, keep: Sequence[bool]) -> list:
    return [item for item, kept in zip(items, keep, strict=True) if kept]


def negated_answer(answers: Sequence[Answer], confidences: Sequence[float], vote: Vote) -> Answer:
    """Return what the negatives prefer: the vote with every confidence negated."""
    return vote(answers, [-c for c in confidences])[0]


def final_pool(
    answers: Sequence[Answer], confidences: Sequence[float], method: Method
) -> tuple[list[Answer], list[float], Answer | None]:
    """Return the answers and confidences of the final vote, and what was rejected."""
    positive = method.split(confidences)
    kept = select(answers, positive), select(confidences, positive)
    if not method.reject or all(positive):
        return *kept, None
    negative = [not p for p in positive]
    preferred, _ = method.vote(*kept)
    rejected = negated_answer(select(answers, negative), select(confidences, negative), method.vote)
    if preferred == rejected:
        return *kept, None
    remaining = [answer != rejected for answer in answers]
    answers, confidences = select(answers, remaining), select(confidences, remaining)
    positive = method.split(confidences)
    return select(answers, positive), select(confidences, positive), rejected


def answered(
    answers: Sequence[Answer | None], confidences: Sequence[float] | None
) -> tuple[list[Answer], list[float]]:
    keep = [answer is not None for answer in answers]
    if confidences is None:
        confidences = [1.0] * len(answers)
    return select(answers, keep), select(confidences, keep)


def vote(answers: Sequence[Answer | None], confidences: Sequence[float] | None, method_name: str) -> Result:
    method = (METHODS | VARIANTS)[method_name]
    answers, confidences = answered(answers, confidences)
    if not answers:
        return Result(None, {}, None, 0)
    kept_answers, kept_confidences, rejected = final_pool(answers, confidences, method)
    winner, scores = method.vote(kept_answers, kept_confidences)
    _, counts = majority(answers, confidences)
    if method.weighed:
        odds = log_odds(answers, confidences)
        best = max(odds.values())
        voted = winner
        winner = first_best({answer: n for answer, n in counts.items() if odds[answer] >= best - 1e-9})
        if winner != voted:
            total = math.fsum(math.exp(value - best) for value in odds.values())
            scores = {answer: math.exp(value - best) / total for answer, value in odds.items()}
            rejected, kept_answers = None, answers
    every = {answer: float(scores.get(answer, 0)) for answer in answers}
    return Result(winner, every, rejected, len(kept_answers))


# The released script


def released_gmm(confidences: Sequence[float]) -> float:
    """Return the cut between scikit-learn's two labels, by which of them lies lower."""
    if len(confidences) <= 1:
        return 0.0
    points = np.array(confidences, dtype=np.float64).reshape(-1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = GaussianMixture(2, random_state=0).fit(points).predict(points)
    zero, one = ([c for c, b in zip(confidences, labels, strict=True) if b == label] for label in (0, 1))
    if not zero or not one:
        return min(confidences)
    if max(zero) <= min(one):
        return (max(zero) + min(one)) / 2
    return (max(one) + min(zero)) / 2


def released_top(confidences: Sequence[float], fraction: float = 0.5) -> float:
    return float(np.percentile(confidences, (1 - fraction) * 100))


def released_hierarchical(
    answers: Sequence[Answer], confidences: Sequence[float], n_intervals: int = 10
) -> tuple[Answer, dict[Answer, Number]]:
    """Vote in intervals that drift: each begins with the first value below the one before."""
    downwards = sorted(range(len(answers)), key=lambda i: (confidences[i], i), reverse=True)
    step = (max(confidences) - min(confidences)) * (1 / n_intervals)
    end = max(confidences) - step
    intervals: list[list[int]] = [[]]
    for i in downwards:
        if confidences[i] >= end:
            intervals[-1].append(i)
        else:
            intervals.append([i])
            end -= step
    elected, weights = [], []
    for inside in intervals:
        elected.append(majority([answers[i] for i in inside], [])[0])
        weights.append(sum(Fraction(confidences[i]) for i in inside) / len(inside))
    return weighted(elected, weights)


class Released(NamedTuple):
    cut: Callable[[Sequence[float]], float] | None
    reject: bool
    vote: Vote


RELEASED = {
    "hier:released": Released(None, False, released_hierarchical),
    "hier:released,intervals=3": Released(None, False, partial(released_hierarchical, n_intervals=3)),
    "wsc-top50:released": Released(released_top, False, weighted),
    "wsc-gmm:released": Released(released_gmm, False, weighted),
    "hier-top50:released": Released(released_top, False, released_hierarchical),
    "hier-gmm:released": Released(released_gmm, False, released_hierarchical),
    "wsc-top50-reject:released": Released(released_top, True, weighted),
    "wsc-gmm-reject:released": Released(released_gmm, True, weighted),
    "dis-top50:released": Released(released_top, True, released_hierarchical),
    "dis-top70:released": Released(partial(released_top, fraction=0.7), True, released_hierarchical),
    "dis-gmm:released": Released(released_gmm, True, released_hierarchical),
    "dis-gmm:released,intervals=5": Released(
        released_gmm, True, partial(released_hierarchical, n_intervals=5)
    ),
}


def released_vote(answers: Sequence[Answer | None], confidences: Sequence[float], method_name: str) -> Result:
    method = RELEASED[method_name]
    answers, confidences = answered(answers, confidences)
    if not answers:
        return Result(None, {}, None, 0)
    every, rejected = list(answers), None
    if method.cut is None:
        above = [True] * len(answers)
    else:
        cut = method.cut(confidences)
        above, below = [c >= cut for c in confidences], [c <= cut for c in confidences]
        preferred, _ = method.vote(select(answers, above), select(confidences, above))
        if method.reject and any(below):
            rejected = negated_answer(select(answers, below), select(confidences, below), method.vote)
            if rejected == preferred:
                rejected = None
            else:
                others = [answer != rejected for answer in answers]
                answers, confidences = select(answers, others), select(confidences, others)
                cut = method.cut(confidences)
                above = [c >= cut for c in confidences]
    winner, scores = method.vote(select(answers, above), select(confidences, above))
    return Result(winner, {a: float(scores.get(a, 0)) for a in every}, rejected, sum(above))
