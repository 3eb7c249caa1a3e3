"""Which answers are the same one, and which are right: answers -> class ids.

`classify` makes a partition: equality is made symmetric by asking both ways, and transitive by joining
whatever is connected, so it does not matter in which order the answers came. What "equal" means is said by
an `Equality`, `math` if nothing is said. `grade` also says which classes are right; the right answer
never joins two of them, so that a vote is the same whether it is known or not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from distrivote.answers.equality import Equal, Equality, NotationOnly, equality
from distrivote.answers.forms import form_of, near, plainly_equal
from distrivote.answers.mathverify import MathEqual
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError

GRADING_BUDGET = 60.0
"""Seconds for the answers to one question that are graded once and for all; a question that somebody waits
for has less (`MathVerifier.budget`)."""


class Classes(NamedTuple):
    """A partition of answers, in the order in which they came."""

    ids: tuple[int, ...]
    """The class of each answer, -1 for none; numbered in the order in which they are first seen."""

    labels: tuple[str, ...]
    """Each class's most frequent form, the first seen on ties."""

    remarks: Remarks = Remarks()

    @property
    def answers(self) -> list[str | None]:
        """Each answer under its class's label, None for none."""
        return [None if i < 0 else self.labels[i] for i in self.ids]


class Graded(NamedTuple):
    """The classes of the answers to one question, and which of them are right."""

    classes: Classes
    right: frozenset[int]
    """Ids of the classes that are the right answer."""

    @property
    def remarks(self) -> Remarks:
        return self.classes.remarks


def same_answer(a: str, b: str, same: str | Equality | None = None) -> bool:
    """Say whether two answers are one, by the rules of `classify`.

    >>> same_answer("0.5", r"\\frac12"), same_answer("0.5", "5")
    (True, False)
    """
    ids = classify([a, b], same).ids
    return ids[0] == ids[1] >= 0


def classify(answers: Sequence[str | None], same: str | Equality | None = None) -> Classes:
    """Sort answers into classes of equal ones; None and blank answers are in none.

    Answers with the same key are equal. Then the equality is asked for every two keys that are not joined
    yet, with the shortest answer of each; frequent answers come first, in case it has a time limit.

    >>> classify(["0.5", r"\\frac12", "7", None, "1/2", "$0.5$"]).ids
    (0, 0, 1, -1, 0, 0)
    >>> classify([r"\\frac{1}{\\sqrt{2}}", r"\\frac{\\sqrt{2}}{2}"], "notation").ids
    (0, 1)
    """
    rule = equality(same).for_pool()
    forms = [None if answer is None else answer.strip() or None for answer in answers]
    counts = Counter(form for form in forms if form is not None)
    joined = _joined(counts, rule)
    # A Counter keeps the order of first sight, and max the first of several.
    group_of = {form: index for index, group in enumerate(joined) for form in group}
    numbers: dict[int, int] = {}
    ids = tuple(-1 if f is None else numbers.setdefault(group_of[f], len(numbers)) for f in forms)
    best: dict[int, str] = {}
    for form, count in counts.items():
        group = group_of[form]
        if group not in best or count > counts[best[group]]:
            best[group] = form
    labels = tuple(best[group] for group in numbers)
    return Classes(ids, labels, rule.remarks())


def grade(answers: Sequence[str | None], truth: str | None, same: str | Equality | None = None) -> Graded:
    """Sort the answers to one question into classes and say which of these are the right answer.

    A class is right if any of its answers equals the truth without a doubt. MissingPackageError if
    that takes math-verify and it is not installed.

    >>> grade(["0.5", "2", r"\\frac12"], "1/2").right
    frozenset({0})
    """
    rule = equality(same)
    rule.check_truth(truth)
    pooled = rule.for_pool(GRADING_BUDGET)
    classes = classify(answers, pooled)
    if truth is None or not truth.strip():
        return Graded(classes, frozenset())
    members: dict[int, Counter[str]] = {}
    for answer, number in zip(answers, classes.ids, strict=True):
        if number >= 0 and answer is not None:
            members.setdefault(number, Counter())[answer.strip()] += 1
    right, n_unsure = set(), 0
    for number, forms in members.items():
        said = {form: verdict(form, truth.strip(), pooled) for form in sorted(forms, key=_canonical)}
        if any(said.values()):
            right.add(number)
        else:
            n_unsure += sum(forms[form] for form, one in said.items() if one is None)
    remarks = replace(pooled.remarks(), n_unsure=classes.remarks.n_unsure, n_unsure_grades=n_unsure)
    return Graded(classes._replace(remarks=remarks), frozenset(right))


def verdict(a: str, b: str, rule: Equality) -> bool | None:
    """Say whether two stripped answers are one, None if it is doubtful."""
    if a == b or (rule.key is not None and rule.key(a) == rule.key(b)):
        return True
    if rule.equal is None:
        return False
    if isinstance(rule.equal, (MathEqual, NotationOnly)):
        return rule.equal.verdict(a, b)
    return rule.equal(a, b) or rule.equal(b, a)


def _canonical(form: str) -> tuple[int, str]:
    return len(form), form


def _joined(counts: Counter[str], rule: Equality) -> list[list[str]]:
    """Return the distinct answers in groups of equal ones."""
    groups: dict[Hashable, list[str]] = {}
    for form in counts:
        mark = form if rule.key is None else rule.key(form)
        try:
            groups.setdefault(mark, []).append(form)
        except TypeError:
            raise InputError(
                f"the key of {form!r} is a {type(mark).__name__}, which can't be compared as one value:"
                " return a string, a number or a tuple"
            ) from None
    if rule.equal is None:
        return list(groups.values())
    if isinstance(rule.equal, MathEqual | NotationOnly):
        return _join_mathematics(_join_notation(groups, counts), counts, rule.equal)
    if rule.equal is plainly_equal:
        return _join_notation(groups, counts)
    equal = rule.equal
    return _join(list(groups.values()), counts, lambda a, b: equal(a, b) or equal(b, a))


def _join_notation(groups: Mapping[Hashable, list[str]], counts: Counter[str]) -> list[list[str]]:
    return [group for cluster in _clusters(groups) for group in _join(cluster, counts, plainly_equal)]


def _join_mathematics(
    groups: list[list[str]], counts: Counter[str], judge: MathEqual | NotationOnly
) -> list[list[str]]:
    """Join what the plain rules have left apart: only pairs with a formula can be equal."""
    forms = [form_of(min(group, key=_canonical)) for group in groups]
    readable = [group for group, form in zip(groups, forms, strict=True) if not form.is_text]
    if len(readable) < 2 or not any(form.is_open for form in forms):
        return groups
    texts = [group for group, form in zip(groups, forms, strict=True) if form.is_text]
    return [*_join(readable, counts, judge), *texts]


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
    speakers = [min(group, key=_canonical) for group in groups]
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
            if root(i) != root(j) and equal(a, b):
                parent[root(j)] = root(i)
    joined: dict[int, list[str]] = {}
    for i, group in enumerate(groups):
        joined.setdefault(root(i), []).extend(group)
    return list(joined.values())
