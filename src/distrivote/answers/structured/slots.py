"""The structure of the JSON of several trajectories: a tree of slots, decided from the root down.

A slot is a path and the value of each trajectory there. Votes on the structure go before votes on values:

    root, key   absent, a single value, an object or a list; below it, only those vote that had the winner
    list        its length; then the items are matched (answers/structured/align.py)

Their confidence is the mean over the leaves of the container: for a key, of the object that has it or lacks
it, so that an absent key has a confidence, too; for a length, of the list itself. How a vote works is not
known here.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from distrivote.answers.structured.align import align
from distrivote.answers.structured.parse import Document, Path
from distrivote.trajectory import Floats

Ints: TypeAlias = npt.NDArray[np.int64]

ABSENT, SCALAR, OBJECT, LIST = range(4)


class Verdicts(Protocol):
    """The results of a batch of votes, (n_votes,) each; `voting.ballot.Outcome` has this shape."""

    @property
    def winner(self) -> Ints: ...
    @property
    def share(self) -> Floats: ...
    @property
    def probability(self) -> Floats: ...


Elect: TypeAlias = Callable[[Ints, Floats], Verdicts]
"""Classes, -1 for no vote, and confidences, NaN for none, (n_votes, n_trajectories) each -> verdicts."""


class Pool(NamedTuple):
    """A vote: who votes, for which class, with which confidence."""

    trajectories: list[int]
    classes: list[int]
    confidences: list[float]


@dataclass(slots=True)
class Node:
    """A value of one trajectory."""

    kind: int
    value: Any

    confidence: float
    """The confidence of a leaf, else the mean over its leaves; NaN if there is none."""

    n_measured: int
    """Leaves with a confidence."""

    children: dict[str, Node] | None = None
    items: list[Node] | None = None


@dataclass(slots=True)
class Slot:
    """A path, and the values of the trajectories there."""

    path: Path
    members: list[tuple[int, Node]]
    """After the vote, only the values of the trajectories that have the winner."""

    around: dict[int, float]
    """For every trajectory that votes on this slot, the confidence of the object or list around it."""

    kind: int = ABSENT
    children: list[Slot] = field(default_factory=list)
    value: Any = None
    """The elected value, after the vote on a single value."""

    @property
    def present(self) -> list[Slot]:
        return [slot for slot in self.children if slot.kind != ABSENT]

    def result(self) -> Any:
        if self.kind == OBJECT:
            return {slot.path[-1]: slot.result() for slot in self.present}
        return [slot.result() for slot in self.children] if self.kind == LIST else self.value

    def leaves(self) -> Iterator[Slot]:
        """Yield the slots without slots in them, in the order of the result."""
        present = self.present
        if not present:
            yield self
        for slot in present:
            yield from slot.leaves()


class Votes:
    """Runs votes on many slots as one batch."""

    def __init__(self, elect: Elect, n_trajectories: int) -> None:
        self._elect, self._n = elect, n_trajectories

    def hold(self, pools: Sequence[Pool]) -> Verdicts:
        classes = np.full((len(pools), self._n), -1, dtype=np.int64)
        confidences = np.full((len(pools), self._n), np.nan)
        for row, pool in enumerate(pools):
            classes[row, pool.trajectories] = pool.classes
            confidences[row, pool.trajectories] = pool.confidences
        return self._elect(classes, confidences)

    def settle(self, pools: Sequence[Pool]) -> list[int]:
        """Return the winning class of each pool, without a vote where all agree."""
        winners = [pool.classes[0] for pool in pools]
        split = [at for at, pool in enumerate(pools) if len(set(pool.classes)) > 1]
        if split:
            elected = self.hold([pools[at] for at in split]).winner.tolist()
            for at, winner in zip(split, elected, strict=True):
                winners[at] = winner
        return winners


def settled(documents: Sequence[Document | None], confidences: Sequence[Floats | None], votes: Votes) -> Slot:
    """Return the root slot of the trajectories' JSON, with everything decided except single values."""
    members = [
        (at, _tree(each.value, _leaf_confidences(each, given)))
        for at, (each, given) in enumerate(zip(documents, confidences, strict=True))
        if each is not None
    ]
    root = Slot((), members, {at: node.confidence for at, node in members})
    level = [root]
    while level:
        level = _opened(level, votes)
    return root


def _leaf_confidences(document: Document, confidences: Floats | None) -> Iterator[float]:
    n = len(document.places)
    given = [math.nan] * n if confidences is None else confidences.tolist()
    if len(given) != n:
        raise ValueError(f"{n} leaves but {len(given)} confidences")
    return iter(given)


def _tree(value: Any, confidences: Iterator[float]) -> Node:
    kind = OBJECT if isinstance(value, dict) else LIST if isinstance(value, list) else SCALAR
    if kind == SCALAR or not value:
        own = next(confidences)
        return Node(kind, value, own, 0 if math.isnan(own) else 1)
    inner = [_tree(each, confidences) for each in (value.values() if kind == OBJECT else value)]
    total, n = 0.0, 0
    for node in inner:
        if node.n_measured:
            total += node.confidence * node.n_measured
            n += node.n_measured
    mean = total / n if n else math.nan
    if kind == OBJECT:
        return Node(kind, value, mean, n, children=dict(zip(value, inner, strict=True)))
    return Node(kind, value, mean, n, items=inner)


def _opened(level: list[Slot], votes: Votes) -> list[Slot]:
    """Decide the structure of each slot, and return the slots in them."""
    kinds = votes.settle([_kinds(slot) for slot in level])
    for slot, kind in zip(level, kinds, strict=True):
        slot.kind = kind
        slot.members = [(at, node) for at, node in slot.members if node.kind == kind]
        if kind == OBJECT:
            slot.children = _keys(slot)
    lists = [slot for slot in level if slot.kind == LIST]
    for slot, length in zip(lists, votes.settle([_lengths(slot) for slot in lists]), strict=True):
        slot.children = _items(slot, length)
    return [child for slot in level for child in slot.children]


def _kinds(slot: Slot) -> Pool:
    kinds = {at: node.kind for at, node in slot.members}
    return Pool(list(slot.around), [kinds.get(at, ABSENT) for at in slot.around], list(slot.around.values()))


def _lengths(slot: Slot) -> Pool:
    voters = [at for at, _ in slot.members]
    lengths = [len(node.items or ()) for _, node in slot.members]
    return Pool(voters, lengths, [node.confidence for _, node in slot.members])


def _keys(slot: Slot) -> list[Slot]:
    """Return a slot for every key that some trajectory has, in the order of their mean places."""
    around = {at: node.confidence for at, node in slot.members}
    members: dict[str, list[tuple[int, Node]]] = defaultdict(list)
    places: Counter[str] = Counter()
    for at, node in slot.members:
        for place, (key, child) in enumerate((node.children or {}).items()):
            members[key].append((at, child))
            places[key] += place
    order = sorted(members, key=lambda key: (places[key] / len(members[key]), key))
    return [Slot((*slot.path, key), members[key], around) for key in order]


def _items(slot: Slot, length: int) -> list[Slot]:
    """Return a slot for every item of the list; a trajectory without that item does not vote on it."""
    made: list[Slot] = []
    matches = align([node.value for _, node in slot.members], length) if length else []
    for place in range(length):
        members = [
            (at, node.items[match[place]])
            for (at, node), match in zip(slot.members, matches, strict=True)
            if node.items and match[place] >= 0
        ]
        made.append(Slot((*slot.path, place), members, {at: node.confidence for at, node in members}))
    return made
