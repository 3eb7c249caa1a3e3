"""The two calls: one pool and a batch of pools. Batch equals one by one; bad input is named."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
from distrivote.errors import InputError, UnknownNameError
from distrivote.voting.ballot import Ballot
from distrivote.voting.methods import METHODS
from distrivote.voting.probability import Calibration
from strategies import FEW, LABELS, Pool, humped, pools, wide_pools

ALONE = [name for name in METHODS if name != "auto"]
"""Methods that judge each pool by itself; in a batch `auto` learns from all of them."""


# One pool


def test_example_of_the_readme():
    result = distrivote.vote(["42", "41", "42", None, "7"], [15.2, 13.9, 14.8, 9.0, 12.1])
    assert result.answer == "42"
    assert result.method == "auto"
    assert set(result.scores) == {"42", "41", "7"}
    assert result.n_unanswered == 1
    assert result.n_cast == 4


def test_ballot_and_its_parts_give_the_same_tally():
    answers, confidences = ["a", "b", None, "a"], [3.0, 5.0, None, 4.0]
    ballot = Ballot.of(answers, confidences)
    for method in ALONE:
        whole = distrivote.vote(ballot, method=method)
        parts = distrivote.vote(answers, confidences, method=method)
        assert (whole.answer, whole.scores) == (parts.answer, parts.scores), method
        assert whole.kept_votes == parts.kept_votes, method


def test_notes_of_a_ballot_reach_the_tally():
    tally = distrivote.vote(Ballot.of(["a"], [1.0], notes=["from a file"]), method="wsc")
    assert "from a file" in tally.notes


def test_answers_can_be_any_labels_that_compare():
    tally = distrivote.vote([1, (2, 3), 1.0, frozenset()], [1, 2, 3, 4], method="wsc")
    assert tally.scores == {1: 4, frozenset(): 4, (2, 3): 2}
    assert tally.answer == 1


def test_blank_answers_and_nan_are_no_answers():
    tally = distrivote.vote(["a", "", "  ", math.nan, None], [1, 9, 9, 9, 9], method="wsc")
    assert tally.scores == {"a": 1}
    assert tally.n_unanswered == 4


def test_iterators_are_taken_as_well_as_lists():
    assert distrivote.vote(iter(["a", "b"]), iter([1.0, 2.0]), method="wsc").answer == "b"


def test_arrays_are_taken_as_well_as_lists():
    tally = distrivote.vote(np.array(["a", "b"]), np.array([1.0, 2.0]), method="wsc")
    assert tally.answer == "b"


def test_small_pool_gets_a_note_when_it_is_split():
    assert any("3" in note for note in distrivote.vote(list("aab"), [1, 2, 3]).notes)
    assert not distrivote.vote(list("aab"), [1, 2, 3], method="wsc").notes


def test_single_hump_gets_a_note_and_two_humps_do_not():
    rng = np.random.default_rng(13)
    one = rng.normal(12, 1, 200)
    two = np.concatenate([rng.normal(8, 0.5, 100), rng.normal(16, 0.5, 100)])
    assert any("hump" in note for note in distrivote.vote(["a"] * 200, one).notes)
    assert not distrivote.vote(["a"] * 200, two).notes


def test_humps_two_and_a_half_standard_deviations_apart_are_two():
    # Quantiles of a normal law, once around 10 and once around 12.5, cut where they meet.
    half = [NormalDist(10, 1).inv_cdf((i + 0.5) / 400) for i in range(400)]
    tally = distrivote.vote(["a"] * 800, [*half, *(22.5 - c for c in half)])
    assert tally.first_split is not None
    low, high = tally.first_split.means
    assert 2 < (high - low) / math.hypot(*tally.first_split.sds) * math.sqrt(2) < 3
    assert not tally.notes


def test_majority_is_shown_beside_the_winner():
    tally = distrivote.vote(["a", "a", "b"], [1, 1, 9], method="wsc")
    assert (tally.answer, tally.majority) == ("b", "a")


def test_share_is_that_of_the_winner():
    assert distrivote.vote(["a", "b"], [1, 3], method="wsc").share == 0.75


@pytest.mark.parametrize("size", [1e100, 1.0, 1e-100])
def test_share_of_the_largest_and_the_smallest_scores_is_a_share(size):
    assert distrivote.vote(list("abc"), [size] * 3, method="wsc").share == pytest.approx(1 / 3)


@pytest.mark.parametrize("method", METHODS)
def test_explanation_names_the_winner(method):
    pool = humped(np.random.default_rng(14), 40)
    tally = distrivote.vote(pool.answers, pool.confidences, method=method)
    assert tally.answer in tally.explain()
    if tally.rejected is not None:
        assert tally.rejected in tally.explain()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_answered_can_be_explained(method):
    assert distrivote.vote([None, None], [math.nan, 1.0], method=method).explain()


# Batch


def as_classes(pool: Pool) -> np.ndarray:
    return np.array([-1 if a is None else LABELS.index(a) for a in pool.answers], dtype=np.int64)


def label(winning_class: int) -> str | None:
    return LABELS[winning_class] if winning_class >= 0 else None


letter_pools = pools.filter(lambda pool: all(a is None or a in LABELS for a in pool.answers))


@pytest.mark.slow
@FEW
@given(batch=st.lists(st.one_of(letter_pools, wide_pools), min_size=1, max_size=6))
def test_ragged_batch_equals_one_by_one(batch):
    winners = distrivote.vote_batch(
        [as_classes(pool) for pool in batch], [pool.confidences for pool in batch], methods=ALONE
    )
    assert list(winners) == ALONE
    for method in ALONE:
        one_by_one = [distrivote.vote(p.answers, p.confidences, method=method).answer for p in batch]
        assert [label(w) for w in winners[method]] == one_by_one


def rectangle(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return classes and confidences of n pools of m, with ties and unanswered trajectories."""
    batch = [humped(rng, m) for _ in range(n)]
    names = [f"answer {i}" for i in range(5)]
    classes = [[-1 if a is None else names.index(a) for a in pool.answers] for pool in batch]
    confidences = np.array([pool.confidences for pool in batch])
    confidences[::2] = confidences[::2].round()
    return np.array(classes), confidences


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "m"),
    [(40, 1), (20, 2), (10, 4), (40, 16), (40, 64)],
)
def test_rectangular_batch_equals_one_by_one(n, m):
    classes, confidences = rectangle(np.random.default_rng(15), n, m)
    winners = distrivote.vote_batch(classes, confidences, methods=ALONE)
    for method in ALONE:
        for row in range(len(classes)):
            answers = [None if c < 0 else int(c) for c in classes[row]]
            one = distrivote.vote(answers, confidences[row], method=method)
            assert winners[method][row] == (-1 if one.answer is None else one.answer), method


