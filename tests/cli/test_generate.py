"""`distrivote generate` and the commands on runs, with the real built-in model."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from distrivote.cli.main import main
from distrivote.nouns import count
from distrivote.store.runs.run import Run
from engines.scripted_server import ScriptedServer, Token, ToyServer

pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")

SMALL = ["arithmetic", "--size", "3", "--budget", "3", "--max-tokens", "24", "--seed", "5"]
LONGER = ["arithmetic", "--size", "6", "--budget", "3", "--max-tokens", "40", "--seed", "6"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def stored(path: Path) -> list[tuple[object, ...]]:
    table = Run.open(path).table(["question_id", "sample", "seed", "text", "confidence"])
    return [tuple(row.values()) for row in table.to_pylist()]


def killed_again_and_again(options: list[str], path: Path, n_kills: int) -> None:
    """Begin a run, kill it at a random moment and begin again; what was stored must stay."""
    command = [sys.executable, "-m", "distrivote", "generate", *options, "-o", str(path)]
    rng = random.Random(n_kills)
    seen: list[tuple[object, ...]] = []
    for _ in range(n_kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.5, 4.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (path / "manifest.json").exists():
            now = stored(path)
            assert set(seen) <= set(now)
            assert len({row[:2] for row in now}) == len(now)
            seen = now


@pytest.mark.model
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_a_run_that_is_killed_twenty_times_ends_like_one_that_was_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*LONGER, "--slots", "1", "--threads", "1"]
    assert run(capsys, "generate", *options, "-o", str(tmp_path / "whole"))[0] == 0
    killed_again_and_again(options, tmp_path / "killed", 20)
    assert run(capsys, "generate", *options, "-o", str(tmp_path / "killed"))[0] == 0
    assert stored(tmp_path / "killed") == stored(tmp_path / "whole")


@pytest.mark.model
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_with_several_slots_nothing_that_was_stored_is_lost_or_doubled_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*LONGER, "--slots", "4"]
    killed_again_and_again(options, tmp_path / "run", 4)
    assert run(capsys, "generate", *options, "-o", str(tmp_path / "run"))[0] == 0
    assert len(stored(tmp_path / "run")) == 6 * 3


@pytest.mark.model
def test_two_processes_on_one_run_end_with_every_sample_once(tmp_path: Path) -> None:
    options = [*LONGER, "--slots", "2", "--threads", "1", "-o", str(tmp_path / "run")]
    command = [sys.executable, "-m", "distrivote", "generate", *options]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        process.communicate()
    assert [process.returncode for process in both] == [0, 0]
    rows = stored(tmp_path / "run")
    assert len(rows) == len({row[:2] for row in rows}) == 6 * 3


@pytest.mark.model
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_part_is_named_and_its_samples_are_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    options = [*SMALL, "--slots", "1", "--threads", "1", "-o", str(tmp_path / "run")]
    assert run(capsys, "generate", *options)[0] == 0
    whole = stored(tmp_path / "run")
    part = max((tmp_path / "run" / "parts").glob("*.parquet"), key=lambda path: path.stat().st_size)
    n_lost = pq.read_metadata(part).num_rows
    content = bytearray(part.read_bytes())
    if damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 3] ^= 1
    part.write_bytes(content)
    code, out, err = run(capsys, "generate", *options)
    assert code == 0
    assert part.name in err
    assert f"{count(n_lost, 'trajectory')} added" in out
    assert stored(tmp_path / "run") == whole


@pytest.mark.model
def test_a_run_can_be_listed_shown_voted_on_compacted_and_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "generate", *SMALL, "-o", "run", "--json")
    summary = json.loads(out)
    assert code == 0
    assert (summary["n_trajectories"], summary["stopped"]) == (9, False)
    assert "complete" in run(capsys, "generate", *SMALL, "-o", "run")[1]
    assert run(capsys, "runs")[1].splitlines()[1].split("\t")[4:6] == ["3", "9"]
    assert json.loads(run(capsys, "runs", "--json")[1])[0]["trajectories"] == 9
    assert len(run(capsys, "show", "run")[1].splitlines()) == 4
    assert "arithmetic-0001" in run(capsys, "show", "run", "arithmetic-0001", "-m", "sc")[1]
    assert run(capsys, "show", "run", "arithmetic-0001", "0")[1].strip()
    before = run(capsys, "vote", "run", "-m", "sc")[1]
    assert "1, with 9 trajectories" in run(capsys, "compact", "run")[1]
    assert run(capsys, "vote", "run", "-m", "sc")[1] == before
    assert run(capsys, "export", "run", "-o", "out.csv")[0] == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 10


def test_a_dry_run_says_what_it_would_cost_and_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    code, out, _ = run(capsys, "generate", *SMALL, "-o", str(path), "--dry-run", "--price", "1000")
    assert code == 0
    assert "9 trajectories of 3 questions" in out
    assert "216 tokens at most, 0.22" in out
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "-o", "run"], "unknown benchmark"),
        ([*SMALL, "-o", "run", "--budget", "0"], "budget is 0"),
        ([*SMALL, "-o", "run", "--max-cost", "1"], "--price"),
        ([*SMALL, "-o", "run", "--max-tokens-total", "0"], "max_tokens_total is 0"),
        ([*SMALL, "-o", "run", "--split", "sentence"], "unknown splitter"),
        ([*SMALL, "-o", "taken"], "holds other files"),
        ([*SMALL, "-o", "run", "--dry-run", "--new"], "--new begins another"),
        ([*SMALL, "-o", "run", "--template", "essay"], "unknown template"),
        ([*SMALL, "-o", "run", "--shard", "3/2"], "the shard is '3/2'"),
        ([*SMALL, "-o", "run", "--spread"], "give a limit too"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("x")
    code, out, err = run(capsys, "generate", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.model
def test_a_changed_setting_is_refused_with_the_difference_and_new_makes_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = ["arithmetic", "--size", "1", "--budget", "1", "--max-tokens", "4", "-o", "run"]
    assert run(capsys, "generate", *tiny)[0] == 0
    code, _, err = run(capsys, "generate", *tiny, "--temperature", "0.9")
    assert code == 2
    assert "sampling.temperature: was 0.6, asked 0.9" in err
    assert run(capsys, "generate", *tiny, "--temperature", "0.9", "--new")[0] == 0
    assert (tmp_path / "run-2" / "manifest.json").exists()


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return a command that samples q.jsonl, two questions, from a server that always says the same."""
    monkeypatch.chdir(tmp_path)
    questions(tmp_path, "1 + 1?", "2 + 2?")
    with ScriptedServer(ToyServer(lambda _: [Token("\\boxed{4}", 9.0)])) as server:
        options = ["--base-url", server.url, "--model", "toy", "--no-ssc", "--budget", "2"]
        yield ["generate", "q.jsonl", *options, "-o", "run"]


