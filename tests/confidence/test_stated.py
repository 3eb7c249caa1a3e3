"""Confidences that a model states itself: asked for, taken out, voted with."""

from __future__ import annotations

import asyncio
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import Ballot, Problem, asolve, solution_of, solve
from distrivote.cli.main import main
from distrivote.confidence.stated import SMALLEST_STATED, stated_in, unstated
from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.problem import CONFIDENCE_REQUEST, Message
from distrivote.server.questions import Conversation
from distrivote.steering import SelfStepConf, replay
from distrivote.trajectory import Trajectory
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("Confidence: 85", 0.85),
        ("confidence: 100", 1.0),
        ("**Confidence: 70%**", 0.7),
        ("Confidence: 95/100", 0.95),
        ("Confidence (0-100): 60", 0.6),
        ("Confidence: \\boxed{40}", 0.4),
        ("My confidence is 72.5%.", 0.725),
        ("Confidence: 0", SMALLEST_STATED),
        ("Confidence: 0.9", 0.9),
        ("Confidence: 1", 0.01),
        ("- Confidence score: 12 out of 100", 0.12),
        ("Confidence: 101", None),
        ("Confidence: high", None),
        ("I have confidence in 4", None),
        ("The 95% confidence interval is 3 to 5", None),
        ("Confidence: -5 or 80", None),
    ],
)
def test_a_line_states_a_confidence_or_it_does_not(line: str, value: float | None) -> None:
    text = f"It is \\boxed{{4}}.\n\n{line}\n"
    found = stated_in(text)
    assert (None if found is None else found.value) == (None if value is None else pytest.approx(value))
    trajectory = unstated(Trajectory(text))
    assert trajectory.text == (text if value is None else "It is \\boxed{4}.")
    assert unstated(trajectory) is trajectory


def test_only_the_end_of_a_reply_is_looked_at() -> None:
    assert stated_in("Confidence: 50\na\nb\nc") is None
    early = unstated(Trajectory("Because.\nConfidence: 50\n\nIt is \\boxed{4}."))
    assert (early.text, early.stated) == ("Because.\nIt is \\boxed{4}.", 0.5)
    assert stated_in("") is None


@given(st.lists(st.sampled_from(["a", "b\n", "Confidence", ": ", "9", "0\n", " ", "4."]), max_size=12))
def test_tokens_still_spell_the_text_and_keep_their_rows(pieces: list[str]) -> None:
    text = "".join(pieces)
    n = len(pieces)
    rows = np.arange(2.0 * n).reshape(n, 2) - 2 * n - 1
    whole = Trajectory(
        text, tuple(pieces), rows, rows[:, 0], entropies=rows[:, 1], self_certainties=rows[:, 0]
    )
    found = unstated(whole)
    assert "".join(found.tokens) in (found.text, "")
    assert text.startswith(found.text) or not found.tokens
    assert np.array_equal(found.top_logprobs, rows[: len(found.tokens), : found.top_logprobs.shape[1]])
    assert (found.stated is None) == (stated_in(text) is None)


def test_the_record_of_a_controller_ends_with_the_text() -> None:
    tokens = ("Yes.\n\n", "No.\n\n", "Confidence: ", "90")
    record = replay(SelfStepConf(), tokens, [9.0, 9.0, 9.0, 9.0])
    whole = Trajectory("".join(tokens), tokens, np.full((4, 2), -1.0), np.full(4, -1.0), interventions=record)
    found = unstated(whole)
    assert found.tokens == ("Yes.\n\n", "No.")
    assert found.interventions is not None
    assert found.interventions.step_ends[-1] == 2


def test_the_question_asks_for_it_once_and_at_its_end() -> None:
    problem = Problem("What is 2 + 2?", states_confidence=True)
    assert problem.messages()[-1].content.endswith(CONFIDENCE_REQUEST)
    turns = (Message("user", "Hi"), Message("assistant", "Yes?"), Message("user", "What is 2 + 2?"))
    asked = Conversation("What is 2 + 2?", turns=turns, states_confidence=True).messages()
    assert asked[:2] == turns[:2]
    assert asked[2].content == f"What is 2 + 2?{CONFIDENCE_REQUEST}"


REPLIES = [("4", 95), ("4", 90), ("5", 20), ("5", 15), ("5", 10), ("4", 85)]


def texts() -> list[Trajectory]:
    return [
        Trajectory(f"It is \\boxed{{{answer}}}.\nConfidence: {stated}", index=i)
        for i, (answer, stated) in enumerate([*REPLIES, ("5", 5)])
    ]


def test_it_votes_like_any_other_measure() -> None:
    solution = solution_of("What is 2 + 2?", texts(), method="wsc", measure="stated")
    assert (solution.answer, solution.tally.majority) == ("4", "5")
    assert [reading.confidence for reading in solution.readings] == [0.95, 0.9, 0.2, 0.15, 0.1, 0.85, 0.05]
    assert not any("Confidence" in t.text for t in solution.trajectories)
    ballot = Ballot.from_trajectories(texts(), measure="stated")
    assert ballot.confidences.tolist() == [0.95, 0.9, 0.2, 0.15, 0.1, 0.85, 0.05]


def test_replies_without_it_are_told_of() -> None:
    trajectories = texts()
    trajectories[0] = Trajectory("It is \\boxed{4}.")
    notes = solution_of("?", trajectories, measure="stated").tally.notes
    assert any("came without a stated confidence" in note for note in notes)
    none = solution_of("?", [Trajectory("It is \\boxed{4}.")], measure="stated").tally.notes
    assert any("no trajectory came with a stated confidence" in note for note in none)


def unsure(request: Request) -> Reply:
    """Answer as a hosted API without log-probabilities, which does what it is asked for."""
    asked = (request.body or {}).get("messages", [{"content": ""}])[-1]["content"]
    answer, stated = REPLIES[(request.body or {}).get("seed", 0) % len(REPLIES)]
    line = f"\nConfidence: {stated}" if "Confidence: N" in asked else ""
    return ToyServer(lambda _: [Token(f"It is \\boxed{{{answer}}}.{line}")], gives=0)(request)


def test_a_host_without_log_probabilities_is_asked() -> None:
    with ScriptedServer(unsure) as server, OpenAIEngine(server.url) as engine:
        for found in (
            solve(engine, "What is 2 + 2?", budget=12, measure="stated", params=SamplingParams(seed=3)),
            asyncio.run(asolve(engine, "What is 2 + 2?", budget=12, measure="stated")),
        ):
            assert not any(np.isnan(reading.confidence) for reading in found.readings)
            assert all(re.fullmatch(r"It is \\boxed\{\d\}\.", t.text) for t in found.trajectories)
        plain = solve(engine, "What is 2 + 2?", budget=12)
        assert all(np.isnan(reading.confidence) for reading in plain.readings)
        assert ['`measure="stated"` asks them' in note for note in engine.notes] == [True]


def test_ask_takes_it_as_a_signal(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer(unsure) as server, pytest.raises(SystemExit) as left:
        main(["ask", "What is 2 + 2?", "--base-url", server.url, "--budget", "6", "--signal", "stated"])
    assert left.value.code == 0
    out, err = capsys.readouterr()
    assert out in ("4\n", "5\n")
    assert "unless --signal stated asks them how sure they are" in err
    assert "without" not in err.replace("gives no", "")
