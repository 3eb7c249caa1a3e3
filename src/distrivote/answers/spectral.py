"""Which nodes of a weighted graph belong together: recursive bipartition by the Fiedler vector.

Nodes that no links of at least 0.2 connect are in different classes. A connected group is split in two along
the Fiedler vector of its graph (the second eigenvector of the normalised Laplacian), at the cut with the
smallest ratio of the mean link across it to the mean link inside the tighter part. The cut is made, and the
parts are examined again, as long as that ratio is below 0.5 or the mean link across it below 0.2.

The result depends on the order of the nodes only where eigenvalues coincide. Time is quadratic in the nodes
for each cut.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from distrivote.trajectory import Floats

Indices: TypeAlias = npt.NDArray[np.int64]

LEAST = 0.2
"""The minimum mean link across any cut of a class."""

SHARE = 0.5
"""The minimum of the same as a share of the mean link inside the tighter part."""

_PRIOR = 20
"""A prior: this number of pairs with the group's mean link is added to each part, as few texts seem tight."""

_N_STEPS = 48
"""Lanczos steps: exact for groups of up to this number of texts, and accurate enough to order larger ones."""


def groups(links: Floats, counts: Floats) -> list[Indices]:
    """Return the classes, as indices.

    Args:
        links: (n, n), symmetric, from 0 to 1, with 1 on the diagonal.
        counts: How often each of the n nodes occurs, 1 or more.

    >>> [group.tolist() for group in groups(np.array([[1, 0.9, 0], [0.9, 1, 0.1], [0, 0.1, 1]]), np.ones(3))]
    [[2], [0, 1]]
    """
    done: list[Indices] = []
    waiting = [np.arange(len(links))]
    while waiting:
        group = waiting.pop()
        inside = np.ix_(group, group)
        parts = _components(links[inside] >= LEAST)
        if len(parts) == 1:
            parts = _parted(links[inside], counts[group])
        if len(parts) == 1:
            done.append(group)
        else:
            waiting += [group[part] for part in parts]
    return done


def _components(linked: npt.NDArray[np.bool_]) -> list[Indices]:
    """Return the groups that links connect."""
    found = []
    left = np.ones(len(linked), bool)
    while left.any():
        reached = np.zeros(len(linked), bool)
        reached[np.argmax(left)] = True
        edge = reached
        while edge.any():
            edge = linked[edge].any(axis=0) & ~reached
            reached = reached | edge
        left &= ~reached
        found.append(np.flatnonzero(reached))
    return found


def _parted(links: Floats, counts: Floats) -> list[Indices]:
    """Return the two parts of a connected group, or the group itself if it is one class."""
    if len(links) < 2:
        return [np.arange(len(links))]
    weights = links * np.outer(counts, counts)
    order = np.argsort(np.round(_fiedler(weights), 9), kind="stable")
    weights, sizes = weights[np.ix_(order, order)], counts[order]
    np.fill_diagonal(weights, sizes * (sizes - 1))  # pairs of replies, none with itself
    before = np.cumsum(sizes)[:-1]
    after = sizes.sum() - before
    degrees = weights.sum(axis=1)
    # Links inside the first k: each row up to its diagonal twice, the diagonal once.
    first = np.cumsum(2 * np.tril(weights).sum(axis=1) - weights.diagonal())[:-1]
    across = np.cumsum(degrees)[:-1] - first
    last = degrees.sum() - 2 * across - first
    between = across / (before * after)
    mean = degrees.sum() / (sizes.sum() * (sizes.sum() - 1))
    within = np.maximum(
        (first + _PRIOR * mean) / (before * (before - 1) + _PRIOR),
        (last + _PRIOR * mean) / (after * (after - 1) + _PRIOR),
    )
    at = int(np.argmin(np.round(between / within, 12)))
    if between[at] >= max(LEAST, SHARE * within[at]):
        return [np.arange(len(links))]
    return [np.sort(order[: at + 1]), np.sort(order[at + 1 :])]


def _fiedler(weights: Floats) -> Floats:
    """Return the second eigenvector of the normalised Laplacian, by Lanczos from a fixed start.

    Where eigenvalues coincide it is the projection of the start, so it does not depend on the machine.
    """
    root = np.sqrt(weights.sum(axis=1))
    scaled = weights / np.outer(root, root)
    trivial = root / np.linalg.norm(root)
    n = len(weights)
    vector = np.sin(np.arange(1, n + 1) * 2.399963)  # a start without symmetry in the order of the texts
    basis = [trivial]
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(n - 1, _N_STEPS)):
        known = np.array(basis)
        for _ in range(2):  # again, against rounding errors
            vector = vector - known.T @ (known @ vector)
        size = float(np.linalg.norm(vector))
        if size < 1e-9:
            break
        beside.append(size)
        basis.append(vector / size)
        vector = scaled @ basis[-1]
        diagonal.append(float(basis[-1] @ vector))
    small = np.diag(diagonal) + np.diag(beside[1:], 1) + np.diag(beside[1:], -1)
    largest = np.linalg.eigh(small)[1][:, -1]
    result: Floats = np.array(basis[1:]).T @ largest / root
    return result if result[np.argmax(np.abs(result))] >= 0 else -result
