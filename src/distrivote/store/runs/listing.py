"""The parts of a run: valid ones, damaged ones, and those that were merged into others.

A part that was merged from others names them in its metadata: if both are there, because a process was killed
in between, the others do not count. A part that is claimed has to be there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from distrivote.errors import InputError
from distrivote.store.runs.claims import FOLDER as CLAIMS
from distrivote.store.runs.claims import Order, claim, read_claims, release
from distrivote.store.runs.parts import Damage, Part, checked, remove

STALE = 24 * 3600.0
"""In seconds; a temporary file this old has no writer any more."""


class Listing(NamedTuple):
    """The parts of a run at one moment."""

    parts: tuple[Part, ...]
    """Of two rows for one sample that of the earlier part counts, so the order is: first claimed first."""

    damaged: dict[Path, str]
    """What is wrong with each part that can't be used."""

    replaced: tuple[Path, ...]
    """The parts that others were merged from."""

    missing: tuple[str, ...] = ()
    """The names of parts that were claimed and are not there."""

    gone: frozenset[str] = frozenset()
    """The names of all parts that the listed ones were merged from."""

    unclaimed: tuple[str, ...] = ()
    """Parts without a claim: those of an earlier version, and those whose writer has not made it yet."""


def list_parts(folder: Path, *, whole: bool = False) -> Listing:
    """Return the parts in a folder, checked; `whole` checks every byte of large ones too."""
    seen: dict[Path, Part | str] = {}
    while True:
        claims = read_claims(
            folder.parent
        )  # first: what is claimed after the parts are listed is not among them
        paths = _paths(folder)
        for path in paths:
            try:
                if path not in seen:
                    seen[path] = checked(path, whole)
            except Damage as damage:
                seen[path] = str(damage)
            except FileNotFoundError:
                # It was merged meanwhile: the merged part is there by now.
                continue
        # A folder that changes while it is read may show neither a merged part nor its sources.
        if paths != _paths(folder) or not all(path in seen for path in paths):
            continue
        listing = _listed({path: seen[path] for path in paths}, claims)
        if not listing.missing or claims == read_claims(folder.parent):
            return listing


def _paths(folder: Path) -> list[Path]:
    # Reading a named pipe of that name would block.
    found = (path for path in folder.glob("*.parquet") if not path.name.startswith("."))
    return sorted(path for path in found if path.is_file())


def _listed(seen: dict[Path, Part | str], claims: Mapping[str, Order] | None) -> Listing:
    parts = [_placed(part, claims or {}) for part in seen.values() if isinstance(part, Part)]
    damaged = {path: why for path, why in seen.items() if isinstance(why, str)}
    gone = frozenset[str]().union(*(part.replaces for part in parts))
    parts.sort(key=_rank)
    unclaimed = [part for part in parts if part.path.name not in (claims or ())]
    # One that is merged needs no claim to count: its sources did.
    waiting = {part.path.name for part in unclaimed if part.is_claimed and part.order is None}
    lost = sorted(set(claims or ()) - gone - {path.name for path in seen})
    if claims is None and waiting:
        lost, waiting = [CLAIMS], set()
    kept = tuple(part for part in parts if part.path.name not in gone | waiting)
    # Only what was listed here: a name in a hostile file may lead anywhere.
    replaced = tuple(path for path in seen if path.name in gone)
    return Listing(
        kept,
        {path: why for path, why in damaged.items() if path.name not in gone},
        replaced,
        tuple(lost),
        gone,
        tuple(part.path.name for part in unclaimed if part.path.name not in gone),
    )


def _placed(part: Part, claims: Mapping[str, Order]) -> Part:
    return part if part.order is not None else part._replace(order=claims.get(part.path.name))


def _rank(part: Part) -> tuple[bool, Order, int, bool, str]:
    """Return what parts are sorted by: their claims, and in runs of earlier versions their clocks."""
    order = part.order or Order(0)
    return part.order is None, order, part.written, not part.replaces, part.path.name


def check_complete(listing: Listing, run: Path, *, partial: bool = False) -> None:
    """Raise InputError if a part is missing and that was not allowed."""
    if listing.missing and not partial:
        more = f" and {len(listing.missing) - 1} more" if len(listing.missing) > 1 else ""
        raise InputError(
            f"{run} lacks {listing.missing[0]}{more}, so it was not copied whole, or files were deleted",
            hint="copy it again, sample what is missing with distrivote generate, or take what is there with"
            " `partial=True`",
            argument="partial",
        )


def repaired(folder: Path) -> Listing:
    """Return the valid parts, after setting damaged ones aside and removing merged ones."""
    listing = list_parts(folder, whole=True)
    put_aside(listing.damaged)
    if listing.unclaimed:
        claim(folder.parent, listing.unclaimed)
    release(folder.parent, (*listing.missing, *listing.gone, *(path.name for path in listing.damaged)))
    clean(folder, listing)
    if not listing.unclaimed:
        return listing
    claimed = list_parts(folder, whole=True)
    return claimed._replace(damaged=listing.damaged | claimed.damaged, missing=listing.missing)


def aside_notes(listing: Listing) -> tuple[str, ...]:
    damaged = {path.name: why for path, why in listing.damaged.items()}
    gone = tuple(f"{name} is missing: its trajectories count as not done" for name in listing.missing)
    return damage_notes(damaged, "it was set aside, and its trajectories count as not done") + gone


def put_aside(damaged: Iterable[Path]) -> None:
    """Rename damaged parts, so that no reader uses them."""
    for path in damaged:
        try:
            os.replace(path, path.with_name(f"{path.name}.damaged"))
        except FileNotFoundError:
            # Another writer did.
            continue
        except OSError as error:
            raise InputError(
                f"{path} is damaged and can't be set aside ({error.strerror or error}): check its folder"
            ) from error


def clean(folder: Path, listing: Listing) -> None:
    """Remove the parts that others replace, and temporary files whose writers are long gone."""
    remove(listing.replaced)
    for path in folder.glob(".part-*.tmp"):
        try:
            if time.time() - path.stat().st_mtime > STALE:
                path.unlink()
        except OSError:
            continue


def damage_notes(damaged: dict[str, str], then: str = "its trajectories do not count") -> tuple[str, ...]:
    """Return a sentence for each damaged part."""
    return tuple(f"{name} is damaged ({why}): {then}" for name, why in sorted(damaged.items()))