def test_long_batch_equals_its_parts():
    # 3,000 pools of 64 are more than fit one block of any sensible size.
    classes, confidences = rectangle(np.random.default_rng(16), 60, 64)
    classes, confidences = np.tile(classes, (50, 1)), np.tile(confidences, (50, 1))
    whole = distrivote.vote_batch(classes, confidences, methods=ALONE)
    part = distrivote.vote_batch(classes[:60], confidences[:60], methods=ALONE)
    for method in ALONE:
        assert np.array_equal(whole[method], np.tile(part[method], 50)), method


def test_ragged_batch_of_very_different_sizes_equals_one_by_one():
    rng = np.random.default_rng(17)
    classes, confidences = [], []
    for m in [0, 1, 5000, 3, 0, 64, 700, 1, 2, 20_000, 128]:
        row = rectangle(rng, 1, m) if m else (np.empty((1, 0), dtype=int), np.empty((1, 0)))
        classes.append(row[0][0])
        confidences.append(row[1][0])
    winners = distrivote.vote_batch(classes, confidences, methods=ALONE)
    for method in ALONE:
        alone = [
            distrivote.vote_batch([c], [p], methods=[method])[method][0]
            for c, p in zip(classes, confidences, strict=True)
        ]
        assert winners[method].tolist() == alone, method


def test_methods_do_not_disturb_each_other():
    classes, confidences = rectangle(np.random.default_rng(18), 50, 32)
    together = distrivote.vote_batch(classes, confidences, methods=ALONE)
    backwards = distrivote.vote_batch(classes, confidences, methods=ALONE[::-1])
    for method in ALONE:
        alone = distrivote.vote_batch(classes, confidences, methods=[method])[method]
        assert np.array_equal(together[method], alone), method
        assert np.array_equal(backwards[method], alone), method


