"""`distrivote runs` and `show`; they, `export` and `vote` on runs that are not whole."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from distrivote.cli.main import main
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.writer import RunWriter

MANIFEST = Manifest("replay", "none", "math", "made-up", {"temperature": 0.6}, budget=8)
UNMEASURED = "1 of 4 answers has no confidence: it counts in the majority only"


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a run of two parts, and return the name of the one that is damaged."""
    monkeypatch.chdir(tmp_path)
    for question in ("a", "b"):
        with RunWriter("run", MANIFEST) as writer:
            for sample in range(4):
                confidence = np.nan if question == "b" and sample == 3 else 9.0 + sample
                writer.add(Row(question_id=question, sample=sample, answer="4", confidence=confidence))
        if question == "a":
            (part,) = Path("run/parts").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    return part.name


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert not left.value.code
    out, err = capsys.readouterr()
    return out, err


@pytest.mark.parametrize(
    "arguments",
    [
        ("vote", "run", "-m", "sc"),
        ("vote", "run", "--signal", "auto"),
        ("vote", "run", "--explain", "b"),
        ("show", "run", "b"),
        ("runs",),
        ("runs", "--json"),
        ("export", "run", "-o", "out.csv"),
        ("export", "run", "-o", "out", "--format", "run"),
    ],
)
def test_a_damaged_part_is_named_once(
    capsys: pytest.CaptureFixture[str], damaged: str, arguments: tuple[str, ...]
) -> None:
    out, err = run(capsys, *arguments)
    assert err.count(damaged) == 1
    assert damaged not in out


@pytest.mark.parametrize(
    "arguments", [("vote", "run"), ("vote", "run", "--explain", "b"), ("show", "run", "b")]
)
@pytest.mark.usefixtures("damaged")
def test_answers_without_a_confidence_are_counted(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert "".join(run(capsys, *arguments)).count(UNMEASURED) == 1
    assert UNMEASURED not in "".join(run(capsys, *arguments, "-m", "sc"))


def test_long_names_are_not_cut_and_hide_no_numbers_at_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    manifest = dataclasses.replace(
        MANIFEST, benchmark="arithmetic: 3 questions made with seed 0", model="a-model-with-a-long-name"
    )
    for name in ("basic", "steered"):
        with RunWriter(f"a-folder-of-runs/a-run-with-a-long-name-{name}", manifest) as writer:
            writer.add(Row(question_id="a", sample=0, answer="4", confidence=1.0, n_tokens=123_456))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = run(capsys, "runs", "a-folder-of-runs")
    plain = re.sub(r"\x1b\[[\d;]*m", "", out)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    assert max(map(len, plain.splitlines())) <= 80
    assert [lines[0], lines[3]] == ["a-run-with-a-long-name-basic", "a-run-with-a-long-name-steered"]
    facts = "arithmetic · a-model-with-a-long-name · SelfStepConf off · 1 question · 1 trajectory"
    facts += " · 123,456 tokens"
    assert " ".join(lines[1:3]) == " ".join(lines[4:]) == facts


@pytest.fixture
def numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a run of questions 0 to 10, as they are imported: without texts, lengths and finish reasons."""
    monkeypatch.chdir(tmp_path)
    with RunWriter("run", MANIFEST) as writer:
        for question in range(11):
            writer.add(Row(question_id=str(question), sample=0, answer="4", confidence=9.0))


@pytest.mark.usefixtures("numbered")
def test_question_2_stands_before_question_10(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "show", "run")[0].splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == [str(question) for question in range(11)]


def test_escape_sequences_and_direction_marks_are_signs_in_a_pipe_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    manifest = Manifest("replay", "none\x1b[2J", "math", "made-up", {"temperature": 0.6}, budget=8)
    with RunWriter("run", manifest) as writer:
        writer.add(Row(question_id="q\x1b[31m\u202e\t1", sample=0, answer="4", ground_truth="4\x07"))
    for words in (["show", "run"], ["runs", "."]):
        out, _ = run(capsys, *words)
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\x07" not in out
    assert "␛[2J" in out


@pytest.mark.usefixtures("numbered")
def test_a_length_that_is_not_known_is_a_dash_and_not_0(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(capsys, "show", "run")[0].splitlines()[1] == "0\t1\t\t"
    assert run(capsys, "runs")[0].splitlines()[1].endswith("\t11\t11\t")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(capsys, "show", "run")[0].splitlines()[2].split() == ["0", "1", "–", "–"]
    assert run(capsys, "runs")[0].splitlines()[2].split()[-3:] == ["11", "11", "–"]


@pytest.mark.usefixtures("numbered")
def test_a_trajectory_without_a_text_says_so_under_what_is_known_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(capsys, "show", "run", "3", "0")[0].splitlines() == [
        "",
        "  answer 4 · confidence 9 · tokens – · finish reason –",
        "",
        "  the run does not hold this text",
        "",
    ]


def test_a_trajectory_is_shown_apart_from_its_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunWriter(tmp_path / "run", MANIFEST) as writer:
        writer.add(
            Row(question_id="q", sample=0, question="2 + 2?", answer="4", confidence=9.5, n_tokens=7,
                finish_reason="stop", text="Two\nand two.\n\nIt is 4.")
        )  # fmt: skip
        writer.add(Row(question_id="q", sample=1, question="2 + 2?", text=""))
    out = run(capsys, "show", str(tmp_path / "run"), "q", "0")[0]
    assert [line.rstrip() for line in out.splitlines()] == [
        "",
        "  2 + 2?",
        "",
        "  answer 4 · confidence 9.5 · tokens 7 · finish reason stop",
        "",
        "  Two",
        "  and two.",
        "",
        "  It is 4.",
        "",
    ]
    assert "  the reply is empty\n" in run(capsys, "show", str(tmp_path / "run"), "q", "1")[0]
