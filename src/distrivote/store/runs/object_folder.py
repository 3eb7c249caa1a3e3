"""A run in an object store, by pyarrow's file systems: S3 and compatible servers, Google Cloud Storage.

Objects appear atomically, and listings show them at once (S3 since 2020, Google, R2, MinIO). There are
no renames, and pyarrow can't write with a condition (apache/arrow#44281). A process that wants to create an
object first writes a note of that intention next to it, under a unique name, and then lists the notes. Of
two processes at least one sees the other's note, as each writes before it lists; a process that sees one
withdraws and retries later. One that sees none checks again whether the object exists: another process
removes its note only after it has written the object.
"""

from __future__ import annotations

import io
import os
import random
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, cast
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
import pyarrow.fs as fs

from distrivote.errors import InputError

N_ATTEMPTS = 8
"""Maximum number of attempts at a request; the delays between them double."""

N_FIRST_ATTEMPTS = 3
"""Maximum number of attempts to connect to a store that has not answered this process yet.

A wrong address or a missing network is likely then, and the delays of 8 attempts add up to 25 s and more.
"""

_FIRST_SECONDS = 5
"""The same at Google's, whose library counts seconds: 15 minutes unless told otherwise."""

PATIENCE = 30.0
"""Seconds without a change of another process's note after which that process counts as dead."""

WHOLE = 1 << 20
"""Size in bytes up to which an object is read in one request."""

_BACK_OFF = 0.05
"""Seconds."""

_KEPT = ".keep"
"""The name of an object that marks an otherwise empty folder."""

_OPTIONS = ("region", "endpoint_override", "scheme")

_NOT_CONNECTED = ("NETWORK_CONNECTION", "CURL error")
"""How the libraries of Amazon and Google name an error without any reply."""

_answered: set[tuple[str, ...]] = set()
"""The buckets, with their scheme and options, that have answered this process."""


class UnreachableError(InputError):
    """An object store failed after all attempts; its files may be intact."""


def object_folder(address: str) -> ObjectFolder:
    """Return the folder at an address such as s3://bucket/runs/one; keys come from the environment."""
    try:
        url = urlsplit(address)
    except ValueError:  # a bracket that is not closed
        url = urlsplit(f"{address.partition(':')[0]}:")
    path = f"{url.netloc}{url.path}".rstrip("/")
    if not url.netloc or "@" in url.netloc or not url.path.strip("/"):
        raise InputError(
            f"{address.split('@')[-1]} is not the address of a folder in an object store: give"
            f" {url.scheme}://bucket/folder, and keys by the environment"
        )
    options = dict(parse_qsl(url.query))
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown or (options and url.scheme.lower() != "s3"):
        raise InputError(f"{address} has options after ? that are not known: there are {', '.join(_OPTIONS)}")
    try:
        if url.scheme.lower() == "gs":
            first = f"gs://{path}?retry_limit_seconds={_FIRST_SECONDS}"
            _reach(url.netloc, ("gs", url.netloc), lambda: fs.FileSystem.from_uri(first)[0])
            return ObjectFolder(address, fs.FileSystem.from_uri(f"gs://{path}")[0], path)
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        options = (_endpoint(endpoint) if endpoint else {}) | options
        store = ("s3", url.netloc, *sorted(options.values()))
        _reach(url.netloc, store, lambda: _s3(options, N_FIRST_ATTEMPTS))
        system = _s3(options, N_ATTEMPTS)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"can't reach {address} ({_line(error)}): check the address, the keys and the connection"
        ) from error
    return ObjectFolder(address, system, path)


def _reach(bucket: str, store: tuple[str, ...], first: Callable[[], fs.FileSystem]) -> None:
    """Raise an OSError soon if nothing answers the first request to a store, by a file system of its own.

    A store that answers with an error is there, and is asked again as often as usual.
    """
    if store not in _answered:
        try:
            first().get_file_info(bucket)
        except OSError as error:
            if any(sign in str(error) for sign in _NOT_CONNECTED):
                raise
        _answered.add(store)


def _s3(options: dict[str, str], n_attempts: int) -> fs.S3FileSystem:
    return fs.S3FileSystem(**options, retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=n_attempts))


def _endpoint(url: str) -> dict[str, str]:
    """Return the options for a server that is not Amazon's.

    >>> _endpoint("http://localhost:9000")
    {'endpoint_override': 'localhost:9000', 'scheme': 'http'}
    """
    scheme, _, rest = url.rpartition("://")
    return {"endpoint_override": rest.rstrip("/"), "scheme": scheme or "https"}