def test_batch_leaves_its_input_as_it_was():
    classes, confidences = rectangle(np.random.default_rng(19), 20, 32)
    confidences[classes < 0] = np.nan
    before = classes.copy(), confidences.copy()
    distrivote.vote_batch(classes, confidences, methods=ALONE)
    np.testing.assert_array_equal(classes, before[0])
    np.testing.assert_array_equal(confidences, before[1])


@pytest.mark.parametrize("names", [[4, 0, 3, 1, 2], [7, 100, 12, 10**6, 3], [2**62, 1, 10**15, 0, 2**62 - 1]])
def test_relabelling_classes_relabels_the_winners(names):
    classes, confidences = rectangle(np.random.default_rng(20), 60, 24)
    renamed = np.array([*names, -1])[classes]
    winners = distrivote.vote_batch(classes, confidences, methods=ALONE)
    others = distrivote.vote_batch(renamed, confidences, methods=ALONE)
    for method in ALONE:
        expected = np.array([*names, -1])[winners[method]]
        assert np.array_equal(others[method], expected), method


def test_the_largest_class_is_a_class():
    largest = 2**63 - 1
    for dtype in (np.int64, np.uint64):
        classes = np.array([[largest, 0, largest]], dtype=dtype)
        assert distrivote.vote_batch(classes, np.ones((1, 3)), ["wsc"])["wsc"].tolist() == [largest]


def test_batch_without_answers_has_no_winners():
    classes = np.full((2, 3), -1)
    confidences = np.full((2, 3), np.nan)
    for method, winners in distrivote.vote_batch(classes, confidences, methods=METHODS).items():
        assert winners.tolist() == [-1, -1], method


@pytest.mark.parametrize(
    ("classes", "confidences", "n"),
    [
        (np.empty((0, 5), dtype=int), np.empty((0, 5)), 0),
        (np.empty((3, 0), dtype=int), np.empty((3, 0)), 3),
        ([], [], 0),
        ([[], []], [[], []], 2),
        ([[], [0]], [[], [1.0]], 2),
    ],
)
def test_empty_batches_and_empty_pools_have_no_winners(classes, confidences, n):
    for winners in distrivote.vote_batch(classes, confidences, methods=ALONE).values():
        assert len(winners) == n
        assert np.issubdtype(winners.dtype, np.integer)
        assert winners[:1].tolist() == [-1] * min(n, 1)


def test_batch_of_majority_votes_needs_no_confidences():
    assert distrivote.vote_batch([[0, 1, 1], [2, -1]], methods=["sc"])["sc"].tolist() == [1, 2]
    missing = np.full((1, 3), np.nan)
    assert distrivote.vote_batch([[0, 1, 1]], missing, methods=["sc"])["sc"].tolist() == [1]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint16])
def test_classes_of_any_integer_type_are_taken(dtype):
    classes = np.array([[0, 1, 1]], dtype=dtype)
    assert distrivote.vote_batch(classes, [[1.0, 1.0, 1.0]], methods=["wsc"])["wsc"].tolist() == [1]


def test_confidences_of_single_precision_and_integers_are_taken():
    for dtype in (np.float32, np.int64):
        confidences = np.array([[1, 2, 5]], dtype=dtype)
        assert distrivote.vote_batch([[0, 0, 1]], confidences, methods=["wsc"])["wsc"][0] == 1


def test_an_election_has_the_probabilities_of_its_tallies():
    classes, confidences = rectangle(np.random.default_rng(31), 6, 24)
    classes[3] = -1
    calibration = Calibration(intercept=-0.2, evidence=0.7, share=0.3)
    offsets = np.arange(7) * 24
    methods = ["sc", "dis-gmm", "auto"]
    told = distrivote.elect(classes.ravel(), confidences.ravel(), offsets, methods, calibration=calibration)
    untold = distrivote.elect(classes.ravel(), confidences.ravel(), offsets, methods)
    for method in methods:
        tallies = [
            distrivote.vote([None if c < 0 else int(c) for c in row], values, method, calibration=calibration)
            for row, values in zip(classes, confidences, strict=True)
        ]
        outcome = told[method]
        assert outcome.probability == pytest.approx([tally.probability for tally in tallies])
        assert outcome.share == pytest.approx([tally.share for tally in tallies])
        assert outcome.n_cast.tolist() == [tally.n_cast for tally in tallies]
        assert outcome.n_kept.tolist() == [tally.n_kept for tally in tallies]
        assert outcome.rejected.tolist() == [-1 if t.rejected is None else t.rejected for t in tallies]
        assert outcome.probability[3] == 0.0
        assert np.isnan(untold[method].probability).all()


