"""A forwarded reply, streamed as it arrives, and its token counts.

Nothing is buffered: the counts are read from the last bytes that were forwarded.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

_TAIL = 1 << 13
"""Bytes at the end of a reply that are searched for its token counts."""

_REPLY = re.compile(rb'"(?:completion_tokens|output_tokens)"\s*:\s*(\d{1,12})')
_PROMPT = re.compile(rb'"(?:prompt_tokens|input_tokens)"\s*:\s*(\d{1,12})')


class Forwarded:
    """A reply of a server: its status at once, its bytes as they arrive.

    `n_tokens` and `n_prompt_tokens` are from its usage; 0 before it has arrived, or if the reply has none.
    """

    def __init__(self, status: int, content_type: str, parts: AsyncIterator[bytes]) -> None:
        self.status = status
        self.content_type = content_type
        self._parts = parts
        self._tail = b""

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the bytes as they arrive."""
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
