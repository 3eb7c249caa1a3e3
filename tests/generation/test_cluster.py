"""A run on a Ray cluster of this machine, with the embedded engine in two workers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from distrivote import InputError
from distrivote.cli.main import main
from distrivote.generation.cluster import Cluster
from distrivote.store.runs.run import Run
from engines.scripted_server import ScriptedServer, Token, ToyServer

SMALL = ["arithmetic", "--size", "6", "--budget", "2", "--max-tokens", "16", "--slots", "2", "--threads", "1"]


def test_a_cluster_that_nobody_means_is_an_error() -> None:
    for wrong in ({"n_workers": 0}, {"n_cpus": 0.0}, {"n_gpus": -1.0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Cluster(**wrong)  # type: ignore[arg-type]


@pytest.mark.integrations
def test_two_workers_write_one_run_and_what_is_there_is_not_sampled_again(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    command = [sys.executable, "-m", "distrivote", "generate", *SMALL, "-o", str(tmp_path / "run"), "--json"]
    first = subprocess.run([*command, "--limit", "2"], capture_output=True, text=True, check=True)
    assert json.loads(first.stdout)["n_trajectories"] == 4
    before = Run.open(tmp_path / "run").table(["question_id", "sample", "text"]).to_pylist()
    cluster = ["--ray", "--workers", "2", "--worker-cpus", "0.5"]
    second = subprocess.run([*command, *cluster], capture_output=True, text=True, check=True)
    assert json.loads(second.stdout)["n_trajectories"] == 8
    run = Run.open(tmp_path / "run")
    table = run.table(["question_id", "sample", "text"]).to_pylist()
    assert len(run.done()) == len(table) == 12
    assert all(row in table for row in before)
    assert len({path.name.split("-")[1] for path in (tmp_path / "run" / "parts").iterdir()}) >= 3


@pytest.mark.integrations
def test_what_the_workers_engines_note_is_said_here_once(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    command = [sys.executable, "-m", "distrivote", "generate", "arithmetic", "--size", "4", "--budget", "2"]
    cluster = ["--ray", "--workers", "2", "--worker-cpus", "0.5"]
    with ScriptedServer(ToyServer(lambda _: [Token("So 4.")], gives=0)) as server:
        given = ["--base-url", server.url, "--model", "toy", "--no-ssc", "-o", str(tmp_path / "run")]
        made = subprocess.run([*command, *cluster, *given], capture_output=True, text=True, check=True)
    assert made.stderr.count("gives no log-probabilities: majority voting decides") == 1
    assert len(Run.open(tmp_path / "run").done()) == 8


@pytest.mark.integrations
def test_an_address_without_a_cluster_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    with pytest.raises(SystemExit) as ended:
        main(["generate", *SMALL, "-o", str(tmp_path / "run"), "--ray", "127.0.0.1:9"])
    assert ended.value.code == 1
    assert "can't reach a Ray cluster at 127.0.0.1:9" in capsys.readouterr().err
