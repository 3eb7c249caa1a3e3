"""Kinds of answers: what counts as an answer, when two are the same, how the winner is shown."""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.answers.kinds.kind import Kind
    from distrivote.answers.kinds.names import KINDS, asked_kind, kind_named
    from distrivote.answers.kinds.programs import code_kind
    from distrivote.answers.kinds.structures import json_kind, tool_kind

__all__ = ["KINDS", "Kind", "asked_kind", "code_kind", "json_kind", "kind_named", "tool_kind"]

__getattr__ = face(
    __name__,
    {
        "kind": "Kind",
        "names": "KINDS asked_kind kind_named",
        "programs": "code_kind",
        "structures": "json_kind tool_kind",
    },
)
