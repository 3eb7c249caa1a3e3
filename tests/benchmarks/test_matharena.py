"""Competitions from rows of either home, and the local copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from distrivote.benchmarks import load, matharena
from distrivote.benchmarks.question_table import QuestionRow, QuestionTable
from distrivote.errors import InputError

LOCAL = Path(os.environ.get("DISTRIVOTE_DATA", "")) / "benchmarks"
FILES = {
    "aime2024": "aime_2024.jsonl",
    "aime2025": "aime_2025.jsonl",
    "hmmt2025": "hmmt_feb_2025.jsonl",
    "brumo2025": "brumo_2025.jsonl",
}


@pytest.mark.parametrize("name", FILES)
def test_the_local_copy_has_thirty_problems_with_answers(name: str) -> None:
    path = LOCAL / FILES[name]
    if not path.exists():
        pytest.skip(f"{path.name} may not be redistributed: DISTRIVOTE_DATA names its folder")
    benchmark = load(name, path=path)
    assert (benchmark.name, benchmark.source, len(benchmark)) == (name, str(path), 30)
    assert [problem.id for problem in benchmark] == [f"{name}-{n:02d}" for n in range(1, 31)]
    assert all(problem.answer and problem.question for problem in benchmark)
    assert {problem.template for problem in benchmark} == {"math"}
    if name.startswith("aime"):
        assert all(0 <= int(problem.answer or "") <= 999 for problem in benchmark)
    assert load(f"{name}={path}") == benchmark


@pytest.mark.parametrize("name", FILES)
def test_rows_of_a_home_become_numbered_problems(name: str) -> None:
    number = "id" if name == "aime2024" else "problem_idx"
    values = [{number: n, "problem": f"Find ${n}+1$.", "answer": str(n + 1)} for n in range(1, 31)]
    found = matharena.problems(name, QuestionTable("made up", [QuestionRow("row", each) for each in values]))
    assert [problem.id for problem in found] == [f"{name}-{n:02d}" for n in range(1, 31)]
    assert [problem.answer for problem in found] == [str(n + 1) for n in range(1, 31)]
    assert {problem.template for problem in found} == {"math"}


def test_the_ids_of_a_home_are_kept() -> None:
    rows = [QuestionRow("row 1", {"id": 60, "problem": "p", "answer": "025"})]
    (problem,) = matharena.problems("aime2024", QuestionTable("hf", rows))
    assert (problem.id, problem.answer) == ("aime2024-60", "25")


@pytest.mark.parametrize(
    ("given", "kept"), [("000", "0"), ("073", "73"), ("0.50", "0.50"), ("\\frac{1}{2}", "\\frac{1}{2}")]
)
def test_only_whole_numbers_lose_their_zeros(given: str, kept: str) -> None:
    rows = [QuestionRow("row 1", {"question": "q", "answer": given})]
    assert matharena.problems("hmmt2025", QuestionTable("made up", rows))[0].answer == kept


def test_a_competition_needs_every_answer() -> None:
    rows = [QuestionRow("mine, line 1", {"question": "q", "answer": None})]
    with pytest.raises(InputError, match="mine, line 1: answer is empty"):
        matharena.problems("hmmt2025", QuestionTable("mine", rows))


def test_ids_that_become_equal_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": "7", "question": "p", "answer": 1}\n{"id": "07", "question": "q", "answer": 1}\n')
    with pytest.raises(InputError, match="two problems with the id 'aime2024-07'"):
        load("aime2024", path=path)
