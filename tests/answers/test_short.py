"""What chat replies state in plain words, and which of them are the same."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.short import folded, is_marked, short
from strategies import MANY

ROWS = [
    # English, numbers
    ("Tom has 12 pears", 12),
    ("Tom has **12** pears", 12),
    ("Tom has 5 + 7 = **12 pears", 12),
    ("Tom has 12 pears.", 12),
    ("Tom has twelve pears.", 12),
    ("So x = 5.", 5),
    ("#### 72", 72),
    ("12", 12),
    ("12.", 12),
    ("$12.00", 12),
    ("-3", -3),
    ("−3", -3),
    ("**12 pears**", 12),
    ("The result is 3/4.", Fraction(3, 4)),
    ("That leaves 1/2 of the cake.", Fraction(1, 2)),
    ("**Step 1:** add\n5+7=12\n\n**Answer:** 12 pears", 12),
    ("Final answer: **$1,250.50**", Fraction(2501, 2)),
    ("The final answer is:\n\n**12**", 12),
    ("Tom has 5 + 7 = 12 pears in total.", 12),
    ("5 + 7 = 12\n\nSo Tom has 12 pears now.", 12),
    ("1. Tom starts with 5.\n2. He buys 7.\n3. In total he has 12 pears.", 12),
    ("\\[5 + 7 = 12\\]\n\nSo, Tom has **12 pears** now.", 12),
    ("So, \\[5 + 7 = 12\\]", 12),
    ("Therefore, Tom has \\(12\\) pears.", 12),
    ("He has **12 pears**. 🍐", 12),
    ("**Tom has 12 pears.**", 12),
    ("The answer to your question is: **42**", 42),
    ("Let me compute. 5 + 7 = 12. The answer is 12 pears, because 5 and 7 make 12.", 12),
    ("The answer is approximately 3.14.", Fraction(157, 50)),
    ("It is about 1,250 km.", 1250),
    ("The train takes 2.5 hours.", Fraction(5, 2)),
    ("That is a 25% increase.", 25),
    ("World War I began in 1914.", 1914),
    ("It began in **1914**.", 1914),
    ("Answer: 12\n\nLet me know if you have any other questions!", 12),
    ("Tom has 12 pears. Let me know if you need anything else!", 12),
    ("The answer is 12. Is there anything else I can help you with?", 12),
    # English, names and words
    ("The capital of France is Paris.", "paris"),
    ("**Paris**", "paris"),
    ("Paris", "paris"),
    ("**Paris**.", "paris"),
    ("It's Paris, France's capital", "paris"),
    ("It’s Paris!", "paris"),
    ("Paris is the capital of France.", "paris"),
    ("The capital of France is **Paris**.", "paris"),
    ("**The capital of France is Paris.**", "paris"),
    ("The capital of France is Paris, France.", "paris"),
    ('The capital of France is "Paris".', "paris"),
    ("The answer is Paris (France).", "paris"),
    ("The capital of France is Paris. It is located on the river Seine.", "paris"),
    ("The capital of France is Paris. It has about 2.1 million inhabitants.", "paris"),
    ("The capital of Australia is Canberra.", "canberra"),
    ("The capital is the city of Paris.", "paris"),
    ("The answer is yes", "yes"),
    ("Yes.", "yes"),
    ("Yes, 17 is a prime number.", "yes"),
    ("No, 15 is not prime, because 15 = 3 * 5.", "no"),
    ("**No**, it is not.", "no"),
    ('I think the answer would be "blue whale".', "blue whale"),
    ("The largest animal is the **blue whale**.", "blue whale"),
    ("The blue whale is the largest animal.", "blue whale"),
    ("The primary colours are red, yellow and blue.", "red yellow and blue"),
    ("Answer: (B)", "b"),
    ("The correct answer is **B) Jupiter**.", "b jupiter"),
    ("Answer: Romeo and Juliet", "romeo and juliet"),
    ("It was written by **William Shakespeare**.", "william shakespeare"),
    ("Sure! The capital of France is **Paris**.", "paris"),
    ("That would be Paris.", "paris"),
    ("Paris, France", "paris"),
    ("I believe it's Paris.", "paris"),
    ("France's capital is Paris.", "paris"),
    ("The formula is H2O.", "h2o"),
    ("H2O", "h2o"),
    ("Tom has 12 pears (5 + 7).", 12),
    ("The total is 12 pears for 3 people.", 12),
    ("A total of 12 pears. 🎉", 12),
    ("$$\\frac{3}{4}$$", Fraction(3, 4)),
    ("The answer is $\\frac{3}{4}$.", Fraction(3, 4)),
    ("(3, 4)", "3 4"),
    ("Water boils at 100 °C (212 °F) at sea level.", 100),
    ("The probability is 1/6, or about 16.7%.", Fraction(1, 6)),
    ("The speed of light is about 3 × 10^8 m/s.", 300_000_000),
    ("It has 2.1 million inhabitants.", 2_100_000),
    ("It was signed on July 4, 1776.", "1776-07-04"),
    ("4 July 1776", "1776-07-04"),
    ("World War II ended in 1945, after six years.", 1945),
    ('"Romeo and Juliet" was written by William Shakespeare in 1597.', "william shakespeare"),
    ("The time is 3:30 PM.", "3 30"),
    ("Mount Everest is the highest mountain in the world, at 8,849 metres.", "mount everest"),
    ("The highest mountain is Mount Everest (8,849 m).", "mount everest"),
    ("Jupiter is the largest planet.", "jupiter"),
    ("**Final Answer:** Tom has 12 pears.", 12),
    ("**Answer: 12**", 12),
    ("The answer is **12** because 5 + 7 = 12.", 12),
    ("The sentiment of the review is negative.", "negative"),
    ("I don't know.", None),
    ("Hello!", None),
    ("You're welcome!", None),
    ("Therefore, Janet makes $18 every day at the farmers' market.", 18),
    ("So the total cost is 3 × $2 = $6.", 6),
    ("Thus, it will take Carla 160 minutes to download the file.", 160),
    ("Kylar needs to pay $64 for 16 glasses.", 64),
    ("There are 12 pears in 3 baskets.", 12),
    ("Janet sells 16 - 3 - 4 = <<16-3-4=9>>9 duck eggs a day.", 9),
    ("So, it takes **3 bolts** in total.\n\n**Note:** This assumes no waste.", 3),
    ("### Final Answer\n\n**18**", 18),
    ("**Total: $12**", 12),
    ("So the answer is 12, not 13.", 12),
    ("The answer is 2 hours and 30 minutes.", "2 hours and 30 minutes"),
    ("It takes 2 hours and 30 minutes.", "2 hours and 30 minutes"),
    ("It takes 2 1/2 hours.", Fraction(5, 2)),
    ("Berlin is Germany's capital.", "berlin"),
    ("The author is J. R. R. Tolkien.", "jrr tolkien"),
    ("Dr. Smith is the author.", "dr smith"),
    ("It was Albert Einstein who developed the theory of relativity.", "albert einstein"),
    ("Tom is a doctor.", "doctor"),
    # German
    ("Die Hauptstadt von Frankreich ist Paris.", "paris"),
    ("Die Antwort ist Rom!", "rom"),
    ("Paris ist die Hauptstadt von Frankreich.", "paris"),
    ("Ein Schaltjahr hat 366 Tage.", 366),
    ("Die Antwort lautet: **12 Birnen**", 12),
    ("Tom hat zwölf Birnen.", 12),
    ("Das Ergebnis beträgt 3,5.", Fraction(7, 2)),
    ("Das kostet 1.250,50 €.", Fraction(2501, 2)),
    ("Das kostet €1.250.", 1250),
    ("Antwort: Nein.", "nein"),
    ("Ja, das stimmt.", "ja"),
    ("Also hat Tom 5 + 7 = 12 Birnen.", 12),
    ("Der höchste Berg ist der Mount Everest.", "mount everest"),
    ("Am 9. November 1989 fiel die Mauer.", "1989-11-09"),
    # French
    ("La capitale de la France est Paris.", "paris"),
    ("La réponse est 42.", 42),
    ("La réponse finale est : **12**", 12),
    ("Paris est la capitale de la France.", "paris"),
    ("Tom a douze poires.", 12),
    ("Il y a 1 250 habitants.", 1250),
    ("C'est Paris.", "paris"),
    ("Oui, c'est exact.", "oui"),
    ("Réponse : 3,5 kg", Fraction(7, 2)),
    # Spanish
    ("La respuesta es 42.", 42),
    ("La capital de Francia es París.", "parís"),
    ("Tom tiene doce peras.", 12),
    ("París es la capital de Francia.", "parís"),
    ("Respuesta: **12 peras**", 12),
    ("Sí, es correcto.", "sí"),
    ("El resultado es 1.250.000.", 1250000),
    ("La capital de España es Madrid, que está en el centro.", "madrid"),
    # Italian and Portuguese
    ("La risposta è Roma", "roma"),
    ("La capitale d'Italia è Roma.", "roma"),
    ("Tom ha 12 pere.", 12),
    ("A resposta é 12.", 12),
    ("A capital de Portugal é Lisboa.", "lisboa"),
    ("Lisboa é a capital de Portugal.", "lisboa"),
    # Chinese
    ("答案是12。", 12),
    ("汤姆有12个梨。", 12),
    ("法国的首都是巴黎。", "巴黎"),
    ("巴黎是法国的首都。", "巴黎"),
    ("答案：**巴黎**", "巴黎"),
    ("所以，汤姆一共有 5 + 7 = 12 个梨。", 12),
    ("是的，17是质数。", "是的"),
    ("珠穆朗玛峰是世界上最高的山。", "珠穆朗玛峰"),
    ("一年有365天。", 365),
    ("1949年10月1日", "1949-10-01"),
    # Japanese and Russian
    ("答えは 12 です。", 12),
    ("フランスの首都はパリです。", "パリ"),
    ("トムは梨を12個持っています。", 12),
    ("Ответ: 15", 15),
    ("Столица Франции — Париж.", "париж"),
    ("У Тома 12 груш.", 12),
    ("Ответ: **Париж**.", "париж"),
    ("富士山の高さは3776メートルです。", 3776),
    ("Самая высокая гора — Эверест.", "эверест"),
    # thinking
    ("<think>It is 5.</think>It is **6**.", 6),
    (r"<think>\boxed{5}</think>It is **6**.", 6),
    (r"<think>\boxed{5}</think>", None),
    ("<think>The answer is 5.</think>\n\n6", 6),
    (r"So \boxed{7}.", 7),
    # nothing short is stated
    ("Hello! I'm an AI assistant. How can I help you today?", None),
    ("", None),
    ("</think>", None),
    ("   \n", None),
    ("Hello! I am Qwen, a large language model created by Alibaba Cloud. How can I assist you today?", None),
    ("Waves kiss the soft shore,\nwhispering ancient secrets,\nmoon pulls the tide home.", None),
    ("Could you tell me more about what you need?", None),
    ("...", None),
    ("**", None),
    ("I'm sorry, but I can't help with that request.", None),
    ("I am a bot created by OpenAI, designed to assist with information and tasks.", None),
    ("Healthy food matters. " * 40 + "A balanced diet is essential.", None),
    ("1. Tom had 5 pears.\n2. Tom bought 7 more.\n3. To find", None),
    ("```python\ndef add(a, b):\n    return a + b\n```", None),
]
"""A reply and what its answer is compared by, None if it states nothing short."""

TOGETHER = [
    ("The Eiffel Tower.", "eiffel tower"),
    ("12 pears", "**12**"),
    ("1,250", "1250"),
    ("50%", "50"),
    ("€1.250", "1250 €"),
    ("€1.250", "1,250 euros"),
    ("1.250 EUR", "1250"),
    ("1.250,50", "1,250.50"),
    ("1.250.000", "1,250,000"),
    ("1 250", "1250"),
    ("1'250", "1250"),
    ("3,5", "3.5"),
    ("3.50", "3.5"),
    ("twelve", "12"),
    ("zwölf", "12"),
    ("十二", "12"),
    ("about 12", "12"),
    ("approximately 12 km", "12 km"),
    ("≈ 12", "12"),
    ("ca. 12", "12"),
    ("$5", "5 dollars"),
    ("-5 °C", "−5"),
    ("“Paris”", "Paris"),
    ("Paris!", "PARIS"),
    ("`Paris`", "*Paris*"),
    ("das Haus", "Haus"),
    ("l'eau", "L’eau"),
    ("½", "1/2"),
    ("Café", "Cafe\u0301"),
    ("Straße", "STRASSE"),
    ("city of Paris", "Paris"),
    ("3 / 4", "3/4"),
    ("１２", "12"),
    ("July 4, 1776", "4. Juli 1776"),
    ("3 × 10^8", "300,000,000"),
    ("3×10⁸ m/s", "300000000"),
    ("2.1 million", "2,100,000"),
    ("twenty-one", "21"),
    ("J.R.R. Tolkien", "J. R. R. Tolkien"),
    ("the U.S.A.", "USA"),
    ("2 1/2", "2.5"),
    ("H₂O", "H2O"),
]
APART = [
    ("12", "13"),
    ("1914", "1915"),
    ("Paris", "Rome"),
    ("yes", "no"),
    ("-5", "5"),
    ("1.25", "1250"),
    ("1.250", "1250"),
    ("3.142", "3142"),
    ("$1.250", "1250"),
    ("0.125 €", "125"),
    ("3:30", "330"),
    ("B", "8"),
    ("a", "b"),
    ("x + 1", "x - 1"),
    ("C++", "C"),
    ("C#", "C"),
    ("1/2", "12"),
    ("the", "a"),
    ("Henry V", "Henry VI"),
    ("July 4, 1776", "August 2, 1776"),
    ("July 4, 1776", "1776"),
    ("2-3", "23"),
    ("10 to 20", "10"),
    ("3 and 4", "3"),
    ("not 12", "12"),
]


def answer_of(reply: str) -> Fraction | str | None:
    found = short(reply)
    assert found is None or (found.answer.strip() and 0 < found.end <= len(reply))
    return None if found is None else folded(found.answer)


@pytest.mark.parametrize(("reply", "expected"), ROWS)
def test_a_chat_reply_states_its_answer(reply: str, expected: Fraction | str | None) -> None:
    assert answer_of(reply) == expected


def test_the_table_is_large_and_has_no_row_twice() -> None:
    assert len(ROWS) == len({reply for reply, _ in ROWS}) >= 60


@pytest.mark.parametrize(("a", "b"), TOGETHER)
def test_markup_case_articles_and_units_do_not_count(a: str, b: str) -> None:
    assert folded(a) == folded(b)


@pytest.mark.parametrize(("a", "b"), APART)
def test_what_means_something_else_stays_apart(a: str, b: str) -> None:
    assert folded(a) != folded(b)


@pytest.mark.parametrize(
    ("reply", "marked"),
    [
        (r"So \boxed{12}", True),
        ("The answer is 12.\n", True),
        ("The answer is Paris.", True),
        ("The answer is 12", False),
        ("The answer is 12.", False),
        ("**Answer:** 12\n\nThat is", True),
        ("Tom has 5.", False),
        ("The answer is **12**. So", True),
        ("答案是12。", True),
        ("Paris", False),
        ("**12**", False),
        ("The answer is twelve", False),
    ],
)
def test_an_answer_is_marked_as_complete_by_a_box_or_a_statement_that_ends(reply: str, marked: bool) -> None:
    found = short(reply)
    assert found is not None
    assert is_marked(reply, found) is marked


PIECES = [
    "Tom ",
    "has ",
    "**",
    "12",
    " = ",
    "is ",
    "the ",
    ".",
    "\n",
    "答案",
    "是",
    "1,2",
    "€",
    "\\boxed{",
    "}",
    "Answer:",
    "? ",
]


@MANY
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=60))
def test_any_text_has_an_answer_of_its_own_or_none(text: str) -> None:
    found = short(text)
    if found is not None:
        assert found.answer.strip()
        assert 0 < found.end <= len(text)
        assert folded(found.answer) == folded(found.answer.upper().lower()) or not found.answer.isascii()
        hash(folded(found.answer))


@MANY
@given(st.text(max_size=40))
def test_folding_ignores_markup_and_space_around(text: str) -> None:
    if text.strip(" *"):
        assert folded(f"  **{text.strip(' *')}** ") == folded(text.strip(" *"))


def test_a_long_row_of_digits_is_a_text() -> None:
    assert folded("9" * 10_000) == "9" * 10_000
