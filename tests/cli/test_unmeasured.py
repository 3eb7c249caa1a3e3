"""One missing confidence, through every door: a file, a run, the library, `solve`. And negative ones."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distrivote
from distrivote import Trajectory, solve
from distrivote.cli.main import main
from distrivote.engines.replay import ReplayEngine
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.writer import RunWriter

MANIFEST = Manifest("replay", "none", "math", "made-up", {"temperature": 0.6}, budget=8)
Cli = Callable[..., tuple[str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command in a folder of its own; return what it prints to both streams."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert (left.value.code or 0) == code, err
        return out, err

    return run


def document(cli: Cli, *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli("vote", *arguments, "--json")[0])
    return found


def fields(cli: Cli, *arguments: object) -> dict[str, str]:
    """Return the one line of a vote in a pipe."""
    (row,) = csv.DictReader(cli("vote", *arguments)[0].splitlines(), delimiter="\t")
    return row


def make_run(name: str, rows: list[tuple[str | None, float | None]], column: str = "confidence") -> None:
    with RunWriter(name, MANIFEST) as writer:
        for sample, (answer, value) in enumerate(rows):
            given: dict[str, Any] = {column: math.nan if value is None else value}
            writer.add(Row(question_id="q", sample=sample, answer=answer, **({"confidence": 9.0} | given)))


def make_file(name: str, rows: list[tuple[str | None, float | None]]) -> None:
    table = {
        "question_id": ["q"] * len(rows),
        "answer": [a for a, _ in rows],
        "confidence": [c for _, c in rows],
    }
    if name.endswith(".parquet"):
        pq.write_table(pa.table(table), name)
    elif name.endswith(".csv"):
        lines = [
            ",".join("" if v is None else str(v) for v in row) for row in zip(*table.values(), strict=True)
        ]
        Path(name).write_text("\n".join([",".join(table), *lines]) + "\n")
    else:
        records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))


# A majority that does not move


FOUR: list[tuple[str | None, float | None]] = [("4", None)] * 3 + [("4", 9.0), ("5", 8.0), ("5", 8.5)]


def test_majority_is_the_same_alone_and_beside_another_method(cli: Cli) -> None:
    make_run("run", FOUR)
    assert fields(cli, "run", "-m", "sc")["answer"] == "4"
    assert fields(cli, "run", "-m", "sc", "-m", "dis-gmm")["sc"] == "4"
    assert fields(cli, "run", "-m", "dis-gmm")["majority"] == "4"
    found = {row["method"]: row for row in document(cli, "run", "-m", "sc", "-m", "dis-gmm")["questions"]}
    assert (found["sc"]["share"], found["sc"]["n_kept"], found["sc"]["n_unmeasured"]) == (4 / 6, 6, 0)
    assert (found["dis-gmm"]["n_kept"] <= 3, found["dis-gmm"]["n_unmeasured"]) == (True, 3)


def test_a_signal_that_half_of_the_answers_lack_leaves_the_majority_where_it_is(cli: Cli) -> None:
    rows: list[tuple[str | None, float | None]] = []
    for index in range(10):
        rows.append(("right" if index < 6 else "wrong", None if index < 5 else 3.0 + index))
    make_run("run", rows, "seconds")
    alone = document(cli, "run", "-m", "sc")["questions"][0]
    timed = document(cli, "run", "-m", "sc", "-m", "bon", "--signal", "seconds")["questions"][0]
    assert (alone["answer"], alone["share"]) == (timed["answer"], timed["share"]) == ("right", 0.6)


@pytest.mark.parametrize("method", ["sc", "wsc", "dis-gmm", "auto", "borda"])
def test_a_file_a_run_the_library_and_solve_agree_on_one_missing_confidence(cli: Cli, method: str) -> None:
    rng = np.random.default_rng(5)
    rows: list[tuple[str | None, float | None]] = [
        (str(4 + int(rng.integers(3))), round(float(rng.normal(10, 2)), 3)) for _ in range(20)
    ]
    rows[7] = (rows[7][0], None)
    rows[11] = (None, None)
    tally = distrivote.vote([a for a, _ in rows], [c for _, c in rows], method)
    assert tally.n_unmeasured == (0 if method == "sc" else 1)
    for name in ("answers.csv", "answers.jsonl", "answers.parquet"):
        make_file(name, rows)
    cli("import", "answers.csv", "-o", "run")
    found = [
        document(cli, name, "-m", method)["questions"][0]
        for name in ("answers.csv", "answers.jsonl", "answers.parquet", "run")
    ]
    assert found[0] == found[1] == found[2] == found[3]
    (row,) = [found[0]]
    assert (row["answer"], row["n_kept"], row["n_cast"]) == (tally.answer, tally.n_kept, tally.n_cast)
    assert row["share"] == pytest.approx(tally.share)
    assert (row["majority"], row["n_unmeasured"]) == (tally.majority, tally.n_unmeasured)
    if method != "sc":
        assert row["probability"] == pytest.approx(tally.probability)
    solved = solve(
        ReplayEngine([replied(*row) for row in rows]),
        "How many?",
        method=method,
        budget=len(rows),
        steering=None,
    )
    assert solved.tally.answer == tally.answer
    assert solved.tally.scores == pytest.approx(tally.scores)
    assert (solved.tally.majority, solved.tally.n_unmeasured) == (tally.majority, tally.n_unmeasured)


def replied(answer: str | None, confidence: float | None) -> Trajectory:
    text = "No idea." if answer is None else f"\\boxed{{{answer}}}"
    if confidence is None:
        return Trajectory(text)
    return Trajectory(text, (text,), np.full((1, 20), -confidence), np.array([-0.1]), "stop")


def test_what_is_missing_is_counted_in_the_summary_and_in_json(cli: Cli) -> None:
    make_file("answers.csv", FOUR)
    _, err = cli("vote", "answers.csv")
    assert "3 answers without a confidence" in err
    assert "note: 3 of 6 answers have no confidence: they count in the majority only\n" in err
    summary = document(cli, "answers.csv")["summary"]
    assert (summary["n_unmeasured"], summary["n_fallbacks"]) == (3, 0)
    explained = document(cli, "answers.csv", "--explain", "q")["explanations"][0]
    assert (explained["n_unmeasured"], explained["fallback"]) == (3, False)
    assert "confidence" not in cli("vote", "answers.csv", "-m", "sc")[1]


def test_questions_without_any_confidence_go_to_the_majority(cli: Cli) -> None:
    lines = ["question_id,answer,confidence", "p,1,9", "p,2,8", "q,3,", "q,4,", "q,4,"]
    Path("a.csv").write_text("\n".join(lines) + "\n")
    out, err = cli("vote", "a.csv")
    assert [line.split("\t")[1] for line in out.splitlines()[1:]] == ["1", "4"]
    assert "note: 1 of 2 questions has no confidence at all: majority voting decides there\n" in err
    assert document(cli, "a.csv")["summary"]["n_fallbacks"] == 1


def test_a_blank_column_of_confidences_is_no_error(cli: Cli) -> None:
    make_file("a.csv", [("4", None), ("5", None), ("5", None)])
    out, err = cli("vote", "a.csv", "-m", "dis-gmm", "-m", "hier")
    assert out.splitlines()[1].split("\t")[1:] == ["5", "5", "5"]
    notes = [line for line in err.splitlines() if line.startswith("note")]
    assert notes == ["note: no answer has a confidence, so majority voting decides, not dis-gmm or hier"]


# Log-probabilities


NEGATIVE: list[tuple[str | None, float | None]] = [
    ("4", -0.1), ("4", -0.2), ("5", -1.5), ("5", -2.0), ("5", -1.8), ("6", None),
]  # fmt: skip


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_log_probabilities_are_refused_with_a_way_out_or_taken(cli: Cli, name: str) -> None:
    make_file(name, NEGATIVE)
    _, err = cli("vote", name, "-m", "borda", "-m", "dis-gmm", code=2)
    assert "confidence is -0.1, and dis-gmm needs positive ones: for log-probabilities say" in err
    assert "--confidence-scale logprob" in err
    answers, logprobs = [a for a, _ in NEGATIVE], [c for _, c in NEGATIVE]
    for method in ("bon", "borda", "mob", "mob-poly", "auto"):
        assert fields(cli, name, "-m", method)["answer"] == distrivote.vote(answers, logprobs, method).answer
    for method in ("wsc", "hier", "dis-gmm", "auto"):
        tally = distrivote.vote(answers, logprobs, method, confidence_scale="logprob")
        found = document(cli, name, "-m", method, "--confidence-scale", "logprob")["questions"][0]
        assert (found["answer"], found["n_kept"]) == (tally.answer, tally.n_kept)
        assert found["probability"] == pytest.approx(tally.probability)


def test_all_of_a_file_says_what_its_numbers_are_and_a_note_says_it(cli: Cli) -> None:
    make_file("a.csv", NEGATIVE)
    assert (
        "note: no confidence is above 0, so they are taken for log-probabilities"
        in (cli("vote", "a.csv", "-m", "auto")[1])
    )
    head = "question_id,answer,confidence\n"
    Path("b.csv").write_text(head + "p,1,0.4\np,2,0.3\np,2,0.5\nq,1,-0.4\nq,2,-0.3\n")
    rows = document(cli, "b.csv", "-m", "auto")["questions"]
    notes = cli("vote", "b.csv", "-m", "auto")[1]
    assert "taken in standard deviations of its question" in notes
    explained = document(cli, "b.csv", "-m", "auto", "--explain", "q")
    assert explained["questions"] == rows[1:]
    assert explained["explanations"][0]["probability"] == rows[1]["probability"]
    unsorted = "q,1,-0.4\np,1,0.4\nq,2,-0.3\np,2,0.3\np,2,0.5\n"
    Path("c.csv").write_text(head + unsorted)
    assert sorted(map(str, document(cli, "c.csv", "-m", "auto")["questions"])) == sorted(map(str, rows))


def test_import_and_evaluate_take_log_probabilities(cli: Cli) -> None:
    lines = [f"q{q},{a},{c},4" for q in range(4) for a, c in NEGATIVE if c is not None]
    Path("a.csv").write_text("\n".join(["question_id,answer,confidence,ground_truth", *lines]) + "\n")
    assert "a run needs positive ones" in cli("import", "a.csv", "-o", "run", code=2)[1]
    cli("import", "a.csv", "-o", "run", "--confidence-scale", "logprob")
    rows = document(cli, "run", "-m", "wsc", "-m", "dis-gmm")["questions"]
    assert (
        rows
        == document(cli, "a.csv", "-m", "wsc", "-m", "dis-gmm", "--confidence-scale", "logprob")["questions"]
    )
    assert "an evaluation needs positive ones" in cli("evaluate", "a.csv", "--repeats", "2", code=2)[1]
    flags = ("--repeats", "2", "--workers", "1")
    from_file = cli("evaluate", "a.csv", *flags, "--confidence-scale", "logprob")[0]
    assert [line.split("\t")[2:] for line in from_file.splitlines()]


def test_another_name_of_a_scale_is_an_error(cli: Cli) -> None:
    make_file("a.csv", NEGATIVE)
    assert "scale of confidences" in cli("vote", "a.csv", "--confidence-scale", "decibel", code=2)[1]
