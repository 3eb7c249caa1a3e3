"""`distrivote ask`, with the real built-in model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from distrivote.cli.main import main

pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
pytestmark = pytest.mark.model

QUESTION = "Tom has 5 apples and buys 7 more. How many has he?"
SMALL = ["--budget", "6", "--max-tokens", "48", "--seed", "5"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["ask", *arguments])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_in_a_pipe_the_answer_alone_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, QUESTION, *SMALL)
    assert code == 0
    assert len(out.splitlines()) == 1
    assert out.strip()
    assert err == ""


def test_json_tells_everything_and_the_same_seed_tells_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    _, first, _ = run(capsys, QUESTION, *SMALL, "--json", "--method", "sc")
    _, second, _ = run(capsys, QUESTION, *SMALL, "--json", "--method", "sc")
    one, other = json.loads(first), json.loads(second)
    assert [t["text"] for t in one["trajectories"]] == [t["text"] for t in other["trajectories"]]
    assert len(one["trajectories"]) == 6
    assert one["answer"] in one["votes"]
    assert one["majority"] == one["answer"]
    assert "threshold" in one["steering"]
    assert one["n_tokens"] == sum(t["n_tokens"] for t in one["trajectories"])


def test_the_question_can_come_from_standard_input() -> None:
    command = [
        sys.executable,
        "-m",
        "distrivote",
        "ask",
        "-",
        "--budget",
        "2",
        "--max-tokens",
        "40",
        "--no-ssc",
    ]
    result = subprocess.run(command, input=QUESTION, capture_output=True, text=True)
    assert result.returncode in (0, 1), result.stderr
    assert "Traceback" not in result.stderr


def test_without_any_answer_there_is_a_reply_and_strictly_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    short = [QUESTION, "--budget", "2", "--max-tokens", "1"]
    code, out, err = run(capsys, *short)
    assert code == 0
    assert out.strip()
    assert "no trajectory gave an answer" in err
    code, again, err = run(capsys, *short, "--strict")
    assert (code, again) == (1, "\n")
    assert "no trajectory gave an answer" in err


def test_a_template_file_puts_the_question(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    template = tmp_path / "template.txt"
    template.write_text("Say a number. {question}")
    code, out, _ = run(
        capsys, "Which?", "--template", str(template), "--budget", "2", "--max-tokens", "8", "--json"
    )
    assert code in (0, 1)
    assert json.loads(out)["question"] == "Which?"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["", "--budget", "2"], "question is empty"),
        (["Q", "--budget", "0"], "budget is 0"),
        (["Q", "--budget", "1000000"], "budget is 1000000"),
        (["Q", "--split", "sentence"], "unknown splitter"),
        (["Q", "--reflection", " "], "reflection text"),
        (["Q", "--method", "dis-gm"], "dis-gmm"),
        (["Q", "--model", "nowhere.gguf"], "no model file"),
        (["Q", "--template", "maths"], "unknown template"),
        (["Q", "--temperature", "-1"], "temperature is -1"),
        (["Q", "--top-p", "0"], "top_p is 0"),
        (["Q", "--max-tokens", "0"], "max_tokens is 0"),
        (["Q", "--slots", "0"], "n_slots is 0"),
        (["Q", "--delta", "-1"], "delta"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("distrivote: error: ")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_file_that_is_not_a_model_is_exit_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    path.write_text("hello")
    code, _, err = run(capsys, "Q", "--model", str(path))
    assert code == 2
    assert "not a GGUF file" in err


def test_a_template_without_a_place_for_the_question_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    template = tmp_path / "template.txt"
    template.write_text("nothing here")
    code, _, err = run(capsys, "Q", "--template", str(template))
    assert code == 2
    assert "{question}" in err


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_ctrl_c_votes_on_what_is_finished() -> None:
    command = [sys.executable, "-m", "distrivote", "ask", QUESTION, "--budget", "2000", "--slots", "4"]
    process = subprocess.Popen(
        [*command, "--max-tokens", "24", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # whoever starts the tests in the background has it ignored
    time.sleep(12)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    if process.returncode == 130:  # so slow a machine that nothing was finished
        return
    document = json.loads(out)
    assert document["stopped"].startswith("the sampling was interrupted after ")
    assert 0 < len(document["trajectories"]) < 2000
    assert "voting on what is finished: " in err


def test_an_improbable_answer_is_withheld(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, QUESTION, *SMALL, "--method", "auto", "--min-probability", "1")
    assert code == 3
    assert out == "\n"
    assert "withheld: the probability that " in err
    code, out, _ = run(capsys, QUESTION, *SMALL, "--method", "auto", "--min-probability", "1", "--json")
    document = json.loads(out)
    assert code == 3
    assert (document["answer"], document["abstained"]) == (None, True)
    assert document["withheld"] in document["votes"]
    assert document["probability"] == document["probabilities"][document["withheld"]] < 1
