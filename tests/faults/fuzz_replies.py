"""Replies of models and servers that nobody meant to send, and everything that reads them.

Beside "no crash", each target states a law: events do not depend on how their bytes are cut, tokens spell
their text, JSON that is found is JSON, kinds do not depend on the order of replies.
"""

from __future__ import annotations

import ast
import asyncio
import json
import random
import re
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from distrivote.answers.code.examples import entry_of, examples_in
from distrivote.answers.code.given import inputs_in
from distrivote.answers.code.inputs import inputs_for
from distrivote.answers.code.program import program_in, program_key
from distrivote.answers.equality import NAMED
from distrivote.answers.equivalence import classify
from distrivote.answers.kinds.looks import kind_of_replies, look_of
from distrivote.answers.kinds.names import KINDS, kind_named
from distrivote.answers.structured.fields import compose
from distrivote.answers.structured.find import find_json
from distrivote.answers.structured.parse import document, written
from distrivote.answers.structured.same import text_key, value_key
from distrivote.answers.structured.slots import Ints, Verdicts
from distrivote.answers.structured.tools import calls_from, calls_json, calls_key, calls_text, find_calls
from distrivote.engines.openai.client import Server, address_of
from distrivote.engines.openai.events import EventDecoder
from distrivote.engines.openai.facts import ServerFacts
from distrivote.engines.openai.faults import Fault
from distrivote.engines.openai.many import n_tokens_of
from distrivote.engines.openai.reply import StreamedReply
from distrivote.errors import InputError
from distrivote.scorers.reward import RewardScorer
from distrivote.scorers.scorer import Reply as ScoredReply
from distrivote.scorers.scorer import number_of
from distrivote.trajectory import Floats
from distrivote.voting.scales import permitted
from distrivote.voting.vote import elect
from faults.spoiling import REPLY, spoiled, spoiled_json, text

# Streams of events

_LINES = (
    b"data: {}", b"data:x", b"data", b"data: ", b"data:  two", b": comment", b"event: a", b"id: 1", b"", b"",
    b"retry: 5", b"error: {}", b"data: [DONE]", b"\xef\xbb\xbf", b"\xef\xbb", b" data: x", b"datas: x", b"\0",
)  # fmt: skip


def events_of(stream: bytes) -> list[bytes]:
    """Return the data of all events of a stream, slowly: the twin of `EventDecoder`."""
    lines = re.split(rb"\r\n|\n|\r", stream.removeprefix(b"\xef\xbb\xbf"))
    events: list[bytes] = []
    data: list[bytes] = []
    for line in [*lines, b""]:
        if not line:
            events += [b"\n".join(data)] if data else []
            data = []
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif line.startswith(b"error:"):
            data.append(b'{"error": ' + line[6:].strip() + b"}")
    return events


def pieces(rng: random.Random, stream: bytes) -> list[bytes]:
    """Cut bytes at random, empty pieces included."""
    cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.choice((0, 1, 3, 12))))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


def spoiled_events(rng: random.Random, _folder: Path) -> None:
    ends = rng.choice(((b"\n",), (b"\r\n",), (b"\r",), (b"\n", b"\r", b"\r\n")))
    stream = b"".join(rng.choice(_LINES) + rng.choice(ends) for _ in range(rng.randrange(12)))
    stream = rng.choice((b"", b"", b"\xef\xbb\xbf")) + stream[: len(stream) - rng.choice((0, 0, 1, 2))]
    decoder = EventDecoder()
    found = [event for piece in pieces(rng, stream) for event in decoder.push(piece)] + decoder.flush()
    assert found == events_of(stream), f"{stream!r}: {found}"


# Whole replies of a server, as a stream


def _chunk(words: str, finish: str | None = None) -> dict[str, object]:
    entry = {
        "token": words,
        "logprob": -0.5,
        "bytes": list(words.encode()),
        "top_logprobs": [{"token": words, "logprob": -0.5}, {"token": "x", "logprob": -1.5}],
    }
    logprobs = {"content": [entry] if words else []}
    choice = {"index": 0, "delta": {"content": words}, "logprobs": logprobs, "finish_reason": finish}
    return {"model": "toy", "choices": [choice]}


def _line_of(words: str, finish: str | None = None) -> dict[str, object]:
    logprobs = {"tokens": [words], "token_logprobs": [-0.5], "top_logprobs": [{words: -0.5, "x": -1.5}]}
    choice = {"index": 0, "text": words, "logprobs": logprobs, "finish_reason": finish}
    return {"model": "toy", "choices": [choice]}


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


