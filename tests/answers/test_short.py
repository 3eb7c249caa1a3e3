"""What chat replies state in plain words, and which of them are the same."""

from __future__ import annotations

from fractions import Fraction

import pytest

from distrivote.answers.short import folded, short

ROWS = [
    ("Tom has 12 pears", 12), ("Tom has **12** pears", 12), ("Tom has 5 + 7 = **12 pears", 12),
    ("Tom has 12 pears.", 12), ("So x = 5.", 5), ("#### 72", 72), ("The result is 3/4.", Fraction(3, 4)),
    ("**Step 1:** add\n5+7=12\n\n**Answer:** 12 pears", 12),
    ("Final answer: **$1,250.50**", Fraction(2501, 2)),
    ("The capital of France is Paris.", "paris"), ("**Paris**", "paris"), ("Paris", "paris"),
    ("Die Hauptstadt von Frankreich ist Paris.", "paris"), ("La capitale de la France est Paris.", "paris"),
    ("La respuesta es 42.", 42), ("La risposta è Roma", "roma"), ("Die Antwort ist Rom!", "rom"),
    ("答案是12。", 12), ("答えは 12 です。", 12), ("Ответ: 15", 15),
    ("The answer is yes", "yes"), ("Yes.", "yes"),
    ('I think the answer would be "blue whale".', "blue whale"),
    ("The answer to your question is: **42**", 42),
    ("<think>It is 5.</think>It is **6**.", 6), (r"So \boxed{7}.", 7),
    ("Hello! I'm an AI assistant. How can I help you today?", None), ("", None), ("</think>", None),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "expected"), ROWS)
def test_a_chat_reply_states_its_answer(reply: str, expected: Fraction | str | None) -> None:
    found = short(reply)
    assert (None if found is None else folded(found.answer)) == expected
    assert found is None or found.end <= len(reply)


@pytest.mark.parametrize(
    ("a", "b"),
    [("The Eiffel Tower.", "eiffel tower"), ("12 pears", "**12**"), ("1,250", "1250"), ("50%", "50")],
)
def test_markup_case_articles_and_units_do_not_count(a: str, b: str) -> None:
    assert folded(a) == folded(b)
