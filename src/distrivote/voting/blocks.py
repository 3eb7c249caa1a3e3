"""Pools of any size, grouped into rectangular blocks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from distrivote.voting.kernels.pools import FloatArray, IntArray, Pools, make_pools, numbered_anew

BLOCK = 2**17
"""Trajectories in one block. Measured: with smaller ones calls dominate, with larger ones memory access."""


class Block(NamedTuple):
    """Some pools as rectangular arrays."""

    which: IntArray | slice
    """The pools, as indices into the outcome."""

    pools: Pools
    classes: IntArray | None
    """(n_pools, n_answers) The class of each answer id; None if they are the same."""


def blocks_of(classes: IntArray, confidences: FloatArray, offsets: IntArray) -> Iterator[Block]:
    sizes = np.diff(offsets)
    if not sizes.size:
        return
    # Pools of similar size share a block, so that little of its rectangle is empty.
    uniform = bool((sizes == sizes[0]).all())
    order = np.arange(len(sizes)) if uniform else np.argsort(sizes, kind="stable")
    start = 0
    while start < len(order):
        stop = start + max(1, BLOCK // max(1, int(sizes[order[start]])))
        stop = min(stop, len(order))
        while not uniform and stop - start > 1 and (stop - start) * sizes[order[stop - 1]] > 2 * BLOCK:
            stop = start + (stop - start) // 2
        which = order[start:stop]
        width = int(sizes[which[-1]])
        if uniform:
            span = slice(offsets[start], offsets[stop])
            block_classes = classes[span].reshape(len(which), width)
            block_confidences = confidences[span].reshape(len(which), width)
        else:
            columns = np.arange(width)
            inside = columns < sizes[which, None]
            places = np.where(inside, offsets[which, None] + columns, 0)
            block_classes = np.where(inside, classes[places] if len(classes) else -1, -1)
            block_confidences = confidences[places] if len(classes) else np.zeros(places.shape)
        yield _block(which, block_classes, block_confidences)
        start = stop


def _block(which: IntArray, classes: IntArray, confidences: FloatArray) -> Block:
    n_classes = int(classes.max(initial=-1)) + 1
    if n_classes <= max(32, classes.shape[1]):
        return Block(which, make_pools(classes, confidences, n_classes), None)
    # Tables have a column per answer id, so classes of a large range are renumbered in each pool.
    ids, n_answers = numbered_anew(classes)
    names = np.full((len(classes), n_answers + 1), -1, dtype=np.int64)
    np.put_along_axis(names, ids, classes, axis=1)  # the last column is that of no answer, -1
    return Block(which, make_pools(ids, confidences, n_answers), names[:, :-1])
