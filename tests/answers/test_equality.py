"""When two answers are one: the four notions, one's own, doubts, and a machine without math-verify."""

from __future__ import annotations

import random
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
from distrivote.answers.equality import NAMED, Equality, choice_key, equality
from distrivote.answers.equivalence import classify, grade, same_answer
from distrivote.answers.forms import is_formula
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError, MissingPackageError, UnknownNameError
from distrivote.problem import Problem
from distrivote.prompts import DEFAULT_SAME, same_for
from formulas import ANSWERS, FORMULA, NUMBER, OTHER, TRUTH, hide_math_verify
from strategies import FEW, MANY

needs_math_verify = pytest.mark.skipif(find_spec("math_verify") is None, reason="needs math-verify")

SAME = [
    (FORMULA, TRUTH),
    (OTHER, TRUTH),
    (r"\frac{3+\sqrt{5}}{2}", r"\left(\frac{1+\sqrt5}{2}\right)^2"),
    (r"\frac{1}{2+\sqrt{3}}", r"2-\sqrt{3}"),
    (r"\sqrt{7+4\sqrt{3}}", r"2+\sqrt{3}"),
    (r"3\sqrt[3]{2}", r"\sqrt[3]{54}"),
    (r"2^{-3}", r"\frac18"),
    (r"8^{2/3}", "4"),
    (r"\frac{\pi}{6}", r"\pi/6"),
    (r"\tan\frac{\pi}{4}", "1"),
    (r"\cos\frac{\pi}{3}", r"\frac12"),
    (r"\ln e^3", "3"),
    (r"\log_{10} 1000", "3"),
    (r"\log_3 81", "4"),
    (r"\frac{\ln 8}{\ln 2}", "3"),
    ("x^2-1", "(x-1)(x+1)"),
    (r"\frac{x^2-1}{x-1}", "x+1"),
    ("2(x+y)", "2x+2y"),
    (r"-\frac{1}{x}", r"\frac{-1}{x}"),
    ("a^2+2ab+b^2", "(a+b)^2"),
    ("n(n+1)/2", r"\frac{n^2+n}{2}"),
    (r"\binom{6}{2}", "15"),
    (r"\frac{10!}{8!}", "90"),
    ("1+i", "i+1"),
    (r"(2, \frac{1}{2})", "(2, 0.5)"),
    (r"\{1, \sqrt{4}\}", r"\{2, 1\}"),
    (r"(-\infty, 3]", r"x \le 3"),
    (r"x \geq 4", r"[4, \infty)"),
    (r"[0, \frac{\pi}{2}]", r"[0, \pi/2]"),
    (r"\frac{7}{3}", r"2\frac{1}{3}"),
    (r"1.2\times10^{4}", "12000"),
    (r"12\pi\text{ cm}^2", r"12\pi"),
    (r"\frac{4}{\sqrt{2}}", r"2\sqrt{2}"),
    (r"\sum_{k=1}^{4} k", "10"),
    ("|-5|", "5"),
    (r"\lfloor 3.7 \rfloor", "3"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}"),
    ("3^{1/2}", r"\sqrt{3}"),
    ("2^{10}", "1024"),
    (r"5\text{ or }-5", r"\pm 5"),
    (r"\sqrt{2}+\sqrt{8}", r"3\sqrt{2}"),
]

