"""Write documents.md and documents.schema.json from the types of the documents.

`python docs/reference/make_documents.py`

A test compares both with the output of this script, so that they stay up to date.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from distrivote.report.documents import json_schema
from distrivote.report.documents.fields import DOCUMENTS

PAGE = Path(__file__).with_name("documents.md")
SCHEMA = Path(__file__).with_name("documents.schema.json")
_INTRODUCTION = """\
# Documents

The JSON of votes, which is the same in every interface. Generated from the types in
`distrivote/report/documents/fields.py` by `python docs/reference/make_documents.py`;
[documents.schema.json](documents.schema.json) is the same as a JSON Schema (draft 2020-12), with each
document under `$defs`.

Every field is always present. A value that is unknown or does not exist is `null`, and so is NaN, which JSON
does not have. Higher confidence always means surer. Names are the same as in Python and in the Parquet
columns. A model's texts are plain text, never HTML. Maps by answer have the answers as keys; `answers` has
their order.
"""
_INTERFACES = {
    "`distrivote ask --json`": "AskDocument",
    "`distrivote vote --json`": "VotesDocument",
    "`distrivote vote --explain QUESTION --json`": "ExplainedDocument",
    "`distrivote vote -o FILE`: rows of Parquet, JSON Lines, CSV": "VoteRow",
    "[the server](../server.md): `distrivote` in a reply; with `event` in a stream": "SolutionDocument",
    "[the page](../server-events.md): event `trajectory`": "TrajectoryDocument",
    "the page: event `tally`": "TallyDocument",
    "the page: event `final`": "SolutionDocument",
    "the page: `questions` of `/api/run/questions`": "RunRow",
    "the page: `/api/run/questions/{id}`": "RunQuestion",
    "the page: `/api/run/questions/{id}/samples/{sample}`": "TrajectoryDocument",
}


def schema() -> str:
    """Return the JSON Schema as text."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def page() -> str:
    """Return the page."""
    rows = [f"| {interface} | {_link(name)} |" for interface, name in _INTERFACES.items()]
    table = "\n".join(["| interface | document |", "|---|---|", *rows, ""])
    return "\n".join([_INTRODUCTION, table, *(_section(each) for each in DOCUMENTS)])


def _section(document: type) -> str:
    properties: dict[str, Any] = json_schema()["$defs"][document.__name__]["properties"]
    parent = _parent(document)
    inherited = set() if parent is None else set(parent.__annotations__)
    own = {name: value for name, value in properties.items() if name not in inherited}
    lines = [f"## {document.__name__}", "", inspect.cleandoc(document.__doc__ or "")]
    if parent is not None:
        lines += ["", f"All fields of {_link(parent.__name__)}, and:"]
    lines += ["", "| field | type | |", "|---|---|---|"]
    lines += [f"| `{name}` | {_kind(value)} | {value['description']} |" for name, value in own.items()]
    return "\n".join([*lines, ""])


def _parent(document: type) -> type | None:
    """Return the largest document whose fields this one also has; a TypedDict does not keep its bases."""
    ours = set(document.__annotations__)
    smaller = [each for each in DOCUMENTS if set(each.__annotations__) < ours]
    return max(smaller, key=lambda each: len(each.__annotations__), default=None)


def _kind(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return _link(value["$ref"].rpartition("/")[2])
    if "anyOf" in value:
        return " or ".join(_kind(each) for each in value["anyOf"])
    if "type" not in value:
        return "anything"
    if isinstance(value["type"], list):
        return " or ".join(value["type"])
    if value["type"] == "array":
        return f"list of {_inside(value['items'])}"
    if value["type"] == "object":
        return f"map to {_inside(value['additionalProperties'])}"
    return str(value["type"])


def _inside(value: dict[str, Any]) -> str:
    kind = _kind(value)
    return f"({kind})" if " or " in kind else kind


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def main() -> None:
    PAGE.write_text(page())
    SCHEMA.write_text(schema())
    print(PAGE, SCHEMA, sep="\n")


if __name__ == "__main__":
    main()