async def _read(server: Server, parts: list[bytes]) -> StreamedReply:
    async def arriving() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    reply = StreamedReply(("STOP",))
    async for chunks in server._events(arriving()):
        for chunk in chunks:
            for choice in chunk.choices[:1]:
                reply.add(choice)
    return reply


async def _server() -> Server:
    return Server(address_of("http://127.0.0.1:9/v1"), ServerFacts("toy"), None)


def spoiled_stream(rng: random.Random, _folder: Path) -> None:
    made = rng.choice((_chunk, _line_of))
    texts = [rng.choice(("The ", "answer ", "is ", "\\boxed{", "12", "}", "é", "\n")) for _ in range(4)]
    chunks: list[object] = [*(made(words) for words in texts), made("", "stop")]
    chunks.append({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 4}})
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = rng.randrange(len(chunks))
        chunks[at] = spoiled_json(rng, chunks[at])
    stream = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    stream += b"data: [DONE]\n\n"
    if rng.random() < 0.4:
        stream = spoiled(rng, stream, [stream])
    server = _loop().run_until_complete(_server())
    try:
        reply = _loop().run_until_complete(_read(server, pieces(rng, stream)))
        found = reply.whole("the reply")
    except Fault as fault:
        raise InputError(str(fault)) from fault
    finally:
        _loop().run_until_complete(server.close())
    if found.tokens:
        assert "".join(found.tokens) == found.text, f"{stream!r}: {found.tokens} do not spell {found.text!r}"
        assert found.top_logprobs.shape[0] == len(found.logprobs) == found.n_tokens
    assert found.text is not None


# Replies of reward models

_REWARDS = {
    "score": {"data": [{"index": 0, "score": 0.5}], "usage": {"prompt_tokens": 3, "total_tokens": 5}},
    "pooling": {"data": [{"data": [[0.1], [0.2]]}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
    "classify": {"data": [{"probs": [0.1, 0.9], "label": "x"}], "usage": {"prompt_tokens": 1}},
}


class _Model:
    model = "rm"
    request_settings: ClassVar[dict[str, object]] = {}


def spoiled_reward(rng: random.Random, _folder: Path) -> None:
    way = rng.choice(("score", "pooling", "classify", "classify:1"))
    scorer = RewardScorer(way, _Model())  # type: ignore[arg-type]
    reply = spoiled_json(rng, _REWARDS[way.partition(":")[0]])
    assert n_tokens_of(reply) >= 0, f"{reply!r}: a number of tokens"
    score = number_of(scorer._value(reply), way, SCORED)
    assert score is None or permitted(score, False), f"{reply!r}: {score}"


SCORED = ScoredReply("q", 0, "What is 2 + 2?", "It is 4.", "4")


# JSON and tool calls in replies

JSON = (
    "{", "}", "[", "]", ",", ":", '"', '"a"', '"b": ', '{"a": 1}', '{"a": [1, 2]}', "1", "-0", "1.0", "1e5",
    "1e999",
    "true", "null", "NaN", "\\u00e9", "\\ud800", "\\", "```json\n", "\n```", "```", "\n", " ", "<tool_call>",
    "</tool_call>", '{"name": "f", "arguments": {"x": 1}}', "[TOOL_CALLS]", "f[ARGS]", "<|python_tag|>", ";",
    "</think>", "<think>", '{"name": "g", "parameters": "{}"}', "{}", "[]", "Sure: ", "\ud800", "\0", "é",
    "9" * 40,
)  # fmt: skip


def spoiled_json_answer(rng: random.Random, _folder: Path) -> None:
    reply = text(rng, JSON)
    found = find_json(reply)
    if found.extraction is not None:
        answer, end, start = found.extraction.answer, found.extraction.end, found.start
        assert reply[start:end] == answer, f"{reply!r}: {answer!r} is not at {start}"
        assert written(json.loads(answer)) == written(found.value), f"{reply!r}: another value"
        leaves = document(reply, start, end)
        assert all(start <= a < b <= end for a, b in leaves.places), f"{reply!r}: a place outside"
        assert len(leaves.places) == _n_leaves(found.value), f"{reply!r}: {leaves.places}"
        assert text_key(written(found.value)) == value_key(found.value) == text_key(answer)
    calls = find_calls(reply)
    assert bool(calls.calls) == (calls.problem is None), f"{reply!r}: {calls}"
    if calls.calls:
        again = calls_from(calls_json(calls.calls))
        assert calls_key(again) == calls_key(calls.calls), f"{reply!r}: {calls} are not {again}"
        assert calls_text(again) == calls_text(calls.calls)


def _n_leaves(value: object) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_n_leaves, children)) or 1


