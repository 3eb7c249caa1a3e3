"""Runs of numbers in a pickle, read many at a time.

Python writes a list in batches of a thousand: a mark, the items, and the opcode that appends them. If the
items are all numbers they are read here at once, integers by a pattern and floats as columns of bytes. A
scalar of NumPy is a call in the program, of 19 to 25 bytes, 8 of which differ; the program memoizes three
values of each, so their memo indices are counted and the scalars can be looked up later.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from distrivote.store.importers.pickle_names import Name

Floats: TypeAlias = npt.NDArray[np.float64]

_FRAME, _APPENDS, _FLOAT = 0x95, 0x65, 0x47
_LONGEST_RUN = 1001
"""Records that are read together."""

_LONGEST_RECORD = 25

# Consecutive integers; possessive, so that the matcher keeps nothing for backtracking.
_WHOLE = re.compile(rb"(?:K.|M..|J....)*+", re.DOTALL)
_ONE_WHOLE = re.compile(rb"K.|M..|J....", re.DOTALL)
# A NumPy scalar as NumPy writes it from the second on: function, dtype, 8 bytes, each of the three memoized.
_SCALAR = re.compile(rb"(?:h.|j....)(?:h.|j....)C\x08.{8}\x94\x86\x94R\x94", re.DOTALL)


class Unread(NamedTuple):
    """Integers that are not parsed yet."""

    pieces: tuple[memoryview, ...]

    def values(self) -> list[int]:
        """Return the numbers."""
        found = []
        for piece in self.pieces:
            for match in _ONE_WHOLE.finditer(piece):
                code = match.group()
                found.append(int.from_bytes(code[1:], "little", signed=code[:1] == b"J"))
        return found


class Run(NamedTuple):
    """The numbers between a mark and the opcode that appends them."""

    pieces: list[Floats | memoryview]
    """In order: floats, and the opcodes of integers."""

    end: int
    """The position where the program continues."""

    n_kept: int
    """How many values the program has memoized by then."""


class _Record(NamedTuple):
    """A NumPy scalar as encoded in the program."""

    code: bytes
    end: int


class RunReader:
    """Reads runs, and remembers the scalars in them that the program has memoized."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._frame_end = 0
        self._starts: list[int] = []
        self._scalars: list[Floats] = []

    def enter_frame(self, at: int) -> int:
        """Begin the frame at this position: a section of the program, which may end anywhere in a value."""
        content = at + 9
        self._frame_end = content + int.from_bytes(self._data[at + 1 : content], "little")
        return content

    def kept(self, place: int) -> float | None:
        """Return the scalar that was memoized at this index, None if there is none."""
        run = bisect_right(self._starts, place) - 1
        if run < 0:
            return None
        item, part = divmod(place - self._starts[run], 3)
        return float(self._scalars[run][item]) if part == 2 and item < len(self._scalars[run]) else None

    def read(self, at: int, n_kept: int, memo: Mapping[int, Any]) -> Run | None:
        """Return the run that begins here, None if it holds anything but numbers."""
        data = self._data
        run = Run([], at, n_kept)
        n_before, frame_end = len(self._scalars), self._frame_end
        while at < len(data):
            first = data[at]
            if first == _APPENDS:
                return run._replace(end=at + 1)
            if first == _FRAME:
                at = self.enter_frame(at)
                continue
            end = at
            if first in b"KMJ":
                match = _WHOLE.match(data, at)
                end = at if match is None else match.end()
                run.pieces.append(data[at:end])
            elif first == _FLOAT:
                most = min((len(data) - at) // 9, _LONGEST_RUN)
                records = np.frombuffer(data[at : at + 9 * most], np.uint8).reshape(-1, 9)
                n = _n_alike(records[:, 0] == _FLOAT)
                run.pieces.append(records[:n, 1:].copy().view(">f8")[:, 0].astype(np.float64))
                end = at + 9 * n
            elif first in b"hj":
                end, run = self._read_scalars(at, run, memo)
            if end == at:
                break
            at = end
        self._frame_end = frame_end
        del self._scalars[n_before:], self._starts[n_before:]
        return None

    def _read_scalars(self, at: int, run: Run, memo: Mapping[int, Any]) -> tuple[int, Run]:
        """Read consecutive NumPy scalars and return where they end."""
        record = self._record(at)
        if record is None or not _is_double(record.code, memo):
            return at, run
        size = len(record.code)
        value = slice(size - 13, size - 5)
        same = np.ones(size, bool)
        same[value] = False
        first = np.frombuffer(record.code, np.uint8)
        n_kept = run.n_kept
        while record is not None and (np.frombuffer(record.code, np.uint8) == first)[same].all():
            # This one may be split over two frames; those after it are not, up to the frame's end.
            n = max(0, min(self._frame_end, len(self._data)) - record.end) // size
            rest = self._data[record.end : record.end + min(n, _LONGEST_RUN) * size]
            records = np.frombuffer(rest, np.uint8).reshape(-1, size)
            alike = (records[:, same] == first[same]).all(axis=1)
            n = _n_alike(alike)
            raw = record.code[value] + records[:n, value].tobytes()
            values = np.frombuffer(raw, "<f8").astype(np.float64)
            run.pieces.append(values)
            self._starts.append(n_kept)
            self._scalars.append(values)
            n_kept += 3 * (n + 1)
            at = record.end + n * size
            record = self._record(at) if n == len(alike) else None
        return at, run._replace(n_kept=n_kept)

    def _record(self, at: int) -> _Record | None:
        """Return the NumPy scalar at this position, joined if a frame begins inside of it."""
        end = self._frame_end
        if at < end < at + _LONGEST_RECORD and bytes(self._data[end : end + 1]) == b"\x95":
            both = bytes(self._data[at:end]) + bytes(self._data[end + 9 : end + 9 + _LONGEST_RECORD])
            match = _SCALAR.match(both)
            if match is None:
                return None
            if match.end() > end - at:
                self.enter_frame(end)
                return _Record(match.group(), at + match.end() + 9)
            return _Record(match.group(), at + match.end())
        match = _SCALAR.match(self._data, at)
        return None if match is None else _Record(match.group(), match.end())


def _n_alike(alike: npt.NDArray[np.bool_]) -> int:
    """Return how many are true before the first false one."""
    return len(alike) if alike.all() else int(alike.argmin())


def _is_double(record: bytes, memo: Mapping[int, Any]) -> bool:
    """Say whether a record of a NumPy scalar makes a float64."""
    places: list[int] = []
    at = 0
    while len(places) < 2:
        size = 1 if record[at : at + 1] == b"h" else 4
        places.append(int.from_bytes(record[at + 1 : at + 1 + size], "little"))
        at += 1 + size
    function, kind = memo.get(places[0]), memo.get(places[1])
    return (
        isinstance(function, Name)
        and function.is_scalar
        and isinstance(kind, np.dtype)
        and kind == np.dtype("<f8")
    )
