"""Who is likely right, likely wrong, dropped and kept: the masks of a tally, and what is counted by them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import distrivote
import naive
from strategies import MANY, Pool, humped_pools, plain_pools, tied_pools, unanswered_pools

METHODS = ["sc", "wsc", "bon", "wsc-top50", "wsc-gmm", "hier-kmeans", "dis-gmm", "dis-top50", "auto"]
CUTTING = ["wsc-top50", "wsc-kmeans", "dis-top50", "dis-kmeans", "dis-gmm"]


def test_the_masks_of_a_rejection_by_hand() -> None:
    # b is rejected; of a 7, a 9, c 3 and c 4, which remain, the upper two are kept.
    answers = ["b", None, "b", "c", "c", "b", "a", "b", "a"]
    tally = distrivote.vote(answers, [1, 9, 2, 3, 4, 6, 7, 8, 9], method="dis-top50")
    assert np.flatnonzero(tally.likely_wrong).tolist() == [0, 2, 3, 4]
    assert np.flatnonzero(tally.likely_right).tolist() == [5, 6, 7, 8]
    assert np.flatnonzero(tally.dropped).tolist() == [0, 2, 5, 7]
    assert np.flatnonzero(tally.kept).tolist() == [6, 8]
    assert tally.likely_right_votes == {"a": 2, "b": 2, "c": 0}
    assert tally.best == 8


@pytest.mark.slow
@MANY
@given(st.one_of(tied_pools, plain_pools, humped_pools), st.sampled_from(CUTTING))
def test_the_first_cut_is_the_twins(pool: Pool, method: str) -> None:
    tally = distrivote.vote(pool.answers, pool.confidences, method)
    answered = [at for at, answer in enumerate(pool.answers) if answer is not None]
    split = naive.METHODS[method].split
    positive = split([pool.confidences[at] for at in answered]) if answered else []
    assert np.flatnonzero(tally.likely_right).tolist() == naive.select(answered, positive)
    assert np.flatnonzero(tally.likely_wrong).tolist() == naive.select(answered, [not p for p in positive])


@MANY
@given(st.one_of(tied_pools, plain_pools, humped_pools, unanswered_pools), st.sampled_from(METHODS))
@example(Pool(["a", "b", "b"], [1.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 2.0)]), "dis-top50")
@example(Pool(["a", "b", "b"], [math.nextafter(1.0, 2.0), 1.0 + 2**-51, 1.0 + 2**-51]), "wsc-top50")
def test_masks_and_counts_agree(pool: Pool, method: str) -> None:
    tally = distrivote.vote(pool.answers, pool.confidences, method)
    masks = (tally.likely_right, tally.likely_wrong, tally.dropped, tally.kept)
    assert all(mask.shape == (len(pool.answers),) and mask.dtype == np.bool_ for mask in masks)
    for mask, counts in ((tally.likely_right, tally.likely_right_votes), (tally.kept, tally.kept_votes)):
        given_answers = naive.select(pool.answers, mask.tolist())
        assert counts == {answer: given_answers.count(answer) for answer in tally.votes}
    assert not (tally.likely_right & tally.likely_wrong).any()
    assert not (tally.dropped & tally.kept).any()
    assert [answer is not None and answer == tally.rejected for answer in pool.answers] == (
        tally.dropped.tolist()
    )
    if tally.first_split is not None:
        assert tally.first_split.n_positive == tally.likely_right.sum()
        assert tally.first_split.n_negative == tally.likely_wrong.sum()
    else:
        assert tally.likely_right_votes == tally.votes
    if tally.split is not None:
        assert tally.split.n_positive == tally.kept.sum()


def test_a_cut_that_rounds_to_a_value_moves_nobody() -> None:
    # Between two neighbouring floats there is no midpoint: the cut is one of them.
    low, high = math.nextafter(1.0, 2.0), 1.0 + 2**-51
    tally = distrivote.vote(["a", "a", "b", "b"], [low, low, high, high], method="wsc-top50")
    assert tally.first_split is not None
    assert tally.first_split.cut in (low, high)
    assert tally.likely_right.tolist() == [False, False, True, True]
    assert tally.likely_wrong.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("confidences", "best"),
    [([3.0, 9.0, 5.0, 9.0], 3), ([5.0, None, 2.0, 5.0], 0), ([None, 1.0, None, None], 0)],
)
def test_the_best_is_the_first_of_the_most_confident_with_the_answer(
    confidences: list[float | None], best: int
) -> None:
    assert distrivote.vote(["a", "b", "a", "a"], confidences, "sc").best == best


def test_an_answer_without_a_confidence_is_not_the_best_of_negative_ones() -> None:
    assert distrivote.vote(["a", "a", "a"], [None, -3.0, -2.0], "sc").best == 2


def test_without_an_answer_there_is_no_best_and_no_interval_is_won() -> None:
    tally = distrivote.vote([None, None], [1.0, 2.0])
    assert (tally.best, tally.intervals_won) == (None, None)
