"""Many small requests whose replies are read whole: scores, and the first token of a reply."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from distrivote.engines.abilities import NextTokens
from distrivote.engines.openai.client import Server
from distrivote.engines.openai.faults import Fault, Scope
from distrivote.engines.openai.loops import Connections
from distrivote.engines.openai.patience import Patience
from distrivote.errors import EngineError
from distrivote.problem import Message

_N_TOP = 20
"""As many of the most probable tokens as hosted APIs tell."""


async def ask_each(
    connected: Callable[[], Awaitable[Connections]],
    path: str,
    bodies: Sequence[Mapping[str, Any]],
    patience: Patience,
    put: Callable[[tuple[int, Any]], None],
    *,
    beside: bool,
) -> None:
    """Send all requests, as many at once as the engine may, and put each number with its reply.

    The first one that fails for good ends the others.
    """
    connections = await connected()

    async def one(number: int, body: Mapping[str, Any]) -> None:
        async with connections.room:
            present = connections.present
            server = present[number % len(present)]
            put((number, await _patiently(server, path, dict(body), patience, beside)))

    tasks = [asyncio.create_task(one(*each)) for each in enumerate(bodies)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _patiently(
    server: Server, path: str, body: dict[str, Any], patience: Patience, beside: bool
) -> Any:
    """Return the reply to a request, which is repeated while it fails transiently."""
    for attempt in range(patience.n_probes):
        try:
            reply = await (server.post_beside if beside else server.post)(path, body)
            if isinstance(reply, dict) and reply.get("error"):
                raise server.reported(reply["error"])
            server.n_garbled = 0
            return reply
        except Fault as fault:
            if fault.scope is not Scope.PASSING or attempt + 1 == patience.n_probes:
                raise
            wait = fault.retry_after if fault.retry_after is not None else patience.probe.delay(attempt)
            await asyncio.sleep(min(wait, patience.aside.longest))
    raise AssertionError


def first_token_body(model: str, messages: Sequence[Message], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request for the first token of a reply, with the most probable ones."""
    return {
        "model": model,
        "messages": [{"role": each.role, "content": each.content} for each in messages],
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": _N_TOP,
        **extra,
    }


def first_tokens(reply: Any) -> NextTokens:
    """Return the most probable first tokens of a chat reply.

    >>> top = [{"token": "A", "logprob": -0.1}, {"token": " B", "logprob": -2.4}]
    >>> told = {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": top}]}
    >>> first_tokens({"choices": [{"logprobs": told}]}).entries
    (('A', -0.1), (' B', -2.4))
    """
    try:
        first = reply["choices"][0]["logprobs"]["content"][0]
        top = first.get("top_logprobs") or [first]
        entries = tuple((str(each["token"]), float(each["logprob"])) for each in top)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise EngineError(
            "the server's reply has no log-probabilities",
            hint="P(True) needs a server that gives top_logprobs in chat completions",
        ) from None
    return NextTokens(entries, n_tokens_of(reply))


def n_tokens_of(reply: Any) -> int:
    """Return how many tokens a reply says that it took; 0 if it does not.

    >>> n_tokens_of({"usage": {"prompt_tokens": 5, "total_tokens": 6}}), n_tokens_of({})
    (6, 0)
    """
    usage = reply.get("usage") if isinstance(reply, dict) else None
    told = usage if isinstance(usage, dict) else {}
    total, *parts = (_n_of(told.get(f"{name}_tokens")) for name in ("total", "prompt", "completion"))
    return total or sum(parts)


def _n_of(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
