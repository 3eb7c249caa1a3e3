"""What goes over the wire to an OpenAI-compatible server: the bodies of requests, and events of a stream.

A body says what was asked for, and what is off: many servers fill in what they or the model's makers
recommend (a top-k of 40, a penalty on repetitions) where a request is silent. Servers differ in the fields
that they know; one that is refused is left out, unless it does something that was asked for. Sockets are not
known here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from distrivote.engines.base import SamplingParams
from distrivote.problem import Message

Body: TypeAlias = dict[str, Any]

ENDPOINTS = ("chat", "completions")

OFF: Body = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
"""What samples from the model's own distribution. Of the two ways to say "all tokens", 0 and -1, every server
takes the latter."""

UNUSUAL = frozenset({"top_k", "min_p", "repetition_penalty"})
"""Fields that OpenAI's own API does not have."""

_TOKEN_IDS = "return_tokens_as_token_ids"
"""Names tokens by their ids in completions; those who do not know it pass it over."""

DISPENSABLE = frozenset({*OFF, "seed", _TOKEN_IDS})
"""What a server need not be told, if it refuses that: all of `OFF` only where it is off."""


def seed_of(seed: int, index: int, part: int = 0) -> int:
    """Return the seed of a trajectory in 31 bits, which every server takes; `part` counts continuations.

    >>> seed_of(0, 1) == seed_of(0, 1), seed_of(0, 1) == seed_of(1, 0)
    (True, False)
    """
    words = f"{seed}\n{index}" if part == 0 else f"{seed}\n{index}\n{part}"
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=4).digest()) >> 1


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a reply is to follow: a conversation, or a text that is continued as it stands."""

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
    """How a server wants to be asked, as far as it has been found out."""

    n_logprobs: int
    """How many of the most probable tokens it gives; 0: none."""

    max_tokens_field: str = "max_tokens"
    left_out: frozenset[str] = frozenset()
    """Of `DISPENSABLE`, what it refused."""

    shows_logprobs: bool = True
    """Whether it has been seen to give them. Where a model thinks unseen, a few tokens show nothing."""


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
    """Return the body of a request for n streamed replies."""
    body: Body = {"model": model, "stream": True, dialect.max_tokens_field: params.max_tokens}
    if prompt.text is None:
        body["messages"] = [message._asdict() for message in prompt.messages]
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
    for name in dialect.left_out & body.keys():
        if name not in OFF or body[name] == OFF[name]:
            del body[name]
    optional = {"stop": list(params.stop), "n": n if n > 1 else None, "vllm_xargs": xargs}
    return body | {name: value for name, value in optional.items() if value} | prompt.extra


def finish_of(choice: Body) -> str | None:
    """Return why a choice of a reply ended, None if it goes on; some servers say that by "" or "null"."""
    reason = choice.get("finish_reason")
    return None if reason in (None, "", "null") else str(reason)


class EventDecoder:
    """Server-sent events from bytes: push and get the data of those that are complete, in linear time.

    >>> decoder = EventDecoder()
    >>> decoder.push(b"data: {}\\n\\nda"), decoder.push(b"ta: [DONE]\\n")
    ([b'{}'], [b'[DONE]'])
    """

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # an unfinished line, in the pieces that it came in

    def push(self, data: bytes) -> list[bytes]:
        end = data.rfind(b"\n")
        if end < 0:
            self._rest.append(data)
            return []
        lines = (b"".join(self._rest) + data[:end] if self._rest else data[:end]).split(b"\n")
        self._rest = [data[end + 1 :]] if end + 1 < len(data) else []
        return [event for line in lines if (event := _event_of(line)) is not None]

    def flush(self) -> list[bytes]:
        """Return the data of a last line that no newline ended."""
        return self.push(b"\n") if self._rest else []


def _event_of(line: bytes) -> bytes | None:
    """Return the data of a line, None if it has none; an error that stands beside the data is made one."""
    if line.startswith(b"data:"):
        return line[5:].strip()
    return b'{"error": %b}' % line[6:].strip() if line.startswith(b"error:") else None
