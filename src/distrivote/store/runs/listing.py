"""The parts of a run: valid ones, damaged ones, and those that were merged into others.

A part that was merged from others names them in its metadata: if both are there, because a process was killed
in between, the others do not count. A part that is claimed has to exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from distrivote.errors import InputError
from distrivote.store.runs.claims import FOLDER as CLAIMS
from distrivote.store.runs.claims import Order, claim, read_claims, release
from distrivote.store.runs.folder import Folder, reason
from distrivote.store.runs.parts import FOLDER, Damage, Part, checked


class Listing(NamedTuple):
    """The parts of a run at one moment."""

    parts: tuple[Part, ...]
    """Of two rows for one sample that of the earlier part counts, so the order is: first claimed first."""

    damaged: dict[str, str]
    """What is wrong with each part that can't be used, by name."""

    replaced: tuple[str, ...]
    """The names of the parts that others were merged from."""

    missing: tuple[str, ...] = ()
    """The names of parts that were claimed but do not exist."""

    gone: frozenset[str] = frozenset()
    """The names of all parts that the listed ones were merged from."""

    unclaimed: tuple[str, ...] = ()
    """Parts without a claim: those of an earlier version, and those whose writer has not claimed them yet."""


def list_parts(run: Folder, *, whole: bool = False) -> Listing:
    """Return the parts of a run, checked; `whole` checks every byte of large ones too."""
    seen: dict[str, Part | str] = {}
    while True:
        claims = read_claims(run)  # claims first: a part that is claimed after the listing would look missing
        names = _names(run)
        for name in names:
            try:
                if name not in seen:
                    seen[name] = checked(run, name, whole)
            except Damage as damage:
                seen[name] = str(damage)
            except FileNotFoundError:
                # It has been merged since: the merged part exists by now.
                continue
        # A folder that changes while it is read may show neither a merged part nor its sources.
        if names != _names(run) or not all(name in seen for name in names):
            continue
        listing = _listed({name: seen[name] for name in names}, claims)
        if not listing.missing or claims == read_claims(run):
            return listing


def _names(run: Folder) -> list[str]:
    try:
        found = run.names(FOLDER)
    except FileNotFoundError:
        return []
    return [name for name in found if name.endswith(".parquet") and not name.startswith(".")]


def _listed(seen: dict[str, Part | str], claims: Mapping[str, Order] | None) -> Listing:
    parts = [_placed(part, claims or {}) for part in seen.values() if isinstance(part, Part)]
    damaged = {name: why for name, why in seen.items() if isinstance(why, str)}
    gone = frozenset[str]().union(*(part.replaces for part in parts))
    parts.sort(key=_rank)
    unclaimed = [part for part in parts if part.name not in (claims or ())]
    # A merged part counts without a claim of its own: its sources had claims.
    waiting = {part.name for part in unclaimed if part.is_claimed and part.order is None}
    lost = sorted(set(claims or ()) - gone - {*seen})
    if claims is None and waiting:
        lost, waiting = [CLAIMS], set()
    kept = tuple(part for part in parts if part.name not in gone | waiting)
    # Only names that were listed here: a name in a malicious file may point anywhere.
    replaced = tuple(name for name in seen if name in gone)
    return Listing(
        kept,
        {name: why for name, why in damaged.items() if name not in gone},
        replaced,
        tuple(lost),
        gone,
        tuple(part.name for part in unclaimed if part.name not in gone),
    )


def _placed(part: Part, claims: Mapping[str, Order]) -> Part:
    return part if part.order is not None else part._replace(order=claims.get(part.name))


def _rank(part: Part) -> tuple[bool, Order, int, bool, str]:
    """Return the sort key of parts: their claims, and in runs of earlier versions their times."""
    order = part.order or Order(0)
    return part.order is None, order, part.written, not part.replaces, part.name


def check_complete(listing: Listing, run: str, *, partial: bool = False) -> None:
    """Raise InputError if a part is missing and that was not allowed."""
    if listing.missing and not partial:
        more = f" and {len(listing.missing) - 1} more" if len(listing.missing) > 1 else ""
        raise InputError(
            f"{run} lacks {listing.missing[0]}{more}, so it was not copied whole, or files were deleted",
            hint="copy it again, sample what is missing with distrivote generate, or take what is there with"
            " `partial=True`",
            argument="partial",
        )


def repaired(run: Folder) -> Listing:
    """Return the valid parts, after setting damaged ones aside and removing merged ones."""
    listing = list_parts(run, whole=True)
    put_aside(run, listing.damaged)
    if listing.unclaimed:
        claim(run, listing.unclaimed)
    release(run, (*listing.missing, *listing.gone, *listing.damaged))
    run.remove(f"{FOLDER}/{name}" for name in listing.replaced)
    run.sweep(FOLDER)
    if not listing.unclaimed:
        return listing
    claimed = list_parts(run, whole=True)
    return claimed._replace(damaged=listing.damaged | claimed.damaged, missing=listing.missing)


def aside_notes(listing: Listing) -> tuple[str, ...]:
    gone = tuple(f"{name} is missing: its trajectories count as not done" for name in listing.missing)
    return damage_notes(listing.damaged, "it was set aside, and its trajectories count as not done") + gone


def put_aside(run: Folder, damaged: Iterable[str]) -> None:
    """Rename damaged parts, so that no reader uses them."""
    for name in damaged:
        try:
            run.rename(f"{FOLDER}/{name}", f"{FOLDER}/{name}.damaged")
        except FileNotFoundError:
            # Another writer already did it.
            continue
        except OSError as error:
            raise InputError(
                f"{run.address}/{FOLDER}/{name} is damaged and can't be set aside ({reason(error)}):"
                " check its folder"
            ) from error


def damage_notes(damaged: dict[str, str], then: str = "its trajectories do not count") -> tuple[str, ...]:
    """Return a sentence for each damaged part."""
    return tuple(f"{name} is damaged ({why}): {then}" for name, why in sorted(damaged.items()))
