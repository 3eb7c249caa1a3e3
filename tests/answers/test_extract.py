from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.extract import Extraction, auto, boxed, choice, extractor, number
from distrivote.errors import InputError, UnknownNameError
from strategies import LAW


def answer(found: Extraction | None) -> str | None:
    return None if found is None else found.answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\boxed{42}", "42"),
        (r"So $\boxed{ 42 }$.", "42"),
        (r"\boxed {42}", "42"),
        ("\\boxed\n{42}", "42"),
        (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\left\{ x \right.}", r"\left\{ x \right."),
        (r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
        (r"\\boxed{42}", "42"),
        (r"a \\\boxed{42}", "42"),
        (r"\boxed{1} and \boxed{unfinished", "1"),
        (r"\boxed{1} and \boxed{", "1"),
        (r"Put it in \boxed{}. \boxed{  }", None),
        (r"\boxed{7}. Remember to write \boxed{}.", "7"),
        (r"stray } and { before \boxed{5} and } after {", "5"),
        (r"\boxed{a \boxed{b}}", "b"),
        (r"\fbox{42}", None),
        (r"boxed{42}", None),
        (r"\boxed 42", None),
        (r"\boxed{x = {1 + {2}}}", "x = {1 + {2}}"),
        ("", None),
    ],
)
def test_boxed_is_the_last_complete_box(text: str, expected: str | None) -> None:
    assert answer(boxed(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\boxed{C}", "C"),
        (r"\boxed{(C)}", "C"),
        (r"\boxed{\text{C}}", "C"),
        (r"\boxed{\textbf{(C)}}", "C"),
        (r"\boxed{\text{C) Paris}}", "C"),
        (r"\boxed{C. 42}", "C"),
        (r"\boxed{c}", "C"),
        (r"The answer is A. No: \boxed{B}", "B"),
        (r"The answer is (D), that is \boxed{17}", "D"),
        (r"The answer is (D) as \boxed{E = mc^2}", "D"),
        ("The answer is (C).", "C"),
        ("The correct answer is: C", "C"),
        ("the answer is **C**", "C"),
        ("**Answer:** C", "C"),
        ("**Answer**: (C)", "C"),
        ("ANSWER: C", "C"),
        ("Answer:\n\nC", "C"),
        ("The correct option is B, because", "B"),
        ("The answer is option D.", "D"),
        ("The answer is $C$", "C"),
        ("Maybe the answer is A. Wait. The answer is D.", "D"),
        ("The answer is a number.", None),
        ("Answer: Because it is", None),
        ("The answer is F", None),
        ("I compared everything.\nC", "C"),
        ("(C)", "C"),
        ("**C**", "C"),
        ("C) Paris", "C"),
        ("Consider E.g. this", None),
        ("E.g. this one", None),
        ("A good question!", None),
        ("", None),
    ],
)
def test_choice_is_boxed_or_stated_or_a_last_line(text: str, expected: str | None) -> None:
    assert answer(choice(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 42.", "42"),
        ("1 + 1 = 2", "2"),
        ("costs $1,234,567.80!", "1234567.80"),
        ("the set 1,2,3", "3"),
        ("12,3456", "3456"),
        ("x = -5", "-5"),
        ("x = −5", "-5"),
        ("x = +5", "5"),
        ("7-5", "5"),
        ("(7)-5", "5"),
        ("about .5", ".5"),
        ("6.02e23 of them", "6.02e23"),
        ("3/4 of it", "3/4"),
        ("45%", "45"),
        ("#### 72", "72"),
        ("none here", None),
        ("...", None),
        ("", None),
    ],
)
def test_number_is_the_last_one(text: str, expected: str | None) -> None:
    assert answer(number(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"The answer is 5, so \boxed{7}.", "7"),
        ("First this.\n\nThe answer is 42.", "42"),
        ("So the final answer is: **3.5**", "3.5"),
        ("The answer is (C) Paris.", "C"),
        ("Answer: Paris\nBecause it is the capital.", "Paris"),
        ("The answer is $x+1$. Done.", "x+1"),
        ("The answer is 5. No, the answer is 6.", "6"),
        ("I think the answer is 5?\n\nLet me check that again", None),
        ("He has 3 * 4 = 12.\n#### 12", "12"),
        ("#### 1,200\n", "1,200"),
        ("#### Heading\n\nnothing more to say here, but at some length", None),
        ("42", "42"),
        ("**Paris**.", "Paris"),
        ("We have 3 apples and then\nwe eat 2 of them", None),
        ("a reply that goes on and on " * 5, None),
        ("<think>\\boxed{3}</think>", "3"),
        ("<think>the answer is 3</think>", None),
        ("<think>so 3</think>\n\n4", "4"),
        ("", None),
        (" \n ", None),
        ("...", None),
        ("The answer is", None),
        ("The answer is .5.", ".5"),
        ("The answer is **.5**", ".5"),
        ("The answer is ...5", "5"),
        ("The answer is .NET.", "NET"),
        ("#### .25", ".25"),
        ("$.50$", ".50"),
        (".75", ".75"),
        (r"\boxed{12", None),
        (r"\boxed{}", None),
        (r"\boxed{", None),
        (r"\boxed", None),
        (r"The answer is \boxed{12", None),
        (r"The answer is $\boxed{}$.", None),
        (r"<think>\boxed{3}</think>\boxed{12", "3"),
        (
            r"<think>\boxed{3}</think>I could not put it better, and there is nothing that I would add.",
            "3",
        ),
    ],
)
def test_auto_takes_what_is_marked_or_stated_and_nothing_else(text: str, expected: str | None) -> None:
    assert answer(auto(text)) == expected


