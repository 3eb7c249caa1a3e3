"""The capabilities of a server, probed once with requests of a few tokens.

- `dialect_of`: does it answer, with this key and model, and how many log-probabilities does it give? Replies
  are sampled as streams, so streams are looked at; where only whole replies have them, these are used.
- `has_plugin`: does SelfStepConf run inside it? The plugin knows its own arguments and refuses others; any
  other server ignores the field, or refuses it with another message.
- `continuation_of`: how can a reply be continued from a prefix? Where the server shows the prompt that its
  chat template makes, by completing that text; else by a prefilled assistant message. Whether a server
  really continues one, or opens a new turn after it, is seen in the number of tokens of the prompt and in
  the text that it continues with.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.asking import whole_reply
from distrivote.engines.openai.client import Server
from distrivote.engines.openai.faults import Fault, Scope, broken_off, names
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
from distrivote.engines.openai.reply import finish_of
from distrivote.engines.reply_fields import response_from
from distrivote.engines.vllm.args import SSC_PROBE, Probe
from distrivote.engines.wire import Choice, Logprobs
from distrivote.errors import InputError
from distrivote.problem import Message

T = TypeVar("T")

_AMBIGUOUS = (500, 501)
"""Statuses of some servers for unknown paths or fields; if retries get the same, the answer is no."""

_UNNAMED = (400, 422)
"""Statuses with which a server may refuse an unknown field without naming it."""

_HELLO = (Message("user", "Hello"),)
_FEW = SamplingParams(temperature=1.0, top_p=1.0, max_tokens=4)
_ONE = replace(_FEW, max_tokens=1)

_SAID = "red green blue red green blue red green blue"
_BEGUN, _NEXT = "red green blue red green", " blue"
"""The beginning of a text, and its obvious continuation."""

_MOST_CHUNKS = 64
"""Limit for a stream that should have a few tokens."""

_GO_ON: Body = {"continue_final_message": True, "add_generation_prompt": False}


async def dialect_of(server: Server, endpoint: str, n_logprobs: int, extra: Body | None = None) -> Dialect:
    """Return the dialect of a server, found with requests of a few tokens; `extra` is in every request."""
    prompt = _hello(endpoint)
    dialect = Dialect(n_logprobs, extra=extra or {})
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
        given = _given_in(response["choices"][0])
        # If a model's thinking is hidden, nothing is received, which proves nothing.
        is_seen = given.has_rows or given.has_text
        seen.append(min(given.n_logprobs, dialect.n_logprobs) if is_seen else dialect.n_logprobs)
        shows = shows or given.has_rows
        # The whole run uses this number: that of one bad reply would affect all of it.
        if max(seen) >= dialect.n_logprobs or len(seen) == server.patience.n_logprob_probes:
            break
    if not dialect.n_logprobs:
        return replace(dialect, shows_logprobs=shows)
    return await _as_sampled(server, prompt, dialect, max(seen), shows)


async def _as_sampled(server: Server, prompt: Prompt, dialect: Dialect, n_whole: int, shows: bool) -> Dialect:
    """Return a dialect with the log-probabilities given in streams, or else in complete replies."""
    n_streamed = 0
    for _ in range(server.patience.n_logprob_probes if n_whole > 1 else 1):
        try:
            given = await _ask_stream(server, prompt, dialect)
        except Fault as fault:
            if fault.scope is not Scope.REQUEST:
                raise
            dialect = replace(dialect, streams=False)
            break
        is_seen = given.has_rows or given.has_text
        n_streamed = max(n_streamed, given.n_logprobs if is_seen else n_whole)
        shows = shows or given.has_rows
        if n_streamed >= n_whole:
            break
    if n_streamed <= 1 < n_whole:
        dialect = replace(dialect, streams=False)
    n = min(n_streamed, dialect.n_logprobs) if dialect.streams else n_whole
    return replace(
        dialect, n_logprobs=n if n > 1 else 0, shows_logprobs=shows
    )  # a single entry has no spread


def adapted_dialect(dialect: Dialect, fault: Fault) -> Dialect | None:
    """Return the dialect to try after a refusal that names the field; None if it names none."""
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
    """Return how many log-probabilities to ask for after a refusal: the number it names, else 5, else 0."""
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


async def has_plugin(
    server: Server,
    endpoint: str,
    dialect: Dialect,
    probe: Probe = SSC_PROBE,
    text: str = _HELLO[0].content,
) -> bool:
    """Return whether a rule runs inside a server, SelfStepConf by default; `text` is what it is asked."""
    prompt = replace(_hello(endpoint, text), extra={"vllm_xargs": probe.xargs})
    try:
        await _ask(server, prompt, _ONE, dialect)
    except Fault as fault:
        if fault.scope is Scope.PASSING and fault.status not in _AMBIGUOUS:
            raise
        return probe.rule in fault.words
    return False


async def n_with_plugin(server: Server, endpoint: str, dialect: Dialect, probe: Probe = SSC_PROBE) -> int:
    """Return in how many of `patience.n_replicas` probes a rule ran; 0 after the first without it.

    Behind an address may be replicas that lack it. Every probe has a text of its own, since routers send
    equal prompts to one replica.
    """
    if not await has_plugin(server, endpoint, dialect, probe):
        return 0
    more = (
        has_plugin(server, endpoint, dialect, probe, text=f"{number}: hello")
        for number in range(1, server.patience.n_replicas)
    )
    return 1 + sum(await asyncio.gather(*more))


async def prompt_shown_by(server: Server, dialect: Dialect) -> Continuation | None:
    """Return how a server shows the prompt that its template generates, None if it does not."""
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
    has_effect = asked is not None and (asked <= 1 or (unasked is not None and asked < unasked))
    if has_effect and await _goes_on(server, dialect, _GO_ON):
        return Continuation.ASKED
    if unasked is not None and unasked <= 1 and await _goes_on(server, dialect, {}):
        return Continuation.UNASKED
    return None


async def prompt_text(
    server: Server, way: Continuation, messages: tuple[Message, ...], thinking: bool | None
) -> Prompt:
    """Return a conversation as the model reads it, up to where its reply begins."""
    key = (messages, thinking)
    if key not in server.facts.prompts:
        body: Body = {"model": server.facts.model, "messages": [message.fields() for message in messages]}
        dialect = server.facts.dialect
        switches = dict(dialect.extra.get("chat_template_kwargs") or {}) if dialect is not None else {}
        if thinking is not None:
            switches["enable_thinking"] = thinking
        if switches:
            body["chat_template_kwargs"] = switches
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


def _hello(endpoint: str, text: str = _HELLO[0].content) -> Prompt:
    return Prompt((Message("user", text),)) if endpoint == "chat" else Prompt(text=text)


async def _completes(server: Server, dialect: Dialect, way: Continuation) -> bool:
    prompt = await prompt_text(server, way, _HELLO, None)
    if not prompt.text or _HELLO[0].content not in prompt.text:
        return False
    return _given_in((await _ask(server, prompt, _FEW, dialect))["choices"][0]).n_logprobs > 1


async def _patiently(patience: Patience, probe: Callable[[], Awaitable[T]]) -> T:
    """Return the result of a probe, with a few retries for transient failures, but none after a slow one."""
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
    """Return the result of a probe, False if the server refuses it or answers something else."""
    try:
        return await probe
    except Fault as fault:
        if fault.scope is Scope.PASSING and fault.status not in _AMBIGUOUS:
            raise
        return False
    except (KeyError, TypeError, AttributeError, InputError):
        return False


async def _n_behind(server: Server, dialect: Dialect, alone: int | None, extra: Body) -> int | None:
    """Return how many tokens come after a prefilled message, plus its first word; None if unknown.

    Four words cost a + 3b tokens and seven a + 6b, so the rest is a and what the template adds.
    """
    four = await _n_prompt_tokens(server, dialect, "apple" + 3 * " apple", extra)
    seven = await _n_prompt_tokens(server, dialect, "apple" + 6 * " apple", extra)
    if alone is None or four is None or seven is None or not alone < four < seven:
        return None
    return four - alone - (seven - four)


async def _goes_on(server: Server, dialect: Dialect, extra: Body) -> bool:
    """Return whether a server continues a text where it ends; a new turn would not begin with a space."""
    prompt = Prompt((Message("user", f"Say {_SAID}"), Message("assistant", _BEGUN)), extra=extra)
    for _ in range(2):
        try:
            text = (await _ask(server, prompt, _FEW, dialect))["choices"][0]["message"]["content"]
            if text.removeprefix(_BEGUN).startswith(_NEXT):
                return True
        except Fault as fault:
            if fault.scope is Scope.PASSING and fault.status not in _AMBIGUOUS:
                raise
            return False
        except (KeyError, TypeError, AttributeError, IndexError):
            return False
    return False


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
    return await _patiently(server.patience, partial(whole_reply, server, prompt, body))


async def _ask_stream(server: Server, prompt: Prompt, dialect: Dialect) -> _Given:
    """Return what is received in a stream."""
    body = request_body(server.facts.model, prompt, _FEW, dialect, seed=0)

    async def once() -> _Given:
        given, n_chunks, n_choices = _Given(), 0, 0
        async with aclosing(server.stream(prompt, body)) as batches:
            async for chunks in batches:
                n_chunks += len(chunks)
                is_over = n_chunks >= _MOST_CHUNKS  # it ignores the limit of tokens
                n_choices += sum(len(chunk.choices) for chunk in chunks)
                for choice in (choice for chunk in chunks for choice in chunk.choices[:1]):
                    given = given.then(_given_by(choice))
                    is_over = is_over or finish_of(choice) is not None
                if is_over:
                    break
            with suppress(TimeoutError, Fault):  # some servers never end a stream
                async with asyncio.timeout(server.patience.drain):
                    async for _ in batches:
                        pass
        if not n_choices:
            raise broken_off(server.url, "it is empty")
        return given

    return await _patiently(server.patience, once)


class _Given(NamedTuple):
    """The log-probabilities of a few tokens of a reply."""

    n_logprobs: int = 0
    """The largest number at a token."""

    has_rows: bool = False
    has_text: bool = False

    def then(self, later: _Given) -> _Given:
        has = (mine or other for mine, other in zip(self[1:], later[1:], strict=True))
        return _Given(max(self.n_logprobs, later.n_logprobs), *has)


def _given_in(choice: Any) -> _Given:
    """Return the log-probabilities of a choice of a complete reply; an unreadable choice has none."""
    try:
        return _given_by(response_from({"choices": [choice]}).choices[0])
    except (TypeError, AttributeError, ValueError, InputError):
        return _Given(has_text=True)


def _given_by(choice: Choice) -> _Given:
    rows = [*_rows(choice.logprobs), *_rows(choice.reasoning_logprobs)]
    return _Given(max(rows, default=0), len(rows) > 0, _has_text(choice))


def _has_text(choice: Choice) -> bool:
    message = choice.delta or choice.message
    texts = () if message is None else (message.content, message.reasoning_content, message.reasoning)
    return any((choice.text, *texts))


def _rows(logprobs: Logprobs | None) -> list[int]:
    """Return how many entries each token has."""
    if logprobs is None:
        return []
    entries = [*(logprobs.content or ()), *(logprobs.reasoning_content or ())]
    return [len(each.top_logprobs) for each in entries] or [
        len(row or ()) for row in logprobs.top_logprobs or ()
    ]
