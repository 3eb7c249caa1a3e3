"""The votes as most scripts write them: one pool at a time, scikit-learn's GaussianMixture per fit.

The competitor of bench/voting.py. Same rules as the library but for the fit's start, which is
scikit-learn's default here; nothing is shared between methods, as in the authors' script.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import MeanShift, estimate_bandwidth
from sklearn.mixture import GaussianMixture

Votes = list[tuple[int, float]]


def weighted(votes: Votes) -> int:
    scores: dict[int, float] = {}
    for answer, weight in votes:
        scores[answer] = scores.get(answer, 0.0) + weight
    return max(scores, key=scores.__getitem__)


def majority(votes: Votes) -> int:
    return weighted([(answer, 1.0) for answer, _ in votes])


def best_of_n(votes: Votes) -> int:
    return max(votes, key=lambda vote: vote[1])[0]


def root(votes: Votes) -> int:
    counts: dict[int, int] = {}
    for answer, _ in votes:
        counts[answer] = counts.get(answer, 0) + 1
    return weighted([(answer, weight / counts[answer] ** 0.5) for answer, weight in votes])


def hierarchical(votes: Votes, n_intervals: int = 10) -> int:
    weights = np.array([weight for _, weight in votes])
    low, width = weights.min(), (weights.max() - weights.min()) / n_intervals
    if width == 0:
        return weighted(votes)
    places = np.clip(np.ceil((weights - low) / width) - 1, 0, n_intervals - 1)
    elected = []
    for place in range(n_intervals):
        inside = [vote for vote, where in zip(votes, places, strict=True) if where == place]
        if inside:
            answer = weighted(inside)
            elected.append((answer, float(np.mean([w for a, w in inside if a == answer]))))
    return weighted(elected)


def majority_of_bests(votes: Votes, q: float = 0.75) -> int:
    n = len(votes)
    ranked = sorted(votes, key=lambda vote: vote[1])

    def chances(m: int) -> dict[int, float]:
        scores: dict[int, float] = {}
        for i, (answer, _) in enumerate(ranked, start=1):
            scores[answer] = scores.get(answer, 0.0) + (i / n) ** m - ((i - 1) / n) ** m
        return scores

    sizes, j = [n], 0
    while sizes[-1] > 1:
        j += 1
        size = max(1, int(q**j * n))
        if size < sizes[-1]:
            sizes.append(size)
    tables = [chances(m) for m in sizes]
    if len(tables) == 1:
        return ranked[-1][0]
    changes = [sum(abs(a[key] - b[key]) for key in a) for a, b in itertools.pairwise(tables)]
    chosen = tables[int(np.argmin(changes))]
    return max(chosen, key=chosen.__getitem__)


def split_gmm(votes: Votes) -> tuple[Votes, Votes]:
    values = np.array([[weight] for _, weight in votes])
    if len(votes) < 2 or np.ptp(values) == 0:
        return votes, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = GaussianMixture(n_components=2, random_state=0).fit(values)
    positive = mixture.predict(values) == int(np.argmax(mixture.means_[:, 0]))
    return _sides(votes, positive)


def split_top(votes: Votes) -> tuple[Votes, Votes]:
    values = np.array([weight for _, weight in votes])
    return _sides(votes, values >= np.percentile(values, 50))


def split_meanshift(votes: Votes) -> tuple[Votes, Votes]:
    values = np.array([[weight] for _, weight in votes])
    bandwidth = estimate_bandwidth(values)
    if bandwidth == 0:
        return votes, []
    fitted = MeanShift(bandwidth=bandwidth).fit(values)
    centres = fitted.cluster_centers_[:, 0]
    return _sides(votes, centres[fitted.labels_] > (centres.min() + centres.max()) / 2)


def _sides(votes: Votes, positive: np.ndarray) -> tuple[Votes, Votes]:
    kept = [vote for vote, good in zip(votes, positive, strict=True) if good]
    return kept or votes, [vote for vote, good in zip(votes, positive, strict=True) if not good]


Split = Callable[[Votes], tuple[Votes, Votes]]


def reject_vote(votes: Votes, split: Split, vote: Callable[[Votes], int]) -> int:
    positive, negative = split(votes)
    chosen = vote(positive)
    if not negative:
        return chosen
    rejected = vote([(answer, -weight) for answer, weight in negative])
    if rejected == chosen:
        return chosen
    return vote(split([v for v in votes if v[0] != rejected])[0])


METHODS: dict[str, Callable[[Votes], int]] = {
    "sc": majority,
    "bon": best_of_n,
    "mob": majority_of_bests,
    "wsc": weighted,
    "hier": hierarchical,
    "wsc-top50": lambda votes: weighted(split_top(votes)[0]),
    "wsc-gmm": lambda votes: weighted(split_gmm(votes)[0]),
    "wsc-meanshift": lambda votes: weighted(split_meanshift(votes)[0]),
    "hier-top50": lambda votes: hierarchical(split_top(votes)[0]),
    "hier-gmm": lambda votes: hierarchical(split_gmm(votes)[0]),
    "wsc-top50-reject": lambda votes: reject_vote(votes, split_top, weighted),
    "wsc-gmm-reject": lambda votes: reject_vote(votes, split_gmm, weighted),
    "dis-top50": lambda votes: reject_vote(votes, split_top, hierarchical),
    "dis-gmm": lambda votes: reject_vote(votes, split_gmm, hierarchical),
}


def run(method: str, classes: np.ndarray, confidences: np.ndarray) -> np.ndarray:
    """Return the winner of each pool."""
    pools = zip(classes.tolist(), confidences.tolist(), strict=True)
    vote = METHODS[method]
    return np.array([vote(list(zip(answers, weights, strict=True))) for answers, weights in pools])
