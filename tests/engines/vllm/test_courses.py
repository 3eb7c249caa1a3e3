from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distrivote.confidence import token_confidence
from distrivote.engines.tokens.tables import TokenTable
from distrivote.engines.vllm.batch import SteeredBatch
from distrivote.splitting import WindowSplitter
from distrivote.steering import ControllerStream, DistriVotingOnline, End, SelfStepConf
from distrivote.steering.course import Line
from strategies import FEW

TEXTS = ("a", "b", ".\n\n", "w", "<end>")
TABLE = TokenTable([text.encode() for text in TEXTS])
WAIT, END = 3, 4
FLOOR = Line((2.0, 9.0), (3.0, 6.0))
controllers = st.sampled_from(
    [
        SelfStepConf(),
        DistriVotingOnline(floor=FLOOR),
        DistriVotingOnline(floor=FLOOR, steps=SelfStepConf(delta=0.9)),
        DistriVotingOnline(floor=FLOOR, steps=SelfStepConf(delta=0.9, split=WindowSplitter(3))),
        DistriVotingOnline(steps=SelfStepConf(delta=0.9)),
    ]
)
tokens = st.lists(st.tuples(st.integers(0, 2), st.integers(8, 80)), max_size=24)


def twin_of(stream: ControllerStream, token: int, confidence: float, due: list[int]) -> list[int]:
    """Return what is due after a token, by the controller's own stream."""
    if due:
        stream.push_injected(TEXTS[token], confidence)
        return due[1:]
    action = stream.push(TEXTS[token], confidence)
    return [] if action is None else [END] if isinstance(action, End) else [WAIT]


@FEW
@given(st.lists(controllers, min_size=1, max_size=3), tokens, st.data())
def test_a_batch_ends_requests_where_their_streams_do(
    some: list[DistriVotingOnline], drawn: list[tuple[int, int]], data: st.DataObject
) -> None:
    n = len(some)
    batch = SteeredBatch(n + 1, TABLE, lambda _before, _text: [WAIT], end_tokens=[END])
    streams = [rule.start() for rule in some]
    for slot, rule in enumerate(some):
        batch.add(slot, rule, origin=slot)
    slots, histories, due = np.arange(n), [[] for _ in some], [[] for _ in some]  # type: ignore[var-annotated]
    for token, level in drawn:
        tops = np.full((n, 20), -level / 8)
        batch.observe(slots, tops)
        confidence = float(token_confidence(tops).values[0])
        for place, history in enumerate(histories):
            history.append(due[place][0] if due[place] else token)
            due[place] = twin_of(streams[place], history[-1], confidence, due[place])
        last = np.array([history[-1] for history in histories])
        batch.advance(slots, last, np.array([len(h) for h in histories]), lambda place: histories[place])
        assert dict(batch.due(slots)) == {place: each[0] for place, each in enumerate(due) if each}
        if END in last or [END] in due:
            return
        if data.draw(st.booleans()):  # it may leave its slot at any time, and comes back to another one
            free = next(slot for slot in range(n + 1) if slot not in slots)
            batch.drop(int(slots[0]))
            batch.add(free, some[0], origin=0, history=histories[0])
            slots[0] = free


def test_what_ended_is_seen_in_its_steps_within_rounding() -> None:
    rule = DistriVotingOnline(floor=Line((4.0,), (5.0,)))
    for level, ends in ((5.00001, True), (4.0, True), (5.1, False)):
        stream = rule.start()
        for text in ("a", ".\n\n"):
            stream.push(text, level)
        assert rule.ended([level] * 2, stream.record()) == ends
        stream.push("a", level)
        assert not rule.ended([level] * 3, stream.record())
    assert not DistriVotingOnline().ended([1.0], rule.start().record())
