from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.confidence import token_confidence, token_entropy
from distrivote.engines.tokens.tables import TokenTable
from distrivote.engines.vllm.batch import SteeredBatch
from distrivote.splitting import DelimiterSplitter, EntropySplitter, WindowSplitter
from distrivote.steering import ControllerStream, ReleasedStream, SelfStepConf, replay
from distrivote.trajectory import Insertion
from strategies import MANY

TEXTS = ("", "a", "b ", " ", "\n", "\n\n", ".\n\n", "\nc", "c\n", " \n", "\n\n\n", "d\n\ne", "w", "ait", "🙂")
TABLE = TokenTable([text.encode() for text in TEXTS])
WAIT = (TEXTS.index("w"), TEXTS.index("ait"))

splits = st.sampled_from(
    [
        DelimiterSplitter(),
        DelimiterSplitter("\n"),
        DelimiterSplitter(exact_token=True),
        WindowSplitter(1),
        WindowSplitter(3),
        EntropySplitter(0.5, 2),
    ]
)
controllers = st.builds(
    SelfStepConf, st.sampled_from([0.0, 0.8, 1.0]), st.sampled_from([0.0, 0.8, 1.0, 10.0]), split=splits
)
tops = st.lists(st.integers(1, 40), min_size=4, max_size=4).map(
    lambda values: -np.sort(np.array(values, dtype=np.float64)) / 8
)
positions = st.tuples(st.integers(0, len(TEXTS) - 1), tops)


def cut(before: str, text: str) -> Sequence[int]:
    assert text == "wait"
    assert len(before) <= 32
    return WAIT


@dataclass
class Request:
    """A request under way, with the slow twin of its state."""

    controller: SelfStepConf
    stream: ControllerStream
    origin: int
    tokens: list[int] = field(default_factory=list)
    tops: list[np.ndarray] = field(default_factory=list)
    due: list[int] = field(default_factory=list)
    n_forced: int = 0

    @classmethod
    def new(cls, controller: SelfStepConf, origin: int = 0) -> Request:
        return cls(controller, controller.start(), origin)

    def sampled(self, token: int, top: np.ndarray) -> None:
        """Take a token as an engine that owns sampling does."""
        confidence = float(token_confidence(top[None]).values[0])
        self.tops.append(top)
        if self.due:
            self.tokens.append(self.due.pop(0))
            self.n_forced += 1
            self.stream.push_injected(TEXTS[self.tokens[-1]], confidence)
            return
        self.tokens.append(token)
        entropy = float(token_entropy(top[None]).values[0])
        if self.stream.push(TEXTS[token], confidence, entropy) is not None:
            self.due = list(WAIT)


def step(batch: SteeredBatch, live: dict[int, Request], sampled: Sequence[tuple[int, np.ndarray]]) -> None:
    """Decode one position of every live request, and compare what is forced with the twin."""
    slots = np.array(sorted(live), dtype=np.intp)
    requests = [live[slot] for slot in slots.tolist()]
    batch.advance(
        slots,
        np.array([r.tokens[-1] if r.tokens else 0 for r in requests], dtype=np.int64),
        np.array([len(r.tokens) for r in requests], dtype=np.int64),
        lambda place: requests[place].tokens,
    )
    expected = [(place, r.due[0]) for place, r in enumerate(requests) if r.due]
    assert batch.due(slots) == expected
    batch.observe(slots, np.array([top for _, top in sampled]))
    for request, (token, top) in zip(requests, sampled, strict=True):
        request.sampled(token, top)


@pytest.mark.slow
@MANY
@given(
    st.lists(controllers, min_size=1, max_size=4).flatmap(
        lambda cs: st.tuples(
            st.just(cs), st.lists(st.tuples(*[positions] * len(cs)), min_size=1, max_size=40)
        )
    )
)
def test_a_batch_does_what_the_streams_of_its_requests_do(
    drawn: tuple[list[SelfStepConf], list[tuple[tuple[int, np.ndarray], ...]]],
) -> None:
    cs, steps = drawn
    batch = SteeredBatch(len(cs) + 1, TABLE, cut)
    live = {slot + 1: Request.new(controller) for slot, controller in enumerate(cs)}
    for slot, request in live.items():
        batch.add(slot, request.controller)
    for sampled in steps:
        step(batch, live, sampled)


