"""What every importer takes and gives.

An importer reads one file of somebody else's and yields the rows of a run. It says whose question a row
answers and what is known of the trajectory; the numbers of the samples are given by whoever gathers the
rows, so an importer leaves them 0. Whatever a file lacks stays missing: a trajectory without
log-probabilities has no confidence, and majority voting still works on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from distrivote.confidence import DEFAULT_K
from distrivote.defaults import SPLIT
from distrivote.store.runs.rows import Row
from distrivote.store.tables.source import Columns

HEAD = 1 << 16
"""So many bytes at the beginning of a file tell its format."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How trajectories are read where the file leaves it open; names as in `row_of`."""

    extract: str | None = None
    """How answers are found in texts, where the file does not say them; None: `auto`. With a name, those of
    a plain table are read from its texts also where it says them."""

    split: str = SPLIT
    k: int = DEFAULT_K
    columns: Columns = field(default_factory=Columns)
    """What the columns of a plain table are called."""

    text: str | None = None
    """The column of a plain table that holds whole replies; None: a usual name, if it is needed."""


class Format(NamedTuple):
    """A kind of file."""

    name: str
    """What a user calls it."""

    about: str
    """Whose files these are, in a few words."""

    is_one: Callable[[Path, bytes], bool]
    """Says from a file's name and its first bytes whether it is of this kind; it never raises."""

    read: Callable[[Path, ImportOptions], Iterator[Row]]
    """Yields the rows of one file; InputError with the place where it can't be read."""


def id_of_question(text: str) -> str:
    """Return an id for a question that has none, the same for the same text.

    >>> id_of_question("What is 2 + 2?")
    'q-70d64d9df0'
    """
    return "q-" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
