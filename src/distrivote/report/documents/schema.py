"""JSON Schemas of the documents, made from their types in `fields`."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from distrivote.report.documents.fields import DOCUMENTS, OPEN

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def json_schema(document: type | None = None) -> dict[str, Any]:
    """Return the JSON Schema of a document with its parts inlined; without one, all of them under `$defs`."""
    if document is not None:
        return _object(document, json_schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "distrivote",
        "description": "The JSON of votes: documents by name.",
        "$defs": {each.__name__: _object(each, _reference) for each in DOCUMENTS},
    }


def _reference(document: type) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{document.__name__}"}


def _object(document: type, nested: Callable[[type], dict[str, Any]]) -> dict[str, Any]:
    fields = get_type_hints(document, include_extras=True)
    return {
        "type": "object",
        "description": " ".join(inspect.cleandoc(document.__doc__ or "").split()),
        "properties": {name: _value(kind, nested) for name, kind in fields.items()},
        "required": list(fields),
        "additionalProperties": document in OPEN,
    }


def _value(kind: Any, nested: Callable[[type], dict[str, Any]]) -> dict[str, Any]:
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        described, words = inside
        return {"description": words} | _value(described, nested)
    if origin in (Union, types.UnionType):
        each = [_value(one, nested) for one in inside]
        if all(set(one) == {"type"} for one in each):
            return {"type": [one["type"] for one in each]}
        return {"anyOf": each}
    if origin is list:
        return {"type": "array", "items": _value(inside[0], nested)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _value(inside[1], nested)}
    if kind is Any:
        return {}
    return nested(kind) if is_typeddict(kind) else {"type": _NAMES[kind]}
