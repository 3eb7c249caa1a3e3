"""Limits of the length of a reply, for servers that do not stop at the requested limit.

Tokens are counted if they are known; otherwise characters and chunks are, with a generous margin.
"""

from __future__ import annotations

from dataclasses import replace

from distrivote.engines.openai.faults import broken_off
from distrivote.engines.openai.reply import StreamedReply
from distrivote.trajectory import Trajectory

_SPARE_TOKENS = 16
"""Servers differ by a few in what they count: the end of the text, that of the thinking."""

_CHARACTERS = 64
"""Per token; the longest tokens of models are runs of white space, and rare."""

_SPARE_CHARACTERS = 4096
_CHUNKS = 4
"""Per token; a token may be split into bytes."""

_SPARE_CHUNKS = 10_000


class Length:
    """The limits of the replies to one request."""

    def __init__(self, max_tokens: int, n: int, url: str) -> None:
        self._max_tokens, self._url = max_tokens, url
        self._n_chunks_left = n * (_CHUNKS * max_tokens + _SPARE_CHUNKS)

    def count_chunk(self) -> None:
        """Count a chunk; raise a Fault if there are more than any reply needs."""
        self._n_chunks_left -= 1
        if self._n_chunks_left < 0:
            raise broken_off(self._url, "it has no end")

    def is_passed(self, reply: StreamedReply) -> bool:
        """Return whether a reply is longer than requested."""
        return (
            reply.n_tokens > self._max_tokens + _SPARE_TOKENS
            or reply.n_characters > self._max_tokens * _CHARACTERS + _SPARE_CHARACTERS
        )


def cut_to(trajectory: Trajectory, max_tokens: int) -> Trajectory:
    """Return a reply up to `max_tokens` tokens, as if its server had stopped there.

    >>> cut_to(Trajectory("x" * 1000), 4).text == "x" * 256
    True
    """
    if not trajectory.tokens:
        return replace(trajectory, text=trajectory.text[: max_tokens * _CHARACTERS], finish_reason="length")
    tokens = trajectory.tokens[:max_tokens]
    return replace(
        trajectory,
        text="".join(tokens),
        tokens=tokens,
        top_logprobs=trajectory.top_logprobs[:max_tokens],
        logprobs=trajectory.logprobs[:max_tokens],
        finish_reason="length",
    )
