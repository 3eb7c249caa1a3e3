"""Which items of several lists belong together: each list is matched with one of them, the medoid.

The medoid is the list of the given length that has most in common with all others: the one with the smallest
sum of differences between sets of features. A feature is an item, an item at its place, or a value in an
item.

    objects   are matched by content, whatever their order: the pairs that share most go first, where a value
              counts less if more items of the medoid have it, and a value that more than half have does not
              count. Remaining items are matched in order if there are equally many on both sides.
    others    are matched in order: most equal items, where a gap costs more than half an equal item,
              so that [5, 3] and [3, 5] are matched place by place, and [b, c, a] and [a, b, c] by b and c.

Nothing depends on the order of the lists.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from distrivote.answers.structured.same import scalar_key

Match: TypeAlias = tuple[int, ...]
"""For each item of the medoid the index of the matching item, -1 for none."""

Key: TypeAlias = tuple[Hashable, ...]
"""A list, as the keys of its items: items that are the same have equal keys."""

_EQUAL, _GAP = 10, -6
_MOST_CELLS = 10_000
"""The maximum number of cells in the table of two lists; longer lists are matched place by place between
their common items at both ends."""


def align(lists: Sequence[Sequence[Any]], length: int) -> list[Match]:
    """Return for each list which of its items match the items of the medoid, which has that length.

    At least one list must have that length.

    >>> align([["a", "b", "c"], ["a", "c"], ["a", "b", "c"], ["b", "c", "a"]], 3)
    [(0, 1, 2), (0, -1, 1), (0, 1, 2), (-1, 0, 1)]
    """
    features = [[list(_features(item)) for item in each] for each in lists]
    keys: list[Key] = [tuple(frozenset(each) for each in items) for items in features]
    distinct = dict(zip(keys, features, strict=True))
    if len(distinct) == 1:
        return [tuple(range(length))] * len(lists)
    medoid = _medoid(Counter(keys), distinct, length)
    others = [key for key in distinct if key != medoid]
    if all(isinstance(item, dict) for item in lists[keys.index(medoid)]):
        matches = {key: _by_content(distinct[key], distinct[medoid]) for key in others}
    else:
        matches = dict(zip(others, _in_order(others, medoid), strict=True))
    matches[medoid] = tuple(range(length))
    return [matches[key] for key in keys]


def _features(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Hashable]:
    """Yield the leaves of an item, each with its path in the item; together they are the item."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            if isinstance(each, (dict, list)):
                yield from _features(each, (*path, key))
            else:
                yield (*path, key), scalar_key(each)
    elif isinstance(value, list) and value:
        for at, each in enumerate(value):
            yield from _features(each, (*path, at))
    elif isinstance(value, (dict, list)):
        yield path, type(value)
    else:
        yield path, scalar_key(value)


def _medoid(counts: Counter[Key], features: dict[Key, list[list[Hashable]]], length: int) -> Key:
    sets = {
        key: frozenset((*key, *enumerate(key), *(each for item in items for each in item)))
        for key, items in features.items()
    }
    common: Counter[Hashable] = Counter()
    for key, of_list in sets.items():
        for each in of_list:
            common[each] += counts[key]
    n = counts.total()
    # The sum over all lists of |F - F'| + |F' - F|, without the part that is the same for every F.
    cost = {
        key: (n * len(of_list) - 2 * sum(map(common.__getitem__, of_list)), -counts[key])
        for key, of_list in sets.items()
        if len(key) == length
    }
    least = min(cost.values())
    best = [key for key, each in cost.items() if each == least]
    return (
        best[0]
        if len(best) == 1
        else min(best, key=lambda key: [sorted(map(repr, item)) for item in features[key]])
    )


