"""Classes by the word of a judge: a function, a model's reply, a command, and embeddings."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.folding import folded
from distrivote.answers.judge import CachedJudge, embedding_groups, judged, prompt_for, verdict_of
from distrivote.answers.judgecommand import command_judge
from distrivote.errors import EngineError, InputError
from strategies import LAW, MANY

answers = st.lists(
    st.sampled_from(["", *(f"{c}{n}" for c in "abcd" for n in range(5))]) | st.none(), max_size=30
)


def first_letter(a: str, b: str) -> bool:
    return a[0] == b[0]


def classes(ids: Sequence[int]) -> set[frozenset[int]]:
    return {frozenset(at for at, each in enumerate(ids) if each == one) for one in set(ids) if one >= 0}


@MANY
@given(answers, st.integers(0, 3), st.randoms(use_true_random=False))
def test_any_judge_makes_a_partition_with_few_questions_in_any_order(
    given: list[str | None], whim: int, rng: random.Random
) -> None:
    pairs = []

    def ask(a: str, b: str) -> bool | None:
        pairs.append((a, b))
        return (True, False, None)[hash_of(a, b, whim) % 3]

    found = judged(given, ask)
    distinct = {answer for answer in given if answer}
    n = max(len(distinct), 1)
    assert len(found.ids) == len(given)
    assert [each < 0 for each in found.ids] == [not answer for answer in given]
    seen = list(dict.fromkeys(each for each in found.ids if each >= 0))
    assert seen == list(range(len(seen)))
    by_answer = {(answer, each) for answer, each in zip(given, found.ids, strict=True) if answer}
    assert len(by_answer) == len(distinct)
    assert found.n_asked == len(pairs) <= n * math.log2(n) + n
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    assert all((len(a), a) < (len(b), b) for a, b in pairs)
    assert found.n_unclear == sum(hash_of(a, b, whim) % 3 == 2 for a, b in pairs)
    order = list(range(len(given)))
    rng.shuffle(order)
    moved = judged([given[at] for at in order], ask)
    assert {frozenset(order[at] for at in one) for one in classes(moved.ids)} == classes(found.ids)


def hash_of(a: str, b: str, whim: int) -> int:
    return sum(map(ord, a + b)) + whim


@LAW
@given(answers)
def test_a_judge_who_is_right_gives_the_right_classes(given: list[str | None]) -> None:
    """There are four classes, and log2(n) + 1 is at least as many from eight different answers on."""
    padded = [*given, *(f"{c}{n}" for c in "abcd" for n in (7, 8))]
    found = judged(padded, first_letter)
    letters = [answer[0] if answer else None for answer in padded]
    expected = {frozenset(at for at, each in enumerate(letters) if each == one) for one in "abcd"}
    assert classes(found.ids) == expected


def test_the_largest_classes_are_asked_about_first() -> None:
    pairs = []

    def ask(a: str, b: str) -> bool:
        pairs.append((a, b))
        return False

    judged(["x", "y", "y", "z", "z", "z"], ask)
    assert pairs == [("y", "z"), ("x", "z"), ("x", "y")]


def test_many_different_answers_are_not_all_compared() -> None:
    found = judged([f"answer {at}" for at in range(300)], lambda *_: False)
    assert len(set(found.ids)) == 300
    assert found.n_asked <= 300 * math.log2(300) + 300 < 300 * 299 / 2


def test_answers_with_the_same_key_need_no_question() -> None:
    found = judged(["12 pears", "**12**", "twelve", "13"], lambda *_: False, key=folded)
    assert (found.ids, found.n_asked) == ((0, 0, 0, 1), 1)


def test_a_judge_is_asked_once_over_several_calls() -> None:
    judge = CachedJudge(first_letter)
    assert judged(["a1", "a2", "b1"], judge).n_asked == 2
    assert judged(["a1", "a2", "b1"], judge).n_asked == 0
    assert judge("a2", "a1") is True
    assert judge.n_asked == 2


def test_nonsense_is_counted_and_means_different() -> None:
    found = judged(["a", "b"], lambda *_: None)
    assert found == ((0, 1), 1, 1)


def test_without_answers_nothing_is_asked() -> None:
    assert judged([], first_letter) == ((), 0, 0)
    assert judged([None, " "], first_letter) == ((-1, -1), 0, 0)


def test_a_model_is_shown_the_question_and_both_answers() -> None:
    [message] = prompt_for("Who wrote Faust?", "Goethe", "J. W. von Goethe")
    assert message.role == "user"
    assert all(
        part in message.content for part in ("Who wrote Faust?", "Goethe", "J. W. von Goethe", "yes or no")
    )
    assert "question" not in prompt_for("", "a", "b")[0].content
    long = prompt_for("", "a" * 9_000 + "END", "b")[0].content
    assert len(long) < 5_000
    assert "END" in long


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Yes", True),
        ("yes.", True),
        ("**Yes**, they do.", True),
        ("No", False),
        ("no, they differ", False),
        ("<think>No, or yes?</think>\nYes", True),
        ("True", True),
        ("0", False),
        ("1", True),
        ("Ja.", True),
        ("Nein, das ist etwas anderes.", False),
        ("是的", True),
        ("不是", False),
        ("不", False),
        ("They are the same.", True),
        ("They are not the same.", False),
        ("The answers are different.", False),
        ("Both are equivalent.", True),
        ("The answer is yes.", True),
        ("Verdict: **no**", False),
        ("Perhaps", None),
        ("", None),
        ("Nothing to say", None),
        ("Yesterday", None),
        ("10", None),
        ("<think>Yes", None),
    ],
)
def test_a_reply_of_a_judge_is_yes_or_no_or_nonsense(reply: str, expected: bool | None) -> None:
    assert verdict_of(reply) is expected


STAYS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print("yes" if asked["a"][0] == asked["b"][0] else asked["question"] or "no", flush=True)
"""
ENDS = """
import json, sys
asked = json.loads(sys.stdin.readline())
print(asked["a"][0] == asked["b"][0])
"""


