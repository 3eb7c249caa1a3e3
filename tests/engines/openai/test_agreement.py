"""A server's own count of tokens, and its name for a model."""

from __future__ import annotations

import pytest

from distrivote.engines.openai.agreement import TokenCounts, is_same_model


def flaws(counts: TokenCounts, *replies: tuple[int, int, int], is_cut: bool = False) -> list[bool]:
    """Return which replies have a flaw; each is (tokens of the text, tokens that came, tokens counted)."""
    return [
        counts.flaw(n_shown=shown, n_read=read, n_counted=counted, is_cut=is_cut) is not None
        for shown, read, counted in replies
    ]


@pytest.mark.parametrize(
    ("good", "lost", "doubled"),
    [
        ((7, 8, 8), (6, 7, 8), (8, 9, 8)),  # the end of the text is shown and counted: vLLM
        ((7, 7, 8), (6, 6, 8), (8, 8, 8)),  # counted only: llama.cpp
        ((7, 8, 7), (6, 7, 7), (8, 9, 7)),  # shown only
        ((7, 7, 7), (6, 6, 7), (8, 8, 7)),  # neither
        ((7, 7, 11), (6, 6, 11), (8, 8, 11)),  # marks of thinking are counted and not shown
    ],
)
def test_one_token_too_few_or_too_many_is_seen_once_the_way_of_counting_is_known(
    good: tuple[int, int, int], lost: tuple[int, int, int], doubled: tuple[int, int, int]
) -> None:
    counts = TokenCounts()
    flaws(counts, *[good] * 3)
    assert flaws(counts, good, lost, good, doubled, good) == [False, True, False, True, False]


def test_at_the_limit_there_is_no_end_of_the_text_and_every_token_counts_from_the_first_reply() -> None:
    assert flaws(TokenCounts(), (6, 6, 7), is_cut=True) == [True]
    assert flaws(TokenCounts(), (8, 8, 7), is_cut=True) == [True]
    assert flaws(TokenCounts(), (7, 7, 7), is_cut=True) == [False]


def test_what_is_usual_is_not_learnt_from_two_bad_replies_at_the_beginning() -> None:
    assert flaws(TokenCounts(), (5, 5, 7), (5, 5, 7), (7, 7, 7), (7, 7, 7)) == [True, True, False, False]


def test_a_server_whose_counts_never_agree_is_not_judged_by_them() -> None:
    counts = TokenCounts()
    flaws(counts, *[(7, 7, 20 + i) for i in range(7)])
    assert flaws(counts, *[(7, 7, 40 + i) for i in range(3)]) == [False, False, False]


@pytest.mark.parametrize(
    ("asked", "said", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("Qwen/Qwen3-8B", "qwen3-8b", True),
        ("qwen3-8b", "/models/Qwen3-8B.gguf", True),
        ("openrouter/auto", "anything", True),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-14B", False),
        ("gpt-4o", "gpt-4.1", False),
    ],
)
def test_a_model_has_several_names(asked: str, said: str, same: bool) -> None:
    assert is_same_model(asked, said) is same
