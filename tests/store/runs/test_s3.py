"""Runs in an object store: they are written, gone on with and merged, and every command reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from distrivote.cli.main import main
from distrivote.engines.base import SamplingParams
from distrivote.errors import InputError
from distrivote.server.runs import questions_json, run_json, sample_json
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.folder import folder_at
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from store.stores import environment, new_address, s3_server

MANIFEST = Manifest.of("embedded", "m", "math", "arithmetic", SamplingParams(), budget=8)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture
def address(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in environment(server).items():
        monkeypatch.setenv(name, value)
    return new_address()


def row(sample: int, answer: str = "4", question: str = "q") -> Row:
    confidence = 2.0 + sample / 10
    return Row(
        question_id=question, sample=sample, answer=answer, confidence=confidence, ground_truth="4", k=20
    )


def stored(address: str, *rows: Row) -> None:
    with RunWriter(address, MANIFEST, max_wait=None) as adding:
        for each in rows:
            adding.add(each)


def answers(address: str) -> dict[int, str]:
    table = Run.open(address).table(["sample", "answer"])
    return dict(zip(table["sample"].to_pylist(), table["answer"].to_pylist(), strict=True))


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


@pytest.mark.slow
def test_a_run_is_written_gone_on_with_merged_and_read(address: str) -> None:
    stored(address, row(0, "a"))
    stored(address, row(1, "b"), row(2, "c"))
    assert answers(address) == {0: "a", 1: "b", 2: "c"}
    assert compact(address).n_parts == 1
    assert answers(address) == {0: "a", 1: "b", 2: "c"}
    assert len([name for name in folder_at(address).names("parts") if name[0] != "."]) == 1
    with pytest.raises(InputError, match="other settings"):
        RunWriter(address, Manifest.of("embedded", "other", "math", "arithmetic", SamplingParams()))


def test_of_two_rows_the_first_that_was_claimed_counts(address: str) -> None:
    one, other = RunWriter(address, MANIFEST, max_wait=None), RunWriter(address, MANIFEST, max_wait=None)
    other.add(row(0, "first"))
    other.flush()
    one.add(row(0, "second"))
    one.flush()
    assert answers(address) == {0: "first"}
    compact(address)
    assert answers(address) == {0: "first"}


def test_a_missing_part_is_named_and_a_damaged_one_set_aside(address: str) -> None:
    stored(address, row(0))
    stored(address, row(1))
    folder = folder_at(address)
    one, other = [name for name in folder.names("parts") if name[0] != "."]
    folder.remove([f"parts/{one}"])
    with pytest.raises(InputError, match=f"lacks {one}"):
        Run.open(address)
    with folder.open(f"parts/{other}") as file:
        content = bytearray(file.read())
    content[-20] ^= 1
    folder.write(f"parts/{other}", bytes(content))
    notes = RunWriter(address, MANIFEST).notes
    assert any(note.startswith(f"{other} is damaged") for note in notes)
    assert f"parts/{other}.damaged".partition("/")[2] in folder.names("parts")


@pytest.fixture
def graded(address: str) -> str:
    wrong = [row(i, "4" if q % 2 else "5", f"q{q}") for q in range(24) for i in range(4)]
    stored(address, *wrong)
    return address


@pytest.mark.parametrize(
    "words",
    [
        "vote RUN --json",
        "show RUN",
        "show RUN q1",
        "show RUN q1 3",
        "runs s3://runs",
        "evaluate RUN -e main --repeats 4",
        "calibrate RUN -o out.json",
        "plan RUN --tokens 100",
        "compact RUN",
        "export RUN -o out.csv",
        "export RUN --format run -o COPY",
    ],
)
def test_every_command_reads_it(
    words: str,
    graded: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    copy = new_address()
    given = words.replace("RUN", graded).replace("COPY", copy).split()
    if words.startswith("runs"):
        given = ["runs", graded]
    code = command(*given)
    said = capsys.readouterr()
    assert code == 0, said.err
    assert said.out + said.err
    if "COPY" in words:
        assert Run.open(copy).done() == Run.open(graded).done()


def test_the_server_shows_it(graded: str) -> None:
    told = run_json(graded)
    assert (told["name"], told["n_trajectories"]) == (graded.rpartition("/")[2], 96)
    assert len(questions_json(graded, "sc")["questions"]) == 24
    assert sample_json(graded, "q1", 2)["answer"] == "4"


def test_a_run_can_be_simulated_into_it(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("simulate", "misleading", "--questions", "3", "--trajectories", "4", "-o", address) == 0
    assert len(Run.open(address).done()) == 12
    assert command("simulate", "misleading", "-o", address) == 2
    assert "exists already" in capsys.readouterr().err


def test_what_is_not_there_is_said_in_a_sentence(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["vote", address], ["show", address], ["compact", address]):
        assert command(*words) == 2
        assert "is not a run" in capsys.readouterr().err
    assert command("vote", "s3://no-such-bucket/run") == 2
    capsys.readouterr()
