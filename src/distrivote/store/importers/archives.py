"""Members of a zip archive, read into memory one at a time and never unpacked to disk.

Members may be compressed with Zstandard, as in the logs of Inspect; Python's zipfile supports that only from
3.14 on, so Arrow decompresses them. A member that claims to be, or is, larger than `LARGEST` is refused, so
that a small file can't fill the memory.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import pyarrow as pa

from distrivote.errors import InputError
from distrivote.store.importers.records import LARGEST
from distrivote.store.tables.source import cant_read

_FREE = 1 << 30
_PER_BYTE = 200
"""How many times as large as the archive its members may be together, beyond the first GB."""

_BLOCK = 4 << 20
_ZSTANDARD = 93
_HEADER = 30
"""Bytes of a member's local header, before its name and extra fields."""


class Archive:
    """A zip file that is open for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._n_read = 0
        try:
            self._most = _FREE + _PER_BYTE * path.stat().st_size
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            cant_read(str(path), error)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InputError(
                f"{path} is not a complete zip archive ({error}): copy it again, it may be truncated"
            ) from error

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """The members' names; of several with one name only the last counts."""
        return list(dict.fromkeys(self._zip.namelist()))

    def read(self, name: str) -> bytes:
        """Return the content of a member."""
        where = f"{self.path}, {name}"
        member = self._zip.getinfo(name)
        if member.flag_bits & 1:
            raise InputError(f"{where} is encrypted: write the archive again without a password")
        if max(member.file_size, member.compress_size) > LARGEST:
            raise _too_large(where)
        try:
            content = self._zstandard(member) if member.compress_type == _ZSTANDARD else self._plain(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise InputError(f"{where} can't be unpacked ({error}): copy the archive again") from error
        if len(content) > LARGEST:
            raise _too_large(where)
        self._n_read += len(content)
        if self._n_read > self._most:
            raise InputError(
                f"{self.path} unpacks to more than {self._most >> 20} MB, {_PER_BYTE} times its size: it"
                " looks like a zip bomb, not a log"
            )
        return content

    def _plain(self, member: zipfile.ZipInfo) -> bytes:
        with self._zip.open(member) as file:
            return file.read(LARGEST + 1)

    def _zstandard(self, member: zipfile.ZipInfo) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(member.header_offset)
            header = file.read(_HEADER)
            if len(header) < _HEADER or not header.startswith(b"PK\x03\x04"):
                raise zipfile.BadZipFile("its header is not where the archive says")
            file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
            packed = file.read(member.compress_size)
        blocks: list[bytes] = []
        with pa.input_stream(pa.py_buffer(packed), compression="zstd") as stream:
            # In pieces: for one large read Arrow allocates all of it in advance.
            while sum(map(len, blocks)) <= LARGEST and (block := stream.read(_BLOCK)):
                blocks.append(block)
        content = b"".join(blocks)
        if len(content) <= LARGEST and zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile("its checksum differs")
        return content


def _too_large(where: str) -> InputError:
    return InputError(f"{where} is larger than {LARGEST >> 20} MB unpacked, which is the limit")