@pytest.mark.slow
@MANY
@given(st.data())
def test_requests_that_come_and_go_take_their_state_with_them(data: st.DataObject) -> None:
    batch = SteeredBatch(3, TABLE, cut)
    live: dict[int, Request] = {}
    away: list[Request] = []
    for number in range(data.draw(st.integers(1, 25))):
        act = data.draw(st.sampled_from(["new", "drop", "back", "repeat", "step", "step", "step"]))
        slot = data.draw(st.integers(0, 2))
        if act == "new":
            if slot in live:
                away.append(live[slot])
            live[slot] = Request.new(data.draw(controllers), number)
            batch.add(slot, live[slot].controller, 4, number)
        elif act == "drop" and slot in live:
            batch.drop(slot)
            away.append(live.pop(slot))
        elif act == "back" and away:
            if slot in live:
                batch.drop(slot)
                away.append(live.pop(slot))
            request = live[slot] = away.pop(data.draw(st.integers(0, len(away) - 1)))
            # Served by a copy of its tokens, as after a preemption.
            batch.add(slot, request.controller, 4, request.origin, list(request.tokens))
        elif act == "repeat" and live:
            # A position that is decoded without a token coming of it, as in a prefill in chunks.
            slots = np.array(sorted(live), dtype=np.intp)
            batch.due(slots)
        elif live:
            step(batch, live, [data.draw(positions) for _ in live])


def test_the_record_that_a_client_replays_is_what_the_batch_acted_on() -> None:
    rng = np.random.default_rng(3)
    controller = SelfStepConf(delta=0.97)
    batch = SteeredBatch(1, TABLE, cut)
    batch.add(0, controller)
    request = Request.new(controller)
    for _ in range(600):
        top = -np.sort(rng.uniform(0.1, 9, 20))
        step(batch, {0: request}, [(int(rng.integers(len(TEXTS))), top)])
    texts = [TEXTS[token] for token in request.tokens]
    confidences = token_confidence(np.array(request.tops)).values
    record = replay(controller, texts, confidences.tolist())
    assert sum(insertion.n_tokens for insertion in record.insertions) == request.n_forced > 50


def test_a_multi_token_reflection_is_forced_token_by_token() -> None:
    batch = SteeredBatch(1, TABLE, cut)
    batch.add(0, SelfStepConf(delta=10.0))
    slots, forced = np.array([0], dtype=np.intp), []
    tokens: list[int] = []
    for sure, token in ((9.0, ".\n\n"), (9.0, "a"), (5.0, "\n\n"), (1.0, "x"), (1.0, "x"), (1.0, "a")):
        batch.advance(slots, np.array(tokens[-1:] or [0]), np.array([len(tokens)]), lambda _: tokens)
        due = batch.due(slots)
        forced.append(bool(due))
        batch.observe(slots, np.full((1, 20), -sure))
        tokens.append(due[0][1] if due else TEXTS.index(token))
    assert forced == [False, False, False, True, True, False]
    assert "".join(TABLE.spelled(tokens)) == ".\n\na\n\nwaita"


def test_unusable_entries_are_left_out_as_everywhere() -> None:
    batch = SteeredBatch(1, TABLE, cut)
    batch.add(0, SelfStepConf())
    top = np.array([[-0.5, -1.5, -math.inf], [-1.0, -1.0, -9999.0]])
    batch.observe(np.array([0, 0], dtype=np.intp), top)
    assert batch._confidence[0] == 1.0


def test_every_request_has_its_own_number_of_log_probabilities() -> None:
    batch = SteeredBatch(3, TABLE, cut)
    for slot, k in enumerate((2, 3, 2)):
        batch.add(slot, SelfStepConf(), k)
    slots = np.arange(3)
    batch.observe(slots, -np.array([[1.0, 2.0, 9.0], [1.0, 2.0, 9.0], [3.0, 4.0, 9.0]]))
    assert batch._confidence.tolist() == [1.5, 4.0, 3.5]
    assert batch.largest_k(slots) == 3
    assert batch.largest_k(slots[::2]) == 2


def test_a_request_that_comes_back_unknown_goes_on_without_its_confidences() -> None:
    batch = SteeredBatch(1, TABLE, cut)
    slots = np.array([0], dtype=np.intp)
    tokens = [TEXTS.index(".\n\n"), TEXTS.index("a"), TEXTS.index("\n\n")]
    batch.add(0, SelfStepConf(delta=10.0), 20, "lost", tokens)
    batch.advance(slots, np.array(tokens[-1:]), np.array([3]), lambda _: tokens)
    assert batch.due(slots) == []
    for sure, text in ((9.0, ".\n\n"), (5.0, "a\n\n")):
        batch.observe(slots, np.full((1, 20), -sure))
        tokens.append(TEXTS.index(text) if text in TEXTS else TEXTS.index("d\n\ne"))
        batch.advance(slots, np.array(tokens[-1:]), np.array([len(tokens)]), lambda _: tokens)
    assert batch.due(slots) == [(0, WAIT[0])]


