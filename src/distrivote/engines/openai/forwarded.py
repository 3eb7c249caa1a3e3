"""A reply that is handed on as it comes, and what it says of its cost.

Nothing is held back: the counts are read off the end of what has been handed on.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

_TAIL = 1 << 13
"""Bytes at the end of a reply that are searched for its token counts."""

_REPLY = re.compile(rb'"(?:completion_tokens|output_tokens)"\s*:\s*(\d{1,12})')
_PROMPT = re.compile(rb'"(?:prompt_tokens|input_tokens)"\s*:\s*(\d{1,12})')


class Forwarded:
    """A reply of a server: its status at once, its bytes as they come.

    `n_tokens` and `n_prompt_tokens` are what its usage says, 0 until that has come or if there is none.
    """

    def __init__(self, status: int, content_type: str, parts: AsyncIterator[bytes]) -> None:
        self.status = status
        self.content_type = content_type
        self._parts = parts
        self._tail = b""

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they come."""
        async for part in self._parts:
            self._tail = (self._tail + part)[-_TAIL:]
            yield part

    @property
    def n_tokens(self) -> int:
        return _last(_REPLY, self._tail)

    @property
    def n_prompt_tokens(self) -> int:
        return _last(_PROMPT, self._tail)


def _last(pattern: re.Pattern[bytes], tail: bytes) -> int:
    """Return the last count: a stream may have one in every chunk.

    >>> _last(_REPLY, b'"usage":{"completion_tokens":3}} "usage":{"completion_tokens": 7}')
    7
    """
    found = pattern.findall(tail)
    return int(found[-1]) if found else 0
