"""Which answers are the same, and which are right: answers -> class ids.

`classify` makes a partition: equality is made symmetric by asking both ways, and transitive by joining
whatever is connected, so the result does not depend on the order of the answers. An `Equality` defines what
"equal" means, by default `math`. `grade` also says which classes are right; the right answer never joins two
classes, so that a vote is the same whether the right answer is known or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from distrivote.answers.equality import Equal, Equality, NotationOnly, Same, equality
from distrivote.answers.forms import form_of, is_fine, is_longer, plainly_equal, scaled
from distrivote.answers.mathverify import MathEqual
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError

GRADING_BUDGET = 60.0
"""The time limit in seconds for the answers to one question that are graded once and stored; a question that
a user is waiting for has less (`MathVerifier.budget`)."""


class Classes(NamedTuple):
    """A partition of answers, in the order in which they were given."""

    ids: tuple[int, ...]
    """The class of each answer, -1 for no answer; numbered in the order of first occurrence."""

    labels: tuple[str, ...]
    """The most frequent form of each class; on ties, the one that occurs first."""

    remarks: Remarks = Remarks()

    @property
    def answers(self) -> list[str | None]:
        """The label of each answer's class, None for no answer."""
        return [None if i < 0 else self.labels[i] for i in self.ids]


class Graded(NamedTuple):
    """The classes of the answers to one question, and which of them are right."""

    classes: Classes
    right: frozenset[int]
    """Ids of the classes that equal the right answer."""

    @property
    def remarks(self) -> Remarks:
        return self.classes.remarks


def same_answer(a: str, b: str, same: Same | None = None) -> bool:
    """Say whether two answers are the same, by the rules of `classify`.

    >>> same_answer("0.5", r"\\frac12"), same_answer("0.5", "5")
    (True, False)
    """
    ids = classify([a, b], same).ids
    return ids[0] == ids[1] >= 0


def classify(answers: Sequence[str | None], same: Same | None = None) -> Classes:
    """Sort answers into classes of equal answers; None and blank answers belong to no class.

    Answers with the same key are equal. Then the equality is called for every two keys that are not joined
    yet, with the shortest answer of each; frequent answers come first, in case it has a time limit.

    >>> classify(["0.5", r"\\frac12", "7", None, "1/2", "$0.5$"]).ids
    (0, 0, 1, -1, 0, 0)
    >>> classify([r"\\frac{1}{\\sqrt{2}}", r"\\frac{\\sqrt{2}}{2}"], "notation").ids
    (0, 1)
    """
    rule = equality(same).for_pool()
    forms = [None if answer is None else answer.strip() or None for answer in answers]
    counts = Counter(form for form in forms if form is not None)
    remarks = Remarks()
    if rule.sort is not None:
        # In a fixed order, so that the result does not depend on the order of the answers.
        distinct = sorted(counts, key=_canonical)
        sorting = rule.sort(rule.question, distinct)
        group_of = dict(zip(distinct, sorting.ids, strict=True))
        forms = [None if form is None or group_of[form] < 0 else form for form in forms]
        counts = Counter(form for form in forms if form is not None)
        remarks = Remarks(said=tuple(sorting.notes))
    else:
        joined = _joined(counts, rule)
        group_of = {form: index for index, group in enumerate(joined) for form in group}
        remarks = rule.remarks()
    # A Counter keeps the order of first occurrence, and max returns the first of several.
    numbers: dict[int, int] = {}
    ids = tuple(-1 if f is None else numbers.setdefault(group_of[f], len(numbers)) for f in forms)
    best: dict[int, str] = {}
    for form, count in counts.items():
        group = group_of[form]
        if group not in best or count > counts[best[group]]:
            best[group] = form
    labels = tuple(best[group] for group in numbers)
    return Classes(ids, labels, remarks)


