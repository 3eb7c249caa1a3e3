"""Built-in word problems: the same everywhere, graded, and right."""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise

import pytest

from distrivote.benchmarks import arithmetic
from distrivote.errors import InputError

# What each sentence does to the number of things so far; knows nothing of how problems are made.
SENTENCES = [
    (r"\w+ has (\d+) \w+ with (\d+) \w+ in each", lambda _, n, each: n * each),
    (r"A \w+ holds (\d+) \w+", lambda _, each: each),
    (r"\w+ shares (\d+) \w+ equally among (\d+) \w+", lambda _, n, among: n / among),
    (r"\w+ has (\d+) \w+", lambda _, n: n),
    (r"How many \w+ are in (\d+) \w+", lambda so_far, n: so_far * n),
    (r"(?:Then )?\w+ (?:\w+ )?\w+ (\d+) more", lambda so_far, n: so_far + n),
    (r"(?:Then )?\w+ (?:gives away|gives|loses|sells) (\d+)(?: to a friend)?", lambda so_far, n: so_far - n),
    (r"Then \w+ shares all of them equally among (\d+) \w+", lambda so_far, n: so_far / n),
    (r"How many \w+ does (?:\w+ have now|each of them get)", lambda so_far: so_far),
]


def worked_out(question: str) -> tuple[float, int]:
    """Return the answer of a word problem, read sentence by sentence, and how many steps it takes."""
    so_far, n_changes = 0.0, 0
    for sentence in re.split(r"[.?]\s*", question.rstrip("?")):
        for pattern, change in SENTENCES:
            match = re.fullmatch(pattern, sentence)
            if match:
                before, so_far = so_far, change(so_far, *map(int, match.groups()))
                n_changes += (before != 0 and so_far != before) or len(match.groups()) == 2
                break
        else:
            pytest.fail(f"nobody taught the test to read {sentence!r}")
    return so_far, n_changes


@pytest.mark.parametrize("seed", [0, 1, 2026])
def test_an_independent_reader_finds_the_same_answers(seed: int) -> None:
    for problem in arithmetic.problems(seed, 500):
        answer, n_steps = worked_out(problem.question)
        assert problem.answer is not None
        assert float(problem.answer) == answer, problem.question
        assert answer > 0
        assert 1 <= n_steps <= 2, problem.question


def test_problems_get_harder() -> None:
    problems = arithmetic.problems(0, 1000)
    n_steps = [worked_out(problem.question)[1] for problem in problems]
    largest = [max(map(int, re.findall(r"\d+", problem.question))) for problem in problems]
    levels = [range(first, first + 200) for first in range(0, 1000, 200)]
    assert [{n_steps[i] for i in level} for level in levels] == [{1}, {1}, {1}, {1}, {2}]
    peaks = [max(largest[i] for i in level) for level in levels]
    assert all(a < b for a, b in pairwise(peaks[:4])), peaks


def test_the_same_seed_makes_the_same_problems_on_every_machine() -> None:
    problems = arithmetic.problems(0, 100)
    assert [(problems[i].id, problems[i].question, problems[i].answer) for i in (0, 49, 99)] == PINNED
    text = "\n".join(f"{p.id} {p.question} {p.answer}" for p in problems)
    assert hashlib.sha256(text.encode()).hexdigest() == CHECKSUM


def test_another_seed_makes_other_problems() -> None:
    questions = [{problem.question for problem in arithmetic.problems(seed, 50)} for seed in (0, 1)]
    assert len(questions[0] & questions[1]) < 5


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_any_size_gives_problems_that_differ(size: int) -> None:
    problems = arithmetic.problems(3, size)
    assert len({problem.id for problem in problems}) == len({p.question for p in problems}) == size
    assert problems[0].id == "arithmetic-0001"
    assert {problem.template for problem in problems} == {"worked"}


@pytest.mark.parametrize("size", [0, -1, 10_001])
def test_a_size_out_of_range_is_refused(size: int) -> None:
    with pytest.raises(InputError, match=f"size is {size}: .* 1 to 10000"):
        arithmetic.problems(0, size)


PINNED = [
    ("arithmetic-0001", "Jonas has 3 coins. He gets 4 more. How many coins does Jonas have now?", "7"),
    ("arithmetic-0050", "Zoe has 10 oranges. She loses 3. How many oranges does Zoe have now?", "7"),
    (
        "arithmetic-0100",
        "Nora has 5 marbles. She loses 3. Then she buys 9 more. How many marbles does Nora have now?",
        "11",
    ),
]
CHECKSUM = "c39a229987c3d237b9b9dae2ca8f6d313179cc6c90195dec6c1581a11000e9f7"
