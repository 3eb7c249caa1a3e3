"""Timeouts for clients that are slow on purpose, or have disappeared.

uvicorn bounds only how long a connection may be idle between two requests. Here the headers of a request have
a timeout too, and a client has to read its reply. The timeout of a body is in `guard`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from distrivote.server.guard import HEADERS

HEADER_SECONDS = 15.0
"""From the connection, or the reply before, to the end of a request's headers."""

READ_SECONDS = 60.0
READ_BYTES = 1 << 16
"""Bytes of a reply, or the rest of it, that a client has to read in that time once the buffer is full."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with these timeouts; `uvicorn.Config(http=PatientProtocol)`."""

    header_seconds = HEADER_SECONDS
    read_seconds = READ_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._for_headers: asyncio.TimerHandle | None = None
        self._for_reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._for_headers, self._for_reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        # First, because the next line may begin a request that is in the buffer already.
        self._expect_headers()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP with the same security headers as other requests."""
        content = msg.encode("ascii", "replace")
        headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        headers += [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        headers.append((b"content-length", str(len(content)).encode()))
        event = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for each in (event, h11.Data(data=content), h11.EndOfMessage()):
            self.transport.write(self.conn.send(each))
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        if self._for_reading is not None:
            self._for_reading.cancel()
        super().resume_writing()

    def _expect_headers(self) -> None:
        if self._for_headers is not None:
            self._for_headers.cancel()
        self._for_headers = self.loop.call_later(self.header_seconds, self._give_up)

    def _give_up(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            return
        if self.transport.get_write_buffer_size():
            self._expect_headers()  # the reply is still being sent
        else:
            self.transport.abort()

    def _expect_reading(self) -> None:
        before = self.transport.get_write_buffer_size()
        self._for_reading = self.loop.call_later(self.read_seconds, self._look_at_reading, before)

    def _look_at_reading(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < READ_BYTES:
            self.transport.abort()
        else:
            self._expect_reading()
