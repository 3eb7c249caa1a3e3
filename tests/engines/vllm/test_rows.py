"""The rows of a batch that changes as vLLM's does, against one stream per request."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.confidence import token_confidence
from distrivote.engines.tokens.tables import TokenTable
from distrivote.engines.vllm.args import xargs_of
from distrivote.engines.vllm.batch import SteeredBatch
from distrivote.engines.vllm.rows import BatchRows, wanted_k
from distrivote.splitting import WindowSplitter
from distrivote.steering import SelfStepConf
from strategies import MANY

TEXTS = ("a", " b", "\n", "\n\n", ".\n\n", "w", "ait")
TABLE = TokenTable([text.encode() for text in TEXTS])
WAIT = [5, 6]
K = 4
N_ROWS = 6
CONTROLLERS = (
    None,
    SelfStepConf(delta=10.0),
    SelfStepConf(delta=0.9, split=WindowSplitter(2)),
    SelfStepConf(delta=0.0),
)


class Direction(Enum):
    UNIDIRECTIONAL = auto()
    SWAP = auto()


@dataclass(eq=False)
class Request:
    params: SimpleNamespace
    prompt: list[int]
    controller: SelfStepConf | None
    reply: list[int] = field(default_factory=list)
    due: list[int] = field(default_factory=list)
    n_pushed: int = 0

    def __post_init__(self) -> None:
        self.stream = None if self.controller is None else self.controller.start()

    def sampled(self, token: int, top: np.ndarray) -> None:
        if self.stream is None:
            self.reply.append(token)
            return
        confidence = float(token_confidence(top[None], K).values[0])
        if self.due:
            self.reply.append(self.due.pop(0))
            self.stream.push_injected(TEXTS[self.reply[-1]], confidence)
            return
        self.reply.append(token)
        if self.stream.push(TEXTS[token], confidence) is not None:
            self.due = list(WAIT)


class Batch:
    """Rows as vLLM keeps them: a request fills the lowest row that was freed, and gaps are closed."""

    def __init__(self) -> None:
        self.rows: list[Request | None] = []

    def change(self, leaving: set[Request], coming: list[Request], swap: tuple[int, int]) -> SimpleNamespace:
        removed = [row for row, request in enumerate(self.rows) if request in leaving]
        for row in removed:
            self.rows[row] = None
        added, moved = [], []
        for request in coming:
            if removed:
                row = removed.pop(0)  # filled again, and no word of its having been free
                self.rows[row] = request
            else:
                row = len(self.rows)
                self.rows.append(request)
            added.append((row, request.params, request.prompt, request.reply))
        while removed:
            while self.rows and self.rows[-1] is None:
                self.rows.pop()
            empty = removed[0]
            if empty >= len(self.rows) - 1:
                break
            removed.pop(0)
            self.rows[empty] = self.rows.pop()
            moved.append((len(self.rows), empty, Direction.UNIDIRECTIONAL))
        while self.rows and self.rows[-1] is None:
            self.rows.pop()
        if max(swap) < len(self.rows) and swap[0] != swap[1]:
            one, other = swap
            self.rows[one], self.rows[other] = self.rows[other], self.rows[one]
            moved.append((one, other, Direction.SWAP))
        return SimpleNamespace(batch_size=len(self.rows), removed=removed, added=added, moved=moved)


def request(number: int, controller: SelfStepConf | None) -> Request:
    xargs = None if controller is None else xargs_of(controller)
    return Request(SimpleNamespace(extra_args=xargs, logprobs=K, seed=None), [number], controller)


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [False, True], ids=["in step", "ahead"])
@MANY
@given(data=st.data())
def test_rows_that_come_go_and_move_are_followed(ahead: bool, data: st.DataObject) -> None:
    batch = SteeredBatch(N_ROWS, TABLE, lambda _before, _text: WAIT)
    rows = BatchRows(batch, N_ROWS)
    model = Batch()
    preempted: list[Request] = []
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    for number in range(data.draw(st.integers(1, 20))):
        seated = [r for r in model.rows if r is not None]
        leaving = {r for r in seated if rng.random() < 0.15}
        back = [r for r in preempted if rng.random() < 0.5]
        preempted = [r for r in preempted if r not in back] + [r for r in leaving if rng.random() < 0.7]
        for r in back:
            r.reply = list(r.reply)  # resumed with a list of its own
        n_free = N_ROWS - len(seated) + len(leaving) - len(back)
        if n_free < 0:
            preempted += back[n_free:]
            del back[n_free:]
            n_free = 0
        new = [
            request(100 * number + i, CONTROLLERS[int(rng.integers(len(CONTROLLERS)))])
            for i in range(int(rng.integers(0, min(n_free, 3) + 1)))
        ]
        swap = (int(rng.integers(N_ROWS)), int(rng.integers(N_ROWS)))
        rows.update(model.change(leaving, back + new, swap))
        for _ in range(int(rng.integers(1, 4))):
            decode(rows, batch, model, rng, ahead)


def decode(rows: BatchRows, batch: SteeredBatch, model: Batch, rng: np.random.Generator, ahead: bool) -> None:
    seated = [r for r in model.rows if r is not None]
    watched = [row for row, r in enumerate(seated) if r.controller is not None]
    assert rows.rows.tolist() == watched
    if not watched:
        for r in seated:
            r.sampled(int(rng.integers(5)), np.zeros(K))
        return
    if ahead and rng.random() < 0.1:
        # A token that is not known yet changes nothing.
        for row in watched:
            seated[row].reply.append(-1)
        rows.advance()
        for row in watched:
            seated[row].reply.pop()
    rows.advance()
    due = [(watched[place], token) for place, token in batch.due(rows.slots)]
    assert due == [(row, seated[row].due[0]) for row in watched if seated[row].due]
    if rng.random() < 0.1:
        return  # decoded, but no token came of it
    tops = -np.sort(rng.integers(1, 40, (len(seated), K)) / 8)
    batch.observe(rows.slots, tops[watched])
    for r, top in zip(seated, tops, strict=True):
        r.sampled(int(rng.integers(5)), top)


def test_rows_of_others_are_not_looked_at() -> None:
    batch = SteeredBatch(2, TABLE, lambda _before, _text: WAIT)
    rows = BatchRows(batch, 2)
    rows.update(Batch().change(set(), [request(0, None), request(1, None)], (0, 0)))
    assert not len(rows.rows)
    assert not len(rows.slots)


@pytest.mark.parametrize(
    ("given", "k"), [(None, 20), (0, 20), (1, 20), (2, 2), (5, 5), (20, 20), (21, 20), (-1, 20)]
)
def test_confidences_are_made_of_what_the_client_sees(given: int | None, k: int) -> None:
    assert wanted_k(SimpleNamespace(logprobs=given)) == k
