"""JSON with the places of its values, against Python's own reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.structured.parse import canonical, document_in, read

NUMBERS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_what_python_writes_is_read_with_the_place_of_every_leaf(
    value: Any, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = read(text)
    assert found is not None
    assert (found.value, found.end) == (value, len(text))
    assert all(json.loads(text[leaf.start : leaf.end]) == leaf.value for leaf in found.leaves.values())


@given(VALUES, st.integers(0, 200), st.sampled_from('{}[],:"x1 '))
def test_what_python_does_not_read_is_not_read_whole(value: Any, at: int, letter: str) -> None:
    text = json.dumps(value)
    text = text[: at % len(text)] + letter + text[at % len(text) + 1 :]
    found = read(text)
    try:
        expected = json.loads(text)
    except ValueError:
        assert found is None or text[found.end :].strip()
    else:
        assert found is not None
        assert found.value == expected


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5))
def test_the_order_of_keys_does_not_count(value: dict[str, Any]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Here: {"a": [1, 2]} and done.', {"a": [1, 2]}),
        ('{"a": 1} no, {"a": 2}', {"a": 2}),
        ('<think>{"a": 1}</think>{"a": 2}', {"a": 2}),
        ('{"a": 1} see [1]', {"a": 1}),
        ('{"a": ', None),
        ("{{{{", None),
        ("nothing", None),
    ],
)
def test_the_json_of_a_reply_is_found(reply: str, value: Any) -> None:
    found = document_in(reply)
    assert (None if found is None else found.value) == value
