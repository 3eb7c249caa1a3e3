"""A published pool as a run: found here or fetched, converted once, and kept.

A converted run is kept under a name with a digest of its files and of the version of distrivote, so that
another file, or another version, makes another run.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from distrivote.errors import DistrivoteError, InputError
from distrivote.pools.archives import unpacked
from distrivote.pools.copies import rows_of
from distrivote.pools.fetching import LARGEST, digest_of, download
from distrivote.pools.local import DATA, Found, archive_name, data_folder, found, kept
from distrivote.pools.registry import POOLS, Listed, pools_named
from distrivote.store.importers.base import ImportOptions
from distrivote.store.importers.registry import Source, sources
from distrivote.store.importing import import_files
from distrivote.store.tables.source import Columns, is_run

_PER_BYTE = 2
"""How many times as large as its set a file may be: sizes of sets are those of one day."""

Watch = Callable[[str], None]
"""Called with what is done, in a few words."""


class OpenedPool(NamedTuple):
    """A pool as a run."""

    listed: Listed
    run: Path
    signal: str | None
    """What votes use; None: the confidences of the run."""

    remark: str | None = None
    """What readers should know of its source, to be said of it."""


def pools_at_hand(data: str | os.PathLike[str] | None = None, name: str | None = None) -> tuple[Listed, ...]:
    """Return the pools that need no download, of all sets or of those with this name."""
    folder = data_folder(data)
    some = (
        pools_named(name)
        if name is not None
        else [Listed(pool, of) for of in POOLS.values() for pool in of.pools]
    )
    return tuple(listed for listed in some if found(listed, folder) is not None)


def open_pools(
    pools: Sequence[Listed],
    *,
    data: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
) -> tuple[OpenedPool, ...]:
    """Return pools as runs; what is not here is fetched.

    Args:
        data: A folder with copies of published files; None: the one that DISTRIVOTE_DATA names.
        watch: Called with what is done.
    """
    folder, tell = data_folder(data), watch or (lambda _: None)
    return tuple(_opened(listed, folder, tell) for listed in pools)


def _opened(listed: Listed, data: Path | None, tell: Watch) -> OpenedPool:
    pool, of = listed
    there = found(listed, data)
    if there is None:
        there = _fetched(listed, tell)
    if there.run is not None:
        return OpenedPool(listed, there.run, None)
    paths = [path for path in (*there.files, there.archive, there.copy) if path is not None]
    digests = [digest_of(path) for path in paths]
    run = kept(listed) / f"{pool.name.replace('/', '-')}-{_key(digests)}"
    if not is_run(str(run)):
        tell(f"converting {pool.name}")
        _convert(listed, there, run)
    signal = of.votes_with if there.copy is None else None
    return OpenedPool(listed, run, signal, _remark(listed, there, digests))


def _key(digests: Sequence[str]) -> str:
    text = " ".join([version("distrivote"), *digests])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _remark(listed: Listed, there: Found, digests: Sequence[str]) -> str | None:
    if there.copy is not None:
        return f"read from {there.copy}, a converted copy"
    known = [file.sha256 for file in listed.pool.files]
    if there.archive is not None or None in known:
        return "the checksum of what was published is not known, so it was not checked"
    if list(digests) != known:
        return "the local copy is not what was published (its checksum differs)"
    return None


# Fetching


def _fetched(listed: Listed, tell: Watch) -> Found:
    pool, of = listed
    place = kept(listed)
    if of.archive is not None:
        archive = place / archive_name(listed)
        tell(f"fetching {of.name}")
        _download(listed, of.archive, archive, None, archive.name)
        return Found(archive=archive)
    if of.address is None or not pool.files:
        raise InputError(f"{pool.name} is not on this machine", hint=of.how, argument="data")
    for number, file in enumerate(pool.files, 1):
        target = place / file.path
        if not target.is_file():
            tell(f"fetching {pool.name}, file {number} of {len(pool.files)}")
            _download(listed, of.address + file.path, target, file.sha256, file.path)
    return Found(files=tuple(place / file.path for file in pool.files))


def _download(listed: Listed, address: str, target: Path, sha256: str | None, path: str) -> None:
    try:
        most = LARGEST if listed.of.n_bytes is None else _PER_BYTE * listed.of.n_bytes
        download(address, target, sha256, most=most)
    except DistrivoteError as error:
        raise DistrivoteError(
            f"{listed.pool.name}: {error.message}",
            hint=f"put it at DIR/{listed.of.name}/{path} and name that folder with `data` or {DATA}",
        ) from error


# Converting


def _convert(listed: Listed, there: Found, run: Path) -> None:
    pool, of = listed
    with tempfile.TemporaryDirectory(prefix="distrivote-") as made:
        reading = ImportOptions()
        if there.copy is not None:
            assert of.copy is not None
            table = Path(made) / "pool.parquet"
            pq.write_table(rows_of(there.copy, of.copy, pool), table)
            files: tuple[Source, ...] = sources([str(table)], "table")
            reading = ImportOptions(columns=Columns(answer=of.copy.answer))
        else:
            paths = there.files
            if there.archive is not None:
                paths = unpacked(there.archive, [file.path for file in pool.files], Path(made))
            given = [str(path) for path, file in zip(paths, pool.files, strict=True) if not file.beside]
            files = sources(given, of.format)
        run.parent.mkdir(parents=True, exist_ok=True)
        try:
            import_files(files, run, reading=reading, model=pool.model, benchmark=pool.benchmark)
        except InputError:
            if not is_run(str(run)):  # another process may have been faster
                raise
