"""`distrivote runs`, `show`, `export` and `vote` on runs that are not whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distrivote.cli.main import main
from distrivote.store.manifest import Manifest
from distrivote.store.run_rows import Row
from distrivote.store.run_writer import RunWriter

MANIFEST = Manifest("replay", "none", "math", "made-up", {"temperature": 0.6}, budget=8)
UNMEASURED = "note: answers without a confidence take no part in any vote: 1 of 4\n"


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a run of two parts, and return the name of the one that is damaged."""
    monkeypatch.chdir(tmp_path)
    for question in ("a", "b"):
        with RunWriter("run", MANIFEST) as writer:
            for sample in range(4):
                confidence = np.nan if question == "b" and sample == 3 else 9.0 + sample
                writer.add(Row(question_id=question, sample=sample, answer="4", confidence=confidence))
        if question == "a":
            (part,) = Path("run/parts").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    return part.name


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert not left.value.code
    out, err = capsys.readouterr()
    return out, err


@pytest.mark.parametrize(
    "arguments",
    [
        ("vote", "run", "-m", "sc"),
        ("vote", "run", "--signal", "auto"),
        ("vote", "run", "--explain", "b"),
        ("show", "run", "b"),
        ("runs",),
        ("runs", "--json"),
        ("export", "run", "-o", "out.csv"),
        ("export", "run", "-o", "out", "--format", "run"),
    ],
)
def test_a_damaged_part_is_named_once(
    capsys: pytest.CaptureFixture[str], damaged: str, arguments: tuple[str, ...]
) -> None:
    out, err = run(capsys, *arguments)
    assert err.count(damaged) == 1
    assert damaged not in out


@pytest.mark.parametrize(
    "arguments", [("vote", "run"), ("vote", "run", "--explain", "b"), ("show", "run", "b")]
)
@pytest.mark.usefixtures("damaged")
def test_answers_without_a_confidence_are_counted(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert UNMEASURED in run(capsys, *arguments)[1]
    assert UNMEASURED not in run(capsys, *arguments, "-m", "sc")[1]
