"""`distrivote plan` from outside."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from distrivote.cli.main import main
from distrivote.store.runs.run import Run

GIVEN = ("--pass1", "0.6", "--auroc", "0.75", "--price", "0.4", "--tokens", "8000", "--questions", "400")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_every_budget_has_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("plan", *GIVEN, "--budgets", "8,32,128") == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0].split() == ["budget", "cost", "majority,", "%", "DistriVoting,", "%", "gain,", "points"]
    assert [line.split()[:2] for line in lines[1:]] == [["8", "0.026"], ["32", "0.10"], ["128", "0.41"]]
    assert all(len(line) <= 80 for line in lines)
    assert "note: This is a simulation, not a measurement" in said.err


def test_a_narrow_terminal_keeps_the_budget_and_the_vote(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert run("plan", *GIVEN, "--budgets", "8") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "budget" in lines[0]
    assert "DistriVoting" in lines[0]
    assert all(len(line) <= 40 for line in lines)


def test_json_has_all_numbers_and_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", *GIVEN, "--budgets", "8,16", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["simulated"] is True
    assert [row["budget"] for row in said["budgets"]] == [8, 16]
    assert {"cost", "sc", "sc_low", "sc_high", "dis-gmm", "gain_low"} <= set(said["budgets"][0])
    assert said["notes"]


def test_the_same_seed_gives_the_same_plan(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in (1, 1, 2):
        assert run("plan", *GIVEN, "--seed", seed, "--json") == 0
        outputs.append(json.loads(capsys.readouterr().out)["budgets"])
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--pass1", "60"), "pass@1 is 60.0: give a number between 0 and 1"),
        (("--auroc", "0"), "AUROC is 0.0: give a number between 0 and 1"),
        (("--price", "-1"), "the price is -1.0"),
        (("--tokens", "0"), "n_tokens is 0.0"),
        (("--budgets", "8;16"), "budgets are '8;16': write whole numbers with commas"),
        (("--budgets", "0"), "budgets are 0: give numbers from 1 up"),
        (("--seed", "-1"), "seed is -1"),
    ],
)
def test_what_makes_no_plan_is_said_in_a_sentence(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", *GIVEN, *arguments) == 2
    assert sentence in capsys.readouterr().err


RUN = Path(__file__).parents[2] / "examples" / "runs" / "qwen2.5-coder-ssc"


def test_a_run_tells_what_is_not_given(capsys: pytest.CaptureFixture[str]) -> None:
    rows = Run.open(RUN).table(["question_id", "answer", "correct", "confidence", "n_tokens"]).to_pylist()
    questions = {row["question_id"] for row in rows}
    shares = [fmean(bool(row["correct"]) for row in rows if row["question_id"] == name) for name in questions]
    answered = [row for row in rows if row["answer"] is not None]
    right = [row["confidence"] for row in answered if row["correct"]]
    wrong = [row["confidence"] for row in answered if not row["correct"]]
    surer = fmean((r > w) + (r == w) / 2 for r in right for w in wrong)
    options = ("--questions", "400", "--budgets", "8", "--json")
    assert run("plan", RUN, *options) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["pass1"] == pytest.approx(fmean(shares))
    assert said["auroc"] == pytest.approx(surer)
    assert said["tokens"] == pytest.approx(fmean(row["n_tokens"] for row in rows))
    assert said["notes"][0].startswith(f"Measured in {RUN}, 384 trajectories of 24 questions: pass@1 42.7%")
    # Flags come first, and all three given are the plan that they are without a run.
    given = ("--pass1", "0.6", "--auroc", "0.75", "--tokens", "8000", "--price", "0.4")
    assert run("plan", RUN, *given, *options) == 0
    with_run = json.loads(capsys.readouterr().out)
    assert run("plan", *given, *options) == 0
    assert with_run["budgets"] == json.loads(capsys.readouterr().out)["budgets"]


def test_without_a_price_the_cost_is_in_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", RUN, "--tokens", "1000", "--questions", "400", "--budgets", "8") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["budget", "tokens"]
    assert lines[1].split()[:2] == ["8", "8,000"]


def test_a_table_tells_no_lengths_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    table = RUN.parents[1] / "answers.jsonl"
    assert run("plan", table) == 2
    err = capsys.readouterr().err
    assert err == f"distrivote: error: {table} does not tell the length of a trajectory: give --tokens\n"
    assert run("plan", table, "--tokens", "100", "--questions", "400", "--budgets", "8") == 0


def test_what_is_lacking_without_a_run_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", "--pass1", "0.6") == 2
    assert "a plan needs --auroc, --tokens: give what you know" in capsys.readouterr().err
