"""What `distrivote ask` says around a vote, with a scripted server."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from distrivote.cli.main import main
from engines.scripted_server import ScriptedServer, Token, ToyServer


def says(_: str) -> Sequence[Token]:
    return [Token("It is ", 3.5), Token("\\boxed{12}", 4.5)]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    with ScriptedServer(ToyServer(says, models=("toy",))) as running, pytest.raises(SystemExit) as left:
        main(["ask", "How many?", "--budget", "2", "--base-url", running.url, "--no-ssc", *arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), json.loads(out) if out else {}, err


@pytest.mark.parametrize(
    ("name", "expected"),
    [("answer-step", 4.0), ("confidence_mean", 4.0), ("length", 500.0), ("n_tokens", 500.0)],
)
def test_a_signal_is_the_measure_that_is_voted_with(
    name: str, expected: float, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document, _ = asked(capsys, "--signal", name, "--json")
    assert (code, document["answer"]) == (0, "12")
    assert [each["confidence"] for each in document["trajectories"]] == pytest.approx([expected] * 2)


@pytest.mark.parametrize(
    ("name", "words"), [("auto", "the signal auto weighs the signals of many questions"), ("men", "mean")]
)
def test_a_signal_that_one_question_does_not_have_is_refused(
    name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = asked(capsys, "--signal", name, "--json")
    assert code == 2
    assert words in err


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("/home/me/models/smollm2-135m.gguf", "smollm2-135m.gguf"),
        ("C:\\models\\smollm2-135m.gguf", "smollm2-135m.gguf"),
        ("HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-135M"),
    ],
)
def test_the_headline_names_a_model_without_its_folder_and_one_trajectory_as_one(
    model: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with ScriptedServer(ToyServer(says, models=(model,))) as running:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        with pytest.raises(SystemExit) as left:
            main(["ask", "How many?", "--budget", "1", "--base-url", running.url, "--no-ssc"])
    out = capsys.readouterr().out
    assert not left.value.code
    assert f"{shown} · 1 trajectory · auto · " in out
    assert "1 trajectory, 2 tokens" in out
    assert "Only 1 answer:" in out