DIFFERENT = [
    (FORMULA, r"\sqrt{\frac{95}{25}}"),
    (r"\sqrt{2}", "1.414"),
    (r"\frac{\pi}{6}", r"\frac{\pi}{3}"),
    (r"2-\sqrt{3}", r"\sqrt{3}-2"),
    ("x^2+1", "(x+1)^2"),
    (r"\sqrt{x+y}", r"\sqrt{x}+\sqrt{y}"),
    (r"\frac{a}{b}", r"\frac{b}{a}"),
    ("(1, 2, 3)", "(3, 2, 1)"),
    ("[0, 1)", "(0, 1]"),
    (r"x \le 3", "x < 3"),
    (r"\{1, 2\}", r"\{1, 2, 3\}"),
    ("2^{100}", "2^{100}+1"),
    (r"\pi", "3.14"),
    (r"\ln 2", r"\log_2 10"),
    (r"\sin x", r"\cos x"),
    ("1+i", "1-i"),
    (r"3\sqrt{2}", r"2\sqrt{3}"),
    ("e^2", "2^e"),
    (r"\frac{22}{7}", r"\pi"),
    (r"10\sqrt{2}", "14.14"),
    ("n!", "n"),
    ("x_1", "x_2"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}"),
    (r"5\pi", "5"),
    (r"-\sqrt{3}", r"\sqrt{3}"),
    (r"\sqrt[3]{9}", r"\sqrt{9}"),
    ("R = 5", "R = 6"),
    (r"3+4=\sqrt{49}", r"2+6=\sqrt{64}"),
    ("2+900=902", "1024-1=1023"),
    ("f(3)", "f(4)"),
    ("f(3)", r"\frac{1}{9}"),
]

MISSED = [
    (r"\frac{1}{i}", "-i"),
    (r"e^{i\pi}", "-1"),
    (r"0.\overline{3}", r"\frac13"),
    (r"17 \bmod 5", "2"),
]
"""Equal, and taken for different: what docs/limits.md means."""


@needs_math_verify
@pytest.mark.parametrize(("a", "b"), SAME)
def test_awkward_formulas_that_are_equal(a: str, b: str) -> None:
    assert classify([a, b]).ids == classify([b, a]).ids == (0, 0)
    assert grade([b], a).right == {0}


@needs_math_verify
@pytest.mark.parametrize(("a", "b"), DIFFERENT + MISSED)
def test_awkward_formulas_that_are_not(a: str, b: str) -> None:
    found = classify([a, b])
    assert (found.ids, found.remarks) == ((0, 1), Remarks())
    assert grade([b], a).right == frozenset()


@pytest.mark.parametrize(
    ("answers", "ids"),
    [
        (["0.5", " 0.5 ", r"\frac12", "x+1", "1+x", "B", "(B)", "b"], {
            "text": (0, 0, 1, 2, 3, 4, 5, 6),
            "notation": (0, 0, 0, 1, 2, 3, 3, 4),
            "math": (0, 0, 0, 1, 1, 2, 2, 3),
            "choice": (0, 0, 0, 1, 2, 3, 3, 3),
        }),
    ],
)  # fmt: skip
def test_the_four_notions(answers: list[str], ids: dict[str, tuple[int, ...]]) -> None:
    for name, expected in ids.items():
        if name != "math" or find_spec("math_verify") is not None:
            assert classify(answers, name).ids == expected, name


def test_there_is_one_default_and_the_problem_knows_multiple_choice() -> None:
    assert equality() is equality(DEFAULT_SAME) is NAMED["math"]
    assert [same_for(template) for template in ("math", "worked", "plain", "{question}?")] == ["math"] * 4
    assert (Problem("?", template="choice").same, Problem("?").same) == ("choice", "math")
    assert distrivote.equality("choice") is NAMED["choice"]


