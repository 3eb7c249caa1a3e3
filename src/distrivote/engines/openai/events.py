"""Server-sent events from bytes, as the HTML standard says, in linear time.

Lines end with CR LF, LF or CR; a blank line ends an event; the data lines of an event are joined by newlines;
a byte order mark before the first line is no part of it. What follows the last blank line is an event too,
since some servers leave the last blank line out.
"""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"
DONE = b"[DONE]"
"""The data of the event that ends a stream."""


class EventDecoder:
    """Push bytes and get the data of the events that are complete.

    >>> decoder = EventDecoder()
    >>> decoder.push(b"data: {}\\n\\nda"), decoder.push(b"ta: [DONE]\\n"), decoder.push(b"\\n")
    ([b'{}'], [], [b'[DONE]'])
    """

    __slots__ = ("_begun", "_data", "_ends_in_cr", "_rest")

    def __init__(self) -> None:
        self._begun = False
        self._rest: list[bytes] = []  # an unfinished line, in the pieces as received
        self._data: list[bytes] = []  # the data lines of an unfinished event
        self._ends_in_cr = False

    def push(self, data: bytes) -> list[bytes]:
        if not self._begun:
            data = self._without_mark(data)
        if self._ends_in_cr or b"\r" in data:
            data = self._with_newlines(data)
        end = data.rfind(b"\n")
        if end < 0:
            if data:
                self._rest.append(data)
            return []
        lines = b"".join((*self._rest, data[:end])) if self._rest else data[:end]
        self._rest = [data[end + 1 :]] if end + 1 < len(data) else []
        events: list[bytes] = []
        for line in lines.split(b"\n"):
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif not line:
                if self._data:
                    events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                    self._data = []
            elif line.startswith(b"error:"):  # not in the standard
                self._data.append(b'{"error": %b}' % line[6:].strip())
        return events

    def flush(self) -> list[bytes]:
        """Return the data of a last event that no blank line ended."""
        if not self._begun:
            self._begun = True
        return self.push(b"\n\n")

    def _without_mark(self, data: bytes) -> bytes:
        """Return the bytes without a byte order mark; nothing while they may be part of one."""
        data = b"".join((*self._rest, data))
        self._rest = []
        if len(data) < len(BOM) and BOM.startswith(data):
            self._rest = [data]
            return b""
        self._begun = True
        return data.removeprefix(BOM)

    def _with_newlines(self, data: bytes) -> bytes:
        """Return the bytes with a newline for every line end; CR LF may be split over two chunks."""
        if self._ends_in_cr and data:
            data = data[1:] if data.startswith(b"\n") else data
            self._ends_in_cr = False
        self._ends_in_cr = self._ends_in_cr or data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
