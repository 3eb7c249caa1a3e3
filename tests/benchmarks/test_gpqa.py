"""GPQA from a made-up file: the right letter, in an order that only the question decides."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from distrivote.benchmarks import load
from distrivote.errors import InputError

COLUMNS = [
    "Record ID",
    "Question",
    "Correct Answer",
    *(f"Incorrect Answer {n}" for n in (1, 2, 3)),
    "Subdomain",
]


def made_up(path: Path, numbers: list[int], columns: list[str] = COLUMNS) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        for n in numbers:
            fields = [
                f"rec{n}",
                f"What is\n{n} + {n}? ",
                str(2 * n),
                *(str(2 * n + k) for k in (1, 2, 3)),
                "sums",
            ]
            writer.writerow(dict(zip(COLUMNS, fields, strict=True)))
    return path


def test_the_letter_is_that_of_the_right_choice(tmp_path: Path) -> None:
    benchmark = load("gpqa-diamond", path=made_up(tmp_path / "made-up.csv", list(range(400))))
    assert len(benchmark) == 400
    for n, problem in enumerate(benchmark):
        asked, question, *choices = problem.question.split("\n")
        assert (asked, question) == ("What is", f"{n} + {n}?")
        assert [choice[:3] for choice in choices] == ["A) ", "B) ", "C) ", "D) "]
        assert f"{problem.answer}) {2 * n}" in choices
        assert (problem.id, problem.template) == (f"rec{n}", "choice")
    # The order is fixed by the ids: 400 letters around 100 each, within five standard deviations (8.7).
    counts = Counter(problem.answer for problem in benchmark)
    assert all(abs(counts[letter] - 100) < 44 for letter in "ABCD"), counts


def test_the_order_does_not_depend_on_the_other_questions(tmp_path: Path) -> None:
    many = load("gpqa-diamond", path=made_up(tmp_path / "many.csv", list(range(20))))
    few = load("gpqa-diamond", path=made_up(tmp_path / "few.csv", [17, 3]))
    assert few.problems == (many.problems[17], many.problems[3])


def test_the_order_is_the_same_on_every_machine(tmp_path: Path) -> None:
    benchmark = load("gpqa-diamond", path=made_up(tmp_path / "made-up.csv", list(range(16))))
    assert "".join(problem.answer or "" for problem in benchmark) == PINNED


def test_without_a_record_id_the_text_decides(tmp_path: Path) -> None:
    many = load("gpqa-diamond", path=made_up(tmp_path / "many.csv", list(range(20)), COLUMNS[1:]))
    few = load("gpqa-diamond", path=made_up(tmp_path / "few.csv", [17], COLUMNS[1:]))
    assert (few.problems[0].id, many.problems[17].id) == ("gpqa-diamond-001", "gpqa-diamond-018")
    assert few.problems[0].question == many.problems[17].question


def test_a_missing_choice_is_named(tmp_path: Path) -> None:
    path = made_up(tmp_path / "made-up.csv", [1], [name for name in COLUMNS if "2" not in name])
    with pytest.raises(InputError, match=r"made-up.csv has no column 'Incorrect Answer 2'"):
        load("gpqa-diamond", path=path)
    path.write_text(made_up(path, [1]).read_text().replace(",4,", ",,"))
    with pytest.raises(InputError, match=r"made-up.csv, line 2: Incorrect Answer 2 is empty"):
        load("gpqa-diamond", path=path)


PINNED = "ABDCCCCCCAACCCCC"
