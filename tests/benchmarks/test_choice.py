"""Built-in multiple choice: the same everywhere, one right choice each, every letter alike."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from fractions import Fraction

import pytest

from distrivote.benchmarks import choice
from distrivote.problem import Problem


def parts(problem: Problem) -> tuple[str, dict[str, str]]:
    question, *lines = problem.question.split("\n")
    return question, dict(line.split(") ", 1) for line in lines)


def value(text: str) -> int:
    """Work out a number, or a sum, difference or product of two."""
    a, operator, b = re.fullmatch(r"(\d+)(?: ([-+*]) (\d+))?", text).groups()  # type: ignore[union-attr]
    match operator:
        case "+":
            return int(a) + int(b)
        case "-":
            return int(a) - int(b)
        case "*":
            return int(a) * int(b)
    return int(a)


def chosen(question: str, values: dict[str, int]) -> list[str]:
    """Return the letters that are right, by reading the question."""
    if "largest" in question:
        right = max(values.values())
    elif "smallest" in question:
        right = min(values.values())
    elif "comes next" in question:
        first, second, *_, last = map(int, re.findall(r"\d+", question))
        right = last + second - first
    else:
        right = value(question.removeprefix("What is ").removesuffix("?"))
    return [letter for letter, number in values.items() if number == right]


@pytest.mark.parametrize("seed", [0, 1, 2026])
def test_exactly_one_choice_is_right_and_it_is_the_answer(seed: int) -> None:
    for problem in choice.problems(seed, 500):
        question, choices = parts(problem)
        assert list(choices) == ["A", "B", "C", "D"]
        values = {letter: value(text) for letter, text in choices.items()}
        assert len(set(values.values())) == 4, problem.question
        assert chosen(question, values) == [problem.answer], problem.question


def test_every_letter_is_right_equally_often() -> None:
    # A fixed seed: four counts of 1000 around 250, within five standard deviations (13.7 each).
    counts = Counter(problem.answer for problem in choice.problems(0, 1000))
    assert set(counts) == {"A", "B", "C", "D"}
    assert all(abs(Fraction(n) - 250) < 69 for n in counts.values()), counts


def test_the_same_seed_makes_the_same_questions_on_every_machine() -> None:
    problems = choice.problems(0, 100)
    assert [(problems[i].id, problems[i].question, problems[i].answer) for i in (0, 99)] == PINNED
    text = "\n".join(f"{p.id} {p.question} {p.answer}" for p in problems)
    assert hashlib.sha256(text.encode()).hexdigest() == CHECKSUM


def test_questions_differ_and_are_put_as_choices() -> None:
    problems = choice.problems(0, 10_000)
    assert len({problem.question for problem in problems}) == len({p.id for p in problems}) == 10_000
    assert {problem.template for problem in problems} == {"choice"}
    assert problems[0].extractor == "choice"


PINNED = [
    ("easy-choice-0001", "What is 5 * 3?\nA) 15\nB) 14\nC) 17\nD) 13", "A"),
    ("easy-choice-0100", "What is 953 + 364?\nA) 1350\nB) 1317\nC) 1391\nD) 1270", "B"),
]
CHECKSUM = "3680d6d87be4422326006c5dfc599105334d7654349cf256e15883f856917aec"
