"""Whole replies: which have the same content, and which stands for the others."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.spectral import LEAST, SHARE
from distrivote.answers.texts import (
    HIGH,
    LOW,
    _distinct,
    _similarities,
    medoid,
    similarity,
    sort_texts,
    words_of,
)
from strategies import LAW

INTRODUCTIONS = [
    "Hello! I am Qwen, a large language model created by Alibaba Cloud. How can I assist you today?",
    "Hi there! I'm Qwen, an AI assistant developed by Alibaba Cloud. How can I help you?",
    "I am Qwen, a large language model created by Alibaba Cloud. I am designed to assist users in generating"
    " various types of text, such as articles, stories, poems, and more.",
    "Hello! I'm Qwen, created by Alibaba Cloud. I'm here to help you with any questions you have.",
    "I'm an AI language model created by Alibaba Cloud, and I'm called Qwen. What can I do for you today?",
]
WAVES = [
    "Waves kiss the soft shore,\nwhispering ancient secrets,\nmoon pulls the tide home.",
    "**Waves kiss the soft shore**\nWhispering their ancient secrets\nThe moon pulls the tide",
    "Soft waves kiss the shore,\nancient secrets whispering,\nthe moon pulls the tide.",
]
GULLS = [
    "Endless blue expanse,\nsalt upon the morning wind,\ngulls cry out and wheel.",
    "Endless blue expanse\nSalt on the morning wind\nGulls wheel and cry out",
]
FROG = ["Old pond, still and green —\na frog leaps into silence,\nwater's sound returns."]
REFUSALS = ["I'm sorry, but I can't help with that request.", "Sorry, I can't assist with that."]
SKIES = [
    "The sky appears blue because molecules in the air scatter blue light from the sun more than they scatter"
    " red light. This is called Rayleigh scattering.",
    "The sky is blue due to Rayleigh scattering, in which air molecules scatter shorter wavelengths of"
    " sunlight, such as blue, more than longer ones like red.",
    "The sky looks blue because of a phenomenon called Rayleigh scattering. Blue light has a shorter"
    " wavelength, so it is scattered more by molecules in the atmosphere than red light.",
]
CHINESE = [
    "我是通义千问，由阿里云开发的大型语言模型。有什么可以帮您？",
    "您好！我是通义千问，是阿里云开发的语言模型，很高兴为您服务。",
]
POEM = ["春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"]
GERMAN = [
    "Ich bin Qwen, ein großes Sprachmodell von Alibaba Cloud. Wie kann ich dir helfen?",
    "Hallo! Ich bin Qwen, ein Sprachmodell, das von Alibaba Cloud entwickelt wurde. Womit kann ich helfen?",
]
GROUPS = [INTRODUCTIONS, WAVES, GULLS, FROG, REFUSALS, SKIES, CHINESE, POEM, GERMAN]

REAL = {
    "who": [
        "I am a language model created by Alibaba Cloud.",
        "I am an AI language model created by OpenAI.",
        "I am an AI developed by Alibaba Cloud. How can I assist you today?",
        "I am an AI language model created by OpenAI. How can I assist you today?",
        (
            "I am a bot created by OpenAI, designed to assist with information and tasks. How can I h"
            "elp you today?"
        ),
        (
            "I'm an AI language model created by OpenAI, designed to assist with a wide range of task"
            "s and answer questions from users."
        ),
        (
            "I am an AI developed by Alibaba Cloud, designed to assist with a wide range of tasks suc"
            "h as information retrieval, writing, translation, and more. How can I help you today?"
        ),
        (
            "I am a language model designed to assist with various tasks and provide information on a"
            " wide range of topics. I am designed to be helpful, reliable, and capable of answering y"
            "our questions and providing support in a variety of ways."
        ),
    ],
    "haiku": [
        "Wave dances, sea breathes,\nInfinite, silent, peace.",
        "Tides rise and fall,\nWave on the shore,\nSea whispers secrets.",
        "Ocean's breath,\nWhispers to the shore,\nSilent symphony.",
        "Sea whispers secrets,\nShimmering in the gentle light,\nLies untouched.",
        "Whispering waves in storm,\nSunsets painting canvas,\nSea mirrors sky.",
        "Salt rises in tides,\nSea whispers secrets, deep,\nWhispers your name.",
        "Whispers of the sea,\nWhispers of the wind,\nWhispers of the night.",
        ("Ocean's vast, silent, silent,\nWhispers of wind, to the sea's deep,\nPeace, at every breath."),
    ],
    "sky": [
        "The sky blue is caused by the scattering of sunlight in the atmosphere.",
        "The sky is blue because of the scattering of blue light by the Earth's atmosphere.",
        (
            "The sky is blue because light is scattered by molecules in the Earth's atmosphere, prima"
            "rily nitrogen and oxygen."
        ),
        (
            "The sky is blue due to the scattering of light by molecules in the atmosphere, creating "
            "a spectrum of colors."
        ),
        (
            "The sky is blue due to the scattering of blue light by particles in Earth's atmosphere, "
            "creating a palette of hues."
        ),
        (
            "The sky blue is due to the scattering of light by tiny particles in the atmosphere, such"
            " as dust, smoke, and water droplets."
        ),
        (
            "The sky is blue due to the scattering of light that occurs when sunlight interacts with "
            "the Earth's atmosphere. This results in the blue color we see."
        ),
        (
            "The sky is blue because it reflects sunlight, which is composed of a mix of red, green, "
            "and blue wavelengths. When light hits the Earth's atmosphere and enters the air, it is s"
            "cattered by the molecules present in the air. Some of this scattered light is filtered o"
            "ut by the blue sky filters, leaving the remaining light in the sky as blue."
        ),
    ],
    "capital": [
        "The capital of Australia is Sydney.",
        "The capital of Australia is Canberra.",
        "The capital of Australia is Canberra.",
        "The capital of Australia is Canberra.",
        "The capital of Australia is Canberra.",
        "The capital of Australia is Canberra.",
        "The capital of Australia is Canberra.",
        "The capital of Australia is Sydney.",
    ],
}
"""Replies of Qwen2.5-Coder-1.5B (Q4_K_M) at temperature 0.9, as they came."""

WORDS = ["sea", "moon", "salt", "wind", "gull", "tide", "rock", "海", "🌊"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=14)


def naive_similarity(a: str, b: str) -> Fraction:
    """Return the mean of the Jaccard indices of n-grams, from the text of the method."""
    one, other = words_of(a), words_of(b)
    if one == other and (one or a.strip() == b.strip()):
        return Fraction(1)
    one, other = one or [a.strip()], other or [b.strip()]
    indices = []
    for n in (1, 2, 3):
        if min(len(one), len(other)) >= n:
            grams = [
                {tuple(words[at : at + n]) for at in range(len(words) - n + 1)} for words in (one, other)
            ]
            indices.append(Fraction(len(grams[0] & grams[1]), len(grams[0] | grams[1])))
    return sum(indices, Fraction(0)) / len(indices)


def naive_classes(given: Sequence[str]) -> set[frozenset[int]]:
    """Return the classes of texts that all differ in their words, by dense eigenvectors and plain loops."""
    n = len(given)
    order = sorted(range(n), key=lambda at: words_of(given[at]))
    links = [[min(max((float(naive_similarity(given[i], given[j])) - LOW) / (HIGH - LOW), 0), 1)
              for j in order] for i in order]  # fmt: skip

    def connected(group: list[int]) -> list[list[int]]:
        found: list[list[int]] = []
        for start in group:
            if not any(start in one for one in found):
                one = [start]
                for at in one:
                    one += [each for each in group if links[at][each] >= LEAST and each not in one]
                found.append(sorted(one))
        return found

    def mean(pairs: list[tuple[int, int]], prior: float | None = None) -> float:
        total = math.fsum(links[i][j] for i, j in pairs)
        return total / len(pairs) if prior is None else (total + 20 * prior) / (len(pairs) + 20)

    def split(group: list[int]) -> list[list[int]]:
        if len(group) < 2:
            return [group]
        weights = np.array([[links[i][j] for j in group] for i in group])
        degrees = weights.sum(axis=1)
        laplacian = np.eye(len(group)) - weights / np.sqrt(np.outer(degrees, degrees))
        values, vectors = np.linalg.eigh(laplacian)
        # Where eigenvalues coincide, the projection of a fixed start onto their space.
        start = np.sin(np.arange(1, len(group) + 1) * 2.399963)
        space = vectors[:, 1:][:, np.abs(values[1:] - values[1]) < 1e-9]
        fiedler = space @ (space.T @ start) / np.sqrt(degrees)
        fiedler = fiedler / np.linalg.norm(fiedler * np.sqrt(degrees))
        if fiedler[np.argmax(np.abs(np.round(fiedler, 9)))] < 0:
            fiedler = -fiedler
        ranked = [group[at] for at in sorted(range(len(group)), key=lambda at: (round(fiedler[at], 9), at))]
        overall = mean([(i, j) for i in group for j in group if i != j])
        cuts = []
        for k in range(1, len(group)):
            parts = ranked[:k], ranked[k:]
            between = mean([(i, j) for i in parts[0] for j in parts[1]])
            within = max(mean([(i, j) for i in part for j in part if i != j], overall) for part in parts)
            cuts.append((round(between / within, 12), k, between, within))
        _, k, between, within = min(cuts)
        if between >= max(LEAST, SHARE * within):
            return [group]
        return [sorted(ranked[:k]), sorted(ranked[k:])]

    waiting, done = [list(range(n))], set()
    while waiting:
        group = waiting.pop()
        parts = connected(group)
        parts = split(group) if len(parts) == 1 else parts
        if len(parts) == 1:
            done.add(frozenset(order[at] for at in group))
        waiting += parts if len(parts) > 1 else []
    return done


def classes(given: Sequence[str]) -> set[frozenset[int]]:
    ids = sort_texts(given)
    return {frozenset(at for at, each in enumerate(ids) if each == number) for number in set(ids)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's **Paris**!", ["it's", "paris"]), ("It’s Ａ", ["it's", "a"]), ("", []), ("?!", []),
        ("<think>a b</think>c", ["c"]), ("東京とParis", ["東", "京", "と", "paris"]),
        ("снег 1914", ["снег", "1914"]),
        ("snake_case", ["snake", "case"]), ("안녕", ["안", "녕"]), ("Straße", ["strasse"]),
    ],
)  # fmt: skip
def test_words_are_what_a_text_says(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize("seed", range(4))
def test_paraphrases_are_together_and_other_content_is_apart(seed: int) -> None:
    expected = [(number, text) for number, group in enumerate(GROUPS) for text in group]
    random.Random(seed).shuffle(expected)
    ids = sort_texts([text for _, text in expected])
    pairs = zip(ids, (number for number, _ in expected), strict=True)
    assert len(set(pairs)) == len(GROUPS) == len(set(ids))


def test_replies_of_a_model_to_different_questions_are_apart() -> None:
    given = [(question, text) for question, replies in REAL.items() for text in replies]
    questions: dict[int, set[str]] = {}
    for number, (question, _) in zip(sort_texts([text for _, text in given]), given, strict=True):
        questions.setdefault(number, set()).add(question)
    assert all(len(each) == 1 for each in questions.values())


def test_replies_of_a_model_to_one_question_are_sorted_by_content() -> None:
    assert sort_texts(REAL["sky"]) == (0,) * 8
    assert sort_texts(REAL["who"]) == (0,) * 7 + (1,)  # the last names nobody who made it
    assert sort_texts(REAL["haiku"]) == (0, 1, 2, 1, 3, 1, 4, 2)  # "Sea whispers secrets" is in three


@pytest.mark.parametrize("group", GROUPS)
def test_paraphrases_alone_are_one_class(group: list[str]) -> None:
    assert set(sort_texts(group)) == {0}


def test_nothing_alike_is_a_class_each() -> None:
    assert sort_texts([GROUPS[at][0] for at in (0, 1, 2, 3, 5, 7)]) == tuple(range(6))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ()), (["a"], (0,)), (["", ""], (0, 0)), (["", "a"], (0, 1)), (["🌊", "🌊 ", "❄"], (0, 0, 1)),
        (["a b c"] * 5, (0,) * 5), (["Yes.", "No.", "**Yes**"], (0, 1, 0)),
        (["<think>one thing</think>Yes", "<think>other words</think>yes!"], (0, 0)),
    ],
)  # fmt: skip
def test_edges(given: list[str], expected: tuple[int, ...]) -> None:
    assert sort_texts(given) == expected


def test_a_chain_of_texts_is_cut_where_it_is_thin() -> None:
    """Six texts in two groups of three; one text of each group shares a phrase with the other."""
    left = ["a b c d e f g h", "a b c d e f g i", "a b c d e f j k"]
    right = ["p q r s t u v w", "p q r s t u v x", "p q r s t u a b"]
    assert sort_texts(left + right) == (0, 0, 0, 1, 1, 1)


@LAW
@given(texts)
def test_classes_are_those_of_the_slow_twin(given: list[str]) -> None:
    distinct = list({tuple(words_of(text)) or text.strip(): text for text in given}.values())
    assert classes(distinct) == naive_classes(distinct)


@pytest.mark.parametrize("seed", range(3))
def test_classes_of_real_replies_are_those_of_the_slow_twin(seed: int) -> None:
    given = [text for group in GROUPS for text in group]
    random.Random(seed).shuffle(given)
    assert classes(given) == naive_classes(given)


@LAW
@given(texts, st.randoms(use_true_random=False))
def test_the_order_of_replies_and_copies_do_not_matter(given: list[str], rng: random.Random) -> None:
    order = list(range(len(given)))
    rng.shuffle(order)
    moved = classes([given[at] for at in order])
    assert {frozenset(order[at] for at in one) for one in moved} == classes(given)
    ids = sort_texts(given)
    assert len(ids) == len(given)
    seen = list(dict.fromkeys(ids))
    assert seen == list(range(len(seen)))
    for (one, a), (other, b) in (
        (x, y) for x in zip(given, ids, strict=True) for y in zip(given, ids, strict=True)
    ):
        assert one != other or a == b


@LAW
@given(texts)
def test_similarity_is_that_of_the_slow_twin(given: list[str]) -> None:
    for a, b in pairwise(given):
        assert similarity(a, b) == pytest.approx(float(naive_similarity(a, b)), abs=1e-12)
        assert similarity(a, b) == similarity(b, a)


def test_common_and_rare_words_are_counted_alike() -> None:
    """More than 40 texts have a word in common, so both ways of counting are used."""
    rng = random.Random(7)
    given = [" ".join(rng.choices(WORDS[:7] + [f"w{rng.randrange(90)}"] * 3, k=9)) for _ in range(70)]
    keys, _, _ = _distinct(given)
    table = _similarities(keys)
    for i in range(0, len(keys), 7):
        for j in range(len(keys)):
            expected = float(naive_similarity(" ".join(keys[i]), " ".join(keys[j])))
            assert table[i, j] == pytest.approx(expected, abs=1e-12)


def naive_medoid(given: Sequence[str], weights: Sequence[float]) -> set[int]:
    """Return the texts with the highest weighted similarity to all."""
    scores = [
        math.fsum(w * float(naive_similarity(one, other)) for other, w in zip(given, weights, strict=True))
        for one in given
    ]
    return {at for at, score in enumerate(scores) if score >= max(scores) * (1 - 1e-9)}


@LAW
@given(texts.filter(bool), st.data())
def test_the_medoid_is_that_of_the_slow_twin(given: list[str], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.floats(0.5, 30), min_size=len(given), max_size=len(given)))
    chosen = medoid(given, weights)
    best = naive_medoid(given, weights)
    assert chosen in best
    assert weights[chosen] >= max(weights[at] for at in best if given[at] == given[chosen])
    turned = medoid(given[::-1], weights[::-1])
    assert words_of(given[::-1][turned]) == words_of(given[chosen])


def test_the_surer_of_two_is_the_medoid() -> None:
    assert medoid(WAVES[:2], [1.0, 1.1]) == 1
    assert medoid(WAVES[:2], [1.1, 1.0]) == 0
    assert medoid([WAVES[0], *WAVES], [1, 5, 1, 1]) == 1


def test_many_that_agree_outweigh_one_that_is_sure() -> None:
    given = [*INTRODUCTIONS, *POEM]
    assert medoid(given, [10, 10, 10, 10, 10, 14]) == 0


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_missing_weight_counts_as_the_mean(odd: float) -> None:
    assert medoid(["a b", "a c", "x"], [2.0, odd, 4.0]) == medoid(["a b", "a c", "x"], [2.0, 3.0, 4.0])
    assert medoid(["a b c", "a b d", "x"], [odd] * 3) in (0, 1)
    assert medoid(["a b c", "a b d", "x"], [0, -1, odd]) in (0, 1)


def test_a_medoid_needs_texts_with_weights() -> None:
    with pytest.raises(ValueError, match="2 texts have 1 weights"):
        medoid(["a", "b"], [1.0])
    with pytest.raises(ValueError, match="0 texts"):
        medoid([], [])


def test_hundreds_of_replies_are_sorted() -> None:
    rng = random.Random(3)
    words = [f"w{at}" for at in range(500)]
    subjects = [rng.choices(words, k=60) for _ in range(3)]
    given = [
        " ".join(word if rng.random() < 0.8 else rng.choice(words) for word in subjects[at % 3])
        for at in range(240)
    ]
    assert sort_texts(given) == tuple(at % 3 for at in range(240))


def test_more_texts_than_are_compared_join_the_nearest_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distrivote.answers.texts.MOST", 16)
    rng = random.Random(5)
    words = [f"w{at}" for at in range(500)]
    subjects = [rng.choices(words, k=60) for _ in range(3)]
    given = [
        " ".join(word if rng.random() < 0.9 else rng.choice(words) for word in subjects[at % 3])
        for at in range(90)
    ]
    given += ["nothing like it", *given]
    expected = [at % 3 for at in range(90)]
    assert sort_texts(given) == (*expected, 3, *expected)
    weights = [1.0] * 90 + [0.5] + [1.0] * 90
    assert given[medoid(given, weights)] in given[:90]
