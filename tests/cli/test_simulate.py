"""`distrivote simulate` from outside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from distrivote.cli.main import main
from distrivote.simulation.preset_models import presets
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.run import Run


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_a_preset_becomes_a_run_that_can_be_voted_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sim"
    assert run("simulate", "deepseek-r1-8b/aime2024", "-o", path, "--trajectories", 64) == 0
    assert capsys.readouterr().out == f"{path}: 1,920 simulated trajectories of 30 questions\n"
    assert run("vote", path, "--json", "--method", "sc") == 0
    accuracy = json.loads(capsys.readouterr().out)["summary"]["accuracy"]["sc"]
    assert 22 <= accuracy["n_right"] <= 29
    assert run("show", path, "q01") == 0
    assert "Simulated question q01" in capsys.readouterr().out


def test_the_manifest_says_plainly_that_it_is_simulated(tmp_path: Path) -> None:
    assert run("simulate", "misleading", "-o", tmp_path / "sim", "--questions", 3, "--trajectories", 4) == 0
    manifest = Manifest.load(tmp_path / "sim")
    assert (manifest.engine, manifest.model, manifest.benchmark) == (
        "simulate",
        "simulated misleading",
        "made-up",
    )
    assert manifest.sampling["simulated"] is True
    assert manifest.sampling["separation"] == presets()["misleading"].simulation.separation


def test_the_stored_rows_are_the_pools(tmp_path: Path) -> None:
    given = ("--questions", 12, "--trajectories", 40, "--tokens", 900, "--seed", 3)
    assert run("simulate", "qwen3-8b/hmmt2025", "-o", tmp_path / "sim", *given) == 0
    table = Run.open(tmp_path / "sim").table()
    assert len(table) == 480
    answers, classes = table["answer"].to_pylist(), table["answer_class"].to_pylist()
    correct = table["correct"].to_pylist()
    assert [answer == "truth" for answer in answers] == correct
    assert [answer is None for answer in answers] == [number == -1 for number in classes]
    assert [answer is None for answer in answers] == table["confidence"].is_null().to_pylist()
    assert set(table["ground_truth"].to_pylist()) == {"truth"}
    assert np.mean(table["n_tokens"].to_pylist()) == pytest.approx(900, rel=0.1)


def test_the_same_seed_gives_the_same_trajectories(tmp_path: Path) -> None:
    tables = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        given = ("--questions", 5, "--trajectories", 8, "--seed", seed)
        assert run("simulate", "uninformative", "-o", tmp_path / name, *given) == 0
        tables.append(Run.open(tmp_path / name).table())
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_a_model_makes_a_run_per_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--questions", 4, "--trajectories", 8, "--json")
    assert run("simulate", "qwen3-14b", "-o", tmp_path / "runs", *given) == 0
    made = json.loads(capsys.readouterr().out)
    assert [each["preset"] for each in made][:2] == ["qwen3-14b/hmmt2025", "qwen3-14b/gpqa-diamond"]
    assert {each["n_trajectories"] for each in made} == {32}
    assert run("runs", tmp_path / "runs", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert {each["benchmark"] for each in listed} == {
        "hmmt2025",
        "gpqa-diamond",
        "aime2024",
        "aime2025",
        "brumo2025",
    }
    assert {each["model"] for each in listed} == {"simulated Qwen3-14B"}


def test_the_presets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", "--list") == 0
    out = capsys.readouterr().out
    assert "deepseek-r1-8b/gpqa-diamond" in out
    assert "These are simulations." in out
    assert run("simulate", "--list", "--json") == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == list(presets())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no preset is named: see distrivote simulate --list"),
        (("uninformative",), "name a new folder with -o"),
        (("gpt-9", "-o", "x"), "unknown preset 'gpt-9'"),
        (("qwen3-8b/aime2026", "-o", "x"), "did you mean qwen3-8b/aime202"),
        (("uninformative", "-o", "x", "--seed", "-1"), "seed is -1: give a whole number from 0 up"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_a_sentence(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("simulate", *arguments) == 2
    assert sentence in capsys.readouterr().err


def test_what_is_there_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "aime2025").mkdir()
    assert run("simulate", "qwen3-8b", "-o", tmp_path, "--questions", 2, "--trajectories", 2) == 2
    assert "aime2025 exists already: name a new folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["aime2025"]


def test_a_place_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    given = ("--questions", 2, "--trajectories", 2)
    assert run("simulate", "uninformative", "-o", tmp_path / "file" / "run", *given) == 2
    assert "can't write" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
