"""Which request is in which row of vLLM's batch (Model Runner V1), and what was sampled for it.

vLLM keeps its requests in rows. Between two decoding steps rows are freed, filled and moved, in this order,
and a row that is filled may be one that was not reported as freed. Rows whose request does not ask to be
watched are ignored here. Only the names of vLLM's fields are used, so nothing of it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from distrivote.confidence.tokens import DEFAULT_K
from distrivote.engines.vllm.args import controller_of
from distrivote.engines.vllm.batch import SteeredBatch
from distrivote.engines.vllm.released import Slots

_UNKNOWN = -1
"""The placeholder in a reply for a token that has not arrived from the device yet."""


class _Occupant(NamedTuple):
    slot: int
    reply: list[int]
    """The tokens so far; vLLM appends to it."""


class BatchRows:
    """The rows that are watched."""

    def __init__(self, batch: SteeredBatch, n_rows: int) -> None:
        self._batch = batch
        self._free = list(range(n_rows - 1, -1, -1))
        self._occupants: dict[int, _Occupant] = {}
        self._replies: list[list[int]] = []
        self.rows: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        """In ascending order."""

        self.slots: Slots = np.empty(0, dtype=np.intp)
        """The slots of the requests in these rows."""

    def update(self, update: Any) -> None:
        """Follow a `BatchUpdate`."""
        for row in update.removed:
            self._leave(row)
        for row, params, prompt, reply in update.added:
            self._leave(row)
            controller = controller_of(params.extra_args)
            if controller is not None:
                slot = self._free.pop()
                origin = (params.seed, None if prompt is None else hash(tuple(prompt)))
                self._batch.add(slot, controller, wanted_k(params), origin, _known(reply))
                self._occupants[row] = _Occupant(slot, reply)
        for row, target, direction in update.moved:
            moved = self._occupants.pop(row, None)
            if direction.name == "SWAP" and target in self._occupants:
                self._occupants[row] = self._occupants.pop(target)
            else:
                self._leave(target)
            if moved is not None:
                self._occupants[target] = moved
        rows = sorted(self._occupants)
        self.rows = np.array(rows, dtype=np.int64)
        self.slots = np.array([self._occupants[row].slot for row in rows], dtype=np.intp)
        self._replies = [self._occupants[row].reply for row in rows]

    def advance(self) -> None:
        """Report what was sampled in all rows."""
        tokens = [reply[-1] if reply else 0 for reply in self._replies]
        lengths = [len(reply) for reply in self._replies]
        if _UNKNOWN in tokens:
            for place, reply in enumerate(self._replies):
                known = _known(reply)
                tokens[place], lengths[place] = known[-1] if known else 0, len(known)
        self._batch.advance(self.slots, np.array(tokens), np.array(lengths), self._history)

    def _history(self, place: int) -> Sequence[int]:
        return _known(self._replies[place])

    def _leave(self, row: int) -> None:
        occupant = self._occupants.pop(row, None)
        if occupant is not None:
            self._batch.drop(occupant.slot)
            self._free.append(occupant.slot)


def wanted_k(params: Any) -> int:
    """Return the k of a request: the number of log-probabilities that it asks to see.

    It is at most the default; a request that asks for fewer than 2 gets the default.
    """
    given = params.logprobs
    return DEFAULT_K if given is None or given < 2 else min(int(given), DEFAULT_K)


def _known(reply: Sequence[int]) -> Sequence[int]:
    end = len(reply)
    while end and reply[end - 1] == _UNKNOWN:
        end -= 1
    return reply[:end]