class ObjectFolder:
    """A folder of one of pyarrow's file systems."""

    is_near = False

    def __init__(self, address: str, system: fs.FileSystem, path: str) -> None:
        self.address = address.partition("?")[0].rstrip("/")
        self._system, self._path = system, path

    def __repr__(self) -> str:
        return f"ObjectFolder({self.address!r})"

    @property
    def name(self) -> str:
        return self._path.rpartition("/")[2]

    def names(self, under: str = "") -> list[str]:
        return self._listed(under, fs.FileType.File)

    def folders(self) -> list[str]:
        return self._listed("", fs.FileType.Directory)

    def _listed(self, under: str, kind: fs.FileType) -> list[str]:
        with self._asking(under):
            found = self._system.get_file_info(fs.FileSelector(self._at(under)))
        return sorted(each.base_name for each in found if each.type == kind)

    def has(self, name: str) -> bool:
        with self._asking(name):
            found = self._system.get_file_info(self._at(name))
        return bool(found.type == fs.FileType.File)

    def within(self, name: str) -> ObjectFolder:
        return type(self)(f"{self.address}/{name}", self._system, self._at(name))

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        with self._asking(name):
            file = self._system.open_input_file(self._at(name))
            size = file.size()
        with file:
            if size <= WHOLE:
                with self._asking(name):
                    content = file.read()
                yield io.BytesIO(content)
            else:
                yield cast(BinaryIO, _File(self, name, file))

    def write(self, name: str, content: bytes) -> None:
        with self._asking(name):
            self._put(name, content)

    def _put(self, name: str, content: bytes) -> None:
        with self._system.open_output_stream(self._at(name)) as stream:
            stream.write(content)

    def create(self, name: str, content: bytes, *, safe: bool = True) -> bool:  # noqa: ARG002
        head, slash, tail = name.rpartition("/")
        seen: tuple[list[str], float] = ([], time.monotonic())
        for attempt in range(1 << 30):
            if self.has(name):
                return False
            note = f".{tail}.{secrets.token_hex(6)}.tmp"
            self.write(f"{head}{slash}{note}", b"")
            try:
                others = [each for each in self._notes(head, tail) if each != note]
                if not others:
                    if self.has(name):
                        return False
                    self._write_surely(name, content)
                    return True
            finally:
                self.remove([f"{head}{slash}{note}"])
            if others != seen[0]:
                seen = (others, time.monotonic())
            elif time.monotonic() - seen[1] > PATIENCE:
                self.remove(f"{head}{slash}{each}" for each in others)  # their process was killed
            time.sleep(_BACK_OFF * random.uniform(0.5, 1.5) * 2 ** min(attempt, 5))
        raise AssertionError

    def _notes(self, head: str, tail: str) -> list[str]:
        return [each for each in self.names(head) if each.startswith(f".{tail}.")]

    def _write_surely(self, name: str, content: bytes) -> None:
        """Write an object that does not exist; an error is ignored if the object exists afterwards."""
        try:
            self.write(name, content)
        except UnreachableError:
            with self.open(name) as file:
                if file.read() != content:
                    raise

    def make(self, under: str) -> None:
        self.write(f"{under}/{_KEPT}", b"")

    def rename(self, name: str, other: str) -> None:
        with self._asking(name):
            self._system.copy_file(self._at(name), self._at(other))
        self.remove([name])

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError, pa.ArrowException):
                self._system.delete_file(self._at(name))

    def sweep(self, under: str) -> None:
        """Do nothing: an incompletely written object does not appear."""

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}" if name else self._path

    @contextmanager
    def _asking(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise UnreachableError(
                f"can't use {self.address}/{name} ({_line(error)}): check the address, the keys and the"
                " connection, and try again; what was stored before is safe"
            ) from error


class _File(io.RawIOBase):
    """A large object; its errors are raised as those of its folder, or they would be reported as damage."""

    def __init__(self, folder: ObjectFolder, name: str, file: Any) -> None:
        self._folder, self._name, self._file = folder, name, file

    def _do(self, act: Callable[[], Any]) -> Any:
        with self._folder._asking(self._name):
            return act()

    def read(self, size: int | None = -1) -> bytes:
        return cast(bytes, self._do(lambda: self._file.read(None if size is None or size < 0 else size)))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return cast(int, self._do(lambda: self._file.seek(offset, whence)))

    def tell(self) -> int:
        return cast(int, self._file.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def _line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]
