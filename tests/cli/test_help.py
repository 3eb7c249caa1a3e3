"""Help: every command, in panels, within the width of the terminal, nothing cut."""

from __future__ import annotations

import re

import pytest

from distrivote.cli.commands import Commands
from distrivote.cli.main import main

COMMANDS = ["", *Commands()]


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--help"])
    assert left.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_nothing_is_cut(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = help_of(command, capsys)
    assert max(map(len, text.splitlines())) < min(columns, 80)
    assert "<" not in text, "a type is shown beside the name"
    assert "…" not in text
    # The period of an abbreviated sentence; "8, 16, 32 ..." and "N,N,..." are meant.
    assert not re.search(r"\w\.\.\.$", re.sub(r"\[ARGS\]\.\.\.|\]\.\.\.", "", text), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_words_do_not_depend_on_the_width(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    for columns in (50, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        texts.append(help_of(command, capsys).split())
    assert texts[0] == texts[1]


def test_options_are_in_panels_and_the_usage_names_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of("generate", capsys)
    assert text.startswith("Usage: distrivote generate [OPTIONS] BENCHMARK -o RUN\n")
    headings = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    assert headings == [
        "Arguments", "Question", "Vote", "Model", "Sampling", "SelfStepConf, and ending trajectories",
        "Limits", "Machines", "Storage",
        "Output",
    ]  # fmt: skip
    assert text.rstrip().endswith("--help                      Show this message and exit.")


def test_few_options_need_no_panels(capsys: pytest.CaptureFixture[str]) -> None:
    assert re.findall(r"^(\w.*):$", help_of("runs", capsys), re.MULTILINE) == ["Arguments", "Options"]


def test_optional_and_repeated_arguments_are_marked_in_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    firsts = [help_of(command, capsys).splitlines()[0] for command in ("ask", "evaluate", "show", "import")]
    assert firsts == [
        "Usage: distrivote ask [OPTIONS] QUESTION",
        "Usage: distrivote evaluate [OPTIONS] [RUN]...",
        "Usage: distrivote show [OPTIONS] RUN [QUESTION] [SAMPLE]",
        "Usage: distrivote import [OPTIONS] SOURCE... -o RUN",
    ]


def test_an_option_is_not_broken_at_its_hyphens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in range(50, 81):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert not re.search(r"\w-\n", help_of("ask", capsys))


def test_a_command_that_does_not_exist_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["generat"])
    assert left.value.code == 2
    assert "generate" in capsys.readouterr().err
