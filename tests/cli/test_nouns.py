"""One trajectory of one question, through the commands that count them: no sentence says "1 trajectories"."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from distrivote.cli.main import main
from engines.scripted_server import ScriptedServer, Token, ToyServer

NOUNS = "trajectories questions answers files parts rows tokens votes repeats reflections requests samples"
MANY = re.compile(rf"\b1 (\w+ )?({NOUNS.replace(' ', '|')})\b")


def test_one_is_never_called_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.jsonl").write_text(json.dumps({"question": "2 + 2?", "answer": "4"}) + "\n")
    Path("t.csv").write_text("question_id,answer,confidence,ground_truth\nq,4,9.5,4\n")
    with ScriptedServer(ToyServer(lambda _: [Token("\\boxed{4}", 9.0)])) as server:
        model = ["--base-url", server.url, "--model", "toy", "--no-ssc", "--budget", "1"]
        commands = [
            ["generate", "q.jsonl", *model, "-o", "run", "--dry-run", "--max-tokens", "1"],
            ["generate", "q.jsonl", *model, "-o", "run"],
            ["generate", "q.jsonl", *model, "-o", "run"],
            ["ask", "2 + 2?", *model],
            ["runs"],
            ["show", "run"],
            ["show", "run", "1"],
            ["show", "run", "1", "0"],
            ["vote", "run"],
            ["vote", "run", "--explain", "1"],
            ["compact", "run"],
            ["export", "run", "-o", "e.csv"],
            ["export", "run", "-o", "traces", "--format", "deepconf"],
            ["export", "run", "-o", "copy", "--format", "run"],
            ["import", "t.csv", "-o", "imported"],
            ["vote", "t.csv"],
            ["evaluate", "run", "--repeats", "1", "--budget", "1", "-o", "report.md"],
            ["simulate", "deepseek-r1-8b/hmmt2025", "--questions", "1", "--trajectories", "1", "-o", "made"],
        ]
        for command in commands:
            with pytest.raises(SystemExit) as ended:
                main(command)
            out, err = capsys.readouterr()
            assert not ended.value.code, (command, err)
            assert out or err, command
            assert "Traceback" not in err
            found = MANY.search(out + err)
            assert found is None, (command, found)
    assert MANY.search(Path("report.md").read_text()) is None
