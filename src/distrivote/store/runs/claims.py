"""Claims: the order in which the parts of a run became valid, and which parts it must have.

    claims/<number>   the names of the parts that count from then on, a line each

A part counts once its writer has created the claim file with the next number, which only one
writer can. Of two rows for one sample that of the part with the lower number counts: no clock is used, and
what a reader has seen remains valid. A part that is claimed but does not exist is missing. Runs of earlier
versions have no claims; the next writer claims all their parts together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from distrivote.store.runs.folder import Folder, Place, cant_write, folder_at

FOLDER = "claims"
_LARGEST = 16 << 20
"""Maximum bytes of one claim."""


class Order(NamedTuple):
    """The position of a part in the order of a run's parts."""

    number: int
    place: int = 0
    """Among the parts that were claimed together."""


def read_claims(run: Place, after: int = 0) -> Mapping[str, Order] | None:
    """Return the parts that were claimed after a number, by name; None if a run has no claims."""
    folder = folder_at(run)
    try:
        numbers = _numbers(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    found: dict[str, Order] = {}
    for number in sorted(number for number in numbers if number > after):
        try:
            with folder.open(_name(number)) as file:
                names = file.read(_LARGEST).decode(errors="replace").split()
        except FileNotFoundError:  # its parts have been merged since
            continue
        for place, name in enumerate(names):
            found.setdefault(name, Order(number, place))
    return found


def claim(run: Place, names: Sequence[str]) -> int:
    """Make parts count from now on, in this order; return the number of their claim."""
    folder = folder_at(run)
    content = "".join(f"{name}\n" for name in names).encode()
    try:
        number = _last(folder) + 1
        while not folder.create(_name(number), content):
            number = max(number, _last(folder)) + 1
    except OSError as error:
        raise cant_write(folder, FOLDER, error) from error
    return number


def release(run: Place, names: Iterable[str]) -> None:
    """Remove claims whose parts are all replaced; the last is only emptied: numbers are not reused."""
    folder, gone = folder_at(run), set(names)
    claims = read_claims(folder) or {}
    needed = {order.number for name, order in claims.items() if name not in gone}
    released = sorted({order.number for order in claims.values()} - needed)
    try:
        last = _last(folder)
        folder.remove(_name(number) for number in released if number < last)
        if last in released:
            folder.write(_name(last), b"")
    except OSError:
        return  # leftover claims of replaced parts are harmless


def _last(folder: Folder) -> int:
    try:
        return max(_numbers(folder), default=0)
    except FileNotFoundError:
        return 0


def _numbers(folder: Folder) -> list[int]:
    names = folder.names(FOLDER)
    return [int(name) for name in names if name.isascii() and name.isdecimal() and len(name) < 19]


def _name(number: int) -> str:
    return f"{FOLDER}/{number:08d}"
