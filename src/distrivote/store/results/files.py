"""Writing results atomically to a file, in the format of its suffix."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from distrivote.errors import InputError
from distrivote.store.results.tables import guarded_texts, json_lines, tab_header, tab_lines
from distrivote.store.runs.folder import MANIFEST, Folder, folder_at, is_remote
from distrivote.store.tables.cells import guarded, header_line

STALE = 24 * 3600.0
"""In seconds; a temporary folder without changes for longer was left by a killed process."""

UNLOCKED = 10.0
"""Likewise, of one that nobody has locked: whoever makes a folder locks it within that time."""


@contextmanager
def new_folder(place: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder that becomes `place` at the end, and is removed on an error."""
    if is_remote(place):
        with tempfile.TemporaryDirectory(prefix="distrivote-") as made:
            target_there = folder_at(place)
            _refuse_used(target_there)
            yield Path(made)
            _upload(Path(made), target_there)
        return
    target = Path(place)
    if target.exists():
        raise InputError(f"{target} exists already: name a new folder")
    _sweep(target)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        beside.mkdir(parents=True)
        with _locked(beside):
            yield beside
            beside.rename(target)
    except OSError as error:
        raise InputError(
            f"can't write to {target} ({error.strerror or error}): check the folder and its space"
        ) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(beside, ignore_errors=True)


def _refuse_used(folder: Folder) -> None:
    with suppress(FileNotFoundError):
        if folder.names() or folder.folders():
            raise InputError(f"{folder.address} exists already: name a new folder")


def _upload(made: Path, target: Folder) -> None:
    """Copy a folder to an object store; the manifest, which makes it a run, is copied last."""
    files = [path for path in made.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: (path.name == MANIFEST, path)):
        target.write(path.relative_to(made).as_posix(), path.read_bytes())


def _sweep(target: Path) -> None:
    """Remove temporary folders that killed calls left for the same target."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):
        for path in target.parent.iterdir():
            if pattern.fullmatch(path.name) and _is_left(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_left(path: Path) -> bool:
    age = time.time() - path.stat().st_mtime
    if age <= UNLOCKED:
        return False
    with _locked(path) as is_free:
        return is_free or age > STALE


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder until the end, which a kill is too; yield whether it could be locked."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # Windows
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # somebody has it, or the file system has no locks
            yield False
        else:
            yield True
    finally:
        os.close(handle)


class Writer(Protocol):
    """Writes tables of one schema, one after the other."""

    def write(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class JsonLinesWriter:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def write(self, table: pa.Table) -> None:
        self.file.write(json_lines(table))

    def close(self) -> None:
        pass


class TabWriter:
    """Tab-separated lines under a header."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.started = False

    def write(self, table: pa.Table) -> None:
        if not self.started:
            self.file.write(tab_header([guarded(name) for name in table.column_names]))
        self.started = True
        self.file.write(tab_lines(guarded_texts(table)))

    def close(self) -> None:
        pass


class ArrowWriter:
    """CSV, with cells that no spreadsheet computes, and Parquet, by Arrow's own writers."""

    def __init__(self, file: BinaryIO, kind: str) -> None:
        self.file, self.kind = file, kind
        self.writer: Any = None

    def write(self, table: pa.Table) -> None:
        if self.writer is None:
            self.writer = self._opened(table.schema)
        self.writer.write_table(table if self.kind == "parquet" else guarded_texts(table))

    def _opened(self, schema: pa.Schema) -> Any:
        if self.kind == "parquet":
            import pyarrow.parquet as pq

            return pq.ParquetWriter(self.file, schema)
        from pyarrow import csv

        self.file.write(f"{header_line(schema.names)}\n".encode())
        options = csv.WriteOptions(include_header=False, quoting_style="needed")
        return csv.CSVWriter(self.file, schema, write_options=options)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


_KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
_KINDS |= {".parquet": "parquet", ".pq": "parquet"}


def check_output(path: str, source: str) -> None:
    """Raise InputError if the output has no known suffix, no folder, or is the input itself."""
    if Path(path).suffix.lower() not in _KINDS:
        raise InputError(f"can't tell the format of {path}: end its name in .jsonl, .csv, .tsv or .parquet")
    check_place(path, source)


def check_place(path: str, source: str) -> None:
    """Raise InputError if a file can't be written there, or is the input itself."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{path} is a directory: name a file for the results")
    if not target.resolve().parent.is_dir():
        raise InputError(f"{path} can't be written: make the folder {target.parent} first")
    if target.exists() and os.path.exists(source) and os.path.samefile(target, source):
        raise InputError(f"{path} is the file that is read: write the results to another file")


@contextmanager
def writing(path: str) -> Iterator[Writer]:
    """Write tables atomically in the format of the path's suffix."""
    kind = _KINDS[Path(path).suffix.lower()]
    with whole_file(path) as file, closing(_writer(file, kind)) as writer:
        yield writer


@contextmanager
def whole_file(path: str) -> Iterator[BinaryIO]:
    """Write to a temporary file that replaces the target at the end, and is removed on an error."""
    target = Path(path).resolve()
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise _cant_write(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _permissions(target))
        os.replace(beside, target)
    except OSError as error:
        raise _cant_write(path, error) from error
    finally:
        with suppress(OSError):
            if os.path.exists(beside):
                os.unlink(beside)


def _writer(file: BinaryIO, kind: str) -> Writer:
    if kind == "jsonl":
        return JsonLinesWriter(file)
    return TabWriter(file) if kind == "tsv" else ArrowWriter(file, kind)


def _cant_write(path: str, error: OSError) -> InputError:
    return InputError(f"can't write {path} ({error.strerror or error}): check the folder and its space")


def _permissions(target: Path) -> int:
    """Return the mode of the replaced file, or that of a new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
