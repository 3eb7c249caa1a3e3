"""The slots of the embedded engine, with a context that only remembers what lies where."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from distrivote.engines.llamacpp.engine import _close_gaps

N_SLOTS = 5


class Cache:
    """A context whose sequences hold names."""

    def __init__(self, held: dict[int, str]) -> None:
        self.held = dict(held)
        self.calls: list[tuple[str, int]] = []

    def copy(self, source: int, target: int) -> None:
        assert target not in self.held, "it would overwrite a trajectory"
        self.held[target] = self.held[source]
        self.calls.append(("copy", source))

    def clear(self, sequence: int) -> None:
        del self.held[sequence]
        self.calls.append(("clear", sequence))


def every_set() -> list[tuple[int, ...]]:
    return [slots for n in range(N_SLOTS + 1) for slots in combinations(range(1, N_SLOTS + 1), n)]


@pytest.mark.parametrize("slots", every_set(), ids=str)
@pytest.mark.parametrize("order", [1, -1])
def test_the_slots_in_use_follow_each_other(slots: tuple[int, ...], order: int) -> None:
    live: dict[int, Any] = {slot: f"trajectory {slot}" for slot in slots[::order]}
    free = [slot for slot in range(1, N_SLOTS + 1) if slot not in slots][::order]
    context: Any = Cache(live)
    _close_gaps(context, live, free)
    assert sorted(live) == list(range(1, len(slots) + 1))
    assert sorted(free) == list(range(len(slots) + 1, N_SLOTS + 1))
    assert sorted(live.values()) == [f"trajectory {slot}" for slot in slots]
    assert context.held == live
    for slot in slots:
        if slot <= len(slots):
            assert live[slot] == f"trajectory {slot}"


def test_a_moved_trajectory_is_copied_before_its_slot_is_cleared() -> None:
    live: dict[int, Any] = {1: "a", 4: "b", 5: "c"}
    context: Any = Cache(live)
    _close_gaps(context, live, [2, 3])
    assert context.calls == [("copy", 4), ("clear", 4), ("copy", 5), ("clear", 5)]
