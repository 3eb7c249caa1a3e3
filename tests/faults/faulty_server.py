"""A server that fails in every way that has been seen, now and then, around a model that answers by its seed.

`FaultyServer` is an `answer` of `ScriptedServer`: it lets a `SeededModel` answer and spoils a share of the
replies, each in one of the ways in `FAULTS`. What it did is counted.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engines.scripted_server import Reply, Request, Token, ToyServer, is_sampled, refusal


def tokens_of(seed: int) -> list[Token]:
    """Return what the model says with a seed: one of four answers, surer where it is right."""
    rng = random.Random(seed)
    answer = rng.choices(("12", "35", "7", None), (5, 4, 2, 1))[0]
    level = 14.0 if answer == "12" else 10.0
    last = "I can't say." if answer is None else f"It is \\boxed{{{answer}}}."
    words = ["Let", " me", " see", ".\n\n", "So", ":\n\n", last]
    return [Token(word, round(rng.gauss(level, 2.0) % 30 + 1, 3)) for word in words]


@dataclass
class SeededModel:
    """A server whose replies are fixed by the seeds of the requests, as a real one's should be."""

    prefill: str = "never"

    def __call__(self, request: Request) -> Reply:
        seed = (request.body or {}).get("seed", 0)
        return ToyServer(lambda _: tokens_of(seed), prefill=self.prefill, completes=False)(request)


Fault = Callable[[Reply, random.Random], Reply]


