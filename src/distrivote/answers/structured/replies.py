"""The JSON or the tool calls of all replies to a question, and notes about those that have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from distrivote.answers.structured.find import Finding, find_json
from distrivote.answers.structured.same import NO_PATHS, Paths, value_key
from distrivote.answers.structured.schema import Schema
from distrivote.answers.structured.tools import Calls, Problem, calls_key, find_calls
from distrivote.nouns import count, verb


class JsonReplies(NamedTuple):
    """One entry for each reply."""

    findings: tuple[Finding, ...]
    keys: tuple[str | None, ...]
    """Equal for answers that are the same; None for no answer."""

    n_absent: int
    n_cut: int
    """Replies that end within their JSON: no answers."""

    n_invalid: int
    """Replies with JSON that does not satisfy the schema: no answers."""

    flaw: str | None
    """What is wrong with the first of them."""

    @property
    def notes(self) -> tuple[str, ...]:
        notes = []
        for n, does, what in ((self.n_absent, "have", "no JSON"), (self.n_cut, "break", "off in JSON")):
            if n:
                notes.append(f"{count(n, 'reply')} {verb(n, does)} {what}: no answer")
        if self.n_invalid:
            do = verb(self.n_invalid, "do")
            notes.append(
                f"{count(self.n_invalid, 'reply')} {do} not satisfy the schema, first at"
                f" {self.flaw}: no answer"
            )
        return tuple(notes)


class CallReplies(NamedTuple):
    """One entry for each reply."""

    calls: tuple[Calls, ...]
    keys: tuple[str | None, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        problems = Counter(found.problem for found in self.calls)
        said = {
            Problem.NO_CALL: ("call", "no tool"),
            Problem.UNREADABLE: ("have", "a tool call that can't be read"),
            Problem.UNKNOWN_TOOL: ("call", "a tool that does not exist"),
        }
        return tuple(
            f"{count(n, 'reply')} {verb(n, does)} {what}: no answer"
            for problem, (does, what) in said.items()
            if (n := problems[problem])
        )


def read_json(texts: Sequence[str], schema: Schema | None = None, ignore: Paths = NO_PATHS) -> JsonReplies:
    """Return the JSON of each reply and its comparison key.

    >>> read_json(['{"a": 1}', 'So: {"a": 1.0}', "none"]).keys
    ('{"a":1}', '{"a":1}', None)
    """
    findings = [find_json(text) for text in texts]
    n_cut = sum(found.is_cut for found in findings)
    n_absent = sum(found.extraction is None for found in findings) - n_cut
    flaws: dict[str, str] = {}
    n_invalid = 0
    if schema is not None:
        answers = {found.extraction.answer: found.value for found in findings if found.extraction}
        flaws = {answer: flaw for answer, value in answers.items() if (flaw := schema.flaw(value))}
        n_answers = len(findings) - n_cut - n_absent
        findings = [
            Finding() if found.extraction and found.extraction.answer in flaws else found
            for found in findings
        ]
        n_invalid = n_answers - sum(found.extraction is not None for found in findings)
    keys = tuple(None if found.extraction is None else value_key(found.value, ignore) for found in findings)
    return JsonReplies(tuple(findings), keys, n_absent, n_cut, n_invalid, next(iter(flaws.values()), None))


def read_calls(
    texts: Sequence[str], tools: Collection[str] | None = None, exclude: Paths = NO_PATHS
) -> CallReplies:
    """Return the tool calls in the text of each reply and their comparison key.

    >>> read_calls(['{"name": "f", "arguments": {}}', "no"]).notes
    ('1 reply calls no tool: no answer',)
    """
    found = tuple(find_calls(text, tools) for text in texts)
    return CallReplies(found, tuple(calls_key(each.calls, exclude) if each.calls else None for each in found))
