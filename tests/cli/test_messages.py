"""What is said on standard error: whole for scripts, wrapped at words for people."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from distrivote.cli import messages
from distrivote.cli.main import main
from distrivote.cli.messages import note, say

SENTENCE = "the budget is 64, not 128: a question of smollm2-basic has no more trajectories, so --budget 64"
CLI = Path(messages.__file__).parent


def make_terminal(monkeypatch: pytest.MonkeyPatch, columns: int = 40) -> None:
    """Make standard error a terminal, for the test that asks for it."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


def test_a_terminal_gets_lines_that_break_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch)
    note(SENTENCE)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith("note: the budget is 64")
    assert all(line.startswith("  ") for line in rest)
    assert max(map(len, [first, *rest])) <= 40
    assert f"{first} {' '.join(map(str.strip, rest))}" == f"note: {SENTENCE}"


def test_a_path_is_not_broken_so_that_it_can_be_copied(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch)
    path = "/a/very-long/folder/with-hyphens/" * 3
    say(f"can't read {path}: name a file")
    assert path in capsys.readouterr().err


def test_scripts_get_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    note(SENTENCE)
    say(SENTENCE)
    assert capsys.readouterr().err == f"note: {SENTENCE}\n{SENTENCE}\n"


def test_what_somebody_else_wrote_is_only_text(capsys: pytest.CaptureFixture[str]) -> None:
    note("a\x1b[31m\nb")
    assert capsys.readouterr().err == "note: a␛[31m␊b\n"


def test_errors_are_wrapped_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    make_terminal(monkeypatch)
    with pytest.raises(SystemExit):
        main(["vote", "no/such/file.jsonl"])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("distrivote: error: can't read")
    assert len(lines) > 1
    assert all(line.startswith("  ") for line in lines[1:])


@pytest.mark.parametrize("path", sorted(CLI.glob("*.py")), ids=lambda path: path.name)
def test_every_command_says_its_notes_in_this_way(path: Path) -> None:
    assert 'print(f"note:' not in path.read_text()