def _half(reply: Reply, end: str) -> Reply:
    events = list(reply.events)
    return Reply(events=events[: len(events) // 2], end=end)


def _spoiled(reply: Reply, change: Callable[[dict[str, Any]], None]) -> Reply:
    """Return a reply with every choice changed that has log-probabilities."""
    reply = copy.deepcopy(reply)
    reply.events = list(reply.events)
    documents = reply.events if reply.body is None else [reply.body]
    for document in documents:
        for choice in document.get("choices", ()):
            if (choice.get("logprobs") or {}).get("content"):
                change(choice)
    return reply


def _without_logprobs(choice: dict[str, Any]) -> None:
    choice["logprobs"] = None


def _partly(reply: Reply, rng: random.Random) -> Reply:
    """Leave the log-probabilities of some tokens out, those of at least one."""
    first = True

    def change(choice: dict[str, Any]) -> None:
        nonlocal first
        if first or rng.random() < 0.3:
            choice["logprobs"] = None
        first = False

    return _spoiled(reply, change)


def _with_entries(n: int) -> Fault:
    def change(choice: dict[str, Any]) -> None:
        for entry in choice["logprobs"]["content"]:
            entry["top_logprobs"] = entry["top_logprobs"][:n]

    return lambda reply, _: _spoiled(reply, change)


def _with_values(value: float) -> Fault:
    def change(choice: dict[str, Any]) -> None:
        for entry in choice["logprobs"]["content"]:
            for other in entry["top_logprobs"][2:]:
                other["logprob"] = value

    return lambda reply, _: _spoiled(reply, change)


def _other_texts(choice: dict[str, Any]) -> None:
    for entry in choice["logprobs"]["content"]:
        entry |= {"token": "lorem", "bytes": list(b"lorem")}


def _another_text(reply: Reply, _: random.Random) -> Reply:
    """Say another answer in the text than in the tokens."""

    def change(choice: dict[str, Any]) -> None:
        source = choice.get("delta") or choice.get("message") or choice
        name = "content" if "content" in source else "text"
        source[name] = source[name].replace("boxed{12}", "boxed{112}").replace("see", "look")

    return _spoiled(reply, change)


def _lost_text(reply: Reply, _: random.Random) -> Reply:
    """Leave out the text of one event, whose tokens come."""
    n_said = 0

    def change(choice: dict[str, Any]) -> None:
        nonlocal n_said
        n_said += 1
        source = choice.get("delta") or choice.get("message") or choice
        if n_said == 2:
            source["content" if "content" in source else "text"] = ""

    return _spoiled(reply, change)


def _at_choices(**fields: Any) -> Fault:
    """Give every choice of a stream these fields."""

    def spoil(reply: Reply, _: random.Random) -> Reply:
        reply = copy.deepcopy(reply)
        reply.events = list(reply.events)
        for document in reply.events if reply.body is None else [reply.body]:
            for choice in document["choices"]:
                choice |= copy.deepcopy(fields)
        return reply

    return spoil


def _with_first_value(value: Any) -> Fault:
    def change(choice: dict[str, Any]) -> None:
        for entry in choice["logprobs"]["content"]:
            entry["top_logprobs"][0]["logprob"] = value

    return lambda reply, _: _spoiled(reply, change)


def _equal(choice: dict[str, Any]) -> None:
    for entry in choice["logprobs"]["content"]:
        for other in entry["top_logprobs"]:
            other["logprob"] = -0.05


def _refused(reply: Reply, _: random.Random) -> Reply:
    if reply.body is not None:
        return reply
    said = {"index": 0, "delta": {"refusal": "I can't help with that."}, "finish_reason": None}
    return Reply(events=[{"choices": [said]}, {"choices": [said | {"delta": {}, "finish_reason": "stop"}]}])


def _twice(reply: Reply, _: random.Random) -> Reply:
    reply = copy.deepcopy(reply)
    reply.events = list(reply.events)
    for document in reply.events if reply.body is None else [reply.body]:
        document["choices"] = [copy.deepcopy(choice) for choice in document["choices"] for _ in range(2)]
    return reply


def _endless(reply: Reply, _: random.Random) -> Reply:
    if reply.body is not None:
        return reply
    events = [event for event in reply.events if event.get("choices")]

    def forever() -> Iterator[Any]:
        yield from events[:-1]
        while True:
            yield events[0]

    return Reply(events=forever())


def _no_json(reply: Reply, _: random.Random) -> Reply:
    if reply.body is not None:
        return Reply(body=b'{"choices": [{"message": {"cont')
    events = list(reply.events)
    return Reply(events=[*events[:2], b'data: {"choices": [{"delta": {"con\n\n', *events[2:]])


FAULTS: Mapping[str, Fault] = {
    "reset": lambda reply, _: _half(reply, "reset"),
    "reset at once": lambda _reply, _: Reply(end="reset"),
    "500": lambda _reply, _: refusal(500, "Internal Server Error"),
    "502": lambda _reply, _: Reply(502, b"<html><h1>Bad Gateway</h1></html>"),
    "503": lambda _reply, _: refusal(503, "Service Unavailable"),
    "429": lambda _reply, _: refusal(429, "Rate limit reached", retry_after="0.02"),
    "silence": lambda reply, _: _half(reply, "hang"),
    "truncated": lambda reply, _: _half(reply, "cut"),
    "error event": lambda _reply, _: Reply(events=[{"error": {"message": "out of memory", "code": 500}}]),
    "no JSON": _no_json,
    "another page": lambda _reply, _: Reply(body=b"<html>please log in</html>"),
    "no choices": lambda _reply, _: Reply(body={"choices": []}),
    "duplicate choices": _twice,
    "no logprobs": lambda reply, _: _spoiled(reply, _without_logprobs),
    "partial logprobs": _partly,
    "3 logprobs": _with_entries(3),
    "1 logprob": _with_entries(1),
    "other texts": lambda reply, _: _spoiled(reply, _other_texts),
    "another text": _another_text,
    "lost text": _lost_text,
    "-inf": _with_values(float("-inf")),
    "NaN": _with_values(float("nan")),
    "endless": _endless,
    "index 7": _at_choices(index=7),
    "index -1": _at_choices(index=-1),
    'index "0"': _at_choices(index="0"),
    "equal entries": lambda reply, _: _spoiled(reply, _equal),
    "false": _with_first_value(False),
    "above 0": _with_first_value(3.5),
    "refusal": _refused,
}

MARKED = ("-inf", "NaN", "endless", "partial logprobs")
"""What is kept with a mark; after everything else the server is asked again."""

MENDED = tuple(name for name in FAULTS if name not in MARKED)


@dataclass
class FaultyServer:
    """Spoils a share of the replies of a healthy server."""

    healthy: Callable[[Request], Reply]
    kinds: Sequence[str] = tuple(FAULTS)
    share: float = 0.3
    seed: int = 0
    n_replies: int = 0
    n_faults: Counter[str] = field(default_factory=Counter)
    n_asked: Counter[int] = field(default_factory=Counter)
    """How often each seed was asked for."""

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    def __call__(self, request: Request) -> Reply:
        reply = self.healthy(request)
        self.n_replies += 1
        if is_sampled(request.body or {}):
            self.n_asked[request.body["seed"]] += 1
        if request.body is None or self._rng.random() >= self.share:
            return reply
        kind = self._rng.choice(self.kinds)
        self.n_faults[kind] += 1
        return FAULTS[kind](reply, self._rng)
