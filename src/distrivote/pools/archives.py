"""Takes the files of one pool out of a zip file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from distrivote.errors import InputError

_FREE = 1 << 30
_PER_BYTE = 200
"""How many times as large as the zip file its members may be together, beyond the first GB."""

_BLOCK = 1 << 20


def unpacked(archive: Path, patterns: Sequence[str], folder: Path) -> tuple[Path, ...]:
    """Write the members that match into a folder and return their paths; members are named by us.

    A folder above the expected one, which some zip files have, is ignored. Raises InputError for a zip file
    that is damaged or encrypted, or whose members are far larger than it suggests.
    """
    found: list[Path] = []
    try:
        left = _FREE + _PER_BYTE * archive.stat().st_size
        with zipfile.ZipFile(archive) as whole:
            for number, pattern in enumerate(patterns):
                names = [name for name in whole.namelist() if _matches(name, pattern)]
                if not names:
                    raise InputError(f"{archive} has no file {pattern}")
                target = folder / f"{number}-{names[0].rsplit('/', 1)[-1]}"
                with whole.open(names[0]) as member, target.open("wb") as file:
                    while block := member.read(_BLOCK):
                        left -= file.write(block)
                        if left < 0:
                            raise ValueError("it unpacks to far more than its size")
                found.append(target)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, KeyError) as error:
        # zipfile raises a RuntimeError for encryption, and a subclass of it for a compression it lacks.
        raise InputError(f"{archive} can't be read as a zip file ({one_line(error)})") from error
    return tuple(found)


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"*/{pattern}")


def one_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return str(error).partition("\n")[0] or type(error).__name__
