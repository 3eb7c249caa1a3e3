"""What is measured on draws, by hand and against one vote at a time."""

from __future__ import annotations

import numpy as np
import pytest

from distrivote.evaluation.drawn import Drawn, OneAnswer, PositiveSide, Stages, Voting, drawn
from distrivote.voting.filters import TopFilter
from distrivote.voting.methods import parse_method
from distrivote.voting.vote import vote


def draws(classes: list[list[int]], confidence: list[list[float]]) -> Drawn:
    """Class 0 is right."""
    ids = np.array(classes)
    return drawn(ids, np.array(confidence), ids == 0, ids == 0)


@pytest.mark.slow
def test_winners_are_those_of_one_vote_at_a_time() -> None:
    rng = np.random.default_rng(0)
    # Far-apart numbers, to see that they are numbered anew.
    classes = rng.choice([-1, 0, 7, 300, 301, 4000], (60, 25), p=[0.1, 0.4, 0.2, 0.1, 0.1, 0.1])
    confidence = rng.gamma(9, 1, (60, 25))
    batch = drawn(classes, confidence, classes == 0, classes == 0)
    for method in ("sc", "wsc", "bon", "mob", "hier-top30", "wsc-gmm-reject", "dis-gmm"):
        found = Voting(parse_method(method)).of(batch)[0]
        singly = [
            vote([None if c < 0 else c for c in row], values, method).answer == 0
            for row, values in zip(classes.tolist(), confidence.tolist(), strict=True)
        ]
        np.testing.assert_array_equal(found, singly, err_msg=method)


def test_no_answer_at_all_is_wrong() -> None:
    batch = draws([[-1, -1], [0, -1]], [[1.0, 2.0], [1.0, 2.0]])
    assert Voting(parse_method("dis-gmm")).of(batch).tolist() == [[0.0, 1.0]]
    assert OneAnswer().of(batch).tolist() == [[0.0, 1.0]]


def test_the_positive_side_is_measured_by_hand() -> None:
    # The upper half is 4, 5 and 6: right, wrong, right. Below, 2 and 3 are wrong as they should be.
    batch = draws([[0, 1, 1, 0, 1, 0]], [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    acc, wacc, auroc, predict = PositiveSide(TopFilter(0.5)).of(batch)[:, 0]
    assert acc == 2 / 3
    assert wacc == 10 / 15
    assert auroc == 0.5
    assert predict == 4 / 6


def test_the_stages_of_a_pool_are_measured_by_hand() -> None:
    # Top half: 0 0 1 by 5, 6, 7. The lower half, negated, prefers the rarest and least sure: answer 2.
    # Answer 2 leaves; of 2, 5, 6, 7 (answers 1, 0, 0, 1) the top half is 6 and 7.
    batch = draws([[2, 1, 2, 0, 0, 1]], [[1.0, 2.0, 3.0, 5.0, 6.0, 7.0]])
    stages = Stages(parse_method("dis-top50"))
    found = dict(zip(stages.values, stages.of(batch)[:, 0], strict=True))
    tally = vote([2, 1, 2, 0, 0, 1], [1.0, 2.0, 3.0, 5.0, 6.0, 7.0], "dis-top50")
    assert found["acc_1"] == 2 / 6
    assert found["acc_2"] == 2 / 3
    assert found["acc_3"] == tally.kept_votes[0] / tally.n_kept
    assert found["wacc_1"] == 11 / 24
    assert found["wacc_2"] == 11 / 18
