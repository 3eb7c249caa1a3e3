"""`distrivote reproduce`: the grid planned, sampled, stopped, gone on with, shared out and evaluated.

A fake stands at the engine seam, and a server on loopback where a process is killed. The last test has the
built-in model.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counted_engine import CountedEngine
from distrivote.cli.main import main
from distrivote.evaluation.paper import grid
from distrivote.steering import Controller
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.run import Run
from engines.scripted_server import ScriptedServer, Token, ToyServer

QUESTIONS = 4
SMALL = ["--benchmark", "q.jsonl", "--scale", "0.03125"]
"""16 trajectories of every question."""


class FakeEngine(CountedEngine):
    """Is right, 4, in six of ten; surer if it is, and if it is steered."""

    model = "fake"

    def reply(self, rng: np.random.Generator, controller: Controller | None) -> tuple[int, float]:
        right = rng.random() < 0.6
        answer = 4 if right else int(rng.integers(5, 8))
        return answer, 10.0 + 3 * right + rng.normal() + (controller is not None)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a file of questions, and evaluate the main table alone."""
    lines = [json.dumps({"question": f"{i} + {4 - i}?", "answer": "4"}) for i in range(QUESTIONS)]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grid, "GRID", replace(grid.GRID, experiments=("main", "pass1")))
    return tmp_path


def put(monkeypatch: pytest.MonkeyPatch, engine: FakeEngine) -> FakeEngine:
    monkeypatch.setattr("distrivote.generation.deferred.open_engine", lambda *_, **__: engine)
    return engine


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["reproduce", *arguments])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def stored(path: Path) -> list[tuple[object, ...]]:
    table = Run.open(path).table(["question_id", "sample", "seed", "text", "confidence"])
    return [tuple(row.values()) for row in table.to_pylist()]


