"""What a server sent, taken in: which reply a choice belongs to, counts of tokens, and faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from distrivote.engines.openai.client import Server
from distrivote.engines.openai.continuation import SteeredReply
from distrivote.engines.openai.faults import Fault, broken_off
from distrivote.engines.openai.flaws import Flaw, flaw_of
from distrivote.engines.openai.token_ids import ids_of, named
from distrivote.engines.responses import ReplyError
from distrivote.engines.wire import Choice, Response, Usage
from distrivote.trajectory import Trajectory


def flaw_at(server: Server, trajectory: Trajectory, k: int) -> Flaw | None:
    """Return what is wrong with a reply; a server that never gave log-probabilities gets no retry."""
    assert server.facts.dialect is not None
    flaw = flaw_of(trajectory, k)
    if flaw is not None and not server.facts.dialect.shows_logprobs:
        return flaw._replace(asks_again=False)
    return flaw


async def usage_after(
    chunks: Sequence[Response], batches: AsyncGenerator[list[Response]], seconds: float
) -> Usage:
    """Return the token counts that follow the last reply, if there are any; they end the stream."""
    found = Usage()
    for chunk in chunks:
        found = found.then(chunk.usage)
    with suppress(TimeoutError, Fault):
        async with asyncio.timeout(seconds):
            async for more in batches:
                for chunk in more:
                    found = found.then(chunk.usage)
    return found


def with_cost(trajectory: Trajectory, usage: Usage, is_last: bool, seconds: float) -> Trajectory:
    """Return a reply with what it cost; the last to a request has the tokens of all."""
    n_reply = usage.completion_tokens if is_last else None
    return replace(trajectory, n_prompt_tokens=usage.prompt_tokens, n_reply_tokens=n_reply, seconds=seconds)


def numbered(server: Server, choices: Sequence[Choice], n: int) -> Sequence[tuple[int, Choice]]:
    """Return the choices of a chunk with their numbers, below n; each once, or two replies would mix.

    If one reply was requested, it may have any number: `Reply` reports a wrong one as a flaw.
    """
    if n == 1 and len(choices) == 1:
        return [(0, choices[0])]
    found: dict[int, Choice] = {}
    for choice in choices:
        at = choice.index or 0
        if not 0 <= at < n:
            if n > 1:
                raise broken_off(server.url, f"choice {at} comes where {n} were asked for")
            continue
        if at in found and choice.message is None:
            raise broken_off(server.url, f"choice {at} comes twice in one chunk")
        found.setdefault(at, choice)
    return list(found.items()) or [(0, choice) for choice in choices[:1]]


async def add_choice(server: Server, add: Callable[[Choice], Any], choice: Choice) -> Any:
    """Pass a choice on; raise a fault of the server if it can't be read."""
    try:
        return add(await named(server, choice) if ids_of(choice) else choice)
    except (ValueError, TypeError) as error:
        raise broken_off(server.url, f"a chunk can't be read: {error}") from error


def check_tokens(server: Server, reply: SteeredReply) -> None:
    """Raise a Fault if SelfStepConf judged by tokens that are not those of the text."""
    try:
        reply.check()
    except ReplyError as error:
        raise broken_off(server.url, error.flaw) from error


def check_whole(server: Server, reply: SteeredReply, usage: Usage, said: str | None) -> None:
    """Raise a Fault if a finished reply has a flaw that a retry may avoid."""
    flaw = Flaw(reply.flaw) if reply.flaw else server.model_flaw(said)
    if flaw is None and not usage.has_thinking:
        flaw = server.count_flaw(usage, reply.n_shown, reply.n_read, reply.is_at_limit)
    if flaw is not None and flaw.asks_again:
        raise broken_off(server.url, flaw.words)
