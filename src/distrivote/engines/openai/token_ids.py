"""Tokens that a completions endpoint names by their ids, and the lookup of their texts.

Completions give the most probable tokens as an object with their texts as keys, in which tokens of the same
text (mostly parts of characters) overwrite each other. So vLLM is asked for ids ("token_id:123"), which are
all different. The text of a token that comes alone is the text of its chunk; those of several are asked for
by /detokenize, once each.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from distrivote.engines.openai.client import Server
from distrivote.engines.openai.faults import Fault, Scope
from distrivote.engines.wire import Choice

_PREFIX = "token_id:"


def ids_of(choice: Choice) -> list[int]:
    """Return the ids of a choice's tokens, none where they have texts."""
    tokens = choice.logprobs.tokens if choice.logprobs is not None else None
    if not tokens or not all(token.startswith(_PREFIX) for token in tokens):
        return []
    return [int(token.removeprefix(_PREFIX)) for token in tokens]


def with_texts(choice: Choice, texts: list[str]) -> Choice:
    """Return a choice with texts for its tokens."""
    assert choice.logprobs is not None
    return replace(choice, logprobs=replace(choice.logprobs, tokens=texts))


async def named(server: Server, choice: Choice) -> Choice:
    """Return a choice with the texts of its tokens, looked up if it names them by ids."""
    ids = ids_of(choice)
    if not ids:
        return choice
    if len(ids) == 1:
        return with_texts(choice, [choice.text or ""])
    unknown = {i for i in ids if i not in server.facts.token_texts}
    await asyncio.gather(*(_learn(server, i) for i in unknown))
    return with_texts(choice, [server.facts.token_texts[i] for i in ids])


async def _learn(server: Server, token: int) -> None:
    answer = await server.post_beside("detokenize", {"model": server.facts.model, "tokens": [token]})
    text = answer.get("prompt") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise Fault(f"{server.url} has no texts for its tokens: use the chat endpoint", Scope.SERVER)
    server.facts.token_texts[token] = text
