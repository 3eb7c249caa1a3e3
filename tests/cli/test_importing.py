"""`distrivote import` and `export` from outside."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from distrivote.cli.main import main


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def pickles(tmp_path: Path) -> Path:
    folder = tmp_path / "pickles"
    folder.mkdir()
    for question in range(3):
        traces = [
            {"text": "…", "confs": [9.0 + i, 8.0], "num_tokens": 2, "extracted_answer": str(i % 2)}
            for i in range(8)
        ]
        content = {"qid": question, "all_traces": traces, "ground_truth": "1"}
        (folder / f"deepthink_offline_qid{question}_rid0_x.pkl").write_bytes(pickle.dumps(content))
    return folder


def test_a_folder_of_pickles_becomes_a_run_that_can_be_voted_on(
    pickles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("import", pickles, "-o", tmp_path / "run", "--model", "r1") == 0
    assert capsys.readouterr().out.endswith("24 trajectories of 3 questions from 3 files (3 deepconf)\n")
    assert run("vote", tmp_path / "run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["summary"]["accuracy"]["auto"]["n_right"] == 3


def test_json_says_what_came_in(pickles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("import", pickles, "-o", tmp_path / "run", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["n_trajectories"], said["n_confident"], said["notes"]) == (24, 24, [])


def test_answers_in_texts_are_graded_and_one_of_each_is_called_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("question_id,text,ground_truth\nq,it is \\boxed{4},4\n")
    assert run("import", table, "-o", tmp_path / "run", "--extract", "boxed") == 0
    out, err = capsys.readouterr()
    assert out.endswith("run: 1 trajectory of 1 question from 1 file (1 table)\n")
    assert err == "note: there are no confidences: majority voting decides, whatever the method\n"
    assert run("vote", tmp_path / "run", "-m", "sc", "--json") == 0
    assert json.loads(capsys.readouterr().out)["summary"]["accuracy"]["sc"]["n_right"] == 1


def test_notes_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "a.csv"
    table.write_text("question_id,answer\nq,4\n")
    assert run("import", table, "-o", tmp_path / "run") == 0
    assert "note: there are no confidences: majority voting" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "\n \n"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "a.txt"])
def test_an_empty_file_is_called_empty(
    name: str, content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content)
    assert run("import", tmp_path / name, "-o", tmp_path / "run") == 2
    assert f"{name} is empty: " in capsys.readouterr().err


def test_truths_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, truth = tmp_path / "a.csv", tmp_path / "truth.jsonl"
    table.write_text("question_id,answer\nq,4\n")
    truth.write_text('{"id": "q", "question": "2 + 2?", "answer": "4"}\n')
    assert run("import", table, "-o", tmp_path / "run", "--truth", truth) == 0
    assert run("vote", tmp_path / "run", "-m", "sc", "--json") == 0
    assert json.loads(capsys.readouterr().out.split("\n", 1)[1])["summary"]["accuracy"]["sc"]["n_right"] == 1


@pytest.mark.parametrize(
    ("given", "stored"),
    [((), "table"), (("--truth", "truth.jsonl"), "truth"), (("--benchmark", "mine"), "mine")],
)
def test_a_benchmark_has_the_name_that_it_is_given(
    given: tuple[str, ...], stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("question_id,answer,ground_truth\nq,4,4\n")
    Path("truth.jsonl").write_text('{"id": "q", "question": "2 + 2?", "answer": "4"}\n')
    assert run("import", "a.csv", "-o", "run", *given) == 0
    assert json.loads(Path("run/manifest.json").read_text())["benchmark"] == stored


class Harmful:
    def __reduce__(self) -> Any:
        return print, ("it ran",)


def test_a_harmful_pickle_is_refused_and_nothing_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"all_traces": [Harmful()]}))
    assert run("import", tmp_path / "x.pkl", "-o", tmp_path / "run") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("distrivote: error: ")
    assert "'builtins.print', which is not a plain value" in said.err
    assert not (tmp_path / "run").exists()


def test_traces_are_exported_for_deepconf(
    pickles: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("import", pickles, "-o", tmp_path / "run")
    assert run("export", tmp_path / "run", "-o", tmp_path / "out", "--format", "deepconf") == 0
    assert capsys.readouterr().err.endswith("3 questions\n")
    assert len(list((tmp_path / "out").iterdir())) == 3
    assert run("export", tmp_path / "run", "-o", tmp_path / "copy", "--format", "run") == 0
    assert run("vote", tmp_path / "copy") == 0
    assert run("export", tmp_path / "run", "-o", tmp_path / "x", "--format", "deepcon") == 2
