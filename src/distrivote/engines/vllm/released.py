"""SelfStepConf as published, for those requests of a batch that ask for it: one stream each.

It goes by the most likely token of a position, so it wants to know which that was. These requests are few and
there to be compared with the paper, so that they need no arrays; the others cost nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from distrivote.engines.tokens.tables import TokenTable
from distrivote.steering import ReleasedStream, SelfStepConf

Slots = npt.NDArray[np.intp]


@dataclass(slots=True)
class Released:
    """One of them."""

    stream: ReleasedStream
    likeliest: int | None = None
    """The most likely token at the position that is being sampled; None if it was not observed."""


class ReleasedSlots:
    """These requests, by their slots."""

    def __init__(
        self, table: TokenTable, cut: Callable[[str, str], Sequence[int]], end_tokens: Collection[int]
    ) -> None:
        self._table = table
        self._cut = cut
        self._end_tokens = frozenset(end_tokens)
        self._requests: dict[int, Released] = {}

    def __bool__(self) -> bool:
        return bool(self._requests)

    def begin(self, slot: int, controller: SelfStepConf) -> None:
        """Take a request that begins; one that is not steered in this way is passed over."""
        stream = controller.start()
        self.put(slot, Released(stream) if isinstance(stream, ReleasedStream) else None)

    def put(self, slot: int, request: Released | None) -> None:
        """Take a request that comes back, None for one of another kind."""
        self.drop(slot)
        if request is not None:
            self._requests[slot] = request

    def drop(self, slot: int) -> None:
        self._requests.pop(slot, None)

    def copy_of(self, slot: int) -> Released | None:
        """Return the request of a slot as it is now, None if it has none of these."""
        return copy.deepcopy(self._requests.get(slot))

    def observe(self, slots: Slots, likeliest: npt.NDArray[np.int64]) -> None:
        """Take which tokens are the most likely where the slots are being sampled."""
        for slot, token in zip(slots.tolist(), likeliest.tolist(), strict=True):
            if slot in self._requests:
                self._requests[slot].likeliest = token

    def push(
        self, slots: Slots, confidences: npt.NDArray[np.float64], entropies: npt.NDArray[np.float64]
    ) -> None:
        """Take one token of each of the slots; a position that was not observed is passed over."""
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
            # What was sampled makes no difference to what is exchanged.
            request.stream.push("", confidence)

    def exchanged(self, slots: Slots) -> list[tuple[int, int]]:
        """Return the places of `slots` where a token is to be exchanged now, with the token."""
        if not self._requests:
            return []
        requests = [(place, self._requests.get(slot)) for place, slot in enumerate(slots.tolist())]
        return [
            (place, self._cut("", request.stream.reflection)[0])
            for place, request in requests
            if request is not None and request.stream.exchanges
        ]
