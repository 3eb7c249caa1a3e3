from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.trajectory import Insertion, Interventions, Trajectory

RECORD = Interventions((Insertion(2, 3), Insertion(7, 1)), (4, 6, 9), (10.0, 7.0, 8.0), True)


def test_a_record_is_cut_with_its_trajectory() -> None:
    assert RECORD.up_to(3) == Interventions((Insertion(2, 1),), (3,), (10.0,), True)
    assert RECORD.up_to(6) == Interventions((Insertion(2, 3),), (4, 6), (10.0, 7.0), False)
    assert RECORD.up_to(0) == Interventions()


def test_a_record_without_steps_is_cut_too() -> None:
    record = Interventions((Insertion(2, 3), Insertion(7, 1)))
    assert record.up_to(8) is record
    assert record.up_to(7) == Interventions((Insertion(2, 3),))
    assert record.up_to(4) == Interventions((Insertion(2, 2),))
    assert record.up_to(2) == Interventions()


def test_a_record_of_a_whole_trajectory_stays_as_it_is() -> None:
    assert RECORD.up_to(9) is RECORD
    assert Interventions().up_to(3) == Interventions()


def test_reflections_are_counted_by_their_insertions() -> None:
    assert RECORD.n_reflections == 2
    assert Interventions().n_reflections == 0


@pytest.mark.parametrize(
    ("rows", "logprobs", "says"),
    [
        (np.zeros((1, 2)), np.zeros(2), r"2 tokens but top_logprobs of shape \(1, 2\)"),
        (np.zeros((3, 2)), np.zeros(2), r"top_logprobs of shape \(3, 2\)"),
        (np.zeros(2), np.zeros(2), r"top_logprobs of shape \(2,\)"),
        (np.zeros((2, 0)), np.zeros(1), r"2 tokens but logprobs of shape \(1,\)"),
        (np.zeros((2, 0)), np.zeros((2, 1)), r"logprobs of shape \(2, 1\)"),
    ],
)
def test_a_row_and_a_log_probability_are_asked_for_per_token(
    rows: np.ndarray, logprobs: np.ndarray, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        Trajectory("ab", ("a", "b"), rows, logprobs)


def test_tokens_must_spell_the_text() -> None:
    for tokens in (("a", "c"), ("a",)):
        unknown = np.full(len(tokens), math.nan)
        with pytest.raises(InputError, match="give tokens that spell it"):
            Trajectory("ab", tokens, np.empty((len(tokens), 0)), unknown)


def test_a_reply_may_come_without_tokens() -> None:
    assert Trajectory("ab").n_tokens == 0
    assert Trajectory("ab", n_reply_tokens=3).n_tokens == 3
    assert Trajectory("ab", ("a", "b"), np.empty((2, 0)), np.full(2, math.nan)).n_tokens == 2


def test_values_of_the_whole_distribution_come_in_pairs_and_one_per_token() -> None:
    bare = Trajectory("ab", ("a", "b"), np.empty((2, 0)), np.zeros(2))
    assert replace(bare, entropies=np.ones(2), self_certainties=np.ones(2)).n_tokens == 2
    for values in ((np.ones(2), None), (None, np.ones(2))):
        with pytest.raises(InputError, match="give both or neither"):
            replace(bare, entropies=values[0], self_certainties=values[1])
    for short in ((np.ones(1), np.ones(2)), (np.ones(2), np.ones((2, 1)))):
        with pytest.raises(InputError, match="give one of each per token"):
            replace(bare, entropies=short[0], self_certainties=short[1])
