"""Takes the files of one pool out of a zip file."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from distrivote.errors import InputError


def unpacked(archive: Path, patterns: Sequence[str], folder: Path) -> tuple[Path, ...]:
    """Write the members that match into a folder and return their paths; members are named by us.

    A folder above the expected one, which some zip files have, is ignored.
    """
    found = []
    try:
        with zipfile.ZipFile(archive) as whole:
            for number, pattern in enumerate(patterns):
                names = [name for name in whole.namelist() if _matches(name, pattern)]
                if not names:
                    raise InputError(f"{archive} has no file {pattern}")
                target = folder / f"{number}-{names[0].rsplit('/', 1)[-1]}"
                with whole.open(names[0]) as member, target.open("wb") as file:
                    shutil.copyfileobj(member, file)
                found.append(target)
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{archive} can't be read as a zip file ({error})") from error
    return tuple(found)


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"*/{pattern}")