def test_a_name_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="did you mean math"):
        equality("maths")
    with pytest.raises(InputError, match="give one of text, notation, math, choice"):
        equality(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs a name"):
        Equality("")


@pytest.mark.parametrize(
    "answer",
    ["B", "b", "(B)", "B.", "B)", " b. ", "[B]", r"\text{B}", r"$\textbf{(B)}$", "option B",
     "The answer is (B)", "B) 12 cm", "B: the second", r"\boxed{B}"],
)  # fmt: skip
def test_a_choice_is_its_letter(answer: str) -> None:
    assert choice_key(answer) == "B"


@pytest.mark.parametrize("answer", ["A", "BB", "be", "12", "B12", "Boston", ""])
def test_what_is_no_choice_of_that_letter(answer: str) -> None:
    assert choice_key(answer) != "B"


def test_a_formula_is_what_notation_can_not_decide() -> None:
    for text in (TRUTH, "x+1", "(1, 2)", "2x", r"\pi", r"\{1, 2\}"):
        assert is_formula(text), text
    for text in ("12", r"\frac{1}{2}", "1,234", "50%", "C", "(C)", "Paris", "Paris, France", "no", "x = 5"):
        assert not is_formula(text), text


texts = st.one_of(
    st.sampled_from(["A", "(A)", "a.", "0.5", "1/2", "x", " x ", "yes", "Yes", "2", "2.0", "", "B) two"]),
    st.text(max_size=6),
)


@MANY
@given(
    st.sampled_from(["text", "notation", "choice"]),
    st.lists(texts, max_size=8),
    st.randoms(use_true_random=False),
)
def test_every_notion_makes_a_partition_that_ignores_the_order(
    name: str, pool: list[str], rng: random.Random
) -> None:
    shuffled = rng.sample(pool, len(pool))
    ids = dict(zip(pool, classify(pool, name).ids, strict=True))
    others = dict(zip(shuffled, classify(shuffled, name).ids, strict=True))
    assert all((ids[a] == ids[b]) == (others[a] == others[b]) for a in pool for b in pool)
    assert all(ids[a] == ids[b] for a in pool for b in pool if a.strip() == b.strip())


@needs_math_verify
@FEW
@given(st.lists(st.sampled_from([*ANSWERS, TRUTH, "1, 2", "(1, 2)", "(2, 1)", "x+1", "1+x"]), max_size=8))
def test_the_truth_never_changes_the_classes(pool: list[str]) -> None:
    for truth in (TRUTH, "1, 2", "7"):
        assert grade(pool, truth).classes[:2] == classify(pool)[:2]


@needs_math_verify
def test_nine_of_fifteen_formulas_are_right() -> None:
    found = grade(ANSWERS, TRUTH)
    assert found.classes.ids == (0,) * 9 + (1,) * 6
    assert (found.right, found.classes.labels) == (frozenset({0}), (FORMULA, NUMBER))
    assert grade(ANSWERS, TRUTH, "notation").right == frozenset()


@needs_math_verify
def test_a_doubtful_grade_is_wrong_and_counted_for_each_trajectory() -> None:
    found = grade(["(2, 1)", "(2, 1)", "1, 2", "7"], "1, 2")
    assert found.right == frozenset({1})
    assert found.remarks == Remarks(n_unsure=1, n_unsure_grades=2)
    assert found.remarks.notes[0] == (
        "2 gradings were doubtful: equal to the right answer one way and not another, so wrong"
    )


def test_one_without_math_verify_compares_by_notation_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_math_verify(monkeypatch)
    found = classify([FORMULA, OTHER, "0.5", "1/2"])
    assert found.ids == (0, 1, 2, 2)
    (note,) = found.remarks.notes
    assert "compared by notation only" in note
    assert "pip install '.[math]'" in note
    assert classify(["1", "1.0", "Paris"]).remarks == Remarks()
    assert grade(["1/2", "7"], "0.5").right == frozenset({0})


def test_one_without_math_verify_does_not_grade_by_a_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_math_verify(monkeypatch)
    with pytest.raises(MissingPackageError, match=r"pip install '.\[math\]'"):
        grade(["7"], TRUTH)
    assert grade([TRUTH], TRUTH, "notation").right == frozenset({0})
    assert same_answer(TRUTH, TRUTH)


def test_numbers_and_words_start_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a worker was asked")

    monkeypatch.setattr("distrivote.answers.mathverify.MathVerifier._ask", refused)
    assert classify(["12", "12.0", "Paris", "(C)", r"\frac{1}{2}", "no"]).ids == (0, 0, 1, 2, 3, 4)
    assert classify([FORMULA, FORMULA, "Paris"]).ids == (0, 0, 1)
    assert grade(["12", "13"], "12").right == frozenset({0})
