"""Streams as files: piped input is kept, up to a limit, in a temporary file without a name.

A pipe can be read only once, and an unsorted table is read twice. The file has no name, so that nothing
remains, however the process ends.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from distrivote.errors import InputError

_DESCRIPTORS = Path("/proc/self/fd")
"""Opening an entry here opens the file again; entries of /dev/fd on other systems share one position."""

_CHUNK = 1 << 20


@contextmanager
def spooled(source: BinaryIO, name: str, most: int) -> Iterator[Path]:
    """Copy a stream of at most `most` bytes; yield a path that can be opened inside the block."""
    if _DESCRIPTORS.is_dir():
        with tempfile.TemporaryFile(prefix="distrivote-") as file:
            _copy(source, file, name, most)
            yield _DESCRIPTORS / str(file.fileno())
    else:
        with tempfile.NamedTemporaryFile(prefix="distrivote-") as named:
            _copy(source, named, name, most)
            yield Path(named.name)


def _copy(source: BinaryIO, file: IO[bytes], name: str, most: int) -> None:
    n_bytes = 0
    try:
        while chunk := source.read(_CHUNK):
            n_bytes += len(chunk)
            if n_bytes > most:
                raise InputError(
                    f"{name} has more than {most / 1e9:g} GB, the most that is kept in a temporary file",
                    hint="write it into a file first, or raise `max_spool`",
                    argument="max_spool",
                )
            file.write(chunk)
        file.flush()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"can't keep {name} in {tempfile.gettempdir()} ({reason}): set TMPDIR to a folder with room"
        ) from error


def check_standard_input(name: str) -> None:
    """Raise InputError if standard input is a device other than a terminal or the empty one."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (OSError, ValueError):  # not of this process
        return
    if not sys.stdin.isatty() and not os.path.samestat(status, os.stat(os.devnull)):
        check_stream(status, name)


def check_stream(status: os.stat_result, name: str) -> None:
    """Raise InputError for a device: it is no table, and may have no end."""
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise InputError(f"{name} is a device: name a file of sampled answers, or - for standard input")