def test_a_request_that_loses_tokens_begins_again() -> None:
    batch = SteeredBatch(1, TABLE, cut)
    slots = np.array([0], dtype=np.intp)
    batch.add(0, SelfStepConf(delta=10.0))
    tokens: list[int] = []
    for sure in (9.0, 5.0):
        batch.observe(slots, np.full((1, 20), -sure))
        tokens.append(TEXTS.index("d\n\ne"))
        batch.advance(slots, np.array(tokens[-1:]), np.array([len(tokens)]), lambda _: tokens)
    assert batch.due(slots) == [(0, WAIT[0])]
    del tokens[1:]
    batch.advance(slots, np.array(tokens[-1:]), np.array([1]), lambda _: tokens)
    assert batch.due(slots) == []


@pytest.mark.parametrize("n", [1, 5, 40])
def test_a_reflection_is_cut_behind_the_last_32_characters(n: int) -> None:
    seen = []

    def remembered(before: str, text: str) -> Sequence[int]:
        seen.append((before, text))
        return WAIT

    batch = SteeredBatch(1, TABLE, remembered)
    batch.add(0, SelfStepConf(delta=10.0, split=WindowSplitter(n), reflection="Wait, what?"))
    slots = np.array([0], dtype=np.intp)
    tokens: list[int] = []
    for number in range(2 * n):
        batch.observe(slots, np.full((1, 20), -1.0 if number >= n else -2.0))
        tokens.append(TEXTS.index("🙂" if number % 2 else "b "))
        batch.advance(slots, np.array(tokens[-1:]), np.array([len(tokens)]), lambda _: tokens)
    assert seen == [("".join(TEXTS[token] for token in tokens)[-32:], "Wait, what?")]


def test_an_insertion_is_found_where_it_was_forced() -> None:
    controller = SelfStepConf(delta=10.0)
    record = replay(controller, [".\n\n", "a\n\n", "w", "ait"], [9.0, 5.0, 1.0, 1.0])
    assert record.insertions == (Insertion(2, 2),)


END = len(TEXTS) - 1
seen_positions = st.tuples(st.integers(0, len(TEXTS) - 1), st.integers(0, len(TEXTS) - 1), tops)


@pytest.mark.slow
@MANY
@given(
    st.builds(SelfStepConf, delta=st.sampled_from([0.8, 1.0, 10.0]), split=splits, released=st.just(True)),
    st.lists(seen_positions, min_size=1, max_size=40),
    st.integers(0, 40),
)
def test_as_published_a_batch_exchanges_where_the_stream_does_and_forces_nothing(
    controller: SelfStepConf, seen: list[tuple[int, int, np.ndarray]], leaves_at: int
) -> None:
    batch = SteeredBatch(3, TABLE, cut, end_tokens=[END])
    beside = Request.new(SelfStepConf(delta=10.0))
    slot, slots = 1, np.array([1, 2], dtype=np.intp)
    batch.add(slot, controller)
    batch.add(2, beside.controller)
    assert batch.wants_likeliest
    stream = controller.start()
    assert isinstance(stream, ReleasedStream)
    tokens: list[int] = []
    for number, (token, likeliest, top) in enumerate(seen):
        if number == leaves_at:  # preempted, and back in another slot
            batch.drop(slot)
            slot, slots = 0, np.array([0, 2], dtype=np.intp)
            batch.add(slot, controller, history=tokens)
        histories = [tokens, beside.tokens]
        batch.advance(
            slots,
            np.array([history[-1] if history else 0 for history in histories]),
            np.array([number, number]),
            lambda place, histories=histories: histories[place],
        )
        assert batch.exchanged(slots) == ([(0, WAIT[0])] if stream.exchanges else [])
        assert batch.due(slots) == ([(1, beside.due[0])] if beside.due else [])
        batch.observe(slots, np.array([top, top]), np.array([likeliest, likeliest]))
        confidence = float(token_confidence(top[None]).values[0])
        text = None if likeliest == END else TEXTS[likeliest]
        stream.look(text, confidence, float(token_entropy(top[None]).values[0]))
        stream.push(TEXTS[token], confidence)
        tokens.append(token)
        beside.sampled(token, top)
