"""JSON schemas and response formats: what they accept, and schemas that can't be used."""

from __future__ import annotations

import builtins
import importlib
import json
from typing import Any

import pytest

from distrivote.answers.structured.replies import read_json
from distrivote.answers.structured.schema import schema_of
from distrivote.errors import InputError, MissingPackageError

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}
FORMATS = [
    PERSON,
    {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON, "strict": True}},
    {"type": "json_schema", "name": "person", "schema": PERSON},
]


@pytest.mark.parametrize("given", FORMATS)
@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        ({"name": "Ann", "age": 3}, None),
        ({"name": "Ann", "age": 3.0}, None),
        ({"name": "Ann", "age": -1}, "age: -1 is less than the minimum of 0"),
        ({"age": 1}, "$: 'name' is a required property"),
        (["Ann"], "$: ['Ann'] is not of type 'object'"),
    ],
)
def test_a_schema_is_checked_in_every_shape(given: dict[str, Any], value: Any, flaw: str | None) -> None:
    schema = schema_of(given)
    assert schema is not None
    assert schema.flaw(value) == flaw
    assert schema.accepts(value) is (flaw is None)


def test_any_object_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", _missing)
    schema = schema_of({"type": "json_object"})
    assert schema is not None
    assert (schema.accepts({}), schema.accepts([])) == (True, False)
    assert schema_of({"type": "text"}) is None


def test_without_the_package_an_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", _missing)
    with pytest.raises(MissingPackageError, match=r"\.\[json\]"):
        schema_of(PERSON)


def _missing(name: str) -> Any:
    raise builtins.ImportError(name)


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "object",
        {"type": "objct"},
        {"type": "object", "properties": []},
        {"type": "string", "pattern": "("},
        {"minimum": "3"},
        {"$ref": "#/$defs/none"},
        {"properties": {"a": {"$ref": "https://example.invalid/a.json"}}},
        {"$ref": "other.json"},
        {"$schema": 3},
        {"type": "json_schema"},
        {"type": "json_schema", "json_schema": {"name": "x"}},
        {"type": "json_schema", "json_schema": {"schema": {"type": "objct"}}},
        {"type": "json_schema", "json_schema": 3},
    ],
)
def test_a_schema_that_can_not_be_used_is_an_error_of_one_sentence(given: Any) -> None:
    with pytest.raises(InputError, match="schema") as caught:
        schema_of(given)
    assert caught.value.argument == "answer"
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_schema_that_refers_to_itself_without_end_is_an_error() -> None:
    schema = schema_of({"$ref": "#"})
    assert schema is not None
    with pytest.raises(InputError, match="without end"):
        schema.accepts({})


@pytest.mark.parametrize(
    "given",
    [
        {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}},
        {"definitions": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/definitions/n"}}},
        {"$id": "https://example.invalid/x", "$defs": {"n": {"$id": "n", "type": "integer"}},
         "properties": {"a": {"$ref": "n"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"type": "integer"}}},
        {"$schema": "https://example.invalid/own", "properties": {"a": {"type": "integer"}}},
    ],
)  # fmt: skip
def test_references_within_a_schema_are_followed(given: dict[str, Any]) -> None:
    schema = schema_of(given)
    assert schema is not None
    assert schema.accepts({"a": 1})
    assert not schema.accepts({"a": "x"})


def test_a_tree_refers_to_itself() -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    schema = schema_of(tree)
    assert schema is not None
    assert schema.accepts({"children": [{"children": []}]})
    assert (
        schema.flaw({"children": [{"children": [3]}]}) == "children[0].children[0]: 3 is not of type 'object'"
    )


def test_a_remainder_that_no_double_holds_is_a_flaw() -> None:
    schema = schema_of({"multipleOf": 1e-320})
    assert schema is not None
    assert isinstance(schema.accepts(1e300), bool)


def test_replies_that_do_not_satisfy_a_schema_are_counted_and_no_answers() -> None:
    texts = ['{"name": "Ann"}', '```json\n{"name": 3}\n```', '{"name": "Ann", "age"', "who?", '{"name": 3}']
    replies = read_json(texts, schema_of(PERSON))
    assert replies.keys == ('{"name":"Ann"}', None, None, None, None)
    assert [found.extraction is not None for found in replies.findings] == [True, False, False, False, False]
    assert (replies.n_absent, replies.n_cut, replies.n_invalid) == (1, 1, 2)
    assert replies.notes == (
        "1 reply has no JSON: no answer",
        "1 reply breaks off in JSON: no answer",
        "2 replies do not satisfy the schema, first at name: 3 is not of type 'string': no answer",
    )


def test_spaces_that_a_schema_minds_count_for_it() -> None:
    schema = schema_of({"enum": ["a"]})
    replies = read_json([json.dumps("a"), json.dumps(" a")], schema)
    assert replies.keys == ('"a"', None)
