"""Checks documents against the JSON Schema that users read: docs/reference/documents.schema.json."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

SCHEMA = Path(__file__).parents[1] / "docs" / "reference" / "documents.schema.json"


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert name in schema["$defs"]
    return jsonschema.Draft202012Validator(schema | {"$ref": f"#/$defs/{name}"})


def conforms(document: Any, name: str) -> None:
    """Fail unless a document is what the schema calls by this name."""
    _validator(name).validate(document)
