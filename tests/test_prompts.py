"""Which template fits a question, in several languages; what a question's options are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.prompts import TEMPLATE_NAMES, chosen_template, options_of, wants_text
from strategies import MANY

MATH = [
    "What is 12 * 7?",
    "2+2",
    "What is 1/2 + 1/3",
    "What is 15% of 80?",
    "Solve x^2 - 5x + 6 = 0.",
    "If x = 3, what is 2x + 1?",
    "Find the sum of 3 and 4.",
    "What is the total price of 3 books at 5 dollars?",
    "A train travels 60 miles in 2 hours. What is its average speed?",
    "Tom has 5 pears and buys 7 more. How many pears does he have?",
    # Words that also occur in requests for texts and programs.
    "Ann writes a 3-page letter to 2 friends twice a week. How many pages does she write a year?",
    "A program had 60 downloads, then three times as many. How many in total?",
    "Bob lists all sets of two numbers from 1 to 5. How many are on his list?",
    "Write $\\frac{3}{20}$ as a decimal.",
    "The function $f$ satisfies $f(x) = 2x$. Find $f(3)$.",
    "Points $A$ and $B$ are 3 apart. [asy] dot(A); dot(B); [/asy] What is the area?",
    # German, French, Spanish, Chinese
    "Tom hat 5 Birnen und kauft 7 dazu. Wie viele Birnen hat er?",
    "Berechne 12 * 7.",
    "Was ergibt 12 mal 7?",
    "Combien font 12 et 7 ?",
    "Calcule 12 * 7.",
    "¿Cuántas peras tiene Tom?",
    "Calcula 12 * 7.",
    "汤姆有5个梨，又买了7个。他现在有多少个梨？",
    "计算 12 * 7。",
    "12 × 7 等于几？",
]
CHOICE = [
    "Which planet is the largest? A) Mars B) Jupiter C) Venus",
    "Which planet is the largest?\nA. Mars\nB. Jupiter\nC. Venus\nD. Earth",
    "Which planet is the largest?\n(A) Mars\n(B) Jupiter",
    "Which is it? A: Mars B: Jupiter",
    "What is 2 + 2? A) 3 B) 4 C) 5",
    "Welcher Planet ist der größte? A) Mars B) Jupiter",
    "Quelle planète est la plus grande ? A) Mars B) Jupiter",
    "¿Qué planeta es el más grande? A) Marte B) Júpiter",
    "哪个行星最大？A）火星 B）木星",
    "哪个行星最大？A. 火星 B. 木星",
]
PLAIN = [
    "Hello, who are you?",
    "What is the capital of France?",
    "Who wrote Hamlet?",
    "When did the First World War begin?",
    "What happened on 9/11?",
    "Is the shop open 24/7?",
    "How do I make bread?",
    "How long does it take to get over a breakup?",
    "What was the score of the 2014 World Cup final?",
    "What is the difference between Windows 10 and Windows 11?",
    'Translate "how many" into German.',
    "Write a haiku about rain.",
    "Could you explain why the sky is blue?",
    "Write a Python function that adds two numbers.",
    "def add(a, b):\n    '''Return the sum.\n\n    >>> add(2, 3)\n    5\n    '''",
    "Fix this: for i in range(3): print(i)",
    "Extract name and age as JSON: Anna is 31 years old.",
    "I met A. B. Smith. Who is he?",
    "Compare plan A: cheap and plan B: fast.",
    "Was ist die Hauptstadt von Frankreich?",
    "Schreibe ein Gedicht über den Regen.",
    "Wer bist du?",
    "Quelle est la capitale de la France ?",
    "Écris un poème sur la pluie.",
    "¿Cuál es la capital de Francia?",
    "Escribe un poema sobre la lluvia.",
    "法国的首都是哪里？",
    "写一首关于雨的诗。",
    "你是谁？",
]


@pytest.mark.parametrize(
    ("template", "question"),
    [(name, each) for name, all in (("math", MATH), ("choice", CHOICE), ("plain", PLAIN)) for each in all],
)
def test_a_sum_is_put_as_a_sum_a_choice_as_a_choice_and_the_rest_as_it_is(
    template: str, question: str
) -> None:
    assert chosen_template(question) == template
    worked = {"math": "worked", "choice": "worked-choice", "plain": "plain"}
    assert chosen_template(question, worked=True) == worked[template]


def test_the_options_are_those_of_the_last_list() -> None:
    assert options_of("Option A) is bad. Which? A) Mars B) Jupiter") == {"A": "Mars", "B": "Jupiter"}
    assert options_of("Which? (A) Mars (B) Jupiter (D) Pluto") == {"A": "Mars", "B": "Jupiter (D) Pluto"}
    assert options_of("Which? A) Mars") == options_of("Which? A) B) C)") == {}


@pytest.mark.parametrize(
    "question",
    ["Please write a poem.", "Hello! Can you tell me a joke?", "Wer bist du?", "Qui es-tu ?", "你是谁？"],
)
def test_some_questions_want_a_text(question: str) -> None:
    assert wants_text(question)


@MANY
@given(st.text(st.sampled_from("AB).:( \n$\\19+%?=afwritehowmany（"), max_size=60))
def test_any_text_has_a_template(question: str) -> None:
    assert chosen_template(question) in TEMPLATE_NAMES


@pytest.mark.slow
@pytest.mark.parametrize("part", ["$=", "[asy]", "A) ", "(", "1+", "write ", "please ", "\\boxed{", " "])
def test_hostile_questions_are_looked_at_in_linear_time(part: str) -> None:
    chosen_template(part * 200_000)  # minutes, were it quadratic