def questions(folder: Path, *texts: str) -> None:
    lines = [json.dumps({"question": text, "answer": "4"}) + "\n" for text in texts]
    (folder / "q.jsonl").write_text("".join(lines))


def test_an_edited_question_is_refused_and_new_makes_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    assert run(capsys, *asked, "--limit", "1")[0] == 0
    questions(tmp_path, "1 + 1?", "3 + 3?", "5 + 5?")
    assert run(capsys, *asked, "--limit", "2")[0] == 0
    questions(tmp_path, "1 + 1?", "2 + 2?", "6 + 6?")
    code, _, err = run(capsys, *asked, "--limit", "3")
    assert code == 2
    assert "question '2' of run was sampled with another text than q.jsonl has now" in err
    assert len(err.splitlines()) == 1
    assert run(capsys, *asked, "--new")[0] == 0
    assert len(stored(tmp_path / "run-2")) == 6
    assert "complete" in run(capsys, *asked, "--new")[1]


def test_shards_write_one_run_in_any_order_and_copies_of_their_parts_are_one_run_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    questions(tmp_path, "1 + 1?", "2 + 2?", "3 + 3?", "4 + 4?", "5 + 5?")
    assert run(capsys, *asked, "--shard", "2/2")[0] == 0
    assert [row[0] for row in stored(tmp_path / "run")] == ["2", "2", "4", "4"]
    assert "run has all of shard 2/2: 2 trajectories of each" in run(capsys, *asked, "--shard", "2/2")[1]
    plan = run(capsys, *asked, "--shard", "1/2", "--dry-run")[1]
    assert "6 trajectories of 3 questions to do" in plan
    assert run(capsys, *asked[:-1], "other", "--shard", "1/2")[0] == 0
    manifests = [(tmp_path / name / "manifest.json").read_text() for name in ("run", "other")]
    assert manifests[0] == manifests[1]
    for part in (tmp_path / "other" / "parts").glob("*.parquet"):
        (tmp_path / "run" / "parts" / part.name).write_bytes(part.read_bytes())
    assert "run is complete" in run(capsys, *asked)[1]
    assert run(capsys, *asked[:-1], "whole")[0] == 0
    assert stored(tmp_path / "run") == stored(tmp_path / "whole")


