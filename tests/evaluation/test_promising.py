"""Promises from labelled runs: one vote per question, and the file that keeps them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distrivote.errors import InputError
from distrivote.evaluation.promising import with_promise
from distrivote.store.calibrations import read_calibration, write_calibration
from distrivote.voting.probability import Calibration
from distrivote.voting.vote import vote
from evaluation.made_pools import random_set


@pytest.mark.parametrize("method", ["auto", "sc", "dis-gmm"])
def test_counts_are_those_of_votes_on_each_question_by_itself(method: str) -> None:
    source = random_set(30)
    promise = with_promise([source], Calibration(), method).promise
    assert promise is not None
    tallies = [
        vote([None if c < 0 else int(c) for c in pool.classes], pool.confidence.tolist(), method)
        for pool in source.pools
    ]
    for risk in promise.risks:
        given = [tally for tally in tallies if tally.probability >= risk.least and tally.answer is not None]
        assert risk.n_given == len(given)
        assert risk.n_wrong == sum(tally.answer != 0 for tally in given)
    assert (promise.method, promise.fewest, promise.most, promise.n_questions) == (method, 40, 40, 30)


def test_a_budget_is_drawn_from_each_question() -> None:
    promise = with_promise([random_set(5)], Calibration(), "auto", 8).promise
    assert promise is not None
    assert (promise.fewest, promise.most) == (8, 8)
    with pytest.raises(InputError):
        with_promise([random_set(5)], Calibration(), "auto", 80)


def test_a_file_keeps_a_promise_and_refuses_what_is_none(tmp_path: Path) -> None:
    path = str(tmp_path / "promise.json")
    found = with_promise([random_set(30)], Calibration(), "auto")
    write_calibration(found, path)
    assert read_calibration(path) == found
    document = json.loads(Path(path).read_text())
    for wrong in (
        [],
        {},
        document["promise"] | {"risks": [[0.5, 1, 0]]},
        document["promise"] | {"fewest": -1},
    ):
        Path(path).write_text(json.dumps(document | {"promise": wrong}))
        with pytest.raises(InputError, match="is not a calibration"):
            read_calibration(path)
    del document["promise"]
    Path(path).write_text(json.dumps(document))
    assert read_calibration(path) == Calibration()
