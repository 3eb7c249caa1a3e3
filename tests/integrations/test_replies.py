"""A reply has a confidence, or a note that says why not."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from distrivote import from_openai
from distrivote.integrations.replies import reply_confidence


def choice(text: str, tokens: list[str], probability: float, k: int = 20) -> dict[str, Any]:
    rest = (1 - probability) / (k - 1)
    top = [{"token": "x", "logprob": log(p)} for p in [probability, *[rest] * (k - 1)]]
    entries = [{"token": t, "logprob": log(probability), "top_logprobs": top} for t in tokens]
    return {"index": 0, "message": {"content": text}, "logprobs": {"content": entries}}


def test_it_is_what_the_library_measures() -> None:
    reply = choice("It is 42.", ["It", " is", " 42", "."], 0.9)
    found = reply_confidence(reply)
    assert found.value == from_openai({"choices": [reply]}).confidences[0]
    assert found.k == 20
    assert found.notes == ()


def test_fewer_log_probabilities_are_counted_and_noted() -> None:
    found = reply_confidence(choice("42", ["42"], 0.9, k=5))
    assert found.k == 5
    assert "5 most probable" in found.notes[0]


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ({"message": {"content": "42"}}, "no usable log-probabilities"),
        ({"message": {"content": None}}, "no answer was found"),
        (choice("something else", ["4", "2"], 0.9), "do not spell"),
        (choice("42", ["42"], 0.9, k=2) | {"logprobs": {"content": 7}}, "not a list"),
    ],
)
def test_what_cannot_be_measured_has_a_note_instead(reply: dict[str, Any], note: str) -> None:
    found = reply_confidence(reply)
    assert found.value is None
    assert any(note in each for each in found.notes), found.notes
