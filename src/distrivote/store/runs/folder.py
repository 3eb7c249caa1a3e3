"""Access to the files of a run: a folder of this machine, or a prefix in an object store.

A run needs few operations: list, open, write a complete file, create a file exclusively,
remove. Names are relative, with slashes. `folder_at` returns the folder of an address.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias, runtime_checkable

from distrivote.errors import InputError

STALE = 24 * 3600.0
"""In seconds; a temporary file older than this was left by a killed process."""

MANIFEST = "manifest.json"
"""The file that makes a folder a run."""

REMOTE = ("s3://", "gs://")
"""The prefixes of object store addresses."""


@runtime_checkable
class Folder(Protocol):
    """The files of a run. Errors are OSErrors; FileNotFoundError if there is no such file or folder."""

    @property
    def address(self) -> str:
        """The address as the user writes it."""
        ...

    @property
    def name(self) -> str:
        """The last part of the address."""
        ...

    @property
    def is_near(self) -> bool:
        """Whether reading all bytes of a file is cheap."""
        ...

    def names(self, under: str = "") -> list[str]:
        """Return the names of the files in a subfolder, sorted; its folders are not included."""
        ...

    def folders(self) -> list[str]:
        """Return the names of the folders in it, sorted."""
        ...

    def has(self, name: str) -> bool:
        """Return whether there is such a file."""
        ...

    def within(self, name: str) -> Folder:
        """Return a folder inside it, whether it exists or not."""
        ...

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for random access."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write or replace a file atomically and durably."""
        ...

    def create(self, name: str, content: bytes, *, safe: bool = True) -> bool:
        """Create a file exclusively, and return whether this call did: of several only one does.

        The folder that it is in appears together with its first file. Without `safe` a power cut may lose it.
        """
        ...

    def make(self, under: str) -> None:
        """Create a subfolder, even without files."""
        ...

    def rename(self, name: str, other: str) -> None: ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove files as far as possible: leftovers are harmless, and no failure may hide another error."""
        ...

    def sweep(self, under: str) -> None:
        """Remove the temporary files of writers that ended long ago."""
        ...


Place: TypeAlias = Folder | str | os.PathLike[str]
"""A folder, or its address."""


def is_remote(address: Place) -> bool:
    """Return whether an address is that of an object store."""
    return isinstance(address, str) and address.lower().startswith(REMOTE)


def folder_at(place: Place) -> Folder:
    """Return the folder of an address."""
    if isinstance(place, Folder):
        return place
    if is_remote(place):
        from distrivote.store.runs.object_folder import object_folder

        return object_folder(os.fspath(place))
    return LocalFolder(Path(place))


def runs_in(address: str) -> list[str]:
    """Return the addresses of the runs in a folder or at it; FileNotFoundError if it does not exist."""
    inside = folder_at(address).folders()
    places = [address, *(os.path.join(address, name) for name in inside)]
    return [place for place in places if folder_at(place).has(MANIFEST)]


def reason(error: BaseException) -> str:
    """Return the message of a file system error, on one line."""
    return getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__


def cant_write(folder: Folder, under: str, error: OSError) -> InputError:
    where = f"{folder.address.rstrip('/')}/{under}" if under else folder.address
    return InputError(
        f"can't write to {where} ({reason(error)}): check the folder and its space;"
        " what was stored before is safe"
    )


class LocalFolder:
    """A folder of a file system. A file is written under a name with a dot in front, synced and renamed."""

    is_near = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"LocalFolder({self.address!r})"

    @property
    def address(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.resolve().name

    def names(self, under: str = "") -> list[str]:
        with os.scandir(self.path / under) as found:
            # Reading a named pipe would block.
            return sorted(each.name for each in found if each.is_file())

    def folders(self) -> list[str]:
        with os.scandir(self.path) as found:
            return sorted(each.name for each in found if each.is_dir())

    def has(self, name: str) -> bool:
        return os.path.isfile(self.path / name)

    def within(self, name: str) -> LocalFolder:
        return LocalFolder(self.path / name)

    def open(self, name: str) -> BinaryIO:
        return open(self.path / name, "rb")

    def write(self, name: str, content: bytes) -> None:
        path = self.path / name
        beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        try:
            _write_new(beside, content)
            os.replace(beside, path)
        except BaseException:
            _unlink(beside)
            raise
        sync_folder(path.parent)

    def create(self, name: str, content: bytes, *, safe: bool = True) -> bool:
        path = self.path / name
        if not path.parent.is_dir() and self._is_first(path, content):
            return True
        beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        try:
            _write_new(beside, content, safe=safe)
            # A link, unlike a rename, fails if the name is taken.
            os.link(beside, path)
        except FileExistsError:
            return False
        except OSError:
            if not beside.is_file():
                raise
            try:  # a file system without links
                _write_new(path, content, safe=safe)
            except FileExistsError:
                return False
        finally:
            _unlink(beside)
        if safe:
            sync_folder(path.parent)
        return True

    def _is_first(self, path: Path, content: bytes) -> bool:
        """Create the folder together with its first file, and return whether no other process was faster."""
        beside = self.path / f".{path.parent.name}.{secrets.token_hex(6)}.tmp"
        beside.mkdir()
        try:
            _write_new(beside / path.name, content)
            beside.rename(path.parent)
        except OSError:
            _unlink(beside / path.name)
            with suppress(OSError):
                beside.rmdir()
            if not path.parent.is_dir():
                raise
            return False
        sync_folder(self.path)
        return True

    def make(self, under: str) -> None:
        (self.path / under).mkdir(parents=True, exist_ok=True)

    def rename(self, name: str, other: str) -> None:
        os.replace(self.path / name, self.path / other)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            _unlink(self.path / name)

    def sweep(self, under: str) -> None:
        for path in (self.path / under).glob(".*.tmp"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE:
                    path.unlink()


def _write_new(path: Path, content: bytes, *, safe: bool = True) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        if safe:
            os.fsync(file.fileno())


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that its names survive a power cut, if the system supports it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network file systems sync files only.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)
