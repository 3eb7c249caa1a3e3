"""What `distrivote ask` says around a vote, with a scripted server."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from distrivote.cli.main import main
from engines.scripted_server import ScriptedServer, Token, ToyServer


def says(_: str) -> Sequence[Token]:
    return [Token("It is ", 3.0), Token("\\boxed{12}", 2.0)]


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
    assert f"{shown}, openai · 1 trajectory · DistriVoting (dis-gmm)" in out
    assert "1 trajectory, 2 tokens" in out
    assert "Only 1 answer:" in out
