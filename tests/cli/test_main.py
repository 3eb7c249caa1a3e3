"""The command line as a whole: help, version, exit codes, pipes and interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from distrivote.cli import main as main_module
from distrivote.cli.main import main
from distrivote.errors import DistrivoteError, InputError, MissingPackageError
from distrivote.voting.methods import METHODS

ROOT = Path(__file__).parents[2]
ANSWERS = str(ROOT / "examples" / "answers.jsonl")
COMMAND = [sys.executable, "-m", "distrivote"]


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, **options)  # type: ignore[call-overload,no-any-return]


def exit_code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return left.value.code


def test_help_names_the_commands_and_a_command_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--help") == 0
    assert "vote" in capsys.readouterr().out
    assert exit_code("vote", "--help") == 0
    text = capsys.readouterr().out
    for name in ("method", "question-column", "answer-column", "confidence-column", "by", "explain"):
        assert f"--{name} " in text
    assert "held in memory" in " ".join(text.split())
    for name in METHODS:
        assert f" {name} " in " ".join(["", *text.split(), ""]), f"{name} is not in the help"


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        expected = version("distrivote")
    except PackageNotFoundError:
        pytest.skip("distrivote is not installed here, so it has no version")
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == f"distrivote {expected}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("what\nwhere \x1b[31m"), 2),
        (DistrivoteError("other"), 1),
        (MissingPackageError("altair", "report", "it"), 1),
    ],
)
def test_our_errors_are_one_line_without_a_traceback(
    error: DistrivoteError,
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(main_module, "app", fail)
    assert exit_code("vote", "x") == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("distrivote: error: ")
    assert err.count("\n") == 1
    assert "\x1b" not in err


def test_mistakes_in_our_own_code_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(main_module, "app", fail)
    with pytest.raises(ZeroDivisionError):
        main(["vote", "x"])


def test_wrong_usage_is_exit_code_2() -> None:
    for arguments in (["vote"], ["vote", ANSWERS, "--no-such-option"], ["no-such-command"]):
        result = run(*arguments)
        assert result.returncode == 2
        assert result.stdout == ""
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_process_answers_and_fails_as_it_should(tmp_path: Path) -> None:
    result = run("vote", ANSWERS)
    assert result.returncode == 0
    assert result.stdout.startswith("question_id\tanswer\t")
    result = run("vote", str(tmp_path / "missing.csv"))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("distrivote: error: can't read ")
    assert result.stderr.count("\n") == 1
    with open(ANSWERS, "rb") as file:
        assert run("vote", "-", stdin=file).returncode == 0


def test_output_for_a_terminal_without_unicode_does_not_crash() -> None:
    result = run("vote", ANSWERS, "--explain", "machines", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0
    assert "likely wrong" in result.stdout


def test_a_closed_pipe_is_met_with_silence(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    lines = [f"question-{i},answer-{i},1.5\n" for i in range(30_000)]
    path.write_text("question_id,answer,confidence\n" + "".join(lines))
    command = " ".join([*COMMAND, "vote", str(path), "-m", "wsc", "2>err", "|", "head", "-n", "1"])
    result = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.stdout.startswith("question_id")
    assert result.stdout.count("\n") == 1
    assert "Traceback" not in (tmp_path / "err").read_text()
    assert "BrokenPipe" not in (tmp_path / "err").read_text()
    assert result.returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        command = [*COMMAND, "vote", ANSWERS]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "distrivote: error: [Errno 28] No space left on device"
    assert "Traceback" not in result.stderr


def _spools(pid: int, folder: str) -> bool:
    """Say whether a process has a file without a name open in a folder.

    A file with a name is tempfile's trial of the folder: Python leaves it behind if an interrupt comes then.
    """
    try:
        links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return any(link.startswith(folder) and link.endswith(" (deleted)") for link in links)


def test_an_interrupt_leaves_at_once_and_nothing_behind(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    process = subprocess.Popen(
        [*COMMAND, "vote", "-", "-o", str(output)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # whoever starts the tests in the background has it ignored
    deadline = time.monotonic() + 20
    while not _spools(process.pid, str(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.02)  # until standard input is being spooled
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []
