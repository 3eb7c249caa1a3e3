"""What of a published pool is on this machine: in a folder of data, or kept from an earlier download."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from distrivote.engines.llamacpp.files import cache_folder
from distrivote.errors import InputError
from distrivote.pools.own_runs import FOLDER
from distrivote.pools.published import PublishedFile, under
from distrivote.pools.registry import Listed
from distrivote.store.tables.source import is_run

DATA = "DISTRIVOTE_DATA"
"""The environment variable that names the folder of data."""


class Found(NamedTuple):
    """Where a pool is."""

    run: Path | None = None
    """A run that needs no conversion."""

    files: tuple[Path, ...] = ()
    """The published files, in their order."""

    archive: Path | None = None
    copy: Path | None = None
    """A table with all pools of the set."""


def data_folder(data: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder of data that is given, or that the environment names."""
    given = data if data is not None else os.environ.get(DATA)
    if given is None or not os.fspath(given):
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise InputError(
            f"{given} is not a folder of published pools",
            hint=f"name one with `data` or {DATA}, or leave it out",
            argument="data",
        )
    return folder


def kept(listed: Listed) -> Path:
    """Return where the downloaded files of a set are kept."""
    return cache_folder() / "pools" / listed.of.name


def found(listed: Listed, data: Path | None) -> Found | None:
    """Return where a pool is, None if nowhere: the folder of data comes first."""
    pool, of = listed
    last = pool.name.rpartition("/")[2]
    places = [*([data / of.name, data] if data is not None else [])]
    runs = [place / last for place in places] + ([Path(FOLDER) / last] if of.name == "runs" else [])
    for run in runs:
        if is_run(str(run)):
            return Found(run=run)
    if not pool.files:
        return None
    for place in [*places, kept(listed)]:
        files = [_file(place, file, len(pool.files) == 1) for file in pool.files]
        if all(file is not None for file in files):
            return Found(files=tuple(file for file in files if file is not None))
        archive = place / archive_name(listed) if of.archive is not None else None
        if archive is not None and archive.is_file():
            return Found(archive=archive)
        if of.copy is not None and (place / of.copy.file).is_file() and _has(place / of.copy.file, listed):
            return Found(copy=place / of.copy.file)
    return None


def archive_name(listed: Listed) -> str:
    """Return the name of the zip file of a set."""
    return (listed.of.archive or "").rpartition("/")[2].partition("?")[0]


def _file(place: Path, file: PublishedFile, is_only: bool) -> Path | None:
    """Return a published file in a folder: at its path, or by its name alone if the pool has no other."""
    if "*" in file.path:
        return next(iter(sorted(place.glob(file.path))), None)
    names = [file.path, *([file.path.rpartition("/")[2]] if is_only else [])]
    return next((place / name for name in names if (place / name).is_file()), None)


def _has(table: Path, listed: Listed) -> bool:
    """Return whether a copy has rows of this pool."""
    from distrivote.pools.copies import pools_in

    copy = listed.of.copy
    assert copy is not None
    if copy.only is not None and not under(listed.pool.name, copy.only):
        return False
    found = pools_in(table, copy)
    return found is None or any(
        model in (None, listed.pool.model) and benchmark in (None, listed.pool.benchmark)
        for model, benchmark in found
    )
