"""Inputs that the user or the model gives, to try programs on besides the examples of the question.

Only arguments, never results: what a function should give is stated by the question alone.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from distrivote.answers.code.examples import closing_of
from distrivote.answers.code.inputs import LARGEST
from distrivote.answers.extract import reply_start
from distrivote.errors import InputError
from distrivote.problem import Message

Inputs: TypeAlias = Sequence[tuple[Any, ...]]

FROM_MODEL = "model"
"""The name that asks the model for inputs."""

MOST_GIVEN = 200
_MOST_ASKED = 10
_MOST_OPEN = 8
"""Brackets of a reply that are never closed, after which the rest is not read: a cut-off list has a few."""

_PROMPT = """{question}

Do not solve this. List {n} different inputs to try a program on, calls of `{entry}`: ordinary ones, and \
edge cases that the task allows. Give arguments only, no results. Reply with one JSON list that has a list \
of arguments for each call, such as [[1, "a"], [2, "b"]] for a function of two arguments."""

AskInputs: TypeAlias = Callable[[str, str], str]
"""A question and the function that it asks for -> the reply of a model to `prompt_for_inputs`."""


class Offered(NamedTuple):
    """The inputs in a model's reply."""

    inputs: list[tuple[Any, ...]]
    n_ignored: int
    """Lists in the reply that are no arguments."""


def checked_inputs(inputs: Inputs | str | None) -> list[tuple[Any, ...]] | str:
    """Return inputs as argument tuples, or the name `model`; InputError for anything else.

    >>> checked_inputs([(1, "a"), [2]]), checked_inputs("model"), checked_inputs(None)
    ([(1, 'a'), (2,)], 'model', [])
    """
    if inputs is None or inputs == FROM_MODEL:
        return inputs or []
    hint = "give a list with a tuple of arguments for each call, such as [(2, 3), (0, 1)], or model"
    if isinstance(inputs, str) or not isinstance(inputs, Sequence) or not inputs:
        raise InputError(f"inputs is {inputs!r}", hint=hint, argument="inputs")
    if len(inputs) > MOST_GIVEN:
        raise InputError(
            f"there are {len(inputs):,} inputs", hint=f"give at most {MOST_GIVEN}", argument="inputs"
        )
    found = []
    for number, given in enumerate(inputs, 1):
        problem = fault_of(given)
        if problem is not None:
            raise InputError(f"input {number} {problem}", hint=hint, argument="inputs")
        found.append(tuple(given))
    return found


def fault_of(given: object) -> str | None:
    """Say what is wrong with the arguments of a call, None if nothing is.

    >>> fault_of([1, "a"]), fault_of(7), fault_of([float("nan")])
    (None, 'is not a list of arguments', 'has an argument that is no literal: nan')
    """
    if not isinstance(given, (list, tuple)):
        return "is not a list of arguments"
    written = repr(tuple(given))
    if len(written) > LARGEST:
        return f"is longer than {LARGEST:,} characters"
    wrong = next((each for each in given if _literal(repr((each,))) is None), None)
    return None if _literal(written) is not None else f"has an argument that is no literal: {wrong!r}"


def prompt_for_inputs(question: str, entry: str) -> tuple[Message, ...]:
    """Return what a model is asked, to get inputs of a function."""
    return (Message("user", _PROMPT.format(question=question, entry=entry, n=_MOST_ASKED)),)


def inputs_in(reply: str) -> Offered:
    """Return the inputs that a model's reply lists; what can't be read is counted.

    >>> inputs_in("Here: [[1, true], [2, foo], [3, None]]")
    Offered(inputs=[(1, True), (3, None)], n_ignored=1)
    """
    text = reply[reply_start(reply) :]
    found: list[tuple[Any, ...]] = []
    n_ignored = n_open = at = 0
    while (at := text.find("[", at)) >= 0 and n_open < _MOST_OPEN:
        end = closing_of(text, at)
        value = None if end is None else _value(text[at:end])
        if end is None or value is None:
            # The list of all inputs is cut off, or one of them can't be read: the others may be.
            is_outer = text[at + 1 : at + 20].lstrip()[:1] in ("[", "(")
            n_ignored += not is_outer
            n_open += end is None
            at = at + 1 if is_outer or end is None else end
            continue
        at = end
        is_list_of_calls = all(isinstance(each, (list, tuple)) for each in value)
        for call in value if is_list_of_calls else [value]:
            if fault_of(call) is None:
                found.append(tuple(call))
            else:
                n_ignored += 1
    distinct = {repr(call): call for call in found}
    return Offered(list(distinct.values())[:_MOST_ASKED], n_ignored)


def _value(text: str) -> list[Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _literal(text)
    return value if isinstance(value, list) else None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
