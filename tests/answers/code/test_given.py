"""Inputs that the user or the model gives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import Problem, SamplingParams, Trajectory, asolve, solution_of, solve
from distrivote.answers.code.behaviour import trial_of
from distrivote.answers.code.given import MOST_GIVEN, checked_inputs, inputs_in
from distrivote.answers.code.inputs import N_INPUTS
from distrivote.cli.inputs import asked_inputs, inputs_of_file
from distrivote.engines.base import BaseEngine, Job, Watch
from distrivote.errors import EngineError, InputError
from distrivote.flow_many import solve_many
from distrivote.steering import Controller

QUESTION = Problem(
    'def add(a, b):\n    """Return the sum.\n\n    >>> add(2, 3)\n    5\n    """', template="plain"
)
BODIES = ["a + b", "b + a", "a + b if b < 99 else 0"]
REPLIES = [f"```python\ndef add(a, b):\n    return {body}\n```" for body in BODIES]
HOW: dict[str, Any] = {"answer": "code", "run_code": True, "method": "sc", "steering": None}

LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


class Offering(BaseEngine):
    """An engine that writes programs, and lists inputs as it is told."""

    name = model = "offering"

    def __init__(self, offer: str, *, fails: bool = False, replies: list[str] = REPLIES) -> None:
        self.asked: list[tuple[str, SamplingParams]] = []
        self._offer, self._fails, self._replies = offer, fails, replies

    def sample_job(
        self,
        job: Job,
        controller: Controller | None,
        watch: Watch | None,  # noqa: ARG002
    ) -> Iterator[Trajectory]:
        put = job.messages[-1].content
        if "List 10 different inputs" not in put:
            yield from (Trajectory(self._replies[at], index=at) for at in job.indices)
            return
        assert controller is None
        self.asked.append((put, job.params))
        if self._fails:
            raise EngineError("the model is gone")
        yield Trajectory(self._offer)


@pytest.mark.parametrize(
    ("reply", "inputs", "n_ignored"),
    [
        ("[[1, 2], [3, 4]]", [(1, 2), (3, 4)], 0),
        ('```json\n[["a"], [""], [null]]\n```', [("a",), ("",), (None,)], 0),
        ("Sure:\n[(1, 2), (3, True)]", [(1, 2), (3, True)], 0),
        ("[1, 2]\n[3, 4]", [(1, 2), (3, 4)], 0),
        ("[[1, 2], [3, 4], [5, ", [(1, 2), (3, 4)], 1),
        ("[[1, 2], [open('x')], [[0] * 9], [3, 4]]", [(1, 2), (0,), (3, 4)], 1),
        ("[[[1, 2]], [[]]]", [([1, 2],), ([],)], 0),
        ("[[NaN], [1e999], [1]]", [(1,)], 2),
        ("[[1], [1], [1]]", [(1,)], 0),
        ("<think>[[7]]</think>[[8]]", [(8,)], 0),
        ("<think>[[7]] is", [], 0),
        ("[" * 50_000, [], 0),
        ("The sum of both.", [], 0),
        ("", [], 0),
    ],
)
def test_what_a_model_lists(reply: str, inputs: list[tuple[Any, ...]], n_ignored: int) -> None:
    found = inputs_in(reply)
    assert found.inputs == inputs
    assert found.n_ignored == n_ignored


@given(st.text(alphabet="[](){}\"'1,a \\"))
def test_any_reply_can_be_looked_at(reply: str) -> None:
    assert all(isinstance(each, tuple) for each in inputs_in(reply).inputs)


@given(st.lists(st.lists(LITERALS, max_size=3), max_size=10))
def test_a_list_that_python_wrote_is_read_whole(calls: list[list[Any]]) -> None:
    distinct = {repr(tuple(call)): tuple(call) for call in calls}
    assert inputs_in(repr(calls)).inputs == list(distinct.values())


def test_all_given_inputs_are_tried_besides_the_usual_ones() -> None:
    more = [(100 + at, 7) for at in range(40)]
    usual = trial_of(QUESTION.question, [])
    trial = trial_of(QUESTION.question, [], more)
    assert usual is not None
    assert trial is not None
    assert len(usual.inputs) <= N_INPUTS
    assert set(more) <= set(trial.inputs)
    assert (2, 3) in trial.inputs
    assert sum(value is not None for value in trial.expected) == 1  # given inputs state no results


def test_a_given_input_tells_programs_apart() -> None:
    replies = [Trajectory(text, index=at) for at, text in enumerate(REPLIES)]
    assert list(solution_of(QUESTION, replies, **HOW).tally.votes.values()) == [3]
    found = solution_of(QUESTION, replies, inputs=[(1, 100)], **HOW)
    assert sorted(found.tally.votes.values()) == [1, 2]


def test_the_model_is_asked_for_inputs_once_after_all_replies() -> None:
    engine = Offering("[[1, 100], [0, x]]")
    found = solve(engine, QUESTION, budget=3, inputs="model", **HOW)
    assert sorted(found.tally.votes.values()) == [1, 2]
    ((put, params),) = engine.asked
    assert put.startswith(QUESTION.question)
    assert "`add`" in put
    assert params.temperature == 0.0
    assert "the model gave 1 input to try programs on; 1 more could not be read" in found.tally.notes
    again = asyncio.run(asolve(Offering("[[1, 100]]"), QUESTION, budget=3, inputs="model", **HOW))
    assert again.tally.votes == found.tally.votes
    (many,) = solve_many(Offering("[[1, 100]]"), [QUESTION], budget=3, inputs="model", **HOW)
    assert many.tally.votes == found.tally.votes


def test_auto_asks_for_inputs_only_if_the_replies_are_programs() -> None:
    how = HOW | {"answer": "auto"}
    engine = Offering("[[1, 100]]")
    assert sorted(solve(engine, QUESTION, budget=3, inputs="model", **how).tally.votes.values()) == [1, 2]
    words = Offering("", replies=["Paris", "It is Paris.", "Paris!"])
    assert solve(words, "Which city?", budget=3, inputs="model", **how).answer == "Paris"
    alike = Offering("", replies=[REPLIES[0]] * 3)
    assert solve(alike, QUESTION, budget=3, inputs="model", **how).tally.share == 1
    assert (len(engine.asked), words.asked, alike.asked) == (1, [], [])


def test_a_model_that_lists_nothing_or_fails_does_not_lose_the_replies() -> None:
    found = solve(Offering("I would rather not."), QUESTION, budget=3, inputs="model", **HOW)
    assert list(found.tally.votes.values()) == [3]
    assert "the model gave 0 inputs to try programs on" in found.tally.notes
    found = solve(Offering("", fails=True), QUESTION, budget=3, inputs="model", **HOW)
    assert list(found.tally.votes.values()) == [3]
    assert "the model could not be asked for inputs: the model is gone" in found.tally.notes


@pytest.mark.parametrize(
    ("inputs", "more", "message"),
    [
        ([(1, 2)], {"run_code": False}, "programs are not run"),
        ("model", {"answer": "short"}, "of the kind short"),
        ([(1, 2)], {"same": "program"}, "another rule"),
        ("model", {}, "no model here that could be asked"),
        ("modle", {}, "inputs is 'modle'"),
        ([], {}, r"inputs is \[\]"),
        ([3], {}, "input 1 is not a list of arguments"),
        ([(1, 2), (1, float("nan"))], {}, "input 2 has an argument that is no literal: nan"),
        ([("x" * 5000,)], {}, "input 1 is longer than 4,000 characters"),
        ([(at,) for at in range(MOST_GIVEN + 1)], {}, "there are 201 inputs"),
    ],
)
def test_inputs_that_nothing_can_be_tried_on(inputs: Any, more: dict[str, Any], message: str) -> None:
    replies = [Trajectory(text, index=at) for at, text in enumerate(REPLIES)]
    with pytest.raises(InputError, match=message) as caught:
        solution_of(QUESTION, replies, inputs=inputs, **HOW | more)
    assert caught.value.argument == "inputs"


def test_a_file_of_inputs(tmp_path: Path) -> None:
    file = tmp_path / "inputs.jsonl"
    file.write_text('[1, "a\u2028b"]\n\n[[], null]\r\n', "utf-8")
    assert inputs_of_file(str(file)) == [(1, "a\u2028b"), ([], None)]
    assert checked_inputs(inputs_of_file(str(file))) == inputs_of_file(str(file))
    assert (asked_inputs(None), asked_inputs("model")) == (None, "model")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[1]\n[2", "line 2 of FILE is not JSON"),
        (b"[1]\n\n7\n", "line 3 of FILE is not a list of arguments"),
        (b'{"a": 1}', "line 1 of FILE is not a list of arguments"),
        (b"[NaN]", "line 1 of FILE has an argument that is no literal: nan"),
        (b"\xff\xfe", "FILE is not text"),
        (b"\n", "FILE has 0 inputs"),
        (b"[1]\n" * 201, "FILE has 201 inputs: give 1 to 200"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "inputs.jsonl"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        inputs_of_file(str(file))
    assert message.replace("FILE", str(file)) in str(caught.value)
