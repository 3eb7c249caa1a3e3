"""Answers without a confidence: they count in every majority, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distrivote
import strategies
from distrivote.voting.electorate import Electorate
from distrivote.voting.kernels.evidence import evidence_of
from distrivote.voting.kernels.pools import make_pools
from distrivote.voting.methods import METHODS

READING = [name for name in METHODS if name not in ("sc", "auto") and "meanshift" not in name]
READING += ["sc-gmm", "borda-top50"]
EVERY = [*READING, "sc", "auto"]
LAW = settings(strategies.LAW, max_examples=60)

trajectories = st.tuples(
    st.sampled_from(["a", "b", "c", "d", None]), st.floats(0.125, 40.0, width=32), st.booleans()
)
pools = st.lists(trajectories, min_size=1, max_size=30)


def lists_of(pool: list[tuple[str | None, float, bool]]) -> tuple[list[str | None], list[float | None]]:
    return [answer for answer, _, _ in pool], [None if lacks else c for _, c, lacks in pool]


# What a user saw first: majority voting beside another method was another majority


ANSWERS = ["4", "4", "4", "5", "5"]
CONFIDENCES = [None, None, 9.0, 8.0, 7.0]


def test_majority_does_not_move_when_another_method_stands_beside_it() -> None:
    classes = np.array([0, 0, 0, 1, 1])
    confidences = np.array([np.nan, np.nan, 9.0, 8.0, 7.0])
    alone = distrivote.elect(classes, confidences, np.array([0, 5]), ["sc"])["sc"]
    beside = distrivote.elect(classes, confidences, np.array([0, 5]), ["sc", "dis-gmm"])["sc"]
    assert (alone.winner.tolist(), alone.share.tolist(), alone.n_kept.tolist()) == ([0], [0.6], [5])
    for one, other in zip(alone, beside, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("method", EVERY)
def test_every_tally_has_the_majority_of_all(method: str) -> None:
    tally = distrivote.vote(ANSWERS, CONFIDENCES, method)
    assert (tally.majority, tally.votes, tally.n_cast) == ("4", {"4": 3, "5": 2}, 5)
    assert tally.n_unmeasured == (0 if method == "sc" else 2)
    note = "2 of 5 answers have no confidence: they count in the majority only."
    assert (note in tally.notes) == (method != "sc")


def test_answers_without_a_confidence_have_no_say_where_one_is_needed() -> None:
    tally = distrivote.vote(ANSWERS, CONFIDENCES, "wsc")
    assert (tally.answer, tally.scores) == ("5", {"5": 15.0, "4": 9.0})
    assert (tally.kept_votes, tally.n_kept) == ({"5": 2, "4": 1}, 3)
    assert tally.kept.tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("method", [*READING, "auto"])
@pytest.mark.parametrize("confidences", [None, [None] * 5, [float("nan")] * 5])
def test_without_any_confidence_the_majority_decides_and_the_tally_says_so(
    method: str, confidences: list[float | None] | None
) -> None:
    tally = distrivote.vote(ANSWERS, confidences, method)
    assert (tally.answer, tally.method, tally.fallback) == ("4", method, True)
    assert (tally.scores, tally.kept_votes) == ({"4": 3.0, "5": 2.0}, {"4": 3, "5": 2})
    assert (tally.split, tally.first_split, tally.rejected, tally.weighing) == (None, None, None, None)
    assert tally.notes == (f"No answer has a confidence, so majority voting decides, not {method}.",)
    assert tally.explain().startswith(f"4 wins with 60% of the votes (majority voting, not {method}).")
    assert distrivote.vote_batch([[0, 0, 0, 1, 1]], methods=[method])[method].tolist() == [0]


def test_nobody_is_told_about_confidences_that_are_not_looked_at() -> None:
    tally = distrivote.vote(ANSWERS, None, "sc")
    assert (tally.notes, tally.n_unmeasured, tally.fallback) == ((), 0, False)


def test_one_pool_without_confidences_leaves_the_others_as_they_are() -> None:
    classes, confidences = [[0, 1, 1], [0, 0, 1]], [[9.0, 1.0, 1.5], [np.nan] * 3]
    outcome = distrivote.elect([0, 1, 1, 0, 0, 1], np.ravel(confidences), [0, 3, 6], ["bon"])["bon"]
    assert outcome.winner.tolist() == [0, 0]
    assert (outcome.n_unmeasured.tolist(), outcome.n_kept.tolist()) == ([0, 3], [3, 3])
    assert distrivote.vote_batch(classes, confidences, ["bon"])["bon"].tolist() == [0, 0]


# Laws


@given(pools, st.sampled_from(EVERY))
@LAW
def test_the_majority_is_the_same_whatever_is_missing(
    pool: list[tuple[str | None, float, bool]], method: str
) -> None:
    answers, lacking = lists_of(pool)
    whole = distrivote.vote(answers, [c for _, c, _ in pool], "sc")
    for tally in (distrivote.vote(answers, lacking, method), distrivote.vote(answers, None, method)):
        assert (tally.majority, tally.n_unanswered) == (whole.answer, whole.n_unanswered)
        assert tally.votes == whole.votes
    alone = distrivote.vote(answers, lacking, "sc")
    assert (alone.answer, alone.scores, alone.share) == (whole.answer, whole.scores, whole.share)


@given(pools, st.sampled_from(READING))
@LAW
def test_what_needs_a_confidence_sees_the_pool_of_those_that_have_one(
    pool: list[tuple[str | None, float, bool]], method: str
) -> None:
    answers, lacking = lists_of(pool)
    tally = distrivote.vote(answers, lacking, method)
    measured = [(answer, c) for answer, c, lacks in pool if not lacks and answer is not None]
    assert tally.n_unmeasured == sum(answer is not None and lacks for answer, _, lacks in pool)
    assert tally.fallback == (tally.n_cast > 0 and not measured)
    if tally.fallback:
        assert tally.answer == tally.majority
        return
    few = distrivote.vote([answer for answer, _ in measured], [c for _, c in measured], method)
    assert (tally.answer, tally.rejected, tally.negative_answer) == (
        few.answer,
        few.rejected,
        few.negative_answer,
    )
    assert {a: s for a, s in tally.scores.items() if a in few.scores} == few.scores
    assert all(tally.scores[a] == 0 for a in tally.scores if a not in few.scores)
    assert {a: n for a, n in tally.kept_votes.items() if n} == {a: n for a, n in few.kept_votes.items() if n}
    assert tally.intervals_won == few.intervals_won
    assert repr((tally.split, tally.first_split)) == repr((few.split, few.first_split))


@pytest.mark.slow
@given(st.lists(pools, min_size=1, max_size=5))
@LAW
def test_a_batch_says_what_single_votes_say(many: list[list[tuple[str | None, float, bool]]]) -> None:
    names = {name: number for number, name in enumerate("abcd")}
    classes = [[-1 if a is None else names[a] for a, _, _ in pool] for pool in many]
    confidences = [[np.nan if lacks else c for _, c, lacks in pool] for pool in many]
    offsets = np.cumsum([0, *map(len, many)])
    outcomes = distrivote.elect(np.concatenate(classes), np.concatenate(confidences), offsets, EVERY)
    for method, outcome in outcomes.items():
        for index, pool in enumerate(many):
            tally = distrivote.vote(*lists_of(pool), method)
            assert outcome.winner[index] == (-1 if tally.answer is None else names[str(tally.answer)])
            assert outcome.n_unmeasured[index] == tally.n_unmeasured
            assert (outcome.n_cast[index], outcome.n_kept[index]) == (tally.n_cast, tally.n_kept)
            assert outcome.share[index] == pytest.approx(tally.share)


@given(pools)
@LAW
def test_evidence_counts_all_votes_and_compares_the_confidences_that_there_are(
    pool: list[tuple[str | None, float, bool]],
) -> None:
    names = {name: number for number, name in enumerate("abcd")}
    classes = np.array([-1 if a is None else names[a] for a, _, _ in pool])
    lacking = np.array([np.nan if lacks else c for _, c, lacks in pool])
    found = Electorate(make_pools(classes[None], lacking[None], 4)).evidence
    there = ~np.isnan(lacking)
    few = evidence_of(make_pools(classes[there][None], lacking[there][None], 4))
    assert found.votes[0].tolist() == np.bincount(classes[classes >= 0], minlength=4).tolist()
    assert found.counts[0].tolist() == few.counts[0].tolist()
    assert found.gaps[0].tolist() == pytest.approx(few.gaps[0].tolist(), abs=1e-9)
    assert found.within[0] == pytest.approx(few.within[0], abs=1e-9)