# Bad input


@pytest.mark.parametrize(
    ("confidences", "message"),
    [
        ([1.0, 2.0], r"\b3\b.*\b2\b"),
        ([1.0, 2.0, 3.0, 4.0], r"\b3\b.*\b4\b"),
        ([], r"\b3\b.*\b0\b"),
        ([1.0, math.inf, 3.0], r"\b1\b.*inf"),
        ([1.0, 2.0, -math.inf], r"\b2\b.*inf"),
        ([-1.0, 2.0, 3.0], r"\b0\b.*-1"),
        ([1.0, 0.0, 3.0], r"\b1\b.*\b0\b"),
        ([1.0, "high", 3.0], r"\b1\b.*'high'"),
        ([1.0, 2.0, [3.0]], r"\b2\b"),
        ([1.0, 2.0, 3j], r"\b2\b"),
    ],
)
@pytest.mark.parametrize("method", ["wsc", "dis-gmm"])
def test_bad_confidence_is_named_by_its_index(confidences, message, method):
    with pytest.raises(InputError, match=message):
        distrivote.vote(["a", "b", "a"], confidences, method=method)


def test_bad_confidence_of_an_unanswered_trajectory_is_an_error_too():
    with pytest.raises(InputError, match=r"\b1\b.*-3"):
        distrivote.vote(["a", None], [1.0, -3.0], method="wsc")


def test_answer_that_cannot_be_compared_is_named_by_its_index():
    with pytest.raises(InputError, match=r"\b1\b.*list"):
        distrivote.vote(["a", ["b"]], [1.0, 2.0], method="wsc")


@pytest.mark.parametrize(
    ("answers", "confidences", "message"),
    [
        (["a", "b"], np.array([[1.0], [2.0]]), "confidences have 2 dimensions"),
        (["a", "b"], [np.array([1.0, 3.0]), 2.0], "confidence 0 is array"),
        (["a", "b"], [2.0, np.array([1.0])], "confidence 1 is array"),
        (["a", "b"], [10**400, 2.0], "confidence 0 is too large"),
        (["a", "b"], [2.0, 10**5000], "confidence 1 is too large"),
        (["a"], 5.0, "confidences are 5.0"),
        (5, [1.0], "answers are 5"),
        ([np.array([1, 2]), "b"], [1.0, 2.0], "answer 0 is a ndarray"),
        (["a", np.array([1])], [1.0, 2.0], "answer 1 is a ndarray"),
    ],
)
def test_what_is_no_list_of_answers_and_numbers_is_an_input_error(answers, confidences, message):
    with pytest.raises(InputError, match=message):
        distrivote.vote(answers, confidences, method="wsc")


def test_the_confidences_of_a_ballot_made_by_hand_are_checked():
    ballot = Ballot(np.array([0, 0, 1]), np.array([-1.0, 0.0, math.inf]), ("a", "b"))
    with pytest.raises(InputError, match="confidence 0 is -1"):
        distrivote.vote(ballot, method="wsc")


@pytest.mark.parametrize("method", [None, 5, ["sc"]])
def test_what_is_neither_a_name_nor_a_pipeline_is_an_input_error(method):
    with pytest.raises(InputError, match="the method is"):
        distrivote.vote(["a"], [1.0], method=method)


@pytest.mark.parametrize("methods", [None, "sc", 5])
def test_methods_that_are_no_list_are_an_input_error(methods):
    with pytest.raises(InputError, match="methods are"):
        distrivote.vote_batch([[0]], [[1.0]], methods=methods)
    with pytest.raises(InputError, match="methods are"):
        distrivote.elect(np.array([0]), np.array([1.0]), np.array([0, 1]), methods)


def test_an_election_takes_lists_as_well_as_arrays():
    outcome = distrivote.elect([0, 1, 1], [9.0, 8.0, 7.0], [0, 1, 3], ["sc"])["sc"]
    assert outcome.winner.tolist() == [0, 1]
    empty = distrivote.elect([], [], [0], ["sc"])["sc"]
    assert empty.winner.tolist() == []


