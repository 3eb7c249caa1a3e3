"""Which servers a fleet has: given addresses, files of addresses, and names with several addresses.

    http://gpu1:8000/v1         one server
    @servers.txt                a file with one address per line, which is read again while work is going on
    dns:http://vllm:8000/v1     a name that is resolved again; each of its addresses is a server

Blank lines of a file, and what follows a #, are ignored. A file that can't be read later, or has no address
then, is taken for one that is being written: the servers stay as they were. So does a name.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from distrivote.engines.openai.connection import Address, address_of
from distrivote.errors import InputError

_FILE, _NAME = "@", "dns:"


class Roster:
    """The entries that name the servers, and what they named when they were last read."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = tuple(entries)
        self._known: dict[str, list[Address]] = {}

    @property
    def changes(self) -> bool:
        """Whether servers may come and go."""
        return any(entry.startswith((_FILE, _NAME)) for entry in self._entries)

    def addresses(self) -> list[Address]:
        """Return the addresses of all servers now, each once; may take seconds.

        Raises InputError for an entry that never named a server.
        """
        for entry in self._entries:
            try:
                self._known[entry] = _named_by(entry)
            except InputError:
                if entry not in self._known:
                    raise
        return list(dict.fromkeys(address for entry in self._entries for address in self._known[entry]))


def _named_by(entry: str) -> list[Address]:
    if entry.startswith(_FILE):
        found = [address for line in _lines(entry.removeprefix(_FILE)) for address in _named_by(line)]
        if not found:
            raise InputError(
                f"{entry.removeprefix(_FILE)} has no address: write one per line, such as http://gpu1:8000/v1",
                argument="base_urls",
            )
        return found
    if entry.startswith(_NAME):
        return _resolved(entry.removeprefix(_NAME))
    return [address_of(entry)]


def _lines(path: str) -> Iterator[str]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(
            f"can't read the servers in {path} ({error}): check the file", argument="base_urls"
        ) from error
    for line in text.splitlines():
        entry = line.partition("#")[0].strip()
        if entry.startswith(_FILE):
            raise InputError(f"{path} names {entry}: a file of servers has addresses only")
        if entry:
            yield entry


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
    except OSError as error:
        raise InputError(
            f"{parts.hostname} has no address ({error.strerror or error}): check the name",
            argument="base_urls",
        ) from error
    hosts = sorted({str(answer[4][0]) for answer in answers})
    login, at, _ = parts.netloc.rpartition("@")
    port = f":{parts.port}" if parts.port else ""
    places = [f"[{host}]" if ":" in host else host for host in hosts]
    return [address_of(f"http://{login}{at}{place}{port}{parts.path}") for place in places]
