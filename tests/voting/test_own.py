"""Votes and filters of one's own: functions that do what the library's do give the same results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import distrivote
from distrivote import InputError, Pipeline
from distrivote.errors import OwnCodeError
from distrivote.names import Own
from distrivote.voting.filters import TopFilter
from distrivote.voting.kernels.pools import sums_by_answer, winning_answers
from distrivote.voting.own import OwnFilter
from distrivote.voting.votes import Count, WeightedVote
from strategies import LAW, Pool, tied_pools


def by_sum(classes: np.ndarray, confidences: np.ndarray) -> np.ndarray:
    return np.bincount(classes, weights=confidences)


def by_number(classes: np.ndarray) -> np.ndarray:
    return np.bincount(classes)


def surest(classes: np.ndarray, confidences: np.ndarray) -> int:
    return int(classes[confidences.argmax()])


def upper_half(confidences: np.ndarray) -> float:
    return float(np.quantile(confidences, 0.5))


class Batched:
    """Counts many pools at once; neither a dataclass nor with names of its own."""

    needs_confidence, by_rank, name = True, False, "batched"

    def count(self, pools, members, negated=False):
        sums = sums_by_answer(pools, (-pools.confidences if negated else pools.confidences) * members)
        absent = sums_by_answer(pools, members * 1.0) == 0
        return Count(winning_answers(np.where(absent, -(2.0**1020), sums), pools.answers, members), sums)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (by_sum, "wsc"),
        (by_number, "sc"),
        (surest, "bon"),
        (Batched(), "wsc"),
        (Pipeline(by_sum, TopFilter()), "wsc-top50"),  # type: ignore[arg-type]
        (Pipeline(WeightedVote(), upper_half), "wsc-top50"),  # type: ignore[arg-type]
        (Pipeline(by_sum, upper_half, reject=True), "wsc-top50-reject"),  # type: ignore[arg-type]
    ],
)
@LAW
@given(tied_pools)
def test_a_function_votes_as_the_method_that_it_repeats(ours: object, theirs: str, pool: Pool) -> None:
    mine = distrivote.vote(*pool, method=ours)  # type: ignore[arg-type]
    other = distrivote.vote(*pool, method=theirs)
    assert mine.answer == other.answer
    assert mine.kept.tolist() == other.kept.tolist()
    if theirs != "bon":
        assert mine.scores == pytest.approx(other.scores)


def test_a_function_sees_classes_from_0_in_the_order_of_first_sight() -> None:
    seen: list[list[int]] = []

    def watch(classes: np.ndarray, confidences: np.ndarray) -> int:  # noqa: ARG001
        seen.append(classes.tolist())
        return 0

    tally = distrivote.vote(["c", None, "a", "c", "b"], [1, 1, 2, 3, 4], method=watch)
    assert seen[-1] == [0, 1, 0, 2]
    assert tally.answer == "c"


def test_a_class_without_a_number_as_score_is_absent() -> None:
    tally = distrivote.vote("aab", [1, 2, 3], method=lambda classes, _: [np.nan, -1.0])  # noqa: ARG005
    assert tally.answer == "b"


def test_without_confidences_the_majority_decides_unless_none_are_needed() -> None:
    assert distrivote.vote("abb", method=by_sum).fallback
    assert not distrivote.vote("abb", method=by_number).fallback


def test_what_is_no_method_is_one_sentence() -> None:
    with pytest.raises(InputError, match="the method is 7: give a name such as dis-gmm, a function"):
        distrivote.vote("ab", [1, 2], method=7)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"takes \(a, b, c\)"):
        distrivote.vote("ab", [1, 2], method=lambda a, b, c: 0)  # noqa: ARG005


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"vote": "sc"}, r"the vote of a pipeline is 'sc': .*parse_method\("),
        ({"vote": WeightedVote(), "filter": "gmm"}, "the filter of a pipeline is 'gmm'"),
        ({"vote": ["sc"]}, r"the vote of a pipeline is \['sc'\]"),
        ({"vote": WeightedVote}, r"the vote of a pipeline is the class WeightedVote: .* WeightedVote\(\)"),
        ({"vote": WeightedVote(), "filter": TopFilter}, "the filter of a pipeline is the class TopFilter"),
        ({"vote": TopFilter()}, "the method 'TopFilter' is"),
        ({"vote": WeightedVote(), "filter": WeightedVote()}, "the filter 'WeightedVote' is"),
        ({"vote": WeightedVote(), "trust": 0.5}, r"the trust of a pipeline is 0.5: give a Trust\(\)"),
    ],
)
def test_an_invalid_part_of_a_pipeline_is_one_sentence(parts: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Pipeline(**parts)  # type: ignore[arg-type]


def test_a_filter_that_returns_no_number_fails_when_it_is_made() -> None:
    with pytest.raises(OwnCodeError, match="returned none for a cut"):
        OwnFilter(Own("mine:cut", lambda _confidences: "none"))


def test_a_filter_says_whether_ranks_are_enough() -> None:
    class Halves:
        by_rank = True

        def __call__(self, confidences):  # type: ignore[no-untyped-def]
            return float(np.median(confidences))

    assert OwnFilter(Own("mine:Halves", Halves())).by_rank
    assert not OwnFilter(Own("mine:median", lambda values: float(np.median(values)))).by_rank
