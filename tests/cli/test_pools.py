"""`distrivote pools`, and `pools:NAME` where a run or a file may stand."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from cli.command import Command

ROOT = Path(__file__).parents[2]
DATA = str(ROOT / "tests" / "data")


@pytest.fixture
def run(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in an empty folder with an empty cache."""
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DISTRIVOTE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return command


def rows(out: str) -> list[dict[str, str]]:
    header, *lines = out.strip().splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


def test_the_sets_are_listed_with_what_is_at_hand(run: Command) -> None:
    code, out, err = run("pools", "--data", DATA)
    assert (code, err) == (0, "")
    found = {row["name"]: row for row in rows(out)}
    assert list(found) == ["boinf", "brumo", "prs", "prefix-consistency", "scorio", "runs"]
    assert {name: row["at hand"] for name, row in found.items()} == {
        "boinf": "11",
        "brumo": "all",
        "prs": "no",
        "prefix-consistency": "no",
        "scorio": "no",
        "runs": "no",
    }
    assert found["boinf"]["signal"] == "length"
    assert found["prs"]["signal"] == "none"
    assert found["prefix-consistency"]["licence"] == "not known; the code is MIT"


@pytest.mark.parametrize("arguments", [[], ["prefix-consistency"], ["boinf"]])
def test_a_terminal_of_80_columns_is_wide_enough(
    arguments: list[str], run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    out = re.sub(r"\x1b\[[0-9;]*m", "", run("pools", *arguments).out)
    assert max(map(len, out.splitlines())) <= 80
    assert "prefix-consistency" in out or arguments == ["boinf"]


def test_one_set_is_told_in_full(run: Command) -> None:
    code, out, _ = run("pools", "boinf/gpqa_diamond")
    assert code == 0
    facts, table = out.split("\n\n", 1)
    told = dict(line.split("\t", 1) for line in facts.splitlines())
    assert told["home"] == "https://github.com/jkomiyama/BoInf-code-publish"
    assert told["from"].startswith("commit fbcb0970")
    assert "not what log-probabilities gain" in told["it can show"]
    assert told["to get it"].startswith("distrivote evaluate pools:boinf fetches it")
    assert len(rows(table)) == 6


def test_json_has_the_files_with_their_checksums(run: Command) -> None:
    document = json.loads(run("pools", "boinf/aime2024/Qwen3-4B", "--json", "--data", DATA).out)
    (pool,) = document["pools"]
    assert pool["at hand"] == "yes"
    (file,) = pool["files"]
    assert file["path"] == "boinf/jsonl/analysis_aime2024_Qwen3-4B.jsonl"
    assert len(file["sha256"]) == 64
    assert len(json.loads(run("pools", "--json").out)) == 6


def test_an_unknown_set_is_one_sentence(run: Command) -> None:
    code, out, err = run("pools", "boif")
    assert (code, out) == (2, "")
    assert err.startswith("distrivote: error: unknown pool 'boif': did you mean boinf")
    assert err.count("\n") == 1


def test_a_folder_that_is_none_is_named_with_the_option(run: Command) -> None:
    assert "leave it out" in run("pools", "--data", "nowhere").err
    assert "name one with --data or DISTRIVOTE_DATA" in run("pools", "--data", "nowhere").err


# In other commands


@pytest.mark.slow
def test_a_pool_is_evaluated_by_its_name(run: Command) -> None:
    options = ("--data", DATA, "-m", "auto", "--repeats", 1, "--budget", 8, "--workers", 1)
    code, out, err = run("evaluate", "pools:brumo", *options)
    assert code == 0, err
    assert "sc" in out
    assert "brumo/brumo_2025/DeepSeek-R1-0528-Qwen3-8B: read from" in err
    assert "a converted copy" in err


@pytest.mark.slow
def test_a_vote_takes_one_pool_with_its_signal(run: Command) -> None:
    code, out, _ = run("vote", "pools:boinf/aime2024/Qwen3-4B", "--data", DATA, "-m", "wsc", "--json")
    assert code == 0
    assert len(json.loads(out)["questions"]) == 30


def test_a_vote_on_several_pools_is_refused(run: Command) -> None:
    code, _, err = run("vote", "pools:boinf", "--data", DATA)
    assert code == 2
    assert "pools:boinf has 35 pools: name one, such as pools:boinf/aime2024/AM-Thinking-v1" in err


def test_without_the_file_the_error_says_where_to_put_it(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nothing listens there
    code, _, err = run("evaluate", "pools:boinf/aime2024/Qwen3-4B")
    assert code == 1
    assert err.count("\n") == 1
    assert "could not be fetched (" in err
    assert (
        "put it at DIR/boinf/boinf/jsonl/analysis_aime2024_Qwen3-4B.jsonl and name that folder with --data"
        in err
    )


VOTE = "import numpy as np\n\n\ndef latest(classes, confidences):\n    return int(classes[-1])\n"


def test_a_new_vote_stands_in_the_leaderboard_by_one_command(run: Command, tmp_path: Path) -> None:
    (tmp_path / "my_latest_vote.py").write_text(VOTE)
    board = ["evaluate", "-e", "leaderboard", "pools:brumo", "--data", DATA, "--repeats", 2]
    code, out, err = run(*board, "-m", "my_latest_vote:latest", "-o", "board.md", "-o", "board.json")
    assert code == 0, err
    ranking = [row["method"] for row in rows(out.split("\n\n")[0])]
    assert {"sc", "dis-gmm", "auto", "auto, whole run", "my_latest_vote:latest"} <= set(ranking)
    assert "my\\_latest\\_vote:latest" in (tmp_path / "board.md").read_text()
    document = json.loads((tmp_path / "board.json").read_text())
    assert [result["experiment"] for result in document["results"]] == ["leaderboard"]
    assert document["settings"]["budget"] == 32


def test_the_leaderboard_takes_files_and_runs_as_well(run: Command) -> None:
    answers = str(ROOT / "examples" / "answers.jsonl")
    code, out, err = run("evaluate", answers, "-e", "leaderboard", "--budget", 16, "--repeats", 2)
    assert code == 0, err
    assert "answers" in out
    assert "experiment\ttable\trank" in out


def test_a_leaderboard_without_pools_says_what_to_do(run: Command) -> None:
    code, _, err = run("evaluate", "-e", "leaderboard")
    assert code == 2
    assert "no published pools are at hand: name some, as in pools:boinf, or a folder" in err
    assert "--data" in err


@pytest.mark.slow
def test_the_leaderboard_ranks_the_pools_at_hand_without_being_told(run: Command) -> None:
    code, out, err = run("evaluate", "-e", "leaderboard", "--data", DATA, "--repeats", 2)
    assert code == 0, err
    assert out.count("boinf/aime2024/") == 22  # two tables have a row for each
    assert "boinf/aime2024 (11 pools): read from" in err