@pytest.mark.parametrize(
    ("classes", "confidences", "offsets", "message"),
    [
        ([0, 1], [1.0], [0, 2], "2 classes but 1 confidences"),
        ([0, 1], [1.0, 2.0], [0, 3], "offsets"),
        ([0, 1], [1.0, 2.0], [-1, 2], "offsets"),
        ([0, 1], [1.0, 2.0], [0, 2, 1], "offsets"),
        ([0, 1], [1.0, 2.0], [], "offsets"),
        ([0, 1], [1.0, 2.0], 2, "offsets"),
        ([0, 1], [1.0, 2.0], [0.0, 2.0], "offsets"),
        ([[0, -2]], [[1.0, 2.0]], [0, 1], "dimension"),
        (3, [1.0], [0, 1], "dimension"),
        (["a", "b"], [1.0, 2.0], [0, 2], "whole numbers"),
        ([0, 1], ["high", "low"], [0, 2], "give numbers"),
    ],
)
def test_an_election_of_what_is_no_pools_is_an_input_error(classes, confidences, offsets, message):
    with pytest.raises(InputError, match=message):
        distrivote.elect(classes, confidences, offsets, ["wsc"])


def test_ballot_with_confidences_beside_it_is_an_error():
    with pytest.raises(InputError, match="ballot"):
        distrivote.vote(Ballot.of(["a"], [1.0]), [1.0])


def test_unknown_method_is_an_error_that_lists_the_nearest():
    with pytest.raises(UnknownNameError, match="dis-gmm"):
        distrivote.vote(["a"], [1.0], method="dis-gm")
    with pytest.raises(UnknownNameError, match="dis-gmm"):
        distrivote.vote_batch([[0]], [[1.0]], methods=["dis-gm"])


@pytest.mark.parametrize(
    ("value", "message"),
    [(math.inf, "inf"), (-2.0, "-2"), (0.0, r"\b0\b")],
)
def test_bad_confidence_of_a_batch_is_named_by_pool_and_trajectory(value, message):
    classes, confidences = np.zeros((3, 4), dtype=int), np.ones((3, 4))
    confidences[1, 2] = value
    with pytest.raises(InputError, match=message) as caught:
        distrivote.vote_batch(classes, confidences, methods=["wsc"])
    words = str(caught.value).replace(",", " ").replace("]", " ").replace("[", " ").split()
    assert {"1", "2"} <= set(words), caught.value


def test_missing_confidence_of_an_unanswered_trajectory_of_a_batch_is_no_error():
    winners = distrivote.vote_batch([[0, -1]], [[1.0, math.nan]], methods=["dis-gmm"])
    assert winners["dis-gmm"].tolist() == [0]


@pytest.mark.parametrize(
    ("classes", "confidences", "message"),
    [
        ([[0, 1]], [[1.0, 2.0], [1.0, 2.0]], r"\b1\b.*\b2\b"),
        ([[0, 1], [0, 1]], [[1.0, 2.0], [1.0]], r"pool 1\b.*\b2\b.*\b1\b"),
        (np.zeros((2, 3), dtype=int), np.ones((3, 2)), r"\b2\b.*\b3\b"),
        (np.zeros((2, 3)), np.ones((2, 3)), "float"),
        ([["a", "b"]], [[1.0, 2.0]], "whole numbers"),
        ([[0, 1]], [["high", "low"]], "numbers"),
        ([[0, 1]], [[10**400, 2.0]], "numbers"),
        ([[0, -2]], [[1.0, 2.0]], "-2"),
        (np.zeros((2, 3), dtype=bool), np.ones((2, 3)), "bool"),
        (np.array([[2**63, 0]], dtype=np.uint64), np.ones((1, 2)), "class 9223372036854775808 is too large"),
        (np.zeros(3, dtype=int), np.ones(3), "dimension"),
        (np.zeros((2, 2, 2), dtype=int), np.ones((2, 2, 2)), "dimension"),
        (3, 4.0, "dimension|sequence"),
    ],
)
def test_batch_of_the_wrong_shape_or_type_is_an_error(classes, confidences, message):
    with pytest.raises(InputError, match=message):
        distrivote.vote_batch(classes, confidences, methods=["wsc"])


@pytest.mark.parametrize("rows", [lambda masked: masked, list])
def test_masked_arrays_are_refused_in_a_sentence(rows):
    classes = np.ma.array([[0, 1, 1]], mask=[[0, 1, 1]])
    with pytest.raises(InputError, match="classes are masked: fill them"):
        distrivote.vote_batch(rows(classes), np.ones((1, 3)), ["wsc"])
