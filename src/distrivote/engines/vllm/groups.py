"""DeepConf's stop for the requests of a batch that ask for it, in arrays: which of them end now.

The rule is that of `steering.deepconf`, bit for bit: a request ends where the mean confidence of its last
`window` tokens falls below its threshold. Other requests of the batch cost nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from distrivote.engines.vllm.args import Watched
from distrivote.engines.vllm.released import Slots
from distrivote.steering import DeepConfOnline

Floats = npt.NDArray[np.float64]


class Group(NamedTuple):
    """The state of one request."""

    controller: DeepConfOnline
    n_tokens: int
    total: float
    ring: Floats


class GroupSlots:
    """Such requests, by slot."""

    def __init__(self, n_slots: int) -> None:
        self._controllers: dict[int, DeepConfOnline] = {}
        self._is_here = np.zeros(n_slots, dtype=np.bool_)
        self._window = np.ones(n_slots, dtype=np.int64)
        self._limit = np.zeros(n_slots)
        self._n_tokens = np.zeros(n_slots, dtype=np.int64)
        self._total = np.zeros(n_slots)
        self._ring = np.zeros((n_slots, 0))
        """The last confidences of each; as wide as the largest window so far."""

    def __bool__(self) -> bool:
        return bool(self._controllers)

    def begin(self, slot: int, controller: Watched) -> None:
        """Add a new request, unless it is of another kind."""
        if isinstance(controller, DeepConfOnline):
            self.put(slot, Group(controller, 0, 0.0, np.zeros(controller.window)))

    def put(self, slot: int, group: Group | None) -> None:
        """Add a request that comes back, None for one of another kind."""
        self.drop(slot)
        if group is None or group.controller.limit is None:
            return
        window = group.controller.window
        if window > self._ring.shape[1]:
            more = np.zeros((len(self._ring), window - self._ring.shape[1]))
            self._ring = np.concatenate((self._ring, more), axis=1)
        self._controllers[slot] = group.controller
        self._is_here[slot] = True
        self._window[slot], self._limit[slot] = window, group.controller.limit
        self._n_tokens[slot], self._total[slot] = group.n_tokens, group.total
        self._ring[slot, :window] = group.ring

    def drop(self, slot: int) -> None:
        self._controllers.pop(slot, None)
        self._is_here[slot] = False

    def copy_of(self, slot: int) -> Group | None:
        """Return a copy of the request of a slot, None if it is of another kind."""
        controller = self._controllers.get(slot)
        if controller is None:
            return None
        ring = self._ring[slot, : controller.window].copy()
        return Group(controller, int(self._n_tokens[slot]), float(self._total[slot]), ring)

    def push(self, slots: Slots, confidences: Floats) -> list[int]:
        """Process one token of each of the slots and return the slots that end; NaN counts as no token."""
        mine = self._is_here[slots] & (confidences == confidences)
        slots, confidences = slots[mine], confidences[mine]
        window, n_before = self._window[slots], self._n_tokens[slots]
        places = n_before % window
        totals = self._total[slots] + confidences
        totals = np.where(n_before >= window, totals - self._ring[slots, places], totals)
        self._ring[slots, places] = confidences
        self._n_tokens[slots], self._total[slots] = n_before + 1, totals
        ended: list[int] = slots[(n_before + 1 >= window) & (totals / window < self._limit[slots])].tolist()
        return ended
