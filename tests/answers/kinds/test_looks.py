"""What `auto` takes replies for: awkward pools as models write them, and laws."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import Problem, Trajectory, solution_of
from distrivote.answers.kinds.looks import kind_of_replies, look_of
from distrivote.solution import Solution
from strategies import MANY

CAPITAL = "What is the capital of France?"
PARIS = ["Paris", "**Paris**", "The capital of France is Paris.", "It's Paris!", "The capital is Lyon."]
PEARS = [
    "Tom has 12 pears",
    "Tom has **12** pears",
    "Tom has 5 + 7 = **12 pears",
    "He has 12.",
    "Tom has 35 pears.",
]
HAIKU = [
    "Soft rain on the roof\nWhispers to the sleeping town\nMorning wakes in green",
    "Silver drops descend\nThe pond hums an old soft song\nFrogs begin to dance",
    "Rain taps on the glass\nA slow grey afternoon breathes\nTea cools in the cup",
    "Soft rain on the roof\nWhispers to the sleeping town\nMorning comes in green",
]
SELF = [
    "I am an AI assistant made to help you.",
    "I'm an AI language model. How can I help you today?",
    "Hello! I am a helpful AI assistant.",
]
ADD = [
    "```python\ndef add(a, b):\n    return a + b\n```",
    "Here you go:\n```python\ndef add(x, y):\n    return x + y\n```\nIt returns the sum.",
    "def add(a, b):\n    # the sum\n    return a + b",
]
ANNA = [
    '{"name": "Anna", "age": 31}',
    '```json\n{"age": 31, "name": "Anna"}\n```',
    'Here it is:\n{"name":"Anna","age":31.0}',
    '{"name": "Anna", "age": 13}',
]
RECURSION = [
    "Recursion is when a function calls itself.\n```python\ndef f(n):\n    return f(n - 1)\n```\nSo it is.",
    "A function that calls itself:\n```python\ndef f(n):\n    return n * f(n - 1)\n```",
]

POOLS = [
    ("Tom has 5 pears and buys 7. And now?", PEARS, "short", "12"),
    (CAPITAL, PARIS, "short", "Paris"),
    (CAPITAL, [f"<think>Lyon? Rome?</think>{text}" for text in PARIS], "short", "Paris"),
    (
        "Was ist die Hauptstadt von Frankreich?",
        ["Paris", "Die Hauptstadt von Frankreich ist Paris.", "Die Antwort ist Paris.", "Lyon."],
        "short",
        "Paris",
    ),
    (
        "Quelle est la capitale de la France ?",
        ["Paris", "La capitale de la France est Paris.", "La réponse est Paris.", "C'est Lyon."],
        "short",
        "Paris",
    ),
    (
        "¿Cuál es la capital de Francia?",
        ["París", "La capital de Francia es París.", "La respuesta es París.", "Es Lyon."],
        "short",
        "París",
    ),
    ("法国的首都是哪里？", ["巴黎", "法国的首都是巴黎。", "答案是巴黎。", "里昂"], "short", "巴黎"),
    ("Is 91 prime?", ["No, 91 is not prime.", "No. 91 = 7 * 13.", "Yes, 91 is prime.", "No"], "short", "No"),
    ("Who won, France or Brazil?", ["France", "France won.", "**France**", "Brazil"], "short", "France"),
    ("When?", ["1914", "In 1914.", "1915"], "short", "1914"),
    ("And?", ["It is \\boxed{12}.", "\\boxed{12}", "The answer is 12.", "I think 12"], "math", "12"),
    ("And?", ["It is \\boxed{12}.", "Tom has **12** pears.", "He has 12.", "35"], "short", "12"),
    ("Write a haiku about rain.", HAIKU, "text", None),
    ("Hello, who are you?", SELF, "text", None),
    ("Wer bist du?", ["Ich bin ein Assistent.", "Ich bin eine KI, die dir hilft."], "text", None),
    ("Hi", ["Hi!", "Hello!", "Hey there, how can I help?", "Good day to you."], "text", None),
    (
        "What is love?",
        [
            "Love is a complex mix of emotions.",
            "Love is an intense feeling.",
            "Baby don't hurt me.",
            "Love is strong.",
        ],
        "text",
        None,
    ),
    ("Explain recursion.", RECURSION, "text", None),
    ("Write a function that adds two numbers.", ADD, "code", None),
    ("Who is it?", ANNA, "json", '{"name": "Anna", "age": 31}'),
    ("Who is it?", ['[{"name": "Anna"}]', '[{"name":"Anna"}]', "no idea"], "json", '[{"name": "Anna"}]'),
    ("What now?", ["", " ", "\n"], "text", None),
]


def solved(question: str, texts: list[str], cut: frozenset[int] = frozenset(), **how: object) -> Solution:
    replies = [
        Trajectory(text, finish_reason="length" if at in cut else "stop", index=at)
        for at, text in enumerate(texts)
    ]
    put = Problem(question, template="plain")
    return solution_of(put, replies, steering=None, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(("question", "texts", "kind", "answer"), POOLS)
def test_replies_are_taken_for_what_they_are(
    question: str, texts: list[str], kind: str, answer: str | None
) -> None:
    found = solved(question, texts)
    assert found.kind.name == kind
    if answer is not None:
        assert found.answer == answer
        assert "<think>" not in found.reply
        assert "Rome" not in found.reply


@pytest.mark.parametrize(
    ("texts", "cut", "answer"),
    [
        (["Tom has 5", "Tom has 5", "Tom has 12 pears."], {0, 1}, "12"),
        (["Tom has 5", "Tom has 5", "Tom has"], {0, 1, 2}, None),
        (["Tom has 5", "Tom has 5", "It is \\boxed{12} and"], {0, 1, 2}, "12"),
        (["{1", '{"a": 1, "b": [1,', '{"a": 1}'], {0, 1}, '{"a": 1}'),
    ],
)
def test_replies_that_were_cut_off_do_not_vote_on_what_they_had_not_finished(
    texts: list[str], cut: set[int], answer: str | None
) -> None:
    found = solved("How many pears has Tom?", texts, frozenset(cut))
    assert found.answer == answer
    assert found.reply  # there always is one


def test_what_was_cut_off_says_nothing_about_the_kind_unless_all_was() -> None:
    whole, cut = look_of("Tom has 12.", is_cut=False), look_of('{"a": 1}', is_cut=True)
    assert kind_of_replies("And?", [whole, cut, cut]).name == "short"
    assert kind_of_replies("And?", [cut, cut]).name == "json"
    assert kind_of_replies("And?", []).name == "text"


TEXTS = [*PARIS, *PEARS, *HAIKU, *SELF, *ADD, *ANNA, *RECURSION, "It is \\boxed{12}.", "", "<think>hm"]


@MANY
@given(
    st.sampled_from([CAPITAL, "How many?", "Write a haiku.", "Explain it.", ""]),
    st.lists(st.tuples(st.sampled_from(TEXTS), st.booleans()), max_size=9),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_replies_makes_no_difference(
    question: str, replies: list[tuple[str, bool]], rng: random.Random
) -> None:
    looks = [look_of(text, is_cut=cut) for text, cut in replies]
    chosen = kind_of_replies(question, looks)
    rng.shuffle(looks)
    assert kind_of_replies(question, looks) is chosen


@MANY
@given(st.text(max_size=80), st.booleans())
def test_any_reply_looks_like_something(text: str, is_cut: bool) -> None:
    found = kind_of_replies("", [look_of(text, is_cut=is_cut)])
    assert found.name in ("math", "json", "code", "short", "text")