@pytest.mark.parametrize(
    ("how", "reply"),
    [("boxed", r"\boxed{2}"), ("choice", "Answer: B"), ("number", "so 2"), ("auto", "2")],
)
def test_text_after_thinking_wins_over_drafts(how: str, reply: str) -> None:
    draft = r"<think>\boxed{A} or 9</think>"
    assert answer(extractor(how)(draft + reply)) == answer(extractor(how)(reply))


@pytest.mark.parametrize(
    ("how", "expected"), [("boxed", "A"), ("choice", "A"), ("number", "9"), ("auto", "A")]
)
def test_drafts_count_if_nothing_comes_after_thinking(how: str, expected: str) -> None:
    assert answer(extractor(how)("<think>\\boxed{A} or 9</think>\n")) == expected


def test_only_the_last_end_of_thinking_counts() -> None:
    text = r"<think>\boxed{1}</think>\boxed{2}<think></think>\boxed{3}"
    assert answer(boxed(text)) == "3"


@pytest.mark.parametrize(
    ("how", "text", "upto"),
    [
        ("boxed", r"So \boxed{ 42 } it is", r"So \boxed{ 42"),
        ("choice", r"So \boxed{\text{C}} it is", r"So \boxed{\text{C}"),
        ("choice", "The answer is (C), yes", "The answer is (C"),
        ("number", "It is 1,234 km", "It is 1,234"),
        ("auto", "Yes.\n\nThe answer is **42**. Bye.", "Yes.\n\nThe answer is **42"),
        ("auto", " 42.\n", " 42"),
    ],
)
def test_the_end_is_just_after_the_last_character_of_the_answer(how: str, text: str, upto: str) -> None:
    found = extractor(how)(text)
    assert found is not None
    assert text[: found.end] == upto


def test_an_own_pattern_takes_its_last_match() -> None:
    find = extractor(re.compile(r"#### *(.*)"))
    assert find("#### 1\n#### 42 \n####  ") == Extraction("42", len("#### 1\n#### 42"))
    assert find("nothing") is None
    assert answer(find("<think>#### 1</think>\n#### 2")) == "2"


@pytest.mark.parametrize("pattern", ["answer", "(a)(b)"])
def test_a_pattern_without_exactly_one_group_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match="exactly one"):
        extractor(re.compile(pattern))


def test_an_own_function_may_return_an_extraction_a_string_or_nothing() -> None:
    assert extractor(lambda _: Extraction("x", 3))("abcdef") == Extraction("x", 3)
    assert extractor(lambda _: "cd")("abcdcdef") == Extraction("cd", 6)
    assert extractor(lambda _: "other")("abc") == Extraction("other", 3)
    assert extractor(lambda _: None)("abc") is None
    assert extractor(lambda _: " ")("a c") is None


@pytest.mark.parametrize("found", [4, ("4", 1), ["4"]])
def test_an_own_function_that_returns_something_else_is_an_input_error(found: object) -> None:
    with pytest.raises(InputError, match="the extraction function returned"):
        extractor(lambda _: found)("It is 4.")  # type: ignore[arg-type, return-value]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="boxed"):
        extractor("box")


def test_something_else_than_a_name_pattern_or_function_is_refused() -> None:
    with pytest.raises(InputError, match="int"):
        extractor(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        "\\boxed{" * 140_000,
        "\\boxed{" * 100_000 + "7" + "}" * 100_000,
        "\\boxed{" * 100_000 + " " + "}" * 100_000,
        "\\" * 1_000_000,
        "answer" + " " * 1_000_000,
        "answer:" + "*" * 1_000_000,
        "(" * 1_000_000,
        ",111" * 250_000 + "1",
        "1e" * 500_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_megabyte_of_awkward_text_is_read_to_its_end(text: str) -> None:
    # Anything worse than linear in the text would keep this test busy for minutes.
    for how in ("boxed", "choice", "number", "auto"):
        extractor(how)(text)


@LAW
@given(
    st.text(r"\boxed{} 1A.,-/" + "\n", max_size=80),
    st.sampled_from(["boxed", "choice", "number", "auto"]),
)
def test_an_answer_is_never_blank_and_ends_inside_the_text(text: str, how: str) -> None:
    found = extractor(how)(text)
    if found is not None:
        assert found.answer.strip() == found.answer != ""
        assert 0 < found.end <= len(text)


def naive_boxed(text: str) -> str | None:
    """Try every box from the last to the first, counting braces one by one."""
    starts = [m.end() for m in re.finditer(r"\\boxed\{", text)]
    for start in reversed(starts):
        depth = 1
        for end in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                if text[start:end].strip():
                    return text[start:end].strip()
                break
    return None


pieces = st.sampled_from(["\\boxed{", "{", "}", "}", "1", " ", "x"])


@LAW
@given(st.lists(pieces, max_size=25).map("".join))
def test_boxed_agrees_with_its_twin(text: str) -> None:
    assert answer(boxed(text)) == naive_boxed(text)
