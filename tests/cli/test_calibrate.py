"""`distrivote calibrate`, and what `vote` does with a calibration, a least probability and a signal."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.command import Command, Result
from distrivote.simulation.model import Simulation, draw
from distrivote.store.calibrations import read_calibration


def table(out: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(out), delimiter="\t", quoting=csv.QUOTE_NONE))


def made_file(folder: Path, n_questions: int = 40, **more: np.ndarray) -> Path:
    """Write simulated answers whose class 0 is not always the right one."""
    drawn = draw(Simulation(easy_rate=0.8, hard_share=0.4), n_questions, 24, np.random.default_rng(3))
    rows = [
        {
            "question_id": f"q{index}",
            "answer": None if given < 0 else f"a{given}",
            "confidence": None if given < 0 else confidence,
            "correct": right,
        }
        for index in range(n_questions)
        for given, confidence, right in zip(
            drawn.classes[index].tolist(),
            drawn.confidences[index].tolist(),
            drawn.correct[index].tolist(),
            strict=True,
        )
    ]
    columns = pa.Table.from_pylist(rows)
    for name, values in more.items():
        columns = columns.append_column(name, pa.array(values))
    path = folder / "made.parquet"
    pq.write_table(columns, path)
    return path


# calibrate


def test_a_calibration_is_written_and_compared_with_the_share_of_votes(
    command: Command, tmp_path: Path
) -> None:
    path = made_file(tmp_path)
    code, out, err = command("calibrate", path, "-o", tmp_path / "mine.json")
    assert code == 0
    assert "40 questions, " in out
    assert "this calibration, on unseen questions" in out
    assert "share of votes" in out
    assert "--calibration" in err
    found = read_calibration(str(tmp_path / "mine.json"))
    assert (found.n_questions, found.fewest, found.most, found.source) == (40, 8, 24, "made")


def test_calibrate_has_json(command: Command, tmp_path: Path) -> None:
    document = json.loads(
        command("calibrate", made_file(tmp_path), "-o", tmp_path / "mine.json", "--json").out
    )
    assert document["held_out"]["brier"] < document["share_of_votes"]["brier"]
    assert {"ece", "brier"} == set(document["shipped"])
    assert document["calibration"]["n_questions"] == 40


def test_too_few_questions_are_refused_in_a_sentence(command: Command, tmp_path: Path) -> None:
    code, _, err = command("calibrate", made_file(tmp_path, 12), "-o", tmp_path / "mine.json")
    assert code == 2
    assert "12 questions with a known answer: a calibration needs at least 20" in err
    assert not (tmp_path / "mine.json").exists()


# vote --min-probability, --calibration


def test_an_improbable_answer_is_withheld_and_the_exit_code_says_so(command: Command, tmp_path: Path) -> None:
    path = made_file(tmp_path)
    code, out, err = command("vote", path, "-m", "auto", "--min-probability", 0.9)
    rows = table(out)
    kept = [row for row in rows if row["abstained"] == "false"]
    assert code == 3
    assert 0 < len(kept) < len(rows) == 40
    assert all(float(row["probability"]) >= 0.9 and row["answer"] for row in kept)
    assert all(not row["answer"] and not row["correct"] for row in rows if row["abstained"] == "true")
    assert f"{40 - len(kept)} of 40 questions were withheld (auto)" in err
    assert f" of {len(kept)} right" in err
    assert command("vote", path, "-m", "auto").code == 0


def test_json_and_files_say_what_was_withheld(command: Command, tmp_path: Path) -> None:
    path = made_file(tmp_path)
    output = tmp_path / "out.parquet"
    document = json.loads(command("vote", path, "--min-probability", 0.9, "--json", "-o", output).out)
    withheld = [row for row in document["questions"] if row["abstained"]]
    assert withheld
    assert all(row["answer"] is None and row["withheld"] for row in withheld)
    assert document["summary"]["n_withheld"] == {"auto": len(withheld)}
    assert sum(pq.read_table(output)["abstained"].to_pylist()) == len(withheld)


def test_the_majority_beside_is_never_withheld(command: Command, tmp_path: Path) -> None:
    rows = table(command("vote", made_file(tmp_path), "--min-probability", 1.0).out)
    assert not any(row["answer"] for row in rows)
    assert all(row["majority"] for row in rows)
    both = command(
        "vote", made_file(tmp_path), "-m", "sc", "-m", "auto", "--min-probability", 1, "--json"
    ).out
    assert all(row["majority"] and row["answer"] is None for row in json.loads(both)["questions"])


def test_an_explanation_gives_the_reason(command: Command, tmp_path: Path) -> None:
    path = made_file(tmp_path)
    code, out, _ = command("vote", path, "-m", "auto", "--explain", "q0", "--min-probability", 1.0)
    assert code == 3
    assert "Withheld: the probability that " in " ".join(out.split())
    document = json.loads(
        command("vote", path, "-m", "auto", "--explain", "q0", "--min-probability", 1.0, "--json").out
    )
    (told,) = document["explanations"]
    assert (told["abstained"], told["answer"]) == (True, None)
    assert told["probabilities"][told["withheld"]] == told["probability"]
    assert set(told["weighing"]) == {"answer", "odds", "gap", "trusted", "voted"}
    assert "Withheld" in told["explanation"]


def test_a_calibration_changes_the_probabilities(command: Command, tmp_path: Path) -> None:
    path, mine = made_file(tmp_path), tmp_path / "mine.json"
    shipped = table(command("vote", path).out)
    assert command("calibrate", path, "-o", mine).code == 0
    own = table(command("vote", path, "--calibration", mine).out)
    assert [row["answer"] for row in own] == [row["answer"] for row in shipped]
    assert [row["probability"] for row in own] != [row["probability"] for row in shipped]


@pytest.mark.parametrize("value", ["-0.1", "1.5", "nan"])
def test_what_is_no_probability_is_refused(command: Command, tmp_path: Path, value: str) -> None:
    code, _, err = command("vote", made_file(tmp_path), "--min-probability", value)
    assert code == 2
    assert "give a number from 0 to 1" in err


# vote --signal


def right(result: Result) -> int:
    return sum(row["correct"] == "true" for row in table(result.out))


def test_a_signal_is_a_measure_a_column_or_the_length(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 40 * 24
    path = made_file(tmp_path, entropy=rng.uniform(1, 2, n), n_tokens=rng.integers(100, 200, n))
    plain = command("vote", path, "-m", "wsc").out
    for signal in ("entropy", "length", "n_tokens", "confidence"):
        code, out, _ = command("vote", path, "-m", "wsc", "--signal", signal)
        assert code == 0
        assert (out == plain) == (signal == "confidence")
    assert (
        command("vote", path, "--signal", "length").out == command("vote", path, "--signal", "n_tokens").out
    )
    code, _, err = command("vote", path, "--signal", "nothing")
    assert code == 2
    assert "no column 'nothing'" in err


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_mix_of_signals_leaves_noise_out_and_says_so(command: Command, tmp_path: Path, kind: str) -> None:
    noise = np.exp(np.random.default_rng(5).normal(0, 1, 40 * 24))
    path = made_file(tmp_path, confidence_mean=noise)
    whole = pq.read_table(path)
    if kind == "csv":
        import pyarrow.csv as pacsv

        path = tmp_path / "made.csv"
        pacsv.write_csv(whole, path)
    elif kind == "jsonl":
        path = tmp_path / "made.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in whole.to_pylist()))
    mixed = command("vote", path, "-m", "auto", "--signal", "auto")
    assert mixed.code == 0
    assert "note: signals: confidence 9" in mixed.err or "note: signals: confidence 100%" in mixed.err
    alone = command("vote", path, "-m", "auto", "--signal", "confidence_mean")
    assert right(mixed) > right(alone)


def test_a_mix_can_be_explained(command: Command, tmp_path: Path) -> None:
    path = made_file(tmp_path, confidence_mean=np.ones(40 * 24))
    code, out, _ = command("vote", path, "-m", "auto", "--signal", "auto", "--explain", "q1")
    assert code == 0
    assert "question q1" in out


def test_a_mix_is_not_read_from_a_pipe(command: Command) -> None:
    code, _, err = command("vote", "-", "--signal", "auto")
    assert code == 2
    assert "name a file, not standard input" in err


def test_auto_reads_the_confidences(command: Command, tmp_path: Path) -> None:
    path = made_file(tmp_path)
    rows: list[dict[str, Any]] = json.loads(command("vote", path, "-m", "auto", "--json").out)["questions"]
    assert any(row["answer"] != row["majority"] for row in rows)