def plan(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = run(capsys, *arguments, "--dry-run", "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


# Sampling and evaluating


def test_both_arms_are_sampled_with_one_engine_and_reported(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = put(monkeypatch, FakeEngine())
    code, out, err = run(capsys, "Qwen/Qwen3-8B", "-o", "out", *SMALL)
    assert code == 0
    assert (engine.n_made, engine.n_closed) == (2 * QUESTIONS * 16, 1)
    plain, ssc = (Manifest.load(folder / "out" / "grid" / f"q-{arm}") for arm in ("plain", "ssc"))
    assert plain.ssc is None
    assert ssc.ssc is not None
    assert (ssc.ssc["alpha"], ssc.ssc["delta"], ssc.ssc["reflection"]) == (0.8, 0.8, "wait")
    assert replace(plain, ssc=ssc.ssc) == ssc
    expected = {"temperature": 0.6, "top_p": 0.95, "max_tokens": 32_768, "thinking": True}
    assert expected.items() <= plain.sampling.items()
    assert (plain.model, plain.budget, plain.limit) == ("Qwen/Qwen3-8B", 16, None)
    page = (folder / "out" / "grid.html").read_text()
    assert "16 trajectories per question where the paper has 512" in page
    assert "in the paper over 128: its numbers do not compare" in page
    assert "DIS-GMM*" in out
    assert "pass@1" not in out  # the report has all, the screen the first table
    assert "out/grid.html: 2 experiments" in err


def test_without_selfstepconf_there_is_the_plain_arm_alone(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(monkeypatch, FakeEngine())
    assert run(capsys, "fake", "-o", "out", *SMALL, "--no-ssc")[0] == 0
    assert [path.name for path in (folder / "out" / "grid").iterdir()] == ["q-plain"]
    assert (folder / "out" / "grid.html").exists()


def test_a_complete_grid_is_evaluated_without_an_engine(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(monkeypatch, FakeEngine())
    assert run(capsys, "fake", "-o", "out", *SMALL)[0] == 0
    (folder / "out" / "grid.html").unlink()
    engine = put(monkeypatch, FakeEngine())
    code, out, _ = run(capsys, "fake", "-o", "out", *SMALL)
    assert code == 0
    assert "q-plain is complete: 16 trajectories of every question" in out
    assert (engine.n_made, engine.n_closed) == (0, 0)
    assert (folder / "out" / "grid.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("n_before", [0, 5, 64, 70, 127])
def test_an_interrupted_grid_goes_on_and_ends_like_one_that_was_not(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, n_before: int
) -> None:
    monkeypatch.setattr(sys, "argv", ["distrivote", "reproduce", "fake", "-o", "out", "--api-key", "sk-1"])
    put(monkeypatch, FakeEngine(n_before))
    code, _, err = run(capsys, "fake", "-o", "out", *SMALL)
    assert code == 130
    assert 'resume with: distrivote reproduce fake -o out --api-key "$OPENAI_API_KEY"' in err
    assert not (folder / "out" / "grid.html").exists()
    engine = put(monkeypatch, FakeEngine())
    assert run(capsys, "fake", "-o", "out", *SMALL)[0] == 0
    assert engine.n_made == 2 * QUESTIONS * 16 - n_before
    put(monkeypatch, FakeEngine())
    assert run(capsys, "fake", "-o", "whole", *SMALL)[0] == 0
    for arm in ("plain", "ssc"):
        ours, theirs = (stored(folder / name / "grid" / f"q-{arm}") for name in ("out", "whole"))
        assert ours == theirs


def test_a_larger_scale_in_the_same_folder_only_adds(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(monkeypatch, FakeEngine())
    assert run(capsys, "fake", "-o", "out", "--benchmark", "q.jsonl", "--scale", "0.016")[0] == 0
    run_folder = folder / "out" / "grid" / "q-plain"
    few = stored(run_folder)
    assert [row[0] for row in few] == ["1"] * 16 + ["3"] * 16
    engine = put(monkeypatch, FakeEngine())
    assert run(capsys, "fake", "-o", "out", "--benchmark", "q.jsonl", "--scale", "0.04")[0] == 0
    assert engine.n_made == 2 * (4 * 20 - 2 * 16)
    assert set(few) < set(stored(run_folder))


def test_shards_share_the_runs_and_the_command_without_makes_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, n_made in (("2/3", 1), ("1/3", 2), ("3/3", 1)):
        engine = put(monkeypatch, FakeEngine())
        code, out, err = run(capsys, "fake", "-o", "out", *SMALL, "--shard", number)
        assert code == 0
        assert engine.n_made == 2 * n_made * 16
        assert "the same command without --shard makes the report" in err
        assert not (folder / "out" / "grid.html").exists()
    engine = put(monkeypatch, FakeEngine())
    code, out, _ = run(capsys, "fake", "-o", "out", *SMALL)
    assert (code, engine.n_made) == (0, 0)
    assert "DIS-GMM" in out
    put(monkeypatch, FakeEngine())
    assert run(capsys, "fake", "-o", "whole", *SMALL)[0] == 0
    for arm in ("plain", "ssc"):
        assert stored(folder / "out/grid" / f"q-{arm}") == stored(folder / "whole/grid" / f"q-{arm}")


@pytest.mark.slow
@pytest.mark.parametrize("sweep", ["alpha-delta", "delta", "step-split", "reflection-token", "temperature-0"])
def test_a_sweep_makes_its_runs_and_its_experiment(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, sweep: str
) -> None:
    engine = put(monkeypatch, FakeEngine())
    given = ["--benchmark", "q.jsonl", "--scale", "0.02", "--sweep", sweep]
    code, out, _ = run(capsys, "Qwen/Qwen3-8B", "-o", "out", *given)
    assert code == 0
    n_runs = 0
    for stage in grid.SWEEPS[sweep]:
        runs = sorted((folder / "out" / stage.name).iterdir())
        assert [path.name for path in runs] == sorted(f"q-{arm.name}" for arm in stage.arms)
        temperatures = {Manifest.load(path).sampling["temperature"] for path in runs}
        assert temperatures == {0.6 if stage.temperature is None else 0.0}
        assert (folder / "out" / f"{stage.name}.html").exists()
        n_runs += len(runs) * min(stage.budget, 16)
    assert engine.n_made == n_runs
    table = {
        "alpha-delta": "0.1\t0.9",
        "reflection-token": "Alternatively",
        "temperature-0": "BasicInference",
    }
    assert table.get(sweep, "delta" if sweep == "delta" else "window of 512") in out


def test_as_published_is_for_the_arms_with_selfstepconf_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fake", "-o", "out", *SMALL, "--as-published", "--dry-run", "--json")
    assert code == 0
    commands = [step["command"] for step in json.loads(out)["stages"][0]["steps"]]
    assert ["--as-published" in each for each in commands] == ["--no-ssc" not in each for each in commands]
    assert len(set(commands)) == 2
    code, _, err = run(capsys, "fake", "-o", "out", *SMALL, "--as-published", "--no-ssc", "--dry-run")
    assert code == 2
    assert "SelfStepConf is off" in err


def test_a_folder_of_other_settings_is_refused_before_anything_is_sampled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(monkeypatch, FakeEngine())
    assert run(capsys, "Qwen/Qwen3-8B", "-o", "out", *SMALL)[0] == 0
    engine = put(monkeypatch, FakeEngine())
    code, out, err = run(capsys, "Qwen/Qwen3-8B", "-o", "out", *SMALL, "--no-thinking")
    assert (code, out, engine.n_made) == (2, "", 0)
    assert err.splitlines()[0].endswith("ask for these, or name another folder with -o")
    assert "  sampling.temperature: was 0.6, asked 0.7" in err.splitlines()
    assert "  sampling.thinking: was true, asked false" in err.splitlines()


# The plan


def in_bash(line: str) -> list[str]:
    """Return the words of a command as a shell takes them; shlex does not know $'...'."""
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True, text=True
    )
    return done.stdout.split("\0")[:-1]


def test_the_plan_of_the_papers_grid(capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(
        *(capsys, "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "-o", "out", "--engine", "vllm"),
        *("--tokens-per-second", "20000"),
    )
    (stage,) = found["stages"]
    by_arm = {arm: [step for step in stage["steps"] if step["arm"] == arm] for arm in ("plain", "ssc")}
    assert {arm: sum(step["n_trajectories"] for step in steps) for arm, steps in by_arm.items()} == {
        "plain": 162_816,
        "ssc": 162_816,
    }
    # The table of lengths, by hand: 30 questions of each but GPQA-D with 198, 512 trajectories.
    plain = 512 * (30 * (28266.73 + 21239.20 + 26673.87 + 23137.50) + 198 * 9560.65)
    ssc = 512 * (30 * (28604.80 + 20733.97 + 26280.73 + 22291.60) + 198 * 9411.71)
    assert found["totals"]["n_tokens"] == pytest.approx(plain + ssc, rel=1e-6)
    assert found["totals"]["hours"] == pytest.approx((plain + ssc) / 20_000 / 3600, rel=1e-6)
    assert found["totals"]["n_left"] == found["totals"]["n_trajectories"] == 325_632
    assert (found["max_tokens"], found["temperature"], found["published_as"]) == (
        *(65_536, 0.6),
        "DeepSeek-R1-8B",
    )
    assert stage["steps"][0]["command"] == (
        "distrivote generate hmmt2025 -o out/grid/hmmt2025-plain --model"
        " deepseek-ai/DeepSeek-R1-0528-Qwen3-8B --engine vllm --budget 512 --max-tokens 65536 --no-ssc"
        " --template plain --system"
        " $'该助手为DeepSeek-R1，由深度求索公司创造。\\n今天是2025年5月28日，星期一。\\n'"
    )
    choice = next(step for step in stage["steps"] if "gpqa" in step["command"])
    assert "--template" not in choice["command"]
    assert stage["evaluate"].startswith("distrivote evaluate out/grid -e main")
    assert stage["evaluate"].endswith("--against-paper -o out/grid.html")


@pytest.mark.slow
def test_the_commands_of_a_plan_make_the_same_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [*("Qwen/Qwen3-4B", "--benchmark", "q.jsonl", "--scale", "0.02", "--no-thinking", "--seed", "3")]
    given += ["--split", "exact", "--guard", "--slots", "8", "--no-texts", "--shard", "1/2"]
    for sweep in ([], ["--sweep", "alpha"], ["--sweep", "temperature-0"]):
        steps = [
            step
            for stage in plan(capsys, *given, *sweep, "-o", "theirs")["stages"]
            for step in stage["steps"]
        ]
        put(monkeypatch, FakeEngine())
        assert run(capsys, *given, *sweep, "-o", "ours")[0] == 0
        for step in steps:
            with pytest.raises(SystemExit) as caught:
                main(shlex.split(step["command"])[1:])
            assert caught.value.code == 0
            theirs = folder / step["run"]
            ours = folder / step["run"].replace("theirs", "ours", 1)
            assert Manifest.load(ours) == Manifest.load(theirs)
            assert stored(ours) == stored(theirs)
            assert len(stored(ours)) == step["n_trajectories"] > 0
        capsys.readouterr()


def test_a_plan_counts_what_is_stored_and_measures_its_lengths(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(monkeypatch, FakeEngine(70))
    assert run(capsys, "fake", "-o", "out", *SMALL)[0] == 130
    found = plan(capsys, "fake", "-o", "out", *SMALL)
    plain, ssc = found["stages"][0]["steps"]
    assert (plain["n_stored"], plain["n_left"]) == (64, 0)
    assert (ssc["n_stored"], ssc["n_left"]) == (6, 58)
    assert (plain["tokens_per_trajectory"], plain["tokens_from"]) == (2.0, "measured on what is stored")
    assert ssc["tokens_from"].startswith("half of the 1,024 tokens")


def test_a_plan_needs_no_network_and_touches_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distrivote.benchmarks.registry.fetch", lambda *_: pytest.fail("it was fetched"))
    before = sorted(folder.iterdir())
    assert len(plan(capsys, "m", "-o", "out", "--sweep", "alpha-delta")["stages"][0]["steps"]) == 81
    assert sorted(folder.iterdir()) == before


def test_in_a_pipe_a_plan_is_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "Qwen/Qwen3-8B", "-o", "out", "--dry-run", "--scale", "0.05")
    lines = [line.split("\t") for line in out.splitlines()]
    assert (code, len(lines)) == (0, 1 + 10 + 1)
    assert len({len(fields) for fields in lines}) == 1
    assert lines[1][-1].startswith("distrivote generate hmmt2025")
    assert lines[-1][-1].startswith("distrivote evaluate")
    assert "26 trajectories per question where the paper has 512" in err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
@pytest.mark.parametrize("sweep", [[], ["--sweep", "alpha-delta"], ["--sweep", "delta"]])
def test_a_plan_fits_into_80_columns_and_its_commands_can_be_copied(sweep: list[str]) -> None:
    import pty

    given = ["reproduce", "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "-o", "a folder/with spaces", *sweep]
    given += [
        "--engine",
        "vllm",
        "--option",
        "tensor_parallel_size=2",
        "--dry-run",
        "--tokens-per-second",
        "9",
    ]
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    words = [sys.executable, "-m", "distrivote", *given]
    with subprocess.Popen(words, stdout=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while read := os.read(ours, 1 << 16):
                shown += read
        except OSError:  # the other side has ended
            pass
        finally:
            os.close(ours)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode().replace("\r\n", "\n"))
    assert max(map(len, text.splitlines())) <= 80
    commands = text.partition("Equivalent to these commands:\n")[2].replace("\\\n", " ")
    copied = [in_bash(line) for line in commands.splitlines() if line.startswith("distrivote ")]
    stages = grid.stages_named(tuple(sweep[1:]))
    n_runs = sum(len(stage.arms) * len(stage.benchmarks) for stage in stages)
    assert [words[1] for words in copied].count("generate") == n_runs
    assert [words[1] for words in copied].count("evaluate") == len(stages)
    assert copied[0][4].startswith("a folder/with spaces/")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m", "-o", "out", "--sweep", "gamma"], "unknown sweep 'gamma'"),
        (["m", "-o", "out", "--scale", "0"], "scale is 0: give a number above 0, up to 1"),
        (["m", "-o", "out", "--scale", "1.5", "--dry-run"], "scale is 1.5"),
        (["m", "-o", "out", "--shard", "5/4"], "the shard is '5/4'"),
        (["m", "-o", "out", "--benchmark", "nowhere"], "unknown benchmark 'nowhere'"),
        (["m", "-o", "out", "--dry-run", "--tokens-per-second", "0"], "tokens_per_second is 0"),
        (["m", "-o", "out", "--max-tokens", "0", *SMALL], "max_tokens is 0"),
        (
            ["m", "-o", "out", "--benchmark", "q.jsonl", "--benchmark", "x/q.jsonl"],
            "would both be out/grid/q-",
        ),
        (["m", "-o", "out", "--engine", "openai"], "give --base-url"),
        (["m", "-o", "out", "--split", "sentence"], "unknown splitter"),
        (["m", "-o", "out", "--sweep", "delta", "--no-ssc"], "delta compares settings of SelfStepConf"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (folder / "x").mkdir()
    (folder / "x" / "q.jsonl").write_text((folder / "q.jsonl").read_text())
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


# In a process of its own


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_a_grid_that_is_killed_goes_on_where_it_was(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(request: Any) -> Any:
        seed = (request.body or {}).get("seed", 0)
        tokens = [Token("So\n\n"), Token(f"\\boxed{{{seed % 5}}}.")]
        # A template is what SelfStepConf needs of a server without the plugin.
        return ToyServer(lambda text: tokens[min(text.count("So"), 1) :], template=True, pause=0.02)(request)

    with ScriptedServer(answer) as server:
        given = ["toy", "-o", "out", *SMALL, "--base-url", server.url, "--parallel", "2", "--split", "line"]
        command = [sys.executable, "-m", "distrivote", "reproduce", *given]
        first = folder / "out" / "grid" / "q-plain"
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and not list(first.glob("claims/[0-9]*")):
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        before = stored(first)
        assert 0 < len(before) < 4 * 16
        code, out, err = run(capsys, *given)  # in this process, which evaluates the main table alone
        assert code == 0, err
        assert set(before) < set(stored(first))
        assert f"{4 * 16 - len(before)} trajectories added" in out
    for arm in ("plain", "ssc"):
        assert len(stored(folder / "out" / "grid" / f"q-{arm}")) == 4 * 16
    assert (folder / "out" / "grid.html").exists()


@pytest.mark.model
def test_the_built_in_model_goes_through_the_grid_to_its_report(folder: Path) -> None:
    given = ["smollm2-135m", "-o", "out", "--scale", "0.0005", "--max-tokens", "24", "--threads", "1"]
    given += ["--benchmark", "arithmetic", "--benchmark", "easy-choice"]
    command = [sys.executable, "-m", "distrivote", "reproduce", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for benchmark in ("arithmetic", "easy-choice"):
        for arm in ("plain", "ssc"):
            assert len(Run.open(folder / "out" / "grid" / f"{benchmark}-{arm}").done()) == 2 * 16
    assert "DIS-GMM*" in done.stdout
    page = (folder / "out" / "grid.html").read_text()
    assert all(f"{name}" in page for name in ("Which method is right most often?", "smollm2-135m"))
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.count("is complete: 16 trajectories of every question") == 4
