"""`distrivote evaluate`: what it prints, what it writes, and what it says about bad input."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from distrivote.cli import evaluate as module
from distrivote.cli.evaluate import _with_folders_opened
from distrivote.cli.main import main
from distrivote.engines.base import SamplingParams
from distrivote.evaluation.experiments.registry import EXPERIMENTS
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.writer import RunWriter

ROOT = Path(__file__).parents[2]
ANSWERS = str(ROOT / "examples" / "answers.jsonl")


class Result(NamedTuple):
    code: int
    out: str
    err: str


Evaluate = Callable[..., Result]


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """Run the command in this process, on one worker."""

    def run(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as left:
            main(["evaluate", *map(str, arguments), "--workers", "1"])
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Result(left.value.code, out, err)

    return run


def blocks(out: str) -> list[list[dict[str, str]]]:
    return [list(csv.DictReader(io.StringIO(block), delimiter="\t")) for block in out.split("\n\n")]


# What it prints


def test_a_pipe_gets_tab_separated_rows_with_shares(evaluate: Evaluate) -> None:
    code, out, err = evaluate(ANSWERS, "--repeats", 8)
    assert code == 0
    rows = blocks(out)[0]
    methods = [row["method"] for row in rows]
    assert {row["experiment"] for row in rows} == {"main"}
    assert methods[:3] == ["SC", "WSC", "BoN"]
    assert "DIS-GMM" in methods
    assert all(0 <= float(row["answers"]) <= 1 for row in rows)
    assert all(float(row["answers_low"]) <= float(row["answers_high"]) for row in rows)
    assert "note: the budget is 25, not 128" in err


def test_the_same_seed_prints_the_same_and_another_one_does_not(evaluate: Evaluate) -> None:
    first = evaluate(ANSWERS, "--repeats", 8, "--budget", 10).out
    assert evaluate(ANSWERS, "--repeats", 8, "--budget", 10).out == first
    assert evaluate(ANSWERS, "--repeats", 8, "--budget", 10, "--seed", 1).out != first


def test_json_is_one_document(evaluate: Evaluate) -> None:
    code, out, _ = evaluate(ANSWERS, "--repeats", 4, "--json", "-e", "pass1", "-e", "main", "-e", "pass1")
    assert code == 0
    document = json.loads(out)
    assert [result["experiment"] for result in document["results"]] == ["pass1", "main"]
    assert document["settings"]["n_repeats"] == 4
    assert document["sources"][0]["n_questions"] == 6


def test_the_paper_stands_beside_with_its_contradictions(evaluate: Evaluate) -> None:
    _, _, err = evaluate(ANSWERS, "--repeats", 4, "--against-paper")
    assert "note: main: The paper gives DIS-Top50" in err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_experiments_are_listed(evaluate: Evaluate, options: list[str]) -> None:
    code, out, _ = evaluate("--list", *options)
    assert code == 0
    names = [row["experiment"] for row in json.loads(out)] if options else re.findall(r"^(.*)\t", out, re.M)
    assert names == list(EXPERIMENTS)


def test_a_title_in_the_list_that_is_too_long_goes_on_under_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main(["evaluate", "--list"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    (at,) = (index for index, line in enumerate(lines) if line.startswith("  trace "))
    begin = lines[at].index("Where")
    assert lines[at + 1][:begin].isspace()
    assert not lines[at + 1][begin].isspace()


def test_a_terminal_gets_tables_that_fit() -> None:
    master, slave = pty.openpty()
    command = "import sys; from distrivote.cli.main import main; main(sys.argv[1:])"
    arguments = ["evaluate", ANSWERS, "--repeats", "4", "--workers", "1"]
    done = subprocess.Popen(
        [sys.executable, "-c", command, *arguments],
        stdout=slave,
        stderr=subprocess.PIPE,
        env=os.environ | {"COLUMNS": "60", "TERM": "xterm-256color"},
    )
    os.close(slave)
    out = b""
    try:
        while chunk := os.read(master, 65536):
            out += chunk
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert done.stderr is not None
    err = done.stderr.read()
    done.stderr.close()
    assert done.wait() == 0, err
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.decode()).splitlines()
    assert max(map(len, lines)) <= 60
    assert any("DIS-GMM" in line and "%" in line for line in lines)
    assert b"\x1b[1m" in out


# What it writes


def test_every_format_is_written_at_once(evaluate: Evaluate, tmp_path: Path) -> None:
    files = [tmp_path / f"r.{suffix}" for suffix in ("parquet", "csv", "json", "md", "tex")]
    outputs = [word for path in files for word in ("-o", path)]
    code, _, err = evaluate(ANSWERS, "--repeats", 4, *outputs)
    assert code == 0
    assert all(path.stat().st_size > 100 for path in files)
    assert all(f"{path}: 1 experiment\n" in err for path in files)
    columns = pq.read_table(files[0]).column_names
    assert columns[:5] == ["experiment", "table", "row", "label", "column"]
    assert "\\begin{tabular}" in files[4].read_text()


@pytest.mark.slow
def test_a_page_and_figures_are_written(evaluate: Evaluate, tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="altair is not installed: pip install '.[report]'")
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    page, folder = tmp_path / "r.html", tmp_path / "figures"
    code, _, _ = evaluate(ANSWERS, "--repeats", 4, "-e", "pass1", "-o", page, "--figures", folder)
    assert code == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert {path.suffix for path in folder.iterdir()} == {".svg", ".png"}


# Bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name at least one run"),
        (["no-such-run"], "no-such-run"),
        ([ANSWERS, "--experiment", "mian"], "did you mean main"),
        ([ANSWERS, "--budget", "1000"], "1000"),
        ([ANSWERS, "--repeats", "0"], "repeats"),
        ([ANSWERS, "-o", "r.docx"], "end its name in .html"),
        ([ANSWERS, "-o", "/no/such/folder/r.csv"], "make the folder"),
        ([ANSWERS, "-o", ANSWERS.replace(".jsonl", ".json") + "/r.csv"], "make the folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(evaluate: Evaluate, arguments: list[str], words: str) -> None:
    code, out, err = evaluate(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("distrivote: error: ")
    assert words in err
    assert err.count("\n") == 1


def test_a_file_without_truth_is_said(evaluate: Evaluate, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"question_id": 1, "answer": "2", "confidence": 9.0}\n' * 8)
    code, _, err = evaluate(path)
    assert code == 2
    assert "no right answers are known" in err


@pytest.mark.parametrize(("truth", "share"), [("2", 1.0), ("3", 0.0)])
def test_one_question_all_right_or_all_wrong_is_still_a_report(
    evaluate: Evaluate, tmp_path: Path, truth: str, share: float
) -> None:
    path = tmp_path / "a.jsonl"
    row = {"question_id": 1, "answer": "2", "confidence": 9.0, "ground_truth": truth}
    path.write_text("".join(json.dumps(row | {"confidence": 9 + i / 7}) + "\n" for i in range(20)))
    code, out, _ = evaluate(path, "--repeats", 4, "-e", "all")
    assert code == 0
    assert {float(row["a"]) for row in blocks(out)[0]} == {share}


def test_what_can_not_be_written_is_said_before_the_work(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worked(*_: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(module.EvaluationOptions, "report", worked)
    assert evaluate(ANSWERS, "-o", "r.xlsx").code == 2


def test_figures_without_the_packages_name_the_extra(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in list(sys.modules):
        if name.startswith(("altair", "distrivote.report.charts.figures", "distrivote.report.chart")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "altair", None)
    code, _, err = evaluate(ANSWERS, "--figures", tmp_path / "f")
    assert code == 1
    assert "pip install '.[report]'" in err


def test_a_folder_of_runs_stands_for_its_runs(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
    (tmp_path / "other").mkdir()
    assert _with_folders_opened([str(tmp_path), "x.csv"]) == [
        str(tmp_path / "a"),
        str(tmp_path / "b"),
        "x.csv",
    ]


@pytest.mark.parametrize("command", [("evaluate",), ("calibrate", "-o", "calibration.json")])
def test_a_run_without_trajectories_is_one_sentence(
    command: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with RunWriter(tmp_path / "run", Manifest.of("replay", "tiny", "math", "sums", SamplingParams())):
        pass
    with pytest.raises(SystemExit) as left:
        main([*command, "run"])
    assert left.value.code == 2
    assert capsys.readouterr().err == (
        "distrivote: error: run holds no trajectories yet: sample some with distrivote generate, or name"
        " another run\n"
    )
    assert not (tmp_path / "calibration.json").exists()
