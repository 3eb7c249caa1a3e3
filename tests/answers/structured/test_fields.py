"""Votes field by field: cases by hand, and laws with the votes of the library."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.structured.confidences import value_confidences
from distrivote.answers.structured.fields import Composed, compose
from distrivote.answers.structured.find import find_json
from distrivote.answers.structured.parse import document
from distrivote.answers.structured.same import scalar_key, value_key
from distrivote.answers.structured.schema import schema_of
from distrivote.answers.structured.slots import Elect
from distrivote.trajectory import Trajectory
from distrivote.voting.probability import Calibration
from distrivote.voting.vote import elect
from strategies import LAW, MANY


def by(method: str, calibration: Calibration | None = None) -> Elect:
    def held(classes: Any, confidences: Any) -> Any:
        offsets = np.arange(len(classes) + 1) * classes.shape[1]
        flat = classes.ravel(), confidences.ravel(), offsets
        return elect(*flat, [method], calibration=calibration)[method]

    return held


def composed(
    values: list[Any], confidences: list[list[float]] | None = None, method: str = "sc", **more: Any
) -> Composed:
    documents = [None if value is ... else document(json.dumps(value)) for value in values]
    sure = [None] * len(values) if confidences is None else [np.array(row, float) for row in confidences]
    whole = more.pop("whole", next(at for at, value in enumerate(values) if value is not ...))
    return compose(documents, sure, by(method, more.pop("calibration", None)), whole, **more)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # each field by its own majority: nobody said this object
        (
            [{"a": 1, "b": 2, "c": 9}, {"a": 1, "b": 9, "c": 3}, {"a": 9, "b": 2, "c": 3}],
            {"a": 1, "b": 2, "c": 3},
        ),
        # absence is a vote
        ([{"a": 1}, {"a": 1}, {"a": 1, "b": 2}], {"a": 1}),
        ([{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1}, {"a": 1}], {"a": 1, "b": 1}),
        ([{"a": 1, "b": None}, {"a": 1, "b": None}, {"a": 1}], {"a": 1, "b": None}),
        # kinds
        ([{"a": {"x": 1}}, {"a": {"x": 1}}, {"a": "x"}], {"a": {"x": 1}}),
        ([{"a": [1]}, {"a": 1}, {"a": 1}], {"a": 1}),
        ([[1], {"a": 1}, {"a": 1}], {"a": 1}),
        (["x", "y", "y"], "y"),
        # below an object only those vote that have it
        (
            [{"a": {"x": 1, "y": 1}}, {"a": {"x": 2, "y": 1}}, {"a": {"x": 2}}, {}, {}],
            {"a": {"x": 2, "y": 1}},
        ),
        # lists
        ([[1, 2], [1, 2], [1, 2, 3]], [1, 2]),
        ([[1, 9, 3], [1, 2, 9], [9, 2, 3]], [1, 2, 3]),
        ([{"a": []}, {"a": []}, {"a": [1]}], {"a": []}),
        ([{"a": {}}, {"a": {}}, {"a": {"b": 1}}], {"a": {}}),
        (
            [
                [{"n": "a", "v": 1}, {"n": "b", "v": 2}],
                [{"n": "b", "v": 2}, {"n": "a", "v": 7}],
                [{"n": "a", "v": 1}, {"n": "b", "v": 5}],
            ],
            [{"n": "a", "v": 1}, {"n": "b", "v": 2}],
        ),
        ([[[1, 2], [3]], [[1, 2], [3]], [[1], [3]]], [[1, 2], [3]]),
        # spelling
        ([{"a": " x"}, {"a": "x"}, {"a": "x"}, {"a": "y"}], {"a": "x"}),
        ([1.0, 1.0, 1, 2], 1.0),
        ([True, 1, True], True),
        # those without JSON have no say
        ([..., {"a": 1}, ..., {"a": 2}, {"a": 2}], {"a": 2}),
        # the order of keys is that of most
        ([{"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 2, "a": 1}], {"a": 1, "b": 2}),
    ],
)
def test_majorities_by_hand(values: list[Any], expected: Any) -> None:
    found = composed(values)
    assert found.text == json.dumps(expected)
    assert found.note is None
    assert found.is_whole is any(value_key(v) == value_key(expected) for v in values if v is not ...)


def test_the_confidence_of_a_value_counts_at_its_own_path() -> None:
    values = [{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 2, "b": 2}]
    found = composed(values, [[9, 1], [2, 2], [2, 4]], "wsc")
    assert found.value == {"a": 1, "b": 2}
    one, two = found.fields
    assert (one.path, one.value, one.votes, one.n, one.confidence) == ("a", 1, 1, 3, 9.0)
    assert one.share == pytest.approx(9 / 13)
    assert (two.path, two.value, two.votes, two.confidence) == ("b", 2, 2, 3.0)
    assert two.share == pytest.approx(6 / 7)
    assert math.isnan(two.probability)


def test_absence_has_the_confidence_of_the_object_around() -> None:
    # One object with b is as sure as (6 + 8) / 2 = 7, two without it 3 and 3.
    values = [{"a": 1, "b": 1}, {"a": 1}, {"a": 1}]
    assert composed(values, [[6, 8], [3], [3]], "wsc").value == {"a": 1, "b": 1}
    assert composed(values, [[3, 8], [3], [3]], "wsc").value == {"a": 1}


def test_the_length_of_a_list_has_the_confidence_of_the_list() -> None:
    values = [{"x": 1, "a": [1, 2]}, {"x": 1, "a": [1]}, {"x": 1, "a": [1]}]
    assert composed(values, [[1, 5, 5], [9, 2], [9, 2]], "wsc").value == {"x": 1, "a": [1, 2]}
    assert composed(values, [[9, 3, 3], [1, 2], [1, 2]], "wsc").value == {"x": 1, "a": [1]}


def test_paths_are_those_of_the_result() -> None:
    value = {"a": [{"b c": 1}, {"b c": 2}], "d": [], "e": {}}
    assert [each.path for each in composed([value]).fields] == ['a[0]["b c"]', 'a[1]["b c"]', "d", "e"]
    assert composed([3]).fields[0].path == "$"


def test_probabilities_come_from_the_vote() -> None:
    found = composed([{"a": 1}] * 9 + [{"a": 2}], method="auto", calibration=Calibration())
    assert 0.5 < found.fields[0].probability <= 1


def test_an_object_that_does_not_satisfy_the_schema_gives_way_to_the_whole_one() -> None:
    values = [{"a": 1, "b": 2, "c": 9}, {"a": 1, "b": 9, "c": 3}, {"a": 9, "b": 2, "c": 3}]
    schema = schema_of({"not": {"const": {"a": 1, "b": 2, "c": 3}}})
    assert schema is not None
    found = composed(values, whole=1, flaw=schema.flaw)
    assert (found.value, found.is_whole) == (values[1], True)
    assert found.text == json.dumps(values[1])
    assert found.note is not None
    assert "won as a whole" in found.note
    assert [each.value for each in found.fields] == [1, 2, 3]


def test_an_object_of_keys_that_are_all_absent_gives_way_to_the_whole_one() -> None:
    found = composed([{"x": {"a": 1}}, {"x": {"b": 1}}, {"x": {"c": 1}}], whole=2)
    assert found.value == {"x": {"c": 1}}
    assert found.note is not None
    assert "no key of x" in found.note


def test_a_document_must_have_won_as_a_whole() -> None:
    with pytest.raises(ValueError, match="no document"):
        composed([..., 1], whole=0)


def test_there_is_a_confidence_for_each_leaf() -> None:
    with pytest.raises(ValueError, match="1 leaves but 2 confidences"):
        composed([{"a": 1}], [[1, 2]])


SCALARS = st.sampled_from([0, 1, 1.0, "x", "y", " x", None, True])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
POOLS = st.lists(VALUES, min_size=1, max_size=7)
METHODS = st.sampled_from(["sc", "wsc", "bon", "dis-gmm", "auto"])


def n_leaves(value: Any) -> int:
    return len(document(json.dumps(value)).places)


def sure(values: list[Any], seed: int) -> list[list[float]]:
    rng = random.Random(seed)
    return [[rng.uniform(1, 20) for _ in range(n_leaves(value))] for value in values]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> set[Any]:
    """Return the leaves of a value at their paths, without the places in lists."""
    if isinstance(value, dict) and value:
        return {leaf for key, each in value.items() for leaf in leaves(each, (*path, key))}
    if isinstance(value, list) and value:
        return {leaf for each in value for leaf in leaves(each, (*path, "[]"))}
    return {(path, json.dumps(value))}


@pytest.mark.slow
@MANY
@given(POOLS, METHODS, st.integers(0, 99))
def test_no_value_is_invented(values: list[Any], method: str, seed: int) -> None:
    found = composed(values, sure(values, seed), method)
    said = {leaf for value in values for leaf in leaves(value)}
    assert leaves(found.value) <= said
    assert json.loads(found.text) == found.value
    assert found.is_whole is (value_key(found.value) in map(value_key, values))
    assert all(0 <= each.votes <= each.n == len(values) for each in found.fields)


@MANY
@given(VALUES, st.integers(1, 5), METHODS, st.integers(0, 99))
def test_what_all_agree_on_is_the_result(value: Any, n: int, method: str, seed: int) -> None:
    found = composed([value] * n, sure([value] * n, seed), method)
    assert found.text == json.dumps(value)
    assert (found.is_whole, found.note) == (True, None)
    assert len(found.fields) == n_leaves(value)
    assert all(each.votes == n for each in found.fields)


@pytest.mark.slow
@MANY
@given(POOLS, st.sampled_from(["wsc", "bon", "dis-gmm"]), st.integers(0, 99), st.data())
def test_the_order_of_trajectories_does_not_count(
    values: list[Any], method: str, seed: int, data: st.DataObject
) -> None:
    confidences = sure(values, seed)
    order = data.draw(st.permutations(range(len(values))))
    one = composed(values, confidences, method)
    other = composed(
        [values[at] for at in order], [confidences[at] for at in order], method, whole=order.index(0)
    )
    assert (one.text, one.is_whole, one.note) == (other.text, other.is_whole, other.note)
    shown = [[(each.path, repr(each.value), each.votes) for each in found.fields] for found in (one, other)]
    assert shown[0] == shown[1]


@LAW
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcd"), SCALARS, min_size=1, max_size=4), min_size=1, max_size=9
    )
)
def test_flat_objects_have_the_majority_of_each_key(values: list[dict[str, Any]]) -> None:
    found = composed(values)
    if found.note is not None:
        return
    for key in "abcd":
        said = Counter(scalar_key(value[key]) for value in values if key in value)
        n_absent = len(values) - said.total()
        if key in found.value:
            assert said.total() >= n_absent
            assert said[scalar_key(found.value[key])] == max(said.values())
        else:
            assert n_absent >= said.total()


@LAW
@given(POOLS)
def test_without_confidences_every_method_is_the_majority(values: list[Any]) -> None:
    assert composed(values, method="auto").text == composed(values, method="sc").text


def test_the_surest_alone_decides_by_best_of_n() -> None:
    values = [{"a": 1, "b": [1]}, {"a": 2, "b": [2]}, {"a": 2, "b": [2]}]
    assert composed(values, [[9, 9], [1, 1], [1, 1]], "bon").value == values[0]


def test_replies_are_composed_by_the_confidences_of_their_tokens() -> None:
    replies = [
        (("It is ", '{"a": ', "1", ', "b": ', "1", "}"), (9, 9, 6, 9, 1, 9)),
        (('{"a": ', "2", ', "b": ', "2", "}", " I think."), (1, 2, 1, 2, 1, 1)),
        (('{"a": ', "2", ', "b": ', "2", "}"), (1, 2, 1, 2, 1)),
    ]
    documents, confidences = [], []
    for tokens, values in replies:
        tops = np.array([[-value, -value] for value in values], dtype=float)
        one = Trajectory("".join(tokens), tokens, tops, np.zeros(len(tokens)))
        documents.append(document(one.text, find_json(one.text).start))
        confidences.append(value_confidences(one, documents[-1].places))
    found = compose(documents, confidences, by("wsc"), 1)
    assert found.text == '{"a": 1, "b": 2}'
    assert [(each.votes, each.confidence) for each in found.fields] == [(1, 6.0), (2, 2.0)]
    assert not found.is_whole


def test_the_runner_up_is_the_most_frequent_other_value() -> None:
    from distrivote import Trajectory, solution_of

    given = ['{"a": 1}'] * 4 + ['{"a": 2}'] * 2 + ['{"a": 3}']
    for texts in (given, given[::-1]):
        replies = [Trajectory(text, index=at) for at, text in enumerate(texts)]
        found = solution_of("?", replies, answer="json:fields", method="sc", steering=None)
        assert found.composed is not None
        (field,) = found.composed.fields
        assert (field.value, field.votes, field.runner_up) == (1, 4, (2, 2))
