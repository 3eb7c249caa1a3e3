"""What a server can do, found out once with requests of a few tokens.

- `dialect_of`: does it answer, with this key and model, and how many log-probabilities does it give?
- `has_plugin`: does SelfStepConf run inside it? The plugin knows its own arguments and refuses others; any
  other server passes over the field, or refuses it in words of its own.
- `continuation_of`: how can a reply be continued from a prefix? Where the server shows the prompt that its
  chat template makes, by completing that text; else by a prefilled assistant message. Whether a server
  really continues one, or opens a new turn after it, is seen in the number of tokens of the prompt.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.client import Server
from distrivote.engines.openai.faults import Fault, Scope, names
from distrivote.engines.openai.patience import Patience
from distrivote.engines.openai.protocol import (
    DISPENSABLE,
    UNUSUAL,
    Body,
    Continuation,
    Dialect,
    Prompt,
    request_body,
)
from distrivote.engines.openai.reply import StreamedReply
from distrivote.engines.openai.token_ids import ids_of, with_texts
from distrivote.errors import InputError
from distrivote.problem import Message

T = TypeVar("T")

_AMBIGUOUS = (500, 501)
"""What some servers answer to what they do not know; if it stays, it means no."""

_UNNAMED = (400, 422)
"""What a server may answer to a field that it does not know, without naming it."""

_HELLO = (Message("user", "Hello"),)
_FEW = SamplingParams(temperature=1.0, top_p=1.0, max_tokens=4)
_ONE = replace(_FEW, max_tokens=1)

_GO_ON: Body = {"continue_final_message": True, "add_generation_prompt": False}


async def dialect_of(server: Server, endpoint: str, n_logprobs: int) -> Dialect:
    """Return how to ask a server, which is asked for a few tokens to see."""
    prompt = _hello(endpoint)
    dialect = Dialect(n_logprobs)
    seen: list[int] = []
    shows = False
    while True:
        try:
            response = await _ask(server, prompt, _FEW, dialect)
        except Fault as fault:
            adapted = adapted_dialect(dialect, fault)
            if adapted is None:
                raise await _with_models(server, fault) from fault
            dialect = adapted
            seen.clear()
            continue
        rows, has_text = _rows(response)
        n = min(max(map(len, rows), default=0), dialect.n_logprobs)
        seen.append(n if rows or has_text else dialect.n_logprobs)
        shows = shows or bool(rows)
        # A whole run is asked for by this number: that of one bad reply would spoil it.
        if max(seen) >= dialect.n_logprobs or len(seen) == server.patience.n_logprob_probes:
            n = max(seen)
            n = n if n > 1 else 0  # one alone shows no spread
            return replace(dialect, n_logprobs=n, shows_logprobs=shows)


def adapted_dialect(dialect: Dialect, fault: Fault) -> Dialect | None:
    """Return how to ask instead, where a refusal says what it was about; None if it does not."""
    if fault.status is None or not 400 <= fault.status < 600 or fault.scope is Scope.PASSING:
        return None
    if "max_completion_tokens" in fault.words and dialect.max_tokens_field == "max_tokens":
        return replace(dialect, max_tokens_field="max_completion_tokens")
    refused = {name for name in DISPENSABLE - dialect.left_out if names(fault.words, name)}
    if refused:
        return replace(dialect, left_out=dialect.left_out | refused)
    if "logprob" in fault.words.lower() and dialect.n_logprobs:
        return replace(dialect, n_logprobs=_n_allowed(fault.words, dialect.n_logprobs))
    if fault.status in _UNNAMED and not dialect.left_out >= UNUSUAL:
        return replace(dialect, left_out=dialect.left_out | UNUSUAL)
    return None


def _n_allowed(words: str, asked: int) -> int:
    """Return how many log-probabilities a refusal leaves: the number that it names, else 5, else none."""
    found = re.findall(r"(?<![\w.-])(\d{1,4})(?![\w-])( \(exclusive\))?", words)
    named = [int(number) - bool(exclusive) for number, exclusive in found]
    fewer = [number for number in named if number < asked]
    if fewer:
        return max(fewer)
    return (
        5
        if asked > 5 and not re.search(r"support|unrecogni|unknown|not allowed|disabled", words, re.I)
        else 0
    )


async def models_of(server: Server) -> list[str]:
    """Return the names of the models that a server has."""
    listing = await _patiently(server.patience, partial(server.get, "models"))
    data = listing.get("data") if isinstance(listing, dict) else listing
    return [str(entry["id"]) for entry in data or [] if isinstance(entry, dict) and "id" in entry]


async def _with_models(server: Server, fault: Fault) -> Fault:
    """Return a fault about the model with the models that there are."""
    if fault.scope is not Scope.SERVER or fault.argument != "model":
        return fault
    try:
        names = await models_of(server)
    except Fault:
        return fault
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    hint = f"{fault.hint}; it has {listed}"
    return Fault(fault.sentence, fault.scope, hint=hint, argument="model") if names else fault


async def has_plugin(server: Server, endpoint: str, dialect: Dialect) -> bool:
    """Say whether SelfStepConf runs inside a server."""
    prompt = replace(_hello(endpoint), extra={"vllm_xargs": {"ssc": 1, "ssc_probe": 1}})
    try:
        await _ask(server, prompt, _ONE, dialect)
    except Fault as fault:
        if fault.scope is Scope.PASSING and fault.status not in _AMBIGUOUS:
            raise
        return "SelfStepConf" in fault.words
    return False


async def prompt_shown_by(server: Server, dialect: Dialect) -> Continuation | None:
    """Return how a server shows the prompt that its template makes, None if it does not."""
    for way in (Continuation.TEMPLATE, Continuation.TOKENS):
        if await _answers(_completes(server, dialect, way)):
            return way
    return None


async def continuation_of(server: Server, dialect: Dialect) -> Continuation | None:
    """Return how a server continues a reply, None if it can't."""
    shown = await prompt_shown_by(server, dialect)
    if shown is not None:
        return shown
    alone = await _n_prompt_tokens(server, dialect, "", {})
    asked = await _n_behind(server, dialect, alone, _GO_ON)
    unasked = await _n_behind(server, dialect, alone, {})
    if asked is not None and (asked <= 1 or (unasked is not None and asked < unasked)):
        return Continuation.ASKED
    return Continuation.UNASKED if unasked is not None and unasked <= 1 else None


