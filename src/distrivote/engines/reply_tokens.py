"""The tokens of one reply as the server sent them, in buffers that become arrays once.

A token costs its text, a number and a row of numbers; rows lie one after the other in one buffer. Bytes are
stored only once a token's bytes differ from its text: usually part of a character.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from distrivote.engines.wire import Logprobs, TokenEntry
from distrivote.errors import InputError
from distrivote.trajectory import Floats


class LogprobRows:
    """The log-probability of each token, and a row of those of the most probable ones."""

    __slots__ = ("logprobs", "values", "widths")

    def __init__(self) -> None:
        self.logprobs: array[float] = array("d")
        self.values: array[float] = array("d")
        """All rows, one after the other."""

        self.widths: array[int] = array("i")
        """How many of the values each row has."""

    def __len__(self) -> int:
        return len(self.widths)

    def add_row(self, logprob: float, row: Iterable[float]) -> None:
        """Append one token."""
        n_before = len(self.values)
        self.values.extend(row)
        self.widths.append(len(self.values) - n_before)
        self.logprobs.append(logprob)

    def add_rows(self, other: LogprobRows, start: int, end: int) -> None:
        """Append the tokens from `start` to `end` of others."""
        first = sum(other.widths[:start])
        widths = other.widths[start:end]
        self.values += other.values[first : first + sum(widths)]
        self.widths += widths
        self.logprobs += other.logprobs[start:end]

    def cut_to(self, n: int) -> None:
        """Keep the first n tokens."""
        del self.values[len(self.values) - sum(self.widths[n:]) :], self.widths[n:], self.logprobs[n:]

    def rows_from(self, start: int) -> list[Sequence[float]]:
        """Return the rows of the tokens from `start` on; this takes time for these only."""
        widths = self.widths[start:]
        place = len(self.values) - sum(widths)
        found: list[Sequence[float]] = []
        for width in widths:
            found.append(self.values[place : place + width])
            place += width
        return found

    def copy(self) -> LogprobRows:
        """Return an independent copy."""
        other = LogprobRows()
        other.add_rows(self, 0, len(self))
        return other

    def own(self, n: int) -> Floats:
        """Return the log-probabilities of the first n tokens, (n,)."""
        return np.array(self.logprobs[:n], dtype=np.float64)

    def table(self, n: int) -> Floats:
        """Return the rows of the first n tokens, (n, width), padded with NaN."""
        widths = np.array(self.widths[:n], dtype=np.intp)
        width, n_values = int(widths.max(initial=0)), int(widths.sum())
        values = np.array(self.values[:n_values], dtype=np.float64)
        if n_values == n * width:
            return values.reshape(n, width)
        there = np.arange(width) < widths[:, None]
        table = np.full(there.shape, np.nan)
        table[there] = values
        return table


class ReplyTokens(LogprobRows):
    """Tokens with their log-probabilities, in the order of arrival."""

    __slots__ = ("encoded", "has_bytes", "pieces")

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.has_bytes = False
        """Whether the server has sent the bytes of the tokens, as in chat."""

        self.encoded: list[bytes] = []
        """The bytes of each token; empty if they are those of the texts as far as is known."""

    def add_entries(self, entries: Sequence[TokenEntry]) -> None:
        """Append tokens in the format of chat."""
        self.has_bytes = True
        for entry in entries:
            piece, encoded = entry.token, entry.bytes
            if self.encoded or not _is_text(piece, encoded):
                self._know_bytes()
                self.encoded.append(_as_bytes(piece) if encoded is None else bytes(encoded))
            self.pieces.append(piece)
            row = [top.logprob for top in entry.top_logprobs]
            self.values.fromlist(row)
            self.widths.append(len(row))
            self.logprobs.append(entry.logprob)

    def add_lists(self, logprobs: Logprobs, where: str) -> None:
        """Append tokens in the format of completions."""
        pieces = logprobs.tokens or []
        n = len(pieces)
        own = logprobs.token_logprobs or [math.nan] * n
        top = logprobs.top_logprobs or [None] * n
        if not n == len(own) == len(top):
            raise InputError(
                f"{where}: tokens, token_logprobs and top_logprobs are not lists of the same length: pass"
                " them as the server sent them"
            )
        for piece, logprob, row in zip(pieces, own, top, strict=True):
            self.add(piece, logprob, row.values() if row else ())

    def add(self, piece: str, logprob: float, row: Iterable[float]) -> None:
        """Append one token whose bytes are those of its text."""
        if self.encoded:
            self.encoded.append(_as_bytes(piece))
        self.pieces.append(piece)
        self.add_row(logprob, row)

    def extend(self, other: ReplyTokens, start: int = 0, end: int | None = None) -> None:
        """Append the tokens from `start` to `end` of others."""
        end = len(other) if end is None else end
        if self.encoded or other.encoded:
            self._know_bytes()
            self.encoded += other.encoded[start:end] or map(_as_bytes, other.pieces[start:end])
        self.has_bytes = self.has_bytes or other.has_bytes
        self.pieces += other.pieces[start:end]
        self.add_rows(other, start, end)

    def end_last_with(self, text: str) -> None:
        """Append a text to the last token."""
        self.pieces[-1] += text
        if self.encoded:
            self.encoded[-1] += text.encode()

    def _know_bytes(self) -> None:
        if not self.encoded:
            self.encoded = [_as_bytes(piece) for piece in self.pieces]


def _is_text(piece: str, encoded: list[int] | None) -> bool:
    """Say whether the bytes of a token are those of its text."""
    try:
        return encoded is None or bytes(encoded) == piece.encode()
    except UnicodeEncodeError:
        return False


def _as_bytes(piece: str) -> bytes:
    return piece.encode("utf-8", "surrogatepass")
