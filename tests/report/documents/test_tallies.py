"""The document of a vote: marks and counts agree, and nothing that is withheld is given."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conforming import conforms
from distrivote.report.documents import split_document, tally_document
from distrivote.voting.ballot import Ballot
from distrivote.voting.tally import Split
from distrivote.voting.vote import vote
from strategies import LAW

POOLS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.one_of(st.none(), st.floats(0.5, 20.0))),
    min_size=1,
    max_size=40,
)


@LAW
@given(POOLS, st.sampled_from(["dis-gmm", "auto", "sc", "wsc-top50", "hier-kmeans", "wsc-gmm-reject"]))
@example(list(zip("aacaabca", [14.0, 8.0, 12.0, 6.0, 8.0, 11.0, 10.0, 6.0], strict=True)), "auto")
def test_marks_and_counts_of_a_vote_agree(pool: list[tuple[str | None, float | None]], method: str) -> None:
    ballot = Ballot.of([answer for answer, _ in pool], [confidence for _, confidence in pool])
    tally = vote(ballot, method=method)
    document = tally_document(tally, ballot)
    conforms(json.loads(json.dumps(document, allow_nan=False)), "TallyDocument")
    assert set(document["answers"]) == set(document["votes"]) == set(document["shares"])
    for answer in document["answers"]:
        mine = [entry for entry in document["ballot"] if entry["answer"] == answer]
        assert len(mine) == document["votes"][answer]
        assert sum(entry["kept"] for entry in mine) == document["kept_votes"][answer]
        assert all(entry["rejected"] == (answer == document["rejected"]) for entry in mine)
        if document["first_split"] is not None:
            right = sum(entry["likely_right"] is True for entry in mine)
            assert right == document["likely_right_votes"][answer]
    assert sum(document["shares"].values()) == pytest.approx(1.0 if tally.votes else 0.0)


def test_the_answers_come_with_the_winner_first_whatever_keys_are_sorted_to() -> None:
    ballot = Ballot.of(["7", "12", "12", "3"], [9.0, 8.0, 7.0, 9.5])
    assert tally_document(vote(ballot, method="sc"), ballot)["answers"] == ["12", "7", "3"]


def test_a_withheld_answer_is_not_given_and_its_reason_does_not_name_it() -> None:
    ballot = Ballot.of(["thirty-five"] * 3 + ["twelve"] * 2, [9.0, 8.0, 7.0, 9.5, 9.1])
    tally = vote(ballot, method="sc")
    document = tally_document(tally, ballot, min_probability=1.0)
    assert (document["answer"], document["abstained"], document["withheld"]) == (None, True, "thirty-five")
    reason = document["withheld_reason"]
    assert reason is not None
    assert "thirty-five" not in reason
    assert document["explanation"].endswith(reason)
    assert document["probability"] == tally.probability
    given_it = tally_document(tally, ballot)
    assert (given_it["answer"], given_it["withheld"], given_it["withheld_reason"]) == (
        "thirty-five",
        None,
        None,
    )


def test_trajectories_keep_their_numbers() -> None:
    ballot = Ballot.of(["a", None], [9.0, 8.0])
    entries = tally_document(vote(ballot, method="wsc"), ballot, [4, 9])["ballot"]
    assert [(entry["index"], entry["answer"], entry["confidence"]) for entry in entries] == [
        (4, "a", 9.0),
        (9, None, None),
    ]


def test_a_split_of_one_side_has_no_cut() -> None:
    assert split_document(None) is None
    document = split_document(Split(float("nan"), 3, 0))
    assert document == {
        "cut": None, "n_positive": 3, "n_negative": 0, "weights": None, "means": None, "sds": None,
    }  # fmt: skip
