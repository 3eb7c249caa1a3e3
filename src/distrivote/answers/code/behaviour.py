"""Which programs behave the same: by their results on the same inputs.

Programs that fail the question's own examples are set aside: an example with its result is a test. If all
programs would be set aside, none is. Two programs are the same if their outcomes are the same on every input
that counts. An input does not count if more than half of the programs fail on it: the question probably does
not allow it, and it does not show which program is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from distrivote.answers.code.examples import entry_of, examples_in
from distrivote.answers.code.inputs import N_INPUTS, inputs_for
from distrivote.answers.code.sandbox import Outcome, Sandbox
from distrivote.answers.code.worker import canonical


class Behaviours(NamedTuple):
    """The results for the programs of one question."""

    classes: tuple[int, ...]
    """The class of each program; -1 if it is missing, fails on every input or was set aside."""

    n_failed: int
    """Programs that were set aside because they fail the examples."""

    n_broken: int
    """Programs that fail on every input."""

    n_inputs: int
    """Inputs that counted."""

    n_stated: int
    """Examples with a result."""


class Trial(NamedTuple):
    """How the programs that answer a question are tested."""

    entry: str
    """The function that is called; "" if the programs are scripts, which are compared by what they print."""

    inputs: list[tuple[Any, ...]]
    expected: list[str | None]
    """The expected result of each input, if the question states it."""


def trial_of(
    question: str,
    sources: Sequence[str],
    more_inputs: Sequence[tuple[Any, ...]] = (),
    n_inputs: int = N_INPUTS,
) -> Trial | None:
    """Return how to test the programs: on the question's examples, `more_inputs` and variations of them.

    All of `more_inputs` count, besides `n_inputs` others.
    None if neither the question nor the programs define a function, and none of them prints anything.
    """
    entry = entry_of(question, list(sources))
    if entry is None:
        return Trial("", [()], [None]) if any("print(" in source for source in sources) else None
    examples = examples_in(question, entry)
    seeds = [*(example.arguments for example in examples[:n_inputs]), *more_inputs]
    inputs = inputs_for(seeds, sources, entry, n_inputs + len(more_inputs))
    stated = {repr(example.arguments): canonical(example.expected) for example in examples if example.stated}
    return Trial(entry, inputs, [stated.get(repr(arguments)) for arguments in inputs])


def behaviours(
    question: str, sources: Sequence[str | None], sandbox: Sandbox, n_inputs: int = N_INPUTS
) -> Behaviours:
    """Run the programs that answer a question and sort them by what they do."""
    distinct = list(dict.fromkeys(source for source in sources if source is not None))
    trial = trial_of(question, distinct, n_inputs=n_inputs)
    if trial is None:
        n_given = sum(source is not None for source in sources)
        return Behaviours((-1,) * len(sources), 0, n_given, 0, 0)
    outcomes = dict(zip(distinct, sandbox.run(distinct, trial.entry, trial.inputs), strict=True))
    return sort_by_behaviour([None if s is None else outcomes[s] for s in sources], trial.expected)


def sort_by_behaviour(
    outcomes: Sequence[Sequence[Outcome] | None], expected: Sequence[str | None]
) -> Behaviours:
    """Return the classes of programs from their outcomes on each input and what was expected there.

    >>> one, two, three = ("value", "1"), ("value", "2"), ("value", "3")
    >>> sort_by_behaviour([[one, two], [one, ("error",)], [three, two], None], ["1", None]).classes
    (0, 1, -1, -1)
    """
    works = [row is not None and any(o[0] == "value" for o in row) for row in outcomes]
    tests = [at for at, value in enumerate(expected) if value is not None]
    passes = [
        works[i] and row is not None and all(row[at] == ("value", expected[at]) for at in tests)
        for i, row in enumerate(outcomes)
    ]
    kept = passes if any(passes) else works
    rows = [row for row, keep in zip(outcomes, kept, strict=True) if keep and row is not None]
    counted = [
        at for at in range(len(expected)) if 2 * sum(row[at][0] != "value" for row in rows) <= len(rows)
    ]
    numbers: dict[tuple[Outcome, ...], int] = {}
    classes = tuple(
        numbers.setdefault(tuple(row[at] for at in counted), len(numbers)) if keep and row is not None else -1
        for row, keep in zip(outcomes, kept, strict=True)
    )
    n_given = sum(row is not None for row in outcomes)
    n_working = sum(works)
    return Behaviours(classes, n_working - sum(kept), n_given - n_working, len(counted), len(tests))
