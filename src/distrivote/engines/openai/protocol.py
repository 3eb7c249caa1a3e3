"""What is sent to an OpenAI-compatible server: the bodies of requests.

A body says what was asked for, and what is off: many servers fill in what they or the model's makers
recommend (a top-k of 40, a penalty on repetitions) where a request is silent, unless the caller wants just
that (`SamplingParams.left_out`). Servers differ in the fields that they know; one that is refused is left
out, unless the caller asked for its effect. Sockets are not used here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from distrivote.engines.base import SamplingParams
from distrivote.problem import Message

Body: TypeAlias = dict[str, Any]

ENDPOINTS = ("chat", "completions")

OFF: Body = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
"""What samples from the model's own distribution. Of the two values for "all tokens", 0 and -1, every server
accepts the latter."""

UNUSUAL = frozenset({"top_k", "min_p", "repetition_penalty"})
"""Fields that OpenAI's own API does not have."""

_TOKEN_IDS = "return_tokens_as_token_ids"
"""Names tokens by their ids in completions; servers that do not know it ignore it."""

DISPENSABLE = frozenset({*OFF, "seed", _TOKEN_IDS})
"""Fields that may be left out if a server refuses them; those of `OFF` only with their neutral values."""


def seed_of(seed: int, index: int, part: int = 0) -> int:
    """Return the seed of a trajectory in 31 bits, which every server accepts; `part` counts continuations.

    >>> seed_of(0, 1) == seed_of(0, 1), seed_of(0, 1) == seed_of(1, 0)
    (True, False)
    """
    words = f"{seed}\n{index}" if part == 0 else f"{seed}\n{index}\n{part}"
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=4).digest()) >> 1


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a reply follows: a conversation, or a text that is continued as it is."""

    messages: tuple[Message, ...] = ()
    text: str | None = None
    extra: Body = field(default_factory=dict)
    """Fields that this way of asking needs."""

    @property
    def path(self) -> str:
        return "chat/completions" if self.text is None else "completions"


class Continuation(Enum):
    """How a server continues a reply."""

    TEMPLATE = "its template shown by /apply-template, and completions"
    TOKENS = "its template shown by /tokenize and /detokenize, and completions"
    ASKED = "an assistant message that it is asked to continue"
    UNASKED = "an assistant message that comes last"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server has to be asked, as far as is known."""

    n_logprobs: int
    """How many of the most probable tokens it gives; 0: none."""

    max_tokens_field: str = "max_tokens"
    left_out: frozenset[str] = frozenset()
    """Of `DISPENSABLE`, what it refused."""

    shows_logprobs: bool = True
    """Whether it has given them at least once. With hidden thinking, a few tokens prove nothing."""

    streams: bool = True
    """Whether replies are requested as streams; if not, only complete replies have log-probabilities."""

    extra: Body = field(default_factory=dict)
    """Fields that every request has, as the user gave them."""


def request_body(
    model: str,
    prompt: Prompt,
    params: SamplingParams,
    dialect: Dialect,
    *,
    seed: int,
    n: int = 1,
    xargs: Body | None = None,
) -> Body:
    """Return the body of a request for n replies."""
    body: Body = {"model": model, "stream": dialect.streams, dialect.max_tokens_field: params.max_tokens}
    if prompt.text is None:
        body["messages"] = [message.fields() for message in prompt.messages]
        if dialect.n_logprobs:
            body |= {"logprobs": True, "top_logprobs": dialect.n_logprobs}
        if params.thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": params.thinking}
    else:
        body["prompt"] = prompt.text
        if dialect.n_logprobs:
            body |= {"logprobs": dialect.n_logprobs, _TOKEN_IDS: True}
    body |= OFF | {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "top_k": params.top_k or OFF["top_k"],
        "min_p": params.min_p,
        "seed": seed,
    }
    for name in OFF.keys() & params.left_out:
        del body[name]
    if "max_tokens" in params.left_out and prompt.text is None:
        # The default of completions is 16 tokens, too few for a reply.
        del body[dialect.max_tokens_field]
    for name in dialect.left_out & body.keys():
        if name not in OFF or body[name] == OFF[name]:
            del body[name]
    optional = {"stop": list(params.stop), "n": n if n > 1 else None, "vllm_xargs": xargs}
    body |= {name: value for name, value in optional.items() if value} | prompt.extra
    return with_fields(with_fields(body, dialect.extra), params.extra_body)


def with_fields(body: Body, extra: Mapping[str, Any]) -> Body:
    """Return a body with more fields; objects that both have are merged.

    >>> with_fields({"n": 1, "chat_template_kwargs": {"a": 1}}, {"chat_template_kwargs": {"b": 2}})
    {'n': 1, 'chat_template_kwargs': {'a': 1, 'b': 2}}
    """
    made = dict(body)
    for name, value in extra.items():
        both = isinstance(value, Mapping) and isinstance(made.get(name), Mapping)
        made[name] = {**made[name], **value} if both else value
    return made
