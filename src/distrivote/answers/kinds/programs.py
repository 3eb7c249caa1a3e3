"""Programs as answers: the same if they behave the same, if they may be run; else if their code is the same.

`Behaviour` runs them in a sandbox (answers/code), on the examples of the question and small variations of
them. It caches the results of a program, so that a vote that is counted again with one more program runs only
that one. Without permission to run programs, two programs are the same if they differ only in layout,
comments, docstrings and annotations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from distrivote.answers.code.behaviour import Behaviours, Trial, sort_by_behaviour, trial_of
from distrivote.answers.code.examples import entry_of
from distrivote.answers.code.given import AskInputs, Inputs, inputs_in
from distrivote.answers.code.program import program_in
from distrivote.answers.code.sandbox import Outcome, Sandbox
from distrivote.answers.equality import NAMED, Equality, Sorted
from distrivote.answers.extract import Extraction
from distrivote.answers.kinds.kind import Kind, one_line
from distrivote.errors import EngineError
from distrivote.nouns import count, verb

_MOST_GIVEN = 3
_NOT_RUN = "the programs were not run: those that behave the same are one answer only if they may be run"


def program(text: str) -> Extraction | None:
    """Return the program of a reply.

    >>> program("```python\\nx = 1\\n```").answer
    'x = 1'
    """
    found = program_in(text)
    return None if found is None else Extraction(found.source, found.end, found.start)


def first_line(source: str) -> str:
    """Return the line that identifies a program: the head of its last function.

    >>> first_line("import os\\n\\ndef f(x):\\n    return x")
    'def f(x):'
    """
    heads = [line for line in source.splitlines() if line.startswith(("def ", "class "))]
    return one_line(heads[-1] if heads else source)


class Behaviour:
    """Sorts the programs that answer a question by their results."""

    def __init__(self, sandbox: Sandbox | None = None, inputs: Inputs = ()) -> None:
        self._sandbox, self._inputs = sandbox or Sandbox(), inputs
        self._given: dict[tuple[str, str], list[Outcome]] = {}

    def __call__(self, question: str, sources: Sequence[str]) -> Sorted:
        trial = trial_of(question, sources, self._inputs)
        outcomes = [] if trial is None else self._outcomes(sources, trial)
        is_silent = trial is not None and not trial.entry and all(row[0][0] != "value" for row in outcomes)
        if trial is None or is_silent:
            note = "the programs define no function to call: each with different code is its own answer"
            return Sorted(range(len(sources)), (note,))
        found = sort_by_behaviour(outcomes, trial.expected)
        apart = _told_apart(trial, outcomes, found.classes)
        return Sorted(found.classes, (*_notes(len(sources), found, bool(trial.entry)), *apart))

    def _outcomes(self, sources: Sequence[str], trial: Trial) -> list[list[Outcome]]:
        tried = f"{trial.entry} {trial.inputs!r}"
        new = [source for source in sources if (source, tried) not in self._given]
        for source, row in zip(new, self._sandbox.run(new, trial.entry, trial.inputs), strict=True):
            self._given[source, tried] = row
        return [self._given[source, tried] for source in sources]


def _told_apart(
    trial: Trial, outcomes: Sequence[Sequence[Outcome]], classes: Sequence[int]
) -> tuple[str, ...]:
    """Name an input on which the voting programs differ, and how many of them give each result."""
    kept = [row for row, number in zip(outcomes, classes, strict=True) if number >= 0]
    given = [Counter(row[at] for row in kept) for at in range(len(trial.inputs))]
    at = max(range(len(given)), key=lambda at: (len(given[at]), -len(repr(trial.inputs[at]))), default=None)
    if at is None or len(given[at]) < 2:
        return ()
    ranked = sorted(given[at].items(), key=lambda pair: (-pair[1], pair[0]))
    said = [f"{_given(outcome)} ({count(n, 'program')})" for outcome, n in ranked[:_MOST_GIVEN]]
    if not trial.entry:
        return (f"the programs differ in what they print: {', '.join(said)}",)
    call = f"{trial.entry}({', '.join(map(repr, trial.inputs[at]))})"
    return (f"one input on which they differ: {one_line(call)} gives {', '.join(said)}",)


def _given(outcome: Outcome) -> str:
    return one_line(outcome[1])[:30] if outcome[0] == "value" else f"no value ({outcome[0]})"


def _notes(n: int, found: Behaviours, has_inputs: bool) -> tuple[str, ...]:
    tried = f" on {count(found.n_inputs, 'input')}" if has_inputs else ", and what they print was compared"
    notes = [f"{count(n, 'different program')} ran{tried}"]
    if found.n_failed:
        do = verb(found.n_failed, "do")
        notes.append(
            f"{found.n_failed} of them {do} not give what the question's examples state: set aside before the"
            " vote"
        )
    if found.n_broken:
        where = " on every input" if has_inputs else ""
        notes.append(f"{found.n_broken} of them {verb(found.n_broken, 'fail')}{where}: no answer")
    return tuple(notes)


def code_kind(*, run: bool = False, inputs: Inputs = (), sandbox: Sandbox | None = None) -> Kind:
    """Return the kind whose answer is a program.

    Args:
        run: Whether programs may be run, to compare them by behaviour. Only the user can allow that.
        inputs: Argument tuples to test them on, besides the examples of the question.
        sandbox: Where they run.
    """
    same = Equality("behaviour", sort=Behaviour(sandbox, inputs)) if run else NAMED["program"]
    return Kind(
        "code",
        program,
        same,
        "program, by behaviour" if run else "program, not run",
        is_long=True,
        closes=True,
        line=first_line,
        notes=() if run else (_NOT_RUN,),
    )


CODE = code_kind()


def code_kind_asking(ask: AskInputs, question: str, sources: Sequence[str]) -> Kind:
    """Return the kind whose programs are run, also on inputs that a model is asked for once."""
    entry = entry_of(question, list(sources))
    if entry is None or len(set(sources)) < 2:
        return code_kind(run=True)
    try:
        offered = inputs_in(ask(question, entry))
    except EngineError as error:
        return replace(code_kind(run=True), notes=(f"the model could not be asked for inputs: {error}",))
    note = f"the model gave {count(len(offered.inputs), 'input')} to try programs on"
    if offered.n_ignored:
        note += f"; {offered.n_ignored} more could not be read"
    return replace(code_kind(run=True, inputs=offered.inputs), notes=(note,))
