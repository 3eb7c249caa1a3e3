"""A kind of answer: where the answer is in a reply, when two are the same, and how the winner is shown.

Everything else (confidence, split, rejection, vote, probability) is the same for all kinds. A kind knows no
engine and no vote; `Poll` uses it at the few places where kinds differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from distrivote.answers.equality import Equality
from distrivote.answers.extract import Extraction, Extractor, is_finished, reply_start
from distrivote.answers.structured.schema import Schema

Pick: TypeAlias = Callable[[Sequence[str], Sequence[float]], int]
"""The answers of a class and their confidences -> the index of the answer that represents it."""

_LINE = 60


def one_line(answer: str) -> str:
    """Return an answer in one line of at most 60 characters.

    >>> one_line("def f(x):\\n    return x")
    'def f(x): return x'
    """
    line = " ".join(answer.split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


@dataclass(frozen=True, slots=True)
class Kind:
    """What counts as an answer."""

    name: str
    """Its name in Python, the CLI and the server: math, short, json, code, label:a,b ..."""

    find: Extractor
    same: Equality
    title: str
    """Its description in a sentence: "number", "JSON, field by field"."""

    is_long: bool = False
    """Whether the answer is shown as a block of text, not in a line."""

    closes: bool = False
    """Whether an answer of this kind has its own end mark (a bracket, a fence), so that an answer found in a
    truncated reply is complete."""

    reads_thinking: bool = False
    """Whether an answer that occurs only in the reasoning before a reply counts, as in the paper."""

    line: Callable[[str], str] = one_line
    """An answer in one line, for tables."""

    pick: Pick | None = None
    """Which answer represents its class; by default the most frequent one."""

    by_field: bool = False
    """Whether the result is composed from votes on each field."""

    schema: Schema | None = None
    """The schema that JSON must satisfy."""

    no_probability: str | None = None
    """Why such answers have no probability of being right, in a sentence."""

    notes: tuple[str, ...] = ()
    """Caveats about answers of this kind, a sentence each."""

    def read(self, text: str, *, is_cut: bool) -> Extraction | None:
        """Return the answer of a reply; of a truncated reply only an answer that is complete."""
        found = self.find(text)
        if found is not None and not self.reads_thinking and found.end <= reply_start(text):
            return None
        if found is None or not is_cut or self.closes or is_finished(text, found.end):
            return found
        return None

    def about(self, question: str) -> Kind:
        """Return the kind for the answers to one question."""
        return replace(self, same=self.same.about(question))

    def with_same(self, same: Equality) -> Kind:
        """Return the kind with another equality."""
        return replace(self, same=same, notes=())
