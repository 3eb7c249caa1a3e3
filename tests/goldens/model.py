"""A language model that always says the same: a reply is a function of the question and the seed.

It speaks as an OpenAI-compatible server does, with log-probabilities. Half of its replies fall for a wrong
answer and are unsure of it; others are sure and right, lose confidence on the way, or give no answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from engines.scripted_server import Reply, Request, Token, ToyServer, refusal

ANSWERS = {"apples": ("12", "35"), "candles": ("7", "10"), "train": ("3/4", "4"), "sum": ("5", "5")}
"""By a word of the question, the right answer and the tempting one, which a sum has not."""

APPLES = "Tom has 5 apples and buys 7 more. How many has he?"


class ScriptedModel:
    """Answers requests; the fields of `ToyServer` say what kind of server it is."""

    def __init__(self, **fields: Any) -> None:
        self._server = ToyServer(lambda _: (), **fields)
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        body = request.body or {}
        asked, seed = json.dumps(body), body.get("seed", 0)
        self._server.says = lambda prefix: _said(asked, seed, prefix)
        return self._server(request)


steering = partial(ScriptedModel, prefill="asked")
"""A model behind a server that continues a reply, so that SelfStepConf can steer it."""


def at_model(*options: str) -> str:
    """Return the options of a command that asks the model, one trajectory after the other."""
    return " ".join(("--base-url {url} --parallel 1", *options))


def refusing(status: int, words: str) -> Any:
    """Return a server that refuses everything."""
    return lambda _: refusal(status, words)


def _said(asked: str, seed: int, prefix: str) -> Sequence[Token]:
    right, wrong = next((pair for word, pair in ANSWERS.items() if word in asked), ANSWERS["apples"])
    number = int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:4])
    kind, little = number % 16, number // 16 % 20 / 10
    if prefix:
        return [Token(" a moment.", 9.0), Token("\n\n", 9.0), *_answer(right, 11.0 + little)]
    start = [Token("Let", 10.0), Token(" me", 9.5 + little), Token(" see.\n\n", 10.5)]
    if kind < 6:
        return [*start, *_answer(wrong, 7.0 + little)]
    if kind < 11:
        return [*start, *_answer(right, 12.0 + little)]
    if kind < 13:
        unsure = [Token("Perhaps", 4.0), Token(" not.\n\n", 4.0 + little)]
        return [*start, *unsure, *_answer(wrong, 6.0 + little)]
    if kind < 15:
        return [*start, *_answer("99", 5.0 + little)]
    return [*start, Token("I do not know.", 3.0)]


def _answer(answer: str, confidence: float) -> list[Token]:
    return [Token("It is", confidence), Token(f" \\boxed{{{answer}}}", confidence), Token(".", confidence)]
