"""Which parts a run has: those that count, those that are damaged, and those that others replace.

A part that was merged from others names them in its metadata: where both are there, since a process was
killed between, the others do not count.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from distrivote.store.runs.parts import Damage, Part, checked

STALE = 24 * 3600.0
"""In seconds; a temporary file this old has lost its writer."""


class Listing(NamedTuple):
    """The parts of a run at one moment."""

    parts: tuple[Part, ...]
    """Of two rows for one sample that of the earlier part counts, so the order is: oldest first."""

    damaged: dict[Path, str]
    """What is wrong with each part that can't be used."""

    replaced: tuple[Path, ...]
    """The parts that others were merged from."""


def list_parts(folder: Path, *, whole: bool = False) -> Listing:
    """Return the parts in a folder, checked; `whole` checks every byte of large ones too."""
    seen: dict[Path, Part | str] = {}
    while True:
        paths = _paths(folder)
        for path in paths:
            try:
                if path not in seen:
                    seen[path] = checked(path, whole)
            except Damage as damage:
                seen[path] = str(damage)
            except FileNotFoundError:
                # It was merged meanwhile: what replaces it is there by now.
                continue
        # A folder that changes while it is read may show neither a merged part nor its sources.
        if paths == _paths(folder) and all(path in seen for path in paths):
            return _listed({path: seen[path] for path in paths})


def _paths(folder: Path) -> list[Path]:
    # A pipe that is called so would be waited for.
    found = (path for path in folder.glob("*.parquet") if not path.name.startswith("."))
    return sorted(path for path in found if path.is_file())


def _listed(seen: dict[Path, Part | str]) -> Listing:
    parts = [part for part in seen.values() if isinstance(part, Part)]
    damaged = {path: why for path, why in seen.items() if isinstance(why, str)}
    gone = frozenset[str]().union(*(part.replaces for part in parts))
    parts.sort(key=lambda part: (part.written, not part.replaces, part.path.name))
    kept = tuple(part for part in parts if part.path.name not in gone)
    # Only what was listed here: a name in a hostile file may lead anywhere.
    replaced = tuple(path for path in seen if path.name in gone)
    return Listing(kept, {path: why for path, why in damaged.items() if path.name not in gone}, replaced)


def mended(folder: Path) -> Listing:
    """Return the good parts, after setting the damaged aside and removing what was merged."""
    listing = list_parts(folder, whole=True)
    put_aside(listing.damaged)
    clean(folder, listing)
    return listing


def aside_notes(listing: Listing) -> tuple[str, ...]:
    damaged = {path.name: why for path, why in listing.damaged.items()}
    return damage_notes(damaged, "it was set aside, and its trajectories count as not done")


def put_aside(damaged: Iterable[Path]) -> None:
    """Rename damaged parts, so that no reader takes them for parts."""
    for path in damaged:
        try:
            os.replace(path, path.with_name(f"{path.name}.damaged"))
        except FileNotFoundError:
            # Another writer did.
            continue


def clean(folder: Path, listing: Listing) -> None:
    """Remove the parts that others replace, and temporary files whose writers are long gone."""
    for path in listing.replaced:
        path.unlink(missing_ok=True)
    for path in folder.glob(".part-*.tmp"):
        try:
            if time.time() - path.stat().st_mtime > STALE:
                path.unlink()
        except FileNotFoundError:
            continue


def damage_notes(damaged: dict[str, str], then: str = "its trajectories do not count") -> tuple[str, ...]:
    """Return a sentence for each damaged part."""
    return tuple(f"{name} is damaged ({why}): {then}" for name, why in sorted(damaged.items()))
