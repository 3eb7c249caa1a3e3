"""`distrivote doctor`: what works here, and what to install for the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from distrivote import names
from distrivote.cli import findings
from distrivote.cli.findings import Finding, extra_findings, fits, plugin_findings
from distrivote.cli.main import main
from engines.scripted_server import ScriptedServer, Token, ToyServer, WholeOnly

ROOT = Path(__file__).parents[2]


def says(_: str) -> Sequence[Token]:
    return [Token("Hi", 3.0), Token(" there", 4.0)]


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    with pytest.raises(SystemExit) as left:
        main(["doctor", "--json", *arguments])
    assert left.value.code == code
    report = json.loads(capsys.readouterr().out)
    report["by"] = {(each["kind"], each["name"]): each for each in report["findings"]}
    return dict(report)


def test_it_says_where_it_runs_and_that_votes_come_out_right(capsys: pytest.CaptureFixture[str]) -> None:
    report = doctor(capsys)
    assert report["python"].count(".") == 2
    assert report["n_processors"] >= 1
    assert report["by"]["core", "voting"]["state"] == "works"
    assert [name for kind, name in report["by"] if kind == "engine"] == [
        "embedded",
        "openai",
        "vllm",
        "transformers",
    ]


def test_what_is_missing_comes_with_the_command_that_installs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(package: str) -> str:
        if package in ("vllm", "torch", "datasets"):
            raise metadata.PackageNotFoundError(package)
        return "99.0"

    monkeypatch.setattr(findings.metadata, "version", nothing)
    found = doctor(capsys)["by"]
    assert found["engine", "vllm"]["state"] == "missing"
    assert found["engine", "vllm"]["fix"] == "pip install '.[vllm]'"
    assert found["engine", "transformers"]["detail"] == "no torch"
    if ("extra", "datasets") in found:  # where distrivote is installed
        assert found["extra", "datasets"]["fix"] == "pip install '.[datasets]'"
        assert found["extra", "all"]["detail"] == "no datasets, torch"


def test_an_extra_whose_package_is_too_old_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = Message()
    for name in ("all", "eval", "gpu"):
        facts["Provides-Extra"] = name
    for wanted in (
        "numpy>=2.1",
        "colorama; sys_platform != 'none'",
        "torch; extra == 'gpu'",
        "uvloop>=1; sys_platform == 'none' and extra == 'gpu'",
        'lm-eval[api]>=0.4.13; extra == "eval"',
        "distrivote[gpu]; extra == 'all'",
    ):
        facts["Requires-Dist"] = wanted
    monkeypatch.setattr(findings.metadata, "metadata", lambda _: facts)
    monkeypatch.setattr(findings.metadata, "version", lambda _: "0.4.9")
    assert extra_findings() == [
        Finding(
            "extra",
            "eval",
            "fails",
            "lm-eval 0.4.9; needs lm-eval >=0.4.13",
            "pip install -U '.[eval]'",
        ),
        Finding("extra", "gpu", "works", "torch 0.4.9"),
    ]


@pytest.mark.parametrize(
    ("version", "bounds", "so"),
    [
        ("2.4.6", ">=2.1", True),
        ("2.10", ">=2.9", True),
        ("2", ">=2.0", True),
        ("1.9.0.post1", ">=1.9", True),
        ("2.9.0+cpu", "==2.9.0", True),
        ("2.0rc1", ">=2", False),
        ("2.1rc1", ">=2", True),
        ("3.0", ">=2,<3", False),
        ("2026.10.11549", "==2026.10.11549", True),
        ("2026.10.11550", "==2026.10.11549", False),
        ("0.9", ">=1", False),
        ("unknown", ">=1", False),
        ("unknown", "", True),
        ("0.1", "", True),
    ],
)
def test_versions_are_compared_by_the_rules_of_pip(version: str, bounds: str, so: bool) -> None:
    assert fits(version, bounds) is so


def test_an_installation_without_metadata_has_no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: str) -> Message:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(findings.metadata, "metadata", unknown)
    assert extra_findings() == []


def test_what_installed_packages_add_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def added(group: str) -> dict[str, metadata.EntryPoint]:
        values = {"spread": "statistics:stdev", "gone": "statistics:gone"} if "measures" in group else {}
        return {name: metadata.EntryPoint(name, value, group) for name, value in values.items()}

    monkeypatch.setattr(names, "_entry_points", added)
    good, bad = plugin_findings()
    assert (good.kind, good.name, good.state) == ("plugin", "spread", "works")
    assert good.detail.startswith("measure of ")
    assert (bad.name, bad.state, bad.fix) == ("gone", "fails", "repair or remove that package")


def test_every_extra_of_the_project_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    import tomllib

    if findings.version_of("distrivote") is None:
        pytest.skip("distrivote is not installed here, so it has no extras")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    shown = {name for kind, name in doctor(capsys)["by"] if kind == "extra"}
    assert shown == set(declared)


@pytest.mark.parametrize(
    ("server", "detail", "fix"),
    [
        (
            ToyServer(says, template=True),
            "toy, 20 of 20 log-probabilities, SelfStepConf by continuation",
            None,
        ),
        (ToyServer(says, plugin=True), "toy, 20 of 20 log-probabilities, SelfStepConf by its plugin", None),
        (ToyServer(says, max_logprobs=5), "toy, 5 of 20 log-probabilities, SelfStepConf off", None),
        (
            ToyServer(says, gives=0),
            "toy, 0 of 20 log-probabilities, SelfStepConf off",
            "majority voting, or --signal stated",
        ),
        (
            WholeOnly(says),
            "toy, 20 of 20 log-probabilities (in whole replies only), SelfStepConf off",
            None,
        ),
    ],
)
def test_a_server_is_asked_what_it_can_do(
    server: ToyServer, detail: str, fix: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer(server) as running:
        found = doctor(capsys, "--base-url", running.url)["by"]["server", running.url]
    assert (found["state"], found["detail"], found["fix"]) == ("works", detail, fix)


def test_a_server_with_several_models_or_another_key_is_a_finding_and_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ScriptedServer(ToyServer(says, models=("a", "b"))) as running:
        found = doctor(capsys, "--base-url", running.url, code=1)["by"]["server", running.url]
        assert found["state"] == "fails"
        assert "a, b" in found["detail"]
        named = doctor(capsys, "--base-url", running.url, "--model", "b")["by"]["server", running.url]
        assert named["state"] == "works"
    with ScriptedServer(ToyServer(says, key="secret")) as running:
        report = doctor(capsys, "--base-url", running.url, "--api-key", "hunter2", code=1)
        found = report["by"]["server", running.url]
        assert found["state"] == "fails"
        assert "hunter2" not in json.dumps(found)


def test_a_model_file_that_is_not_there_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
    found = doctor(capsys, "--model", "nowhere.gguf")["by"]["engine", "embedded"]
    assert found["state"] == "fails"
    assert "nowhere.gguf" in found["detail"]


def test_a_model_that_was_not_fetched_is_not_fetched(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path))
    assert "at first use" in doctor(capsys)["by"]["engine", "embedded"]["detail"]
    assert not list(tmp_path.iterdir())


def test_a_core_that_votes_wrongly_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Finding("core", "voting", "fails", "a known vote came out as ('35', '35')", "reinstall")
    monkeypatch.setattr(findings, "core_finding", lambda: broken)
    with pytest.raises(SystemExit) as left:
        main(["doctor"])
    assert left.value.code == 1


def test_in_a_pipe_each_finding_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["doctor"])
    header, *lines = capsys.readouterr().out.splitlines()
    assert header == "kind\tname\tstate\tdetail\tfix"
    assert all(line.count("\t") == 4 for line in lines)


@pytest.mark.parametrize("width", [40, 80, 160])
def test_on_a_terminal_no_line_of_the_tables_is_wider_than_the_screen(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit):
        main(["doctor"])
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert max(map(len, shown.splitlines())) <= width
    assert "✓ works" in shown


def test_what_a_server_can_do_is_shown_in_full_at_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "/home/somebody/models/a-folder/smollm2-135m-instruct-f16.gguf"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    server = ToyServer(says, models=(model,), max_logprobs=5)
    with ScriptedServer(server) as running, pytest.raises(SystemExit):
        main(["doctor", "--base-url", running.url])
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    lines = shown[shown.index("server") : shown.index("extra")].splitlines()
    (row,) = (index for index, line in enumerate(lines) if running.url in line)
    told = [line.rstrip() for line in lines[row + 1 :] if line.strip()]
    assert all(line.startswith("    ") and len(line) <= 80 for line in told)
    said = " ".join(map(str.strip, told))
    assert said == f"{model}, 5 of 20 log-probabilities, SelfStepConf off"


def test_what_fails_is_told_with_its_indent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Finding("core", "voting", "fails", "a long story of what went wrong " * 5, "reinstall " * 12)
    monkeypatch.setattr(findings, "core_finding", lambda: broken)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main(["doctor"])
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()[1:]
    assert sum("story" in line for line in lines) > 2
    assert all(line.startswith("  ") for line in lines if line.strip())


def test_nothing_heavy_is_imported_for_it() -> None:
    script = (
        "import sys; sys.argv = ['/usr/bin/distrivote', 'doctor']\n"
        "from distrivote.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"vllm", "transformers", "ray", "datasets", "altair", "sklearn", "fastapi", "math_verify"}
    assert not {name.split(".")[0] for name in done.stderr.split()} & heavy


def test_without_arguments_the_help_is_shown() -> None:
    done = subprocess.run([sys.executable, "-m", "distrivote"], capture_output=True, text=True)
    assert "Usage: distrivote" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_shell_can_complete_commands() -> None:
    asked = {"_DISTRIVOTE_COMPLETE": "complete_bash", "COMP_WORDS": "distrivote do", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "distrivote"], capture_output=True, text=True, env=os.environ | asked
    )
    assert done.stdout.split() == ["doctor"]