def script(folder: Path, text: str) -> list[str]:
    path = folder / "judge.py"
    path.write_text(text)
    return [sys.executable, str(path)]


@pytest.mark.parametrize("text", [STAYS, ENDS])
def test_a_command_judges(tmp_path: Path, text: str) -> None:
    with command_judge(script(tmp_path, text)) as judge:
        assert judged(["a1", "a2", "b1", "ä", "ä2"], judge).ids == (0, 0, 1, 2, 2)


def test_a_command_is_told_the_question_and_may_say_nonsense(tmp_path: Path) -> None:
    with command_judge(script(tmp_path, STAYS), "Who?") as judge:
        assert (judge("a", "b"), judge("a", "a")) == (None, True)


def test_a_command_that_says_nothing_in_time_is_an_error(tmp_path: Path) -> None:
    with (
        command_judge(script(tmp_path, "import sys\nsys.stdin.read()"), seconds=0.2) as judge,
        pytest.raises(EngineError, match=r"gave no answer within 0\.2 s: it must write a line"),
    ):
        judge("a", "b")


def test_a_command_that_ends_is_an_error(tmp_path: Path) -> None:
    with (
        command_judge(script(tmp_path, "raise SystemExit(3)")) as judge,
        pytest.raises(EngineError, match=r"ended without an answer \(exit code 3\)"),
    ):
        judge("a", "b")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program --x", "the judge 'no-such-program --x' can't be started"),
        ("", "the judge has no command"),
        ("a 'b", "can't be read as a command"),
    ],
)
def test_a_command_that_does_not_exist_is_an_error(command: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        command_judge(command)("a", "b")


def test_embeddings_group_texts_but_never_different_numbers() -> None:
    texts = [
        "The war began in 1914.",
        "In 1914 the war began.",
        "The war began in 1915.",
        "Paris",
        "the war began in 1914",
    ]
    vectors = [[1, 0, 0], [0.99, 0.1, 0], [1, 0, 0.01], [0, 0, 1], [1, 0.01, 0]]
    assert embedding_groups(vectors, texts) == (0, 0, 1, 2, 0)
    assert embedding_groups(vectors, texts, 0.999) == (0, 1, 2, 3, 0)


@LAW
@given(
    st.lists(st.sampled_from(["a", "b 1", "b 2", "c", "d", "e"]), max_size=12), st.integers(0, 9), st.data()
)
def test_groups_by_embedding_ignore_the_order(given: list[str], seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    table = {text: rng.normal(size=2) for text in sorted(set(given))}
    order = data.draw(st.permutations(range(len(given))))
    found = embedding_groups(np.array([table[text] for text in given]).reshape(-1, 2), given, 0.7)
    moved = embedding_groups(
        np.array([table[given[at]] for at in order]).reshape(-1, 2), [given[at] for at in order], 0.7
    )
    assert {frozenset(order[at] for at in one) for one in classes(moved)} == classes(found)
    for (a, i), (b, j) in (
        (x, y) for x in zip(given, found, strict=True) for y in zip(given, found, strict=True)
    ):
        assert a != b or i == j
        assert i != j or {a, b} != {"b 1", "b 2"}


@pytest.mark.parametrize(
    ("vectors", "threshold", "message"),
    [
        ([[1, 2]], 0.8, "2 texts have embeddings of shape"),
        ([1, 2], 0.8, "shape"),
        ([[1, math.nan], [1, 2]], 0.8, "finite"),
        ([[1], [2]], 0, "threshold 0 is not above 0"),
        ([[1], [2]], 1.1, "threshold"),
    ],
)
def test_embeddings_that_do_not_fit_are_an_error(vectors: object, threshold: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embedding_groups(vectors, ["a", "b"], threshold)  # type: ignore[arg-type]


def test_a_text_without_direction_is_alone() -> None:
    assert embedding_groups([[0, 0], [1, 0], [0, 0]], ["a", "b", "c"]) == (0, 1, 2)
