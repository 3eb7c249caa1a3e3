from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.tokens.tables import TokenTable
from distrivote.engines.vllm.batch import SteeredBatch
from distrivote.engines.vllm.groups import GroupSlots
from distrivote.steering import DeepConfOnline, End, SelfStepConf
from distrivote.trajectory import Interventions
from strategies import MANY

TABLE = TokenTable([b"a", b"b", b"\n\n", b"<end>"])
END = 3
rules = st.builds(DeepConfOnline, window=st.integers(1, 5), threshold=st.sampled_from([0.5, 1.0, 2.0, 8.0]))
confidences = st.one_of(st.just(math.nan), st.integers(0, 40).map(lambda n: n / 8), st.floats(0.01, 20))


@MANY
@given(st.lists(rules, min_size=1, max_size=3).flatmap(
    lambda rs: st.tuples(st.just(rs), st.lists(st.tuples(*[confidences] * len(rs)), max_size=30))
))  # fmt: skip
def test_slots_end_where_the_streams_of_their_requests_do(
    drawn: tuple[list[DeepConfOnline], list[tuple[float, ...]]],
) -> None:
    some, steps = drawn
    groups = GroupSlots(len(some) + 1)
    streams = [rule.start() for rule in some]
    for slot, rule in enumerate(some):
        groups.begin(slot + 1, rule)
    slots = np.arange(1, len(some) + 1)
    for number, values in enumerate(steps):
        ended = groups.push(slots, np.array(values))
        twins = [stream.push("a", value) for stream, value in zip(streams, values, strict=True)]
        expected = [slot for slot, twin in zip(slots.tolist(), twins, strict=True) if isinstance(twin, End)]
        assert ended == expected
        # It may leave its slot at any time, and comes back to another one.
        state = groups.copy_of(1 if number % 2 == 0 else 0)
        if number % 2 == 0:
            groups.drop(1)
            groups.put(0, state)
            slots[0] = 0
        else:
            groups.drop(0)
            groups.put(1, state)
            slots[0] = 1


def test_a_batch_forces_the_end_token_once_after_the_token_that_went_below() -> None:
    batch = SteeredBatch(3, TABLE, lambda _before, _text: [1], end_tokens=[END])
    batch.add(0, DeepConfOnline(window=2, threshold=4.0))
    batch.add(1, SelfStepConf())
    batch.add(2, DeepConfOnline(window=2, threshold=1.0))
    slots = np.arange(3)
    tokens: list[int] = []
    forced = []
    for sure in (9.0, 5.0, 4.0, 3.0):
        batch.advance(
            slots, np.array([tokens[-1] if tokens else 0] * 3), np.full(3, len(tokens)), lambda _: tokens
        )
        forced.append(batch.due(slots))
        batch.observe(slots, np.full((3, 20), -sure))
        tokens.append(0)
    batch.advance(slots, np.zeros(3, dtype=np.int64), np.full(3, 4), lambda _: tokens)
    assert forced == [[], [], [], []]
    assert batch.due(slots) == [(0, END)]


def test_a_preempted_request_ends_where_it_would_have() -> None:
    batch = SteeredBatch(2, TABLE, lambda _before, _text: [1], end_tokens=[END])
    rule = DeepConfOnline(window=3, threshold=4.0)
    batch.add(0, rule, origin="mine")
    slot, tokens = np.array([0]), [0]
    for sure in (9.0, 2.0):
        batch.observe(slot, np.full((1, 20), -sure))
        batch.advance(slot, np.array([0]), np.array([len(tokens)]), lambda _: tokens)
        tokens.append(0)
    del tokens[-1]
    batch.drop(0)
    batch.add(1, rule, origin="mine", history=tokens)
    slot = np.array([1])
    batch.observe(slot, np.full((1, 20), -0.5))
    tokens.append(0)
    batch.advance(slot, np.array([0]), np.array([len(tokens)]), lambda _: tokens)
    assert batch.due(slot) == [(0, END)]


def test_a_trajectory_was_ended_if_its_last_window_is_below_within_rounding() -> None:
    rule = DeepConfOnline(window=2, threshold=4.0)
    assert rule.ended([9.0, 5.0, 2.9], Interventions())
    assert rule.ended([4.0, 4.0], Interventions())
    assert not rule.ended([1.0, 9.0], Interventions())
    assert not rule.ended([1.0], Interventions())
    assert not replace(rule, threshold=None).ended([1.0, 1.0], Interventions())
    assert rule.ended([5.0, math.nan, 2.9], Interventions())
