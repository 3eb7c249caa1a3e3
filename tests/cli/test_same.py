"""`--same` at every command: one default, and one verdict on formulas whichever door they come in by."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from cli.command import Command
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from formulas import ANSWERS, FORMULA, NUMBER, OTHER, TRUTH, formula_rows, formula_run, hide_math_verify

needs_math_verify = pytest.mark.skipif(find_spec("math_verify") is None, reason="needs math-verify")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [
        {"question_id": "q", "answer": answer, "confidence": 10.0 + i % 3, "ground_truth": TRUTH}
        for i, answer in enumerate(ANSWERS)
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@needs_math_verify
def test_vote_elects_the_formula_from_runs_and_files(command: Command, table: Path, tmp_path: Path) -> None:
    run = formula_run(tmp_path / "run")
    for source in (run, table):
        lines = command("vote", source, "-m", "sc").out.splitlines()
        assert lines[1].split("\t")[:2] == ["q", FORMULA]
        assert lines[1].split("\t")[6] == "true"
        lines = command("vote", source, "-m", "sc", "--same", "notation").out.splitlines()
        assert lines[1].split("\t")[:2] == ["q", NUMBER]


@needs_math_verify
@pytest.mark.parametrize("same", [None, "math", "notation"])
def test_pass_at_1_counts_the_formulas(
    command: Command, table: Path, tmp_path: Path, same: str | None
) -> None:
    run = formula_run(tmp_path / "run")
    options = [] if same is None else ["--same", same]
    for source in (run, table):
        result = command("evaluate", source, "-e", "passk", "--budget", 15, "--repeats", 2, *options)
        (line,) = [line for line in result.out.splitlines() if "k = 1\t" in line]
        assert float(line.split("\t")[3]) == pytest.approx(0 if same == "notation" else 9 / 15)


@needs_math_verify
def test_import_compact_and_export_carry_the_grades(command: Command, table: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert command("import", table, "-o", run).code == 0
    assert Manifest.load(run).same == "math"
    assert command("compact", run).code == 0
    grader = Manifest.load(run).grader
    assert grader is not None
    assert grader["same"] == "math"
    command("export", run, "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().count("true") == 9
    command("export", run, "-o", tmp_path / "text.csv", "--same", "text")
    assert (tmp_path / "text.csv").read_text().count("true") == 0
    command("compact", run, "--same", "notation")
    assert Manifest.load(run).same == "notation"


@needs_math_verify
def test_calibrate_counts_the_formulas(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for question in range(24):
        wrong = [f"{question + i}" for i in (2, 3)]
        right = [FORMULA, OTHER] if question % 3 else [wrong[0]]
        for sample in range(16):
            answer = str(rng.choice(right * 2 + wrong))
            confidence = 12.0 + rng.normal() + 2 * (answer in (FORMULA, OTHER))
            rows.append(
                Row(
                    question_id=f"q{question}",
                    sample=sample,
                    answer=answer,
                    ground_truth=TRUTH,
                    confidence=confidence,
                    k=20,
                )
            )
    run = formula_run(tmp_path / "run", *rows)
    assert command("calibrate", run, "-o", tmp_path / "c.json").code == 0
    by_notation = command("calibrate", run, "-o", tmp_path / "n.json", "--same", "notation")
    assert by_notation.code == 2  # nothing is right, so there is nothing to fit


@needs_math_verify
def test_show_says_which_strings_were_taken_for_one_and_which_for_right(
    command: Command, tmp_path: Path
) -> None:
    run = formula_run(tmp_path / "run")
    out = command("show", run, "q", "-m", "sc").out
    assert "answers compared by math (version 1, math-verify " in out
    assert f"right is {TRUTH}" in out
    assert f"✓ {FORMULA} (5)" in out
    assert f"= {OTHER} (4)" in out
    assert "1 more answer is written one way" in out
    assert OTHER in command("show", run, "q", "-m", "sc", "--same", "text").out
    assert f"= {OTHER}" not in command("show", run, "q", "-m", "sc", "--same", "text").out


@needs_math_verify
def test_doubts_are_printed(command: Command, tmp_path: Path) -> None:
    rows = formula_rows(answers=["(2, 1)"] * 2 + ["7"], truth="1, 2")
    run = formula_run(tmp_path / "run", *rows)
    for arguments in (("evaluate", run, "-e", "passk", "--budget", "3"), ("vote", run), ("compact", run)):
        assert "2 gradings were doubtful" in command(*arguments).err


@pytest.mark.parametrize(
    "arguments",
    [
        ("vote", "{run}"),
        ("vote", "{table}"),
        ("evaluate", "{run}"),
        ("evaluate", "{table}"),
        ("compact", "{run}"),
        ("calibrate", "{run}", "-o", "{new}.json"),
        ("import", "{table}", "-o", "{new}"),
        ("show", "{run}", "q"),
        ("generate", "{set}", "-o", "{new}", "--budget", "1"),
        ("generate", "{set}", "-o", "{new}", "--dry-run"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_without_math_verify_every_door_names_the_line_that_installs_it(
    command: Command, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "set.jsonl").write_text(
        json.dumps({"id": "q", "question": "How long?", "answer": TRUTH}) + "\n"
    )
    names = {
        "run": formula_run(tmp_path / "run"),
        "table": table,
        "new": tmp_path / "new",
        "set": tmp_path / "set.jsonl",
    }
    hide_math_verify(monkeypatch)
    result = command(*(each.format(**names) for each in arguments))
    assert result.code == 1
    assert "pip install '.[math]'" in result.err
    assert TRUTH in result.err.replace("\n", "")


@pytest.mark.parametrize(
    "name",
    ["ask", "vote", "generate", "evaluate", "compact", "import", "calibrate", "serve", "show", "export"],
)
def test_every_door_has_the_option(command: Command, name: str) -> None:
    assert "--same" in command(name, "--help").out


def test_an_unknown_notion_is_an_error(command: Command, table: Path) -> None:
    result = command("vote", table, "--same", "maths")
    assert result.code == 2
    assert "did you mean math" in result.err