_DOCUMENT = {
    "name": "Ann",
    "age": 4,
    "tags": ["a", "b"],
    "home": {"city": "Rome", "zip": None},
    "items": [{"n": 1}],
}


def _weighted(classes: Ints, confidences: Floats) -> Verdicts:
    offsets = np.arange(len(classes) + 1) * classes.shape[1]
    return elect(classes.ravel(), confidences.ravel(), offsets, ["wsc"])["wsc"]


def spoiled_fields(rng: random.Random, _folder: Path) -> None:
    values = [spoiled_json(rng, _DOCUMENT) for _ in range(rng.choice((1, 2, 4)))] + [_DOCUMENT]
    documents = []
    for value in values:
        try:
            documents.append(document(written(value)))
        except ValueError:  # NaN, an infinity
            documents.append(None)
    sure = [None if each is None else np.full(len(each.places), rng.uniform(1, 9)) for each in documents]
    made = compose(documents, sure, _weighted, len(values) - 1)
    written(made.value)


# Kinds of answers, and programs

PYTHON = (
    "```python\n", "\n```\n", "```", "~~~\n", "def f(x):\n", "    return x\n", "    ", "x = 1\n",
    "class A:\n", "\t",
    "import os\n", "f(1)", ">>> f(2)\n", "2\n", "(", ")", ":", "#", '"""', "'", "\\", "\\N{x}", "lambda: ",
    "async ",
    "0x", "1_0", "1" * 400, "-" * 40, "[" * 60, "f'{", "}", "\0", "\ud800", "é", "ﬁ", "if ", "else", "yield ",
    "*",
    "@", "assert f(3) == 4\n", "f(1) -> 2", "def g(a: int, b: list[str] = []) -> None: ...\n",
    "[[1, 2], [3]]",
)  # fmt: skip


def spoiled_program(rng: random.Random, _folder: Path) -> None:
    reply, question = text(rng, PYTHON), text(rng, PYTHON)
    found = program_in(reply)
    sources = [reply]
    if found is not None:
        assert reply[found.start : found.end] == found.source, f"{reply!r}: not in its place"
        key = program_key(found.source)
        assert program_key(key) == key, f"{found.source!r}: the key of its key is another"
        ast.parse(found.source)
        sources.append(found.source)
    entry = entry_of(question, sources)
    if entry is not None:
        examples = examples_in(question, entry)
        inputs_for([example.arguments for example in examples], sources, entry)
    inputs_in(reply)


_WORDS = (
    *REPLY, *JSON, *PYTHON, "Yes", "no", "Paris", "It is ", "the 3rd of May 2020", "twelve", "**", "yes",
    "maybe",
)  # fmt: skip
_NAMES = (*KINDS, "label:yes,no,maybe", "label:A,B")


def spoiled_kind(rng: random.Random, _folder: Path) -> None:
    kind = kind_named(rng.choice(_NAMES))
    replies = [text(rng, _WORDS) for _ in range(rng.choice((1, 2, 4)))]
    answers: list[str | None] = []
    for reply in replies:
        found = kind.read(reply, is_cut=rng.random() < 0.3)
        if found is not None:
            assert found.answer.strip(), f"{kind.name} gave a blank answer to {reply!r}"
            assert 0 <= found.end <= len(reply), f"{kind.name} ends outside {reply!r}"
            assert "\n" not in kind.line(found.answer)
        answers.append(None if found is None else found.answer)
    same = NAMED["notation"] if kind.same.is_math else kind.same
    there = classify(answers, same).ids
    back = classify(answers[::-1], same).ids[::-1]
    assert _partition(there) == _partition(back), f"{kind.name} of {replies!r}: the order matters"
    looks = [look_of(reply, is_cut=False) for reply in replies]
    question = text(rng, _WORDS)
    guessed = kind_of_replies(question, looks).name
    assert guessed == kind_of_replies(question, looks[::-1]).name, f"{replies!r}: the order matters"


def _partition(ids: object) -> set[frozenset[int]]:
    listed = list(ids)  # type: ignore[call-overload]
    return {frozenset(i for i, c in enumerate(listed) if c == k) for k in listed}
