"""SelfStepConf as published, for the requests of a batch that ask for it: one stream each.

It depends on the most likely token of each position, so it has to be told which that was. These requests are
few and serve to compare with the paper, so they need no arrays; other requests cost nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from distrivote.engines.tokens.tables import TokenTable
from distrivote.steering import Controller, ReleasedStream

Slots = npt.NDArray[np.intp]


@dataclass(slots=True)
class Released:
    """The state of one such request."""

    stream: ReleasedStream
    likeliest: int | None = None
    """The most likely token at the position that is being sampled; None if it was not observed."""


class ReleasedSlots:
    """Such requests, by slot."""

    def __init__(
        self, table: TokenTable, cut: Callable[[str, str], Sequence[int]], end_tokens: Collection[int]
    ) -> None:
        self._table = table
        self._cut = cut
        self._end_tokens = frozenset(end_tokens)
        self._requests: dict[int, Released] = {}

    def __bool__(self) -> bool:
        return bool(self._requests)

    def begin(self, slot: int, controller: Controller) -> None:
        """Add a new request; one that is not steered as published is ignored."""
        stream = controller.start()
        self.put(slot, Released(stream) if isinstance(stream, ReleasedStream) else None)

    def put(self, slot: int, request: Released | None) -> None:
        """Add a request that comes back, None for one of another kind."""
        self.drop(slot)
        if request is not None:
            self._requests[slot] = request

    def drop(self, slot: int) -> None:
        self._requests.pop(slot, None)

    def copy_of(self, slot: int) -> Released | None:
        """Return a copy of the request of a slot, None if it is of another kind."""
        return copy.deepcopy(self._requests.get(slot))

    def observe(self, slots: Slots, likeliest: npt.NDArray[np.int64]) -> None:
        """Record the most likely tokens at the positions that are being sampled."""
        for slot, token in zip(slots.tolist(), likeliest.tolist(), strict=True):
            if slot in self._requests:
                self._requests[slot].likeliest = token

    def push(
        self, slots: Slots, confidences: npt.NDArray[np.float64], entropies: npt.NDArray[np.float64]
    ) -> None:
        """Process one token of each of the slots; a position that was not observed is ignored."""
        for slot, confidence, entropy in zip(
            slots.tolist(), confidences.tolist(), entropies.tolist(), strict=True
        ):
            request = self._requests.get(slot)
            if request is None or request.likeliest is None:
                continue
            ends = request.likeliest in self._end_tokens
            text = None if ends else self._table.pieces[request.likeliest].decode("utf-8", "replace")
            request.likeliest = None
            request.stream.look(text, confidence, entropy)
            # What was sampled does not affect what is exchanged.
            request.stream.push("", confidence)

    def exchanged(self, slots: Slots) -> list[tuple[int, int]]:
        """Return the indices of `slots` where a token is to be exchanged now, with the token."""
        if not self._requests:
            return []
        requests = [(place, self._requests.get(slot)) for place, slot in enumerate(slots.tolist())]
        return [
            (place, self._cut("", request.stream.reflection)[0])
            for place, request in requests
            if request is not None and request.stream.exchanges
        ]
