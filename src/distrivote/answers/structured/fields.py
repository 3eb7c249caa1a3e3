"""Votes field by field: an object composed from the values of the trajectories at each path.

Every leaf path is a separate vote among the trajectories that have a value there, each with the confidence of
its value's own tokens. Which paths exist is voted on first (answers/structured/slots.py). No value is
invented: each is at that path in some trajectory, except for positions in lists. If the result does not
satisfy the schema, or has an empty object that no trajectory has, the object that won as a whole is used
instead.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from distrivote.answers.structured.parse import Document, written
from distrivote.answers.structured.same import path_text, scalar_key, value_key
from distrivote.answers.structured.slots import SCALAR, Elect, Node, Pool, Slot, Votes, settled
from distrivote.trajectory import Floats


class RunnerUp(NamedTuple):
    """A value that was not elected."""

    value: Any
    votes: int


@dataclass(frozen=True, slots=True)
class FieldVote:
    """The vote on one leaf; an empty object or list is a leaf."""

    path: str
    """As in "items[0].price"."""

    value: Any

    votes: int
    """How many trajectories have this value there."""

    n: int
    """How many trajectories have JSON."""

    share: float
    """Its share of the score of all values there; NaN if a vote on the structure overruled it."""

    probability: float
    """The probability of the value, given that the path exists; NaN likewise, or if the vote gives none."""

    confidence: float
    """The mean over the trajectories that have the value, NaN if none has a confidence."""

    runner_up: RunnerUp | None = None
    """The most frequent other value there."""


@dataclass(frozen=True, slots=True)
class Composed:
    """The result of the votes on fields."""

    text: str
    """As JSON."""

    value: Any
    fields: tuple[FieldVote, ...]
    """In the order of the composed object, even if another object is used instead."""

    is_whole: bool
    """Whether some trajectory has exactly this object."""

    note: str | None = None
    """Why the object that won as a whole is used instead; None if it is not."""


def compose(
    documents: Sequence[Document | None],
    confidences: Sequence[Floats | None],
    elect: Elect,
    whole: int,
    flaw: Callable[[Any], str | None] | None = None,
) -> Composed:
    """Return the result of the votes field by field.

    Args:
        documents: One per trajectory, None for no answer.
        confidences: Those of the leaves of each document, in the order of its places; None: not measured.
        elect: The vote.
        whole: The trajectory whose document won as a whole.
        flaw: What is wrong with an object (`Schema.flaw`), None if nothing is.
    """
    chosen = documents[whole]
    if chosen is None:
        raise ValueError(f"trajectory {whole} has no document")
    votes = Votes(elect, len(documents))
    root = settled(documents, confidences, votes)
    fields = _elected(list(root.leaves()), votes, sum(each is not None for each in documents))
    value = root.result()
    invented = next((each.path for each in fields if not each.votes), None)
    if invented is not None:
        problem = f"no key of {invented} is in enough replies"
    else:
        problem = "" if flaw is None else flaw(value) or ""
    if problem:
        note = (
            f"the fields that were elected do not make an answer together ({problem}): the answer is the"
            " object that won as a whole"
        )
        return Composed(written(chosen.value), chosen.value, fields, True, note)
    key = value_key(value)
    is_whole = any(each is not None and value_key(each.value) == key for each in documents)
    return Composed(written(value), value, fields, is_whole)


def _elected(leaves: list[Slot], votes: Votes, n: int) -> tuple[FieldVote, ...]:
    """Hold the votes on the leaves and set their values."""
    pools: list[Pool] = []
    settled_as: list[int | None] = []
    for slot in leaves:
        classes: dict[Hashable, int] = {}
        is_scalar = slot.kind == SCALAR
        said = [scalar_key(node.value) if is_scalar else bool(node.value) for _, node in slot.members]
        numbers = [classes.setdefault(each, len(classes)) for each in said]
        pools.append(
            Pool([at for at, _ in slot.members], numbers, [node.confidence for _, node in slot.members])
        )
        # An empty object or list was decided with the object or list that holds it.
        settled_as.append(None if is_scalar else classes.get(False, -1))
    verdicts = votes.hold(pools)
    results = zip(
        verdicts.winner.tolist(), verdicts.share.tolist(), verdicts.probability.tolist(), strict=True
    )
    made = []
    for slot, pool, empty, (winner, share, probability) in zip(
        leaves, pools, settled_as, results, strict=True
    ):
        if empty is not None and empty != winner:
            winner, share, probability = empty, math.nan, math.nan
        nodes = [node for (_, node), each in zip(slot.members, pool.classes, strict=True) if each == winner]
        if slot.kind == SCALAR:
            slot.value = _spelling(nodes)
        sure = [node.confidence for node in nodes if node.n_measured]
        mean = math.fsum(sure) / len(sure) if sure else math.nan
        path = path_text(slot.path)
        second = _runner_up(slot, pool.classes, winner) if len(nodes) < len(slot.members) else None
        made.append(FieldVote(path, slot.result(), len(nodes), n, share, probability, mean, second))
    return tuple(made)


def _runner_up(slot: Slot, classes: Sequence[int], winner: int) -> RunnerUp | None:
    """Return the most frequent value that did not win; on ties, the first in alphabetical order."""
    counts = Counter(each for each in classes if each != winner)
    most = max(counts.values())
    said = [
        node.value
        for (_, node), each in zip(slot.members, classes, strict=True)
        if each != winner and counts[each] == most
    ]
    return RunnerUp(min(said, key=written), most)


def _spelling(nodes: list[Node]) -> Any:
    """Return the most frequent spelling of the value; on ties, the spelling with the highest confidence."""
    first = nodes[0].value
    if all(type(node.value) is type(first) and node.value == first for node in nodes):
        return first
    groups: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        groups[written(node.value)].append(node)

    def rank(text: str) -> tuple[int, float, str]:
        same = groups[text]
        return -len(same), -max((node.confidence for node in same if node.n_measured), default=0.0), text

    return groups[min(groups, key=rank)][0].value
