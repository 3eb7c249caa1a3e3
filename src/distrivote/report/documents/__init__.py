"""The JSON of a vote, defined once for the command line, the server, its page and files.

`fields` defines each document, and `schema` makes a JSON Schema from it. The other modules turn values into
plain dictionaries. docs/reference/documents.md describes them.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.report.documents.schema import json_schema
    from distrivote.report.documents.solutions import (
        ask_document,
        solution_document,
        trajectory_documents,
    )
    from distrivote.report.documents.tallies import number, split_document, tally_document
    from distrivote.report.documents.trajectories import stored_trajectory_document, trajectory_document
    from distrivote.report.documents.votes import summary_document

__all__ = [
    "ask_document",
    "json_schema",
    "number",
    "solution_document",
    "split_document",
    "stored_trajectory_document",
    "summary_document",
    "tally_document",
    "trajectory_document",
    "trajectory_documents",
]

__getattr__ = face(
    __name__,
    {
        "schema": "json_schema",
        "solutions": "ask_document solution_document trajectory_documents",
        "tallies": "number split_document tally_document",
        "trajectories": "stored_trajectory_document trajectory_document",
        "votes": "summary_document",
    },
)
