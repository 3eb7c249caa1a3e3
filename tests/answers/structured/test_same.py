"""When JSON values are the same: hand-made cases, and laws of the key."""

from __future__ import annotations

import json
import random
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.structured.same import path_text, paths, scalar_key, text_key, value_key
from distrivote.errors import InputError
from strategies import MANY

SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 2, 0.0, 1.0, -0.0, 2.5, 1e20, 10**20, 10**17 + 1])
    | st.sampled_from(["", "a", " a", "a ", "1", "true", "é", "e\u0301", "A"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def alike(a: Any, b: Any) -> bool:
    """Say by the rules, one after the other, whether two values are the same."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, str) and isinstance(b, str):
        return unicodedata.normalize("NFC", a).strip() == unicodedata.normalize("NFC", b).strip()
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    numbers = (int, float)
    return isinstance(a, numbers) and isinstance(b, numbers) and a == b


@MANY
@given(VALUES, VALUES)
def test_keys_are_equal_where_values_are_the_same(a: Any, b: Any) -> None:
    assert (value_key(a) == value_key(b)) is alike(a, b)


@MANY
@given(SCALARS, SCALARS)
def test_single_values_are_compared_as_whole_ones(a: Any, b: Any) -> None:
    assert (scalar_key(a) == scalar_key(b)) is (value_key(a) == value_key(b))


@MANY
@given(VALUES, st.randoms(use_true_random=False), st.sampled_from([None, 1, 4]))
def test_order_of_keys_white_space_and_spelling_of_numbers_do_not_count(
    value: Any, rng: random.Random, indent: int | None
) -> None:
    def shuffled(each: Any) -> Any:
        if isinstance(each, dict):
            items = list(each.items())
            rng.shuffle(items)
            return {key: shuffled(inner) for key, inner in items}
        if isinstance(each, list):
            return [shuffled(inner) for inner in each]
        if isinstance(each, int) and not isinstance(each, bool) and abs(each) < 2**53:
            return float(each)
        return each

    assert text_key(json.dumps(shuffled(value), indent=indent)) == text_key(json.dumps(value))


@pytest.mark.parametrize(
    ("a", "b", "are_same"),
    [
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
        ("1", "1.0", True),
        ("100", "1e2", True),
        ("-0.0", "0", True),
        ("1", '"1"', False),
        ("1", "true", False),
        ("null", "{}", False),
        ('{"a": null}', "{}", False),
        ("[1, 2]", "[2, 1]", False),
        ('"Paris"', '" Paris\\n"', True),
        ('"Paris"', '"paris"', False),
        ('"a b"', '"a  b"', False),
        ('"\\u00e9"', '"e\\u0301"', True),
        ('{"é": 1}', '{"e\u0301": 1}', False),
        ("12345678901234567890", "12345678901234567891", False),
        ("0.1", "0.10", True),
    ],
)
def test_pairs_by_hand(a: str, b: str, are_same: bool) -> None:
    assert (text_key(a) == text_key(b)) is are_same


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        (["id"], {"items": [{"id": 1, "n": 2}, {"id": 3, "n": 4}], "meta": {"a.b": 1, "at": 2}}),
        (["$.id"], {"items": [{"id": 1, "n": 2}, {"id": 3, "n": 4}], "meta": {"a.b": 1, "at": 2}}),
        (["items[].id", "meta"], {"id": 9, "items": [{"n": 2}, {"n": 4}]}),
        (["$.items[*].id", "meta"], {"id": 9, "items": [{"n": 2}, {"n": 4}]}),
        (["items[1]", "meta"], {"id": 9, "items": [{"id": 1, "n": 2}]}),
        (["items[1].id", "items[].n", "meta"], {"id": 9, "items": [{"id": 1}, {}]}),
        (["items[]", "meta.*"], {"id": 9, "items": [], "meta": {}}),
        (['meta["a.b"]', "items"], {"id": 9, "meta": {"at": 2}}),
        (["*"], {}),
        (["*.at", "items"], {"id": 9, "meta": {"a.b": 1}}),
        (["meta", "meta.at", "items[].id.x"], {"id": 9, "items": [{"id": 1, "n": 2}, {"id": 3, "n": 4}]}),
        (["nothing.here", "id[]", "items.id"], ...),
    ],
)
def test_paths_are_left_out(ignore: list[str], left: Any) -> None:
    value = {"id": 9, "items": [{"id": 1, "n": 2}, {"id": 3, "n": 4}], "meta": {"a.b": 1, "at": 2}}
    assert value_key(value, paths(ignore)) == value_key(value if left is ... else left)


def test_a_path_at_the_root_of_a_list() -> None:
    assert value_key([{"id": 1, "a": 2}], paths(["[].id"])) == '[{"a":2}]'
    assert value_key([{"id": 1, "a": 2}], paths(["$[].id"])) == '[{"a":2}]'


@pytest.mark.parametrize(
    "path", ["", "$", ".a", "a..b", "a.", "a[", "a[x]", "a[]b", "a b", '["a', "[-1]", '["\\x"]', 3]
)
def test_a_path_that_can_not_be_read_is_an_error_of_one_sentence(path: Any) -> None:
    with pytest.raises(InputError, match="the path") as caught:
        paths([path])
    assert caught.value.argument == "answer"


def test_a_text_for_a_list_of_paths_is_an_error() -> None:
    with pytest.raises(InputError, match="a list of paths"):
        paths("id")


@MANY
@given(st.lists(st.text(max_size=4) | st.integers(0, 9), min_size=1, max_size=4))
def test_a_path_as_text_leads_to_the_same_value(path: list[str | int]) -> None:
    value: Any = 1
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [*[0] * step, value]
    shown = path_text(tuple(path))
    assert value_key(value, paths([shown])) != value_key(value)
