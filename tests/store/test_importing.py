"""Files of several kinds as one run, and a run as DeepConf's files and back."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distrivote import Problem, SamplingParams, Trajectory
from distrivote.errors import InputError
from distrivote.store.importers.registry import formats, sources
from distrivote.store.importing import Imported, import_files
from distrivote.store.runs.deepconf_layout import export_deepconf
from distrivote.store.runs.export import LEFT_OUT, export_run
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, row_of
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.runs.writer import RunWriter

TABLE = '{"question_id": "q", "answer": "4", "confidence": 9.5, "ground_truth": "4"}\n'


def trace(answer: str, conf: float) -> dict[str, Any]:
    return {"text": f"\\boxed{{{answer}}}", "confs": [conf] * 4, "num_tokens": 4, "extracted_answer": answer}


def deepconf(folder: Path, question: int, run: int = 0) -> Path:
    path = folder / f"deepthink_offline_qid{question}_rid{run}_20250101_000000.pkl"
    content = {"qid": question, "all_traces": [trace("4", 9.0 + run), trace("5", 8.0)], "ground_truth": "4"}
    path.write_bytes(pickle.dumps(content))
    return path


def test_a_folder_is_read_whole_and_samples_are_numbered_over_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for question, run in ((2, 0), (10, 0), (2, 1)):
        deepconf(folder, question, run)
    (folder / "notes.txt").write_text("not ours")
    found = sources([str(folder)])
    assert [source.path.name[:22] for source in found] == [
        "deepthink_offline_qid2",
        "deepthink_offline_qid2",
        "deepthink_offline_qid1",
    ]
    imported = import_files(found, tmp_path / "run", model="r1")
    assert imported == Imported(3, 2, 6, 6, 6, 6, {"deepconf": 3})
    run = Run.open(tmp_path / "run")
    assert run.done() == {("2", 0), ("2", 1), ("2", 2), ("2", 3), ("10", 0), ("10", 1)}
    assert (run.manifest.engine, run.manifest.model, run.manifest.budget) == ("import", "r1", 4)
    assert run.table(["correct"], "2")["correct"].to_pylist() == [True, False, True, False]


def test_several_formats_go_into_one_run(tmp_path: Path) -> None:
    table = tmp_path / "a.jsonl"
    table.write_text(TABLE)
    imported = import_files(sources([str(table), str(deepconf(tmp_path, 1))]), tmp_path / "run")
    assert imported.formats == {"table": 1, "deepconf": 1}
    assert imported.n_questions == 2


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"question_id": "q", "answer": "4"}\n')
    first, second = import_files(sources([str(path)]), tmp_path / "run").notes
    assert "majority" in first
    assert "right answers" in second
    path.write_text('{"question_id": "q", "answer": null}\n')
    assert "`extract`" in import_files(sources([str(path)]), tmp_path / "other").notes[0]


def test_truths_and_a_pattern_for_ids_come_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(f'{{"question_id": "q{i}#{j}", "answer": "{i}"}}\n' for i in (1, 2) for j in (0, 1))
    )
    files = sources([str(path)])
    imported = import_files(files, tmp_path / "run", question_pattern=r"(q\d+)#", truths={"q1": "1"})
    assert (imported.n_questions, imported.n_true) == (2, 2)
    assert {q.id: q.ground_truth for q in Run.open(tmp_path / "run").questions()} == {"q1": "1", "q2": None}
    with pytest.raises(InputError, match="finds nothing"):
        import_files(files, tmp_path / "no", question_pattern="x")
    with pytest.raises(InputError, match="not a regular expression"):
        import_files(files, tmp_path / "no", question_pattern="(")
    assert not (tmp_path / "no").exists()


def test_an_import_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(TABLE * 50 + "{cut")
    with pytest.raises(InputError, match="line 51"):
        import_files(sources([str(path)]), tmp_path / "run")
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_run_that_is_there_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(TABLE)
    import_files(sources([str(path)]), tmp_path / "run")
    with pytest.raises(InputError, match="exists already"):
        import_files(sources([str(path)]), tmp_path / "run")
    with pytest.raises(InputError, match="is a run already"):
        sources([str(tmp_path / "run")])


def test_files_of_no_known_format_are_refused_by_name(tmp_path: Path) -> None:
    strange = tmp_path / "x.bin"
    strange.write_bytes(b"\x00\x01")
    with pytest.raises(InputError, match="of an unknown format"):
        sources([str(strange)])
    with pytest.raises(InputError, match="unknown format 'deepcnf'"):
        sources([str(strange)], "deepcnf")
    with pytest.raises(InputError, match="can't read"):
        sources([str(tmp_path / "gone.pkl")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file of a known format"):
        sources([str(tmp_path / "empty")])


def test_names_of_formats_are_unique() -> None:
    names = [each.name for each in formats()]
    assert len(names) == len(set(names))


def stored(folder: Path) -> Run:
    rng = np.random.default_rng(0)
    manifest = Manifest.of("replay", "replay", "math", "made up", SamplingParams())
    with RunWriter(folder, manifest, keep=Keep(token_confidences=True)) as writer:
        for name, truth in (("a/../b", "4"), ("ü", None)):
            for i in range(3):
                tokens = ("It", " is", "\n\n", f"\\boxed{{{i}}}")
                logprobs = np.log(rng.dirichlet(np.ones(20), 4))
                reply = Trajectory("".join(tokens), tokens, logprobs, logprobs[:, 0], "stop", index=i)
                writer.add(row_of(Problem("How many?", name, truth), reply))
            writer.add(row_of(Problem("How many?", name, truth), Trajectory("", index=3)))
    return Run.open(folder)


def test_a_run_goes_to_deepconf_and_back(tmp_path: Path) -> None:
    run = stored(tmp_path / "run")
    assert export_deepconf(run, tmp_path / "out") == 2
    for path in (tmp_path / "out").iterdir():
        content = json.loads(path.read_text())
        assert {"qid", "ground_truth", "all_traces", "question"} <= set(content)
        assert {"text", "confs", "num_tokens", "extracted_answer", "stop_reason"} <= set(
            content["all_traces"][0]
        )
    imported = import_files(sources([str(tmp_path / "out")]), tmp_path / "back")
    assert imported.formats == {"deepconf": 2}
    columns = ["question_id", "sample", "answer", "confidence", "ground_truth", "finish_reason", "question"]
    assert Run.open(tmp_path / "back").table(columns).equals(run.table(columns))
    with pytest.raises(InputError, match="exists already"):
        export_deepconf(run, tmp_path / "out")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["back", "out", "run"]


def test_a_copy_to_give_away_votes_the_same_and_tells_no_text(tmp_path: Path) -> None:
    run = stored(tmp_path / "run")
    assert export_run(run, tmp_path / "out") == 8
    copy = Run.open(tmp_path / "out")
    kept = [name for name in SCHEMA.names if name not in LEFT_OUT]
    assert copy.table(kept).equals(run.table(kept))
    assert all(copy.table([name])[name].null_count == 8 for name in LEFT_OUT)
    assert copy.manifest == run.graded_manifest
    assert copy.manifest.grader is not None
    assert replace(copy.manifest, grader=None) == run.manifest
    content = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"How many?" not in content
    with pytest.raises(InputError, match="exists already"):
        export_run(run, tmp_path / "out")


def test_a_failed_export_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stored(tmp_path / "run")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(InputError, match="No space left"):
        export_deepconf(run, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["run"]