def test_a_spread_limit_is_a_limit_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    questions(tmp_path, "1 + 1?", "2 + 2?", "3 + 3?", "4 + 4?")
    assert run(capsys, *asked, "--limit", "2", "--spread")[0] == 0
    assert [row[0] for row in stored(tmp_path / "run")] == ["1", "1", "3", "3"]
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["limit"] == 2
    assert run(capsys, *asked, "--limit", "3", "--spread")[0] == 0
    assert [row[0] for row in stored(tmp_path / "run")] == ["1", "1", "2", "2", "3", "3"]


def test_other_settings_are_shown_line_by_line(capsys: pytest.CaptureFixture[str], asked: list[str]) -> None:
    assert run(capsys, *asked)[0] == 0
    code, _, err = run(capsys, *asked, "--seed", "7", "--top-p", "0.5")
    assert code == 2
    assert err.splitlines() == [
        "distrivote: error: run was made with other settings: use the settings that it was made with, or make"
        " another run with --new",
        "  sampling.top_p: was 0.95, asked 0.5",
        "  seed: was 0, asked 7",
    ]


def test_a_run_with_another_system_message_does_not_mix_and_show_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    assert run(capsys, *asked, "--system", "Be brief.")[0] == 0
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["system"] == "Be brief."
    code, _, err = run(capsys, *asked, "--system", "Be long.")
    assert code == 2
    assert err.splitlines()[1:] == ['  system: was "Be brief.", asked "Be long."']
    assert run(capsys, *asked)[2].splitlines()[1:] == ['  system: was "Be brief.", asked null']
    assert "complete" in run(capsys, *asked, "--system", "Be brief.")[1]
    _, out, err = run(capsys, "show", "run")
    assert out.startswith("question\t")
    assert err == "system message: Be brief.\n"
    assert "system message: Be brief." in run(capsys, "show", "run", "1")[1]


def test_as_published_is_recorded_and_refused_where_it_can_not_be_had(
    capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    steered = [word for word in asked if word != "--no-ssc"]
    code, _, err = run(capsys, *steered, "--as-published")
    assert code == 2
    assert "SelfStepConf as published can't be had from a server" in err
    code, _, err = run(capsys, *asked, "--as-published")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "SelfStepConf is off" in err
    code, _, err = run(capsys, *steered, "--as-published", "--guard")
    assert code == 2
    assert "can't refuse an end of the text" in err


def test_questions_that_were_not_kept_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    assert run(capsys, *asked, "--no-texts")[0] == 0
    questions(tmp_path, "3 + 3?", "2 + 2?")
    assert "complete" in run(capsys, *asked, "--no-texts")[1]


def test_a_file_may_be_named_in_several_ways(capsys: pytest.CaptureFixture[str], asked: list[str]) -> None:
    assert run(capsys, *asked)[0] == 0
    assert "complete" in run(capsys, "generate", "./q.jsonl", *asked[2:])[1]


def test_new_takes_an_empty_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str]
) -> None:
    (tmp_path / "run").mkdir()
    assert run(capsys, *asked, "--new")[0] == 0
    assert len(stored(tmp_path / "run")) == 4


def test_a_folder_that_is_no_run_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "show", str(tmp_path))
    assert code == 2
    assert len(err.splitlines()) == 1
    assert run(capsys, "runs", str(tmp_path / "nowhere"))[0] == 2
