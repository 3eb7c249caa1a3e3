"""Which answers are the same one: answers -> class ids.

`classify` makes a partition: equality is made symmetric by asking both ways, and transitive by joining
whatever is connected, so it does not matter in which order the answers came. What "equal" means is the
caller's: a `key`, an `equal`, or by default the plain rules of answers.forms. They know notation, not
mathematics; for that, hand in `equal=math_equal()` from answers.mathverify beside `key=normal_form`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from distrivote.answers.forms import form_of, near, normal_form, plainly_equal
from distrivote.errors import InputError

Equal: TypeAlias = Callable[[str, str], bool]
Key: TypeAlias = Callable[[str], Hashable]


class Classes(NamedTuple):
    """A partition of answers, in the order in which they came."""

    ids: tuple[int, ...]
    """The class of each answer, -1 for none; numbered in the order in which they are first seen."""

    labels: tuple[str, ...]
    """Each class's most frequent form, the first seen on ties."""

    @property
    def answers(self) -> list[str | None]:
        """Each answer under its class's label, None for none."""
        return [None if i < 0 else self.labels[i] for i in self.ids]


def same_answer(a: str, b: str, *, equal: Equal | None = None, key: Key | None = None) -> bool:
    """Say whether two answers are one, by the rules of `classify`.

    >>> same_answer("0.5", r"\\frac12"), same_answer("0.5", "5")
    (True, False)
    """
    ids = classify([a, b], equal=equal, key=key).ids
    return ids[0] == ids[1] >= 0


def classify(answers: Sequence[str | None], *, equal: Equal | None = None, key: Key | None = None) -> Classes:
    """Sort answers into classes of equal ones; None and blank answers are in none.

    Answers with the same `key` are equal. Then `equal` is asked for every two keys that are not joined
    yet, with the shortest answer of each; frequent answers come first, in case it has a time limit.
    Without a key answers count as written, without either by the plain rules.

    >>> classify(["0.5", r"\\frac12", "7", None, "1/2", "$0.5$"])
    Classes(ids=(0, 0, 1, -1, 0, 0), labels=('0.5', '7'))
    >>> classify(["Paris", "paris", "Rome"], key=str.lower).labels
    ('Paris', 'Rome')
    """
    plain = key is None and equal is None
    if plain:
        key, equal = normal_form, plainly_equal
    forms = [None if answer is None else answer.strip() or None for answer in answers]
    counts = Counter(form for form in forms if form is not None)
    groups: dict[Hashable, list[str]] = {}
    for form in counts:
        mark = form if key is None else key(form)
        try:
            groups.setdefault(mark, []).append(form)
        except TypeError:
            raise InputError(
                f"the key of {form!r} is a {type(mark).__name__}, which can't be compared as one value:"
                " return a string, a number or a tuple"
            ) from None
    joined = list(groups.values())
    if equal is not None:
        clusters = _clusters(groups) if plain else [joined]
        joined = [group for cluster in clusters for group in _join(cluster, counts, equal)]
    # A Counter keeps the order of first sight, and max the first of several.
    group_of = {form: index for index, group in enumerate(joined) for form in group}
    numbers: dict[int, int] = {}
    ids = tuple(-1 if f is None else numbers.setdefault(group_of[f], len(numbers)) for f in forms)
    best: dict[int, str] = {}
    for form, count in counts.items():
        group = group_of[form]
        if group not in best or count > counts[best[group]]:
            best[group] = form
    return Classes(ids, tuple(best[group] for group in numbers))


def _clusters(groups: Mapping[Hashable, list[str]]) -> list[list[list[str]]]:
    """Return the groups in clusters: the plain rules join nothing but numbers of nearly the same size."""
    clusters = [[group] for key, group in groups.items() if isinstance(key, str)]
    numbers = [(form_of(group[0]).size, group) for key, group in groups.items() if not isinstance(key, str)]
    before = math.nan
    for size, group in sorted(numbers, key=lambda number: number[0]):
        if near(size, before):
            clusters[-1].append(group)
        else:
            clusters.append([group])
        before = size
    return clusters


def _join(groups: list[list[str]], counts: Counter[str], equal: Equal) -> list[list[str]]:
    """Return the connected groups together: union-find over all pairs."""
    if len(groups) == 1:
        return groups
    # No choice here may depend on the order of the answers: `equal` need not be as good as its name.
    speakers = [min(group, key=lambda form: (len(form), form)) for group in groups]
    weights = [sum(counts[form] for form in group) for group in groups]
    order = sorted(range(len(groups)), key=lambda i: (-weights[i], len(speakers[i]), speakers[i]))
    parent = list(range(len(groups)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for n_before, j in enumerate(order):
        for i in order[:n_before]:
            a, b = speakers[i], speakers[j]
            if root(i) != root(j) and (equal(a, b) or equal(b, a)):
                parent[root(j)] = root(i)
    joined: dict[int, list[str]] = {}
    for i, group in enumerate(groups):
        joined.setdefault(root(i), []).extend(group)
    return list(joined.values())
