"""The JSON Schema is made from the types, and refuses what they do not have."""

from __future__ import annotations

import jsonschema
import pytest

from conforming import conforms
from distrivote.report.documents import json_schema
from distrivote.report.documents.fields import DOCUMENTS, SplitDocument, TallyDocument

SPLIT = {"cut": None, "n_positive": 3, "n_negative": 0, "weights": None, "means": [1, 2.5], "sds": None}


def test_a_type_is_a_closed_object_with_a_sentence_for_every_field() -> None:
    assert json_schema(SplitDocument)["properties"]["cut"] == {
        "description": "Midpoint between the two sides; null if nothing is likely wrong.",
        "type": ["number", "null"],
    }
    for document in json_schema()["$defs"].values():
        assert document["required"] == list(document["properties"])
        assert all(field["description"].endswith(".") for field in document["properties"].values())


def test_parts_are_referred_to_or_written_out() -> None:
    whole = json_schema()["$defs"]["TallyDocument"]["properties"]["split"]
    assert whole["anyOf"] == [{"$ref": "#/$defs/SplitDocument"}, {"type": "null"}]
    alone = json_schema(TallyDocument)["properties"]["split"]
    assert alone["anyOf"] == [json_schema(SplitDocument), {"type": "null"}]
    assert set(json_schema()["$defs"]) == {document.__name__ for document in DOCUMENTS}


@pytest.mark.parametrize(
    "wrong",
    [
        SPLIT | {"n_positive": 1.5},
        SPLIT | {"means": [1, None]},
        SPLIT | {"more": 1},
        {name: value for name, value in SPLIT.items() if name != "sds"},
    ],
)
def test_what_is_not_in_the_types_does_not_conform(wrong: dict[str, object]) -> None:
    conforms(SPLIT, "SplitDocument")
    with pytest.raises(jsonschema.ValidationError):
        conforms(wrong, "SplitDocument")
