"""Which of the given labels a reply gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.labels import _backwards, find_label, labels_of
from distrivote.errors import InputError
from strategies import MANY

FEELINGS = ("positive", "negative", "neutral")
LETTERS = ("A", "B", "C")

ROWS = [
    ("negative", "negative"),
    ("Negative.", "negative"),
    ("**Negative**", "negative"),
    ("NEGATIVE!", "negative"),
    ('"negative"', "negative"),
    ("`neutral`", "neutral"),
    ("\n\nNeutral\n", "neutral"),
    ("I would say this is **negative**.", "negative"),
    ("This review is negative.", "negative"),
    ("The sentiment of the review is negative.", "negative"),
    ("Sentiment: Negative", "negative"),
    ("**Sentiment:** negative", "negative"),
    ("Answer: neutral\n\nThe food was positive.", "neutral"),
    ("The answer is negative, not positive.", "negative"),
    ("Label: negative", "negative"),
    (r"It is \boxed{neutral}, not positive.", "neutral"),
    (r"\boxed{\text{Positive}}", "positive"),
    ("The food is positive. The waiter is negative. Overall, it is neutral.", "neutral"),
    ("**Positive** points: food. **Negative** points: service. Overall: **neutral**", "neutral"),
    ("This is a negative review. The guest did not like the waiter.", "negative"),
    ("The review is slightly negative. There were some positive aspects, such as the food.", "negative"),
    ("While there were positive aspects, the review is negative.", "negative"),
    ("This review is neutral. It is positive about the food. All in all it is mostly negative.", "negative"),
    ("It mentions a positive and a negative aspect.", None),
    ("It is negative rather than neutral.", "negative"),
    ("It is not positive but negative.", "negative"),
    ("I'd classify it as negative. Let me know if you need more!", "negative"),
    ("I'd classify it as negative. Do you want to know why it is not positive?", "negative"),
    ("The review could be positive or negative.", None),
    ("It is positive and negative.", None),
    ("positive, negative, neutral", None),
    ("Answer: positive or negative", None),
    ("positive/negative", None),
    ("This is not positive.", None),
    ("The food was fine.", None),
    ("", None),
    ("It is positively bad.", None),
    ("non-negative", None),
    ("negatives", None),
    ("Is it positive or negative?", None),
    ("<think>It is positive.</think>It is negative.", "negative"),
    ("<think>It is positive.</think>Hm.", None),
    ("<think>\\boxed{positive}</think>negative", "negative"),
    ("<think>positive", None),
    ("Die Stimmung ist negative.", "negative"),
    ("Kategorie: neutral", "neutral"),
    ("La catégorie est **neutral**.", "neutral"),
    ("情感：negative", "negative"),
    ("The answer is:\n\n**negative**", "negative"),
    ("Final answer: **Neutral** (it has both)", "neutral"),
]


@pytest.mark.parametrize(("reply", "expected"), ROWS)
def test_the_label_that_a_reply_gives(reply: str, expected: str | None) -> None:
    found = find_label(reply, FEELINGS)
    assert (None if found is None else found.answer) == expected
    if found is not None:
        assert reply[: found.end].lower().endswith(found.answer)


@pytest.mark.parametrize(
    ("reply", "labels", "expected"),
    [
        ("It is very positive.", ("positive", "very positive"), "very positive"),
        ("non-toxic", ("toxic", "non-toxic"), "non-toxic"),
        ("This is toxic", ("toxic", "non-toxic"), "toxic"),
        ("Not enough info", ("SUPPORTS", "REFUTES", "NOT_ENOUGH_INFO"), "NOT_ENOUGH_INFO"),
        ("这条评论是负面的。", ("正面", "负面"), "负面"),
        ("不是正面，而是负面。", ("正面", "负面"), "负面"),
        ("Das ist Spam.", ("Spam", "kein Spam"), "Spam"),
        ("Das ist kein Spam.", ("Spam", "kein Spam"), "kein Spam"),
        ("C++ is best", ("C", "C++"), "C++"),
        ("Category: 2", ("1", "2"), "2"),
        ("É ótimo.", ("ótimo", "ruim"), "ótimo"),
        # a letter is also a word
        ("This is a story.", LETTERS, None),
        ("B", LETTERS, "B"),
        ("(B)", LETTERS, "B"),
        ("Answer: b", LETTERS, "B"),
        ("B) Jupiter", LETTERS, "B"),
        ("A big planet.", LETTERS, None),
        ("**C**", LETTERS, "C"),
        ("It is so.\nB.", LETTERS, "B"),
        ("The answer is C, a planet.", LETTERS, "C"),
        ("Answer: A or B", LETTERS, None),
        ("Yes, it is.", ("yes", "no"), "yes"),
        ("No.", ("yes", "no"), "no"),
        ("There is no doubt: yes.", ("yes", "no"), None),
    ],
)
def test_other_labels(reply: str, labels: tuple[str, ...], expected: str | None) -> None:
    found = find_label(reply, labels)
    assert (None if found is None else found.answer) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("label:a,b", ("a", "b")),
        ("yes, no", ("yes", "no")),
        ("label: very  good , bad,", ("very good", "bad")),
        ("label:Yes,yes,no", ("Yes", "no")),
        ("LABEL:x,y", ("x", "y")),
    ],
)
def test_labels_are_read_from_their_names(spec: str, expected: tuple[str, ...]) -> None:
    assert labels_of(spec) == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("label:a", "'label:a' names only the label 'a': give two or more, as in \"label:yes,no\""),
        ("label:", "'label:' names no label: give"),
        ("label:a,A, a", "only the label 'a'"),
        ("label:a,?!", "the label '?!' has no letter or digit"),
    ],
)
def test_fewer_than_two_labels_are_an_error(spec: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        labels_of(spec)
    assert message in str(error.value)
    assert error.value.argument == "answer"


PIECES = [
    "positive",
    "Negative",
    "neutral",
    " not ",
    " is ",
    "**",
    ". ",
    "\n",
    "Answer: ",
    ", ",
    "a",
    "? ",
    "</think>",
]


@MANY
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=40))
def test_a_label_is_one_of_those_given_and_is_there(text: str) -> None:
    found = find_label(text, FEELINGS)
    if found is not None:
        assert found.answer in FEELINGS
        assert text[: found.end].casefold().endswith(found.answer)
        assert "</think>" not in text[found.end - len(found.answer) :]
    assert found == find_label(text, FEELINGS[::-1])


@MANY
@given(st.lists(st.sampled_from(["ab", ". ", "\n", "? ", "。", "x" * 500]), max_size=12).map("".join))
def test_sentences_from_the_end_make_up_the_text(text: str) -> None:
    spans = list(_backwards(text, 0, len(text)))
    assert "".join(text[begin:end] for begin, end in reversed(spans)) == text
    assert all(begin < end for begin, end in spans)
    assert all(end - begin <= 800 for begin, end in spans)
