"""Calibration files: what is written is read back, and what is no calibration is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from distrivote.errors import InputError
from distrivote.store.calibrations import check_calibration_place, read_calibration, write_calibration
from distrivote.voting.probability import Calibration

MADE = Calibration(
    intercept=-0.25, evidence=0.5, share=0.75, fewest=4, most=64, n_questions=33, source="π, made up"
)


def document(**changes: Any) -> dict[str, Any]:
    fields = {name: getattr(MADE, name) for name in Calibration.__dataclass_fields__}
    whole = {"format": "distrivote calibration", "version": 1} | fields | changes
    return {name: value for name, value in whole.items() if value != "left out"}


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = str(tmp_path / "made.json")
    write_calibration(MADE, path)
    assert read_calibration(path) == MADE
    write_calibration(Calibration(), path)
    assert read_calibration(path) == Calibration()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is not JSON"),
        ("{", "it is not JSON"),
        ("[" * 50_000, "it is not JSON"),
        ("[]", "it does not say"),
        ('{"format": "something else"}', "it does not say"),
        (" " * 70_000, "it is too large"),
        (json.dumps(document(evidence="left out")), "it has no evidence"),
        (json.dumps(document(evidence="1")), "its evidence is not a number"),
        (json.dumps(document(evidence=True)), "its evidence is not a number"),
        (json.dumps(document(evidence=-0.1)), "its evidence is out of range"),
        (json.dumps(document(share=float("nan"))), "its share is out of range"),
        (json.dumps(document(intercept=float("inf"))), "its intercept is out of range"),
        (json.dumps(document(intercept=10**400)), "its intercept is out of range"),
        (json.dumps(document(fewest=0)), "its fewest is not a whole number"),
        (json.dumps(document(most=8.5)), "its most is not a whole number"),
        (json.dumps(document(fewest=9, most=8)), "its fewest is more than its most"),
        (json.dumps(document(source=3)), "its source is not a text"),
    ],
)
def test_what_is_no_calibration_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(InputError) as refusal:
        read_calibration(str(path))
    assert reason in str(refusal.value)
    assert "give a file that distrivote calibrate wrote" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_calibration_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "later.json"
    path.write_text(json.dumps(document(version=2)))
    with pytest.raises(InputError, match="version 2 and this distrivote reads version 1"):
        read_calibration(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't read"):
        read_calibration(str(tmp_path / "nothing.json"))


def test_a_place_that_can_not_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends in \.json"):
        check_calibration_place("made.txt", ["run"])
    with pytest.raises(InputError, match="make the folder"):
        check_calibration_place(str(tmp_path / "nowhere" / "made.json"), ["run"])