def grade(answers: Sequence[str | None], truth: str | None, same: Same | None = None) -> Graded:
    """Sort the answers to one question into classes and say which classes are right.

    A class is right if any of its answers equals the right answer without a doubt. Raises
    MissingPackageError if that needs math-verify and it is not installed.

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
    """Say whether two stripped answers are the same, None if it is doubtful."""
    if a == b or (rule.key is not None and rule.key(a) == rule.key(b)):
        return True
    if rule.sort is not None:
        first, second = rule.sort(rule.question, sorted((a, b), key=_canonical)).ids
        return first == second >= 0
    if rule.equal is None:
        return False
    if isinstance(rule.equal, (MathEqual, NotationOnly)):
        return rule.equal.verdict(a, b)
    return rule.equal(a, b) or rule.equal(b, a)


def _canonical(form: str) -> tuple[int, str]:
    return len(form), form


def _joined(counts: Counter[str], rule: Equality) -> list[list[str]]:
    """Return the distinct answers in groups of equal answers."""
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
        return _join_mathematics(_join_notation(groups), counts, rule.equal)
    if rule.equal is plainly_equal:
        return _join_notation(groups)
    equal = rule.equal
    return _join(list(groups.values()), counts, lambda a, b: equal(a, b) or equal(b, a))


def _join_notation(groups: Mapping[Hashable, list[str]]) -> list[list[str]]:
    """Join numbers that are rounded from each other; the plain rules join nothing else.

    Every number is rounded to each number of decimal places that occurs, and looked up: the time grows with
    the number of answers, not with the number of pairs.
    """
    joined = list(groups.values())
    forms = {
        i: form_of(min(joined[i], key=_canonical)) for i, key in enumerate(groups) if not isinstance(key, str)
    }
    decimals: dict[int, dict[int, int]] = {}
    for i, form in forms.items():
        if is_fine(form):
            decimals.setdefault(form.places, {})[scaled(form, form.places)] = i
    union = Union(len(joined))
    for i, form in forms.items() if decimals else ():
        for places, known in decimals.items():
            found = known.get(scaled(form, places)) if is_longer(form, places) else None
            if found is not None:
                union.join(i, found)
    return union.merged(joined)


def _join_mathematics(
    groups: list[list[str]], counts: Counter[str], judge: MathEqual | NotationOnly
) -> list[list[str]]:
    """Join answers that the plain rules have not joined: only pairs with a formula can be equal."""
    forms = [form_of(min(group, key=_canonical)) for group in groups]
    readable = [group for group, form in zip(groups, forms, strict=True) if not form.is_text]
    if len(readable) < 2 or not any(form.is_open for form in forms):
        return groups
    texts = [group for group, form in zip(groups, forms, strict=True) if form.is_text]
    is_open = [form.is_open for form in forms if not form.is_text]
    return [*_join(readable, counts, judge, is_open), *texts]


class Union:
    """Union-find: groups that are joined pair by pair."""

    def __init__(self, n: int) -> None:
        self._parent = list(range(n))

    def root(self, i: int) -> int:
        while self._parent[i] != i:
            self._parent[i] = self._parent[self._parent[i]]
            i = self._parent[i]
        return i

    def join(self, i: int, j: int) -> None:
        self._parent[self.root(j)] = self.root(i)

    def merged(self, groups: Sequence[list[str]]) -> list[list[str]]:
        """Return the groups that are connected."""
        joined: dict[int, list[str]] = {}
        for i, group in enumerate(groups):
            joined.setdefault(self.root(i), []).extend(group)
        return list(joined.values())


def _join(
    groups: list[list[str]], counts: Counter[str], equal: Equal, is_open: Sequence[bool] | None = None
) -> list[list[str]]:
    """Return the connected groups joined; two groups that are both not open are not compared."""
    if len(groups) == 1:
        return groups
    # No choice here may depend on the order of the answers: `equal` need not be transitive.
    speakers = [min(group, key=_canonical) for group in groups]
    weights = [sum(counts[form] for form in group) for group in groups]
    order = sorted(range(len(groups)), key=lambda i: (-weights[i], len(speakers[i]), speakers[i]))
    union = Union(len(groups))
    earlier: list[int] = []
    earlier_open: list[int] = []
    for j in order:
        asks_all = is_open is None or is_open[j]
        for i in earlier if asks_all else earlier_open:
            if union.root(i) != union.root(j) and equal(speakers[i], speakers[j]):
                union.join(i, j)
        earlier.append(j)
        if asks_all:
            earlier_open.append(j)
    return union.merged(groups)
