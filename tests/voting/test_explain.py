"""The explanation of a vote tells its numbers apart, and says what happened and nothing else."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from distrivote import Ballot, vote
from distrivote.voting.tally import Split, Tally, Weighing


@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-8])
def test_the_cut_is_told_apart_from_the_two_means(spread: float) -> None:
    rng = np.random.default_rng(0)
    low, high = 17 + spread * rng.normal(0, 0.3, 16), 17 + spread * rng.normal(3, 0.3, 16)
    tally = vote(Ballot.of(list("a" * 6 + "b" * 10 + "a" * 14 + "b" * 2), [*low, *high]))
    said = re.search(
        r"cut at confidence ([\d.]+): .* around ([\d.]+) .* around ([\d.]+) ", tally.explain(), re.S
    )
    assert said is not None
    cut, wrong, right = map(float, said.groups())
    assert wrong < cut < right


FIRST = Split(12.25, 5, 4, (0.25, 0.75), (11.0, 13.5), (0.5, 0.75))
SECOND = Split(12.5, 4, 2, (0.5, 0.5), (12.0, 14.0), (0.5, 0.5))

TALLY = Tally(
    method="dis-gmm",
    answer="7",
    scores={"7": 30.0, "8": 10.0, "9": 0.0},
    majority="9",
    votes={"7": 4, "8": 2, "9": 3},
    kept_votes={"7": 3, "8": 1, "9": 0},
    n_unanswered=2,
    split=SECOND,
    first_split=FIRST,
    rejected="9",
    negative_answer="9",
    intervals_won=(3, 4),
    probabilities={"7": 0.625, "8": 0.25, "9": 0.0},
)


def lines(**changes: object) -> list[str]:
    return replace(TALLY, **changes).explain().splitlines()  # type: ignore[arg-type]


def test_the_whole_story_of_a_rejection():
    assert lines(notes=("be wary",)) == [
        "7 wins with 75% of the score (dis-gmm); majority voting would have said 9.",
        "9 answers (2 more without one), cut at confidence 12.25: 5 likely right are kept, 4 likely wrong are"
        " set aside.",
        "The two Gaussians: likely wrong 25% around 11 ± 0.5, likely right 75% around 13.5 ± 0.75.",
        "9 is rejected because the likely wrong side prefers it: its 3 votes left the pool. The other 6 are"
        " cut again, at 12.5: 4 kept.",
        "3 of 4 kept votes are for 7, which wins 3 of 4 intervals of confidence.",
        "The probability that 7 is right is 62%.",
        "Note: be wary",
    ]


def test_what_did_not_happen_is_not_told():
    plain = lines(
        method="wsc",
        n_unanswered=0,
        split=None,
        first_split=None,
        rejected=None,
        negative_answer=None,
        intervals_won=None,
    )
    assert plain == [
        "7 wins with 75% of the score (wsc); majority voting would have said 9.",
        "3 of 4 kept votes are for 7.",
        "The probability that 7 is right is 62%.",
    ]


def test_the_majority_is_told_where_another_method_voted():
    assert lines(majority="7")[0] == "7 wins with 75% of the score (dis-gmm); majority voting says so too."
    assert lines(method="sc")[0] == "7 wins with 75% of the score (sc)."


def test_all_are_kept_where_nothing_was_cut():
    whole = Split(math.nan, 9, 0)
    told = lines(n_unanswered=0, split=whole, first_split=whole, rejected=None, negative_answer=None)
    assert told[1] == "9 answers: the confidences could not be told apart, so all are kept."
    assert told[2].startswith("3 of 4 kept votes")


def test_a_split_without_gaussians_is_told_without_them():
    told = lines(first_split=Split(12.25, 5, 4))
    assert told[1].endswith("4 likely wrong are set aside.")
    assert told[2].startswith("9 is rejected")


def test_nothing_is_rejected_where_both_sides_agree():
    told = lines(rejected=None, negative_answer="7", split=FIRST)
    assert told[3] == "Both sides prefer 7, so nothing is rejected."


def test_what_is_left_of_a_rejection_may_be_kept_whole():
    told = lines(split=Split(math.nan, 6, 0))
    assert told[3].endswith("its 3 votes left the pool. The other 6 are all kept.")


def test_one_of_a_kind_is_told_in_the_singular():
    votes, kept = {"7": 1, "8": 0, "9": 1}, {"7": 1, "8": 0, "9": 0}
    told = lines(votes=votes, kept_votes=kept, intervals_won=(1, 1), calibrated=False)
    assert "its 1 vote left" in told[3]
    assert told[4].startswith("1 of 1 kept vote is for ")
    assert told[4].endswith("wins 1 of 1 interval of confidence.")
    assert told[5] == "There is no probability: none was fitted on pools like this one (2 answers)."


@pytest.mark.parametrize(
    ("odds", "says"),
    [
        (3.0, "odds 3 to 1"),
        (1000.0, "odds 1e+03 to 1"),
        (1000.5, "odds over 1,000 to 1"),
    ],
)
def test_confidence_that_was_trusted_is_told_with_its_odds(odds: float, says: str):
    told = lines(method="auto", first_split=None, intervals_won=None, weighing=Weighing("7", odds, 2.25, "7"))
    assert told[2] == (
        "Confidence was trusted: its 4 votes are 2.2 standard deviations surer than the rest, which outweighs"
        f" the 3 votes for 9 ({says})."
    )


@pytest.mark.parametrize(("odds", "says"), [(0.25, "odds 4 to 1"), (1.0, "odds 1 to 1")])
def test_confidence_that_was_not_trusted_is_told_with_its_odds(odds: float, says: str):
    told = lines(
        method="auto",
        answer="9",
        majority="9",
        scores={"9": 3.0, "7": 2.0, "8": 1.0},
        first_split=None,
        intervals_won=None,
        weighing=Weighing("7", odds, 0.5, "7"),
    )
    assert told == [
        "9 wins with 50% of the score (auto); majority voting says so too.",
        "DistriVoting by itself would have said 7.",
        "0 of 4 kept votes are for 9.",
        "Confidence was not trusted: it speaks for 7, but its 4 votes are 0.5 standard deviations surer than"
        f" the rest, which does not outweigh the 3 votes for 9 ({says}).",
        "The probability that 9 is right is < 1%.",
    ]


def test_what_distrivoting_would_have_said_stands_in_the_place_of_its_story():
    told = lines(method="auto", majority="7", weighing=Weighing("7", math.nan, 2.0, "9"))
    assert told[1] == "DistriVoting by itself would have said 9."
    assert not any("cut at" in line or "rejected" in line for line in told)


def test_a_single_vote_is_one():
    told = lines(
        method="auto",
        first_split=None,
        intervals_won=None,
        votes={"7": 1, "9": 3},
        weighing=Weighing("7", 0.5, 1.8, "7"),
    )
    assert any("its 1 vote is 1.8 standard deviations surer" in line for line in told)


def test_confidence_that_agrees_with_the_majority_needs_no_word():
    told = lines(method="auto", majority="7", weighing=Weighing("7", math.nan, 2.0, "7"))
    assert not any("trusted" in line for line in told)


@pytest.mark.parametrize(
    ("cut", "means", "says"),
    [
        (12.345678, (11.0, 13.0), "12.35"),
        (12.345678, (12.3, 13.0), "12.35"),  # 10^1 against 10^-2: 1 + 2 + 1 digits
        (12.345678, (12.345, 13.0), "12.3457"),  # 10^1 against 10^-4: 1 + 4 + 1
        (12.345678, (12.345678, 12.3457), "12.34568"),  # a mean that is the cut can't be told from it
        (0.012345678, (0.012345, 0.02), "0.0123457"),  # 10^-2 against 10^-7: -2 + 7 + 1
        (1 / 3, (1 / 3 - 1e-16, 1.0), "0.333333333333333"),  # no more than 15
        (1.0, (1.0, 1.0), "1"),
        (0.0, (-1.0, 1.0), "0"),
    ],
)
def test_a_cut_has_as_many_digits_as_it_needs(cut: float, means: tuple[float, float], says: str):
    told = lines(first_split=Split(cut, 5, 4, (0.5, 0.5), means, (1.0, 1.0)))
    assert f"cut at confidence {says}: " in told[1]


def test_a_single_vote_that_is_left_after_a_rejection_is_told() -> None:
    told = vote(["2", "20"], [6.7, 5.9], method="dis-gmm").explain()
    assert "its 1 vote left the pool. The other 1 is kept." in told


def test_why_there_is_no_probability_is_told() -> None:
    why = "A text has no probability of being right"
    assert f"{why}." in vote("aab", [3.0, 2.0, 1.0]).without_probability(why).explain().splitlines()
