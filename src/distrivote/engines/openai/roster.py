"""Which servers a fleet has: given addresses, files of addresses, and names with several addresses.

    http://gpu1:8000/v1         one server
    @servers.txt                a file with one address per line, which is read again while work is going on
    dns:http://vllm:8000/v1     a name that is resolved again; each of its addresses is a server

Blank lines of a file, and what follows a #, are ignored. A file that can't be read later, or has no address
then, or a line that is none, is taken for one that is being written: the servers stay as they were, and if it
is so the next time too, the reason is told. So does a name.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Sequence
from urllib.parse import urlsplit

from distrivote.engines.openai.connection import Address, address_of
from distrivote.errors import InputError

_FILE, _NAME = "@", "dns:"
_LARGEST = 1 << 20
"""Maximum bytes of a file of servers."""


class Roster:
    """The entries that name the servers, and what they named when they were last read."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = tuple(entries)
        self._known: dict[str, list[Address]] = {}
        self._faults: dict[str, str] = {}
        self.notes: tuple[str, ...] = ()
        """What was wrong with entries, twice in a row, when they were last read."""

    @property
    def changes(self) -> bool:
        """Whether servers may come and go."""
        return any(entry.startswith((_FILE, _NAME)) for entry in self._entries)

    def addresses(self) -> list[Address]:
        """Return the addresses of all servers now, each once; may take seconds.

        Raises InputError for an entry that never named a server.
        """
        faults: dict[str, str] = {}
        for entry in self._entries:
            try:
                self._known[entry] = _named_by(entry)
            except InputError as error:
                if entry not in self._known:
                    raise
                faults[entry] = str(error)
        self.notes = tuple(
            f"{said}; until then the servers stay as they were"
            for entry, said in faults.items()
            if entry in self._faults
        )
        self._faults = faults
        return list(dict.fromkeys(address for entry in self._entries for address in self._known[entry]))


def _named_by(entry: str) -> list[Address]:
    if entry.startswith(_FILE):
        return _listed(entry.removeprefix(_FILE))
    if entry.startswith(_NAME):
        return _resolved(entry.removeprefix(_NAME))
    return [address_of(entry)]


def _listed(path: str) -> list[Address]:
    """Return the addresses in a file; raise InputError, with the line, for one that is none."""
    found: list[Address] = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        entry = line.partition("#")[0].strip()
        if entry.startswith(_FILE):
            raise InputError(f"{path} names {entry}: a file of servers has addresses only")
        if entry:
            try:
                found += _named_by(entry)
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}", argument="base_urls") from error
    if not found:
        raise InputError(
            f"{path} has no address: write one per line, such as http://gpu1:8000/v1", argument="base_urls"
        )
    return found


def _text(path: str) -> str:
    try:
        with open(path, "rb", opener=_opener) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is no regular file")
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST >> 20} MB")
        return content.decode()
    except (OSError, ValueError) as error:
        raise InputError(
            f"can't read the servers in {path} ({error}): check the file", argument="base_urls"
        ) from error


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe without a writer would wait


def _resolved(url: str) -> list[Address]:
    """Return a URL with each address that its name has now."""
    whole = address_of(url)
    parts = urlsplit(whole.base)
    if parts.scheme != "http":
        raise InputError(
            f"dns:{whole.shown} is not http: a certificate is for the name and not for its addresses",
            argument="base_urls",
        )
    try:
        answers = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"{parts.hostname} has no address ({getattr(error, 'strerror', None) or error}): check the name",
            argument="base_urls",
        ) from error
    hosts = sorted({str(answer[4][0]) for answer in answers})
    login, at, _ = parts.netloc.rpartition("@")
    port = f":{parts.port}" if parts.port else ""
    places = [f"[{host}]" if ":" in host else host for host in hosts]
    return [address_of(f"http://{login}{at}{place}{port}{parts.path}") for place in places]
