"""Strict JSON with the places of its leaves, against Python's own reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.structured.parse import State, closing, decode, document, loaded, written
from strategies import LAW, MANY

NUMBERS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def leaves(value: Any) -> list[Any]:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [leaf for each in inner for leaf in leaves(each)] if inner else [value]


@MANY
@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_every_leaf_has_the_place_of_its_text(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = "so: " + json.dumps(value, indent=indent, ensure_ascii=ascii_only) + " done"
    found = document(text, 4)
    assert found.value == value
    assert [json.loads(text[start:end]) for start, end in found.places] == leaves(value)


@pytest.mark.slow
@MANY
@given(
    st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=5), st.integers(0, 500), st.booleans()
)
def test_every_beginning_of_an_object_is_cut_off(value: dict[str, Any], at: int, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert decode(text).state is State.WHOLE
    assert decode(text[: 1 + at % (len(text) - 1)]).state is State.CUT


@MANY
@given(VALUES, st.integers(0, 200), st.sampled_from('{}[],:"x1 '))
def test_what_python_does_not_read_is_not_read(value: Any, at: int, letter: str) -> None:
    text = json.dumps(value)
    text = text[: at % len(text)] + letter + text[at % len(text) + 1 :]
    twice: list[bool] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    try:
        expected = json.loads(text, object_pairs_hook=note)
    except ValueError:
        expected = ...
    if expected is ... or any(twice):
        with pytest.raises(ValueError, match="not JSON"):
            loaded(text)
    else:
        assert loaded(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[Infinity]",
        "[-Infinity]",
        "[1e999]",
        '{"a": 1,}',
        "[1, 2,]",
        "{'a': 1}",
        '{a: 1}',
        '{"a": 1 // one\n}',
        '{"a": "line\nbreak"}',
        '{"a": True}',
        '{"a": 01}',
        "[" * 101 + "]" * 101,
        "[" * 100_000,
        '{"a": "\\x"}',
    ],
)  # fmt: skip
def test_what_is_not_strict_json_is_not_read(text: str) -> None:
    assert decode(text).state is State.INVALID


def test_a_hundred_lists_in_each_other_are_read() -> None:
    assert decode("[" * 100 + "]" * 100).state is State.WHOLE


@LAW
@given(VALUES)
def test_a_closing_bracket_is_found_past_strings(value: Any) -> None:
    text = json.dumps([value])
    assert closing(text + "]}", 0) == len(text)


@LAW
@given(VALUES)
def test_what_is_written_can_be_encoded_and_read_again(value: Any) -> None:
    text = written([value, "\ud800"])
    assert text.isascii()
    assert json.loads(text) == [value, "\ud800"]
    assert json.loads(written(value).encode()) == value