async def prompt_text(
    server: Server, way: Continuation, messages: tuple[Message, ...], thinking: bool | None
) -> Prompt:
    """Return a conversation as the model reads it, up to where its reply begins."""
    key = (messages, thinking)
    if key not in server.facts.prompts:
        body: Body = {"model": server.facts.model, "messages": [message._asdict() for message in messages]}
        if thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": thinking}
        if way is Continuation.TEMPLATE:
            text = (await _beside(server, "apply-template", body))["prompt"]
            server.facts.prompts[key] = Prompt(text=text)
        else:
            tokens = (await _beside(server, "tokenize", body))["tokens"]
            body = {"model": server.facts.model, "tokens": tokens}
            text = (await _beside(server, "detokenize", body))["prompt"]
            # The template has written the special tokens already.
            server.facts.prompts[key] = Prompt(text=text, extra={"add_special_tokens": False})
    return server.facts.prompts[key]


async def _beside(server: Server, path: str, body: Body) -> Any:
    return await _patiently(server.patience, partial(server.post_beside, path, body))


def continued_prompt(way: Continuation, messages: tuple[Message, ...], prefix: str) -> Prompt:
    """Return the conversation with a prefilled assistant message."""
    extra = _GO_ON if way is Continuation.ASKED else {}
    return Prompt((*messages, Message("assistant", prefix)), extra=extra)


def _hello(endpoint: str) -> Prompt:
    return Prompt(_HELLO) if endpoint == "chat" else Prompt(text=_HELLO[0].content)


async def _completes(server: Server, dialect: Dialect, way: Continuation) -> bool:
    prompt = await prompt_text(server, way, _HELLO, None)
    if not prompt.text or _HELLO[0].content not in prompt.text:
        return False
    rows, _ = _rows(await _ask(server, prompt, _FEW, dialect))
    return any(len(row) > 1 for row in rows)


async def _patiently(patience: Patience, probe: Callable[[], Awaitable[T]]) -> T:
    """Return what a probe gives, which may fail a few times for a moment, but not by taking long."""
    longest = patience.probe.longest
    for number in range(patience.n_probes - 1):
        begun = time.monotonic()
        try:
            return await probe()
        except Fault as fault:
            took = time.monotonic() - begun
            if fault.scope is not Scope.PASSING or not fault.reached or took > longest:
                raise
            pause = patience.probe.delay(number) if fault.retry_after is None else fault.retry_after
            await asyncio.sleep(min(pause, longest) * random.uniform(0.5, 1.0))
    return await probe()


async def _answers(probe: Awaitable[bool]) -> bool:
    """Return what a probe says, False where the server refuses it or answers something else."""
    try:
        return await probe
    except Fault as fault:
        if fault.scope is Scope.PASSING and fault.status not in _AMBIGUOUS:
            raise
        return False
    except (KeyError, TypeError, AttributeError, InputError):
        return False


async def _n_behind(server: Server, dialect: Dialect, alone: int | None, extra: Body) -> int | None:
    """Return how many tokens stand behind a prefilled message, with its first word; None if not known.

    Four words cost a + 3b tokens and seven a + 6b, so the rest is a and what the template adds.
    """
    four = await _n_prompt_tokens(server, dialect, "apple" + 3 * " apple", extra)
    seven = await _n_prompt_tokens(server, dialect, "apple" + 6 * " apple", extra)
    if alone is None or four is None or seven is None:
        return None
    return four - alone - (seven - four)


async def _n_prompt_tokens(server: Server, dialect: Dialect, prefix: str, extra: Body) -> int | None:
    messages = (*_HELLO, Message("assistant", prefix)) if prefix else _HELLO
    try:
        response = await _ask(server, Prompt(messages, extra=extra), _ONE, dialect)
        return int(response["usage"]["prompt_tokens"])
    except Fault as fault:
        if fault.scope is Scope.PASSING and fault.status not in _AMBIGUOUS:
            raise
        return None
    except (KeyError, TypeError, ValueError):
        return None


async def _ask(server: Server, prompt: Prompt, params: SamplingParams, dialect: Dialect) -> Any:
    body = request_body(server.facts.model, prompt, params, dialect, seed=0)
    del body["stream"]

    async def once() -> Any:
        response = await server.post(prompt.path, body)
        if isinstance(response, dict) and response.get("error"):
            raise server.reported(response["error"])
        if not isinstance(response, dict) or not response.get("choices"):
            raise server.garbled(f"{str(response)[:60]!r}, which is no reply")
        server.n_garbled = 0
        return response

    return await _patiently(server.patience, once)


def _rows(response: Any) -> tuple[list[Any], bool]:
    """Return the rows of log-probabilities of a whole response, and whether it has a text."""
    reply = StreamedReply()
    try:
        choice = response["choices"][0]
        reply.add(with_texts(choice, [""] * len(ids)) if (ids := ids_of(choice)) else choice)
    except (TypeError, AttributeError, InputError):
        return [], True
    return list(reply.read.top), reply.has_text
