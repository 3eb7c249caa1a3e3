"""Claims: the order in which the parts of a run came to count, and which parts it must have.

    claims/<number>   the names of the parts that count from then on, a line each

A part counts from the moment in which its writer has made the file with the next number, which only one
writer can. Of two rows for one sample that of the part with the lower number counts: no clock decides, and
what a reader has seen stays. A part that is claimed and not there is missing. Runs of earlier versions
have no claims; the next writer claims all their parts together.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from distrivote.errors import InputError
from distrivote.store.runs.manifest import sync_folder

FOLDER = "claims"
_LARGEST = 16 << 20
"""Bytes of one claim."""


class Order(NamedTuple):
    """The place of a part among those of a run."""

    number: int
    place: int = 0
    """Among the parts that were claimed together."""


def read_claims(run: Path) -> Mapping[str, Order] | None:
    """Return the claimed parts by name; None if a run has no claims."""
    try:
        numbers = _numbers(run / FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        return None
    found: dict[str, Order] = {}
    for number in sorted(numbers):
        try:
            with open(run / FOLDER / _name(number), "rb") as file:
                names = file.read(_LARGEST).decode(errors="replace").split()
        except FileNotFoundError:  # its parts were merged meanwhile
            continue
        for place, name in enumerate(names):
            found.setdefault(name, Order(number, place))
    return found


def claim(run: Path, names: Sequence[str]) -> int:
    """Let parts count from now on, in this order; return the number of their claim."""
    folder = run / FOLDER
    beside = folder / f".{secrets.token_hex(6)}.tmp"
    content = "".join(f"{name}\n" for name in names).encode()
    try:
        if not folder.is_dir() and _is_first(run, content):
            return 1
        _write(beside, content)
        try:
            number = max(_numbers(folder), default=0) + 1
            while not _taken(beside, folder / _name(number), content):
                number += 1
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
        sync_folder(folder)
    except OSError as error:
        raise InputError(
            f"can't write to {folder} ({error.strerror or error}): check the folder and its space;"
            " what was stored before is safe"
        ) from error
    return number


def release(run: Path, names: Iterable[str]) -> None:
    """Forget claims of which no part is needed any more; the last is emptied, as numbers never come back."""
    gone = set(names)
    claims = read_claims(run) or {}
    needed = {order.number for name, order in claims.items() if name not in gone}
    released = sorted({order.number for order in claims.values()} - needed)
    try:
        last = max(_numbers(run / FOLDER), default=0)
        for number in released:
            path = run / FOLDER / _name(number)
            if number < last:
                path.unlink(missing_ok=True)
            else:
                beside = run / FOLDER / f".{secrets.token_hex(6)}.tmp"
                _write(beside, b"")
                os.replace(beside, path)
    except OSError:
        return  # claims of parts that are known to be replaced do no harm


def _is_first(run: Path, content: bytes) -> bool:
    """Make the folder together with its first claim, and say whether no other writer was faster.

    A folder without the claims of parts that are there would hide them.
    """
    beside = run / f".{FOLDER}.{secrets.token_hex(6)}.tmp"
    beside.mkdir()
    _write(beside / _name(1), content)
    try:
        beside.rename(run / FOLDER)
    except OSError:
        with suppress(OSError):
            (beside / _name(1)).unlink()
            beside.rmdir()
        if not (run / FOLDER).is_dir():
            raise
        return False
    sync_folder(run)
    return True


def _taken(beside: Path, target: Path, content: bytes) -> bool:
    """Give a file the name of a claim unless another writer has it, and say whether it was free."""
    try:
        os.link(beside, target)
    except FileExistsError:
        return False
    except OSError:
        # A file system without links.
        try:
            _write(target, content)
        except FileExistsError:
            return False
    return True


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _numbers(folder: Path) -> list[int]:
    return [
        int(name) for name in os.listdir(folder) if name.isascii() and name.isdecimal() and len(name) < 19
    ]


def _name(number: int) -> str:
    return f"{number:08d}"
