"""The interface of importers.

An importer reads one file of another tool and yields the rows of a run. It sets the question of a row and
what is known of the trajectory; the caller numbers the samples, so an importer leaves them 0. Values that a
file lacks stay missing: a trajectory without log-probabilities has no confidence, and majority voting still
works on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from distrivote.answers.kinds.kind import Kind
from distrivote.confidence import DEFAULT_K
from distrivote.defaults import SPLIT
from distrivote.store.runs.rows import Row
from distrivote.store.tables.source import Columns

HEAD = 1 << 16
"""The number of bytes at the beginning of a file that decide its format."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How trajectories are read if the file does not say it; names as in `row_of`."""

    extract: str | Kind | None = None
    """How answers are found in texts if the file has no answers; None: `auto`. If it is given, the answers
    of a plain table are read from its texts even if it has answers."""

    split: str = SPLIT
    k: int = DEFAULT_K
    columns: Columns = field(default_factory=Columns)
    """The names of the columns of a plain table."""

    text: str | None = None
    """The column of a plain table that holds complete replies; None: one of the usual names, if needed."""


class Format(NamedTuple):
    """A kind of file."""

    name: str
    """The name that users give."""

    about: str
    """A short description."""

    is_one: Callable[[Path, bytes], bool]
    """Recognises the format from a file's name and first bytes; never raises."""

    read: Callable[[Path, ImportOptions], Iterator[Row]]
    """Yields the rows of one file; raises InputError with the position if it can't be read."""


def id_of_question(text: str) -> str:
    """Return an id for a question that has none, the same for the same text.

    >>> id_of_question("What is 2 + 2?")
    'q-70d64d9df0'
    """
    return "q-" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