def _by_content(items: list[list[Hashable]], slots: list[list[Hashable]]) -> Match:
    having: dict[Hashable, list[int]] = defaultdict(list)
    for slot, features in enumerate(slots):
        for each in dict.fromkeys(features):
            having[each].append(slot)
    most = max(1, len(slots) // 2)
    pairs = []
    for at, features in enumerate(items):
        shared: dict[int, float] = defaultdict(float)
        for each in features:
            found = having.get(each, ())
            if len(found) <= most:
                for slot in found:
                    shared[slot] += 1 / len(found)
        pairs += [(-score, abs(at - slot), slot, at) for slot, score in shared.items()]
    match, taken = [-1] * len(slots), [False] * len(items)
    for _, _, slot, at in sorted(pairs):
        if match[slot] < 0 and not taken[at]:
            match[slot], taken[at] = at, True
    free = [slot for slot, at in enumerate(match) if at < 0]
    left = [at for at, is_taken in enumerate(taken) if not is_taken]
    if len(free) == len(left):
        for slot, at in zip(free, left, strict=True):
            match[slot] = at
    return tuple(match)


def _in_order(lists: Sequence[Key], medoid: Key) -> list[Match]:
    """Return the best match in order of each list with the medoid."""
    matches: list[Match | None] = []
    tables: list[tuple[int, int, int]] = []  # which list, and how much it has in common at both ends
    for at, items in enumerate(lists):
        n, m = len(items), len(medoid)
        first = last = 0
        while first < min(n, m) and items[first] == medoid[first]:
            first += 1
        while last < min(n, m) - first and items[n - 1 - last] == medoid[m - 1 - last]:
            last += 1
        if _is_by_place(items[first : n - last], medoid[first : m - last]):
            by_place = (place if place < n - last else -1 for place in range(first, m - last))
            matches.append((*range(first), *by_place, *range(n - last, n)))
        else:
            matches.append(None)
            tables.append((at, first, last))
    for (at, first, last), middle in zip(tables, _tables(lists, medoid, tables), strict=True):
        n = len(lists[at])
        matches[at] = (*range(first), *(j if j < 0 else j + first for j in middle), *range(n - last, n))
    return [match for match in matches if match is not None]


def _is_by_place(items: Key, slots: Key) -> bool:
    """Say whether no match is better than place by place, or the lists are too long to compute one."""
    n, m = len(items), len(slots)
    if not n or not m or n * m > _MOST_CELLS:
        return True
    if n != m:
        return False
    # Any other match leaves out an item and a slot, and pairs at most the items that are in both.
    n_common = (Counter(items) & Counter(slots)).total()
    n_equal = sum(a == b for a, b in zip(items, slots, strict=True))
    return _EQUAL * n_equal >= _EQUAL * n_common + 2 * _GAP


def _tables(lists: Sequence[Key], medoid: Key, which: Sequence[tuple[int, int, int]]) -> list[Match]:
    """Return the best match in order of the middle of each list, by tables of all beginnings.

    A pair goes before a gap. The tables of all lists are filled together, row by row.
    """
    numbers: dict[Hashable, int] = {}
    for each in medoid:
        numbers.setdefault(each, len(numbers))
    m = len(medoid)
    pairs = []
    for at, first, last in which:
        items = [numbers.get(each, -1) for each in lists[at][first : len(lists[at]) - last]]
        slots = [numbers[each] for each in medoid[first : m - last]]
        pairs.append((items, slots))
    n, m = (max((len(pair[side]) for pair in pairs), default=0) for side in (0, 1))
    items_of = np.full((len(pairs), n), -1)
    slots_of = np.full((len(pairs), m), -2)
    for row, (items, slots) in enumerate(pairs):
        items_of[row, : len(items)], slots_of[row, : len(slots)] = items, slots
    gaps = _GAP * np.arange(m + 1, dtype=np.int32)
    table = np.empty((n + 1, len(pairs), m + 1), dtype=np.int32)
    table[0] = gaps
    for i in range(1, n + 1):
        above, row = table[i - 1], table[i]
        row[:, 0] = _GAP * i
        equal = np.where(items_of[:, i - 1, None] == slots_of, _EQUAL, 0)
        row[:, 1:] = np.maximum(above[:, :-1] + equal, above[:, 1:] + _GAP)
        # What gaps from the left give is a running maximum.
        row[:] = np.maximum.accumulate(row - gaps, axis=1) + gaps
    return [_traced(table[:, at].tolist(), *pair) for at, pair in enumerate(pairs)]


def _traced(rows: list[list[int]], items: list[int], slots: list[int]) -> Match:
    match = [-1] * len(slots)
    i, j = len(items), len(slots)
    while i and j:
        here = rows[i][j]
        if here == rows[i - 1][j - 1] + (_EQUAL if items[i - 1] == slots[j - 1] else 0):
            i, j = i - 1, j - 1
            match[j] = i
        elif here == rows[i - 1][j] + _GAP:
            i -= 1
        else:
            j -= 1
    return tuple(match)
