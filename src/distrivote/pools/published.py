"""What a published set of sampled answers is: where its files are, and what it can show.

A set is what one publication has; a pool is one model on one benchmark. Values only: `registry` has the
sets, `opening` finds, fetches and converts their files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PREFIX = "pools:"
"""How a name is written where a file or a run may stand."""

NO_SIGNAL = "none"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of a pool."""

    path: str
    """In the repository, or in the archive; it may hold a * there."""

    sha256: str | None = None
    """None: not known."""

    beside: bool = False
    """Whether the converter finds it by itself beside another file."""


@dataclass(frozen=True, slots=True)
class PublishedPool:
    """One model on one benchmark."""

    name: str
    """With the set: `boinf/aime2024/Qwen3-4B`."""

    model: str
    benchmark: str
    files: tuple[PublishedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class TableCopy:
    """A table that has all pools of a set: a converted copy, of which no checksum is known."""

    file: str
    answer: str = "answer"
    """The column of the answers; the others have their usual names."""

    model: str | None = None
    benchmark: str | None = None
    """The columns that tell pools apart, where the table has them."""

    only: str | None = None
    """The set or benchmark whose pools it has; None: all of the set."""


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """What one publication has."""

    name: str
    about: str
    home: str
    """The page for people."""

    at: str
    """The commit or the record."""

    licence: str
    signal: str
    """In two words; `none` without any."""

    signal_is: str
    """In a sentence."""

    shows: str
    """What a comparison on it can show, and what it can't."""

    pools: tuple[PublishedPool, ...]
    n_bytes: int | None = None
    """Of all its files; None: not known."""

    format: str | None = None
    """The importer; None: no converter, or runs that need none."""

    address: str | None = None
    """The beginning of the addresses of its files; None: they are not fetched."""

    archive: str | None = None
    """The address of a zip file with all its files."""

    votes_with: str | None = None
    """The signal of a converted run that votes use; None: its confidences."""

    copy: TableCopy | None = None
    how: str = ""
    """How to get it, where no file can be fetched."""

    @property
    def has_signal(self) -> bool:
        return self.signal != NO_SIGNAL

    @property
    def is_checked(self) -> bool:
        """Whether the checksums of all files are known."""
        files = [file for pool in self.pools for file in pool.files]
        return bool(files) and all(file.sha256 is not None for file in files)


def under(name: str, wanted: str) -> bool:
    """Return whether a pool has this name, or belongs to the set or benchmark of this name.

    >>> under("boinf/aime2024/Qwen3-4B", "boinf/aime2024"), under("boinf/aime2024/Qwen3-4B", "boinf/aime")
    (True, False)
    """
    return name == wanted or name.startswith(f"{wanted}/")


def headings(pools: Sequence[PublishedPool]) -> tuple[str, ...]:
    """Return the names above those of pools: the set, and the set with each benchmark.

    >>> headings([PublishedPool("boinf/aime2024/Qwen3-4B", "Qwen3-4B", "aime2024")])
    ('boinf', 'boinf/aime2024')
    """
    parts = (pool.name.split("/")[:-1] for pool in pools)
    return tuple(dict.fromkeys("/".join(each[: n + 1]) for each in parts for n in range(len(each))))
