"""Which of two rows counts, and which parts a run must have."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distrivote.engines.base import SamplingParams
from distrivote.errors import InputError
from distrivote.store.runs import claims, listing, writer
from distrivote.store.runs import parts as run_parts
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.folder import Folder
from distrivote.store.runs.manifest import NAME, Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter

MANIFEST = Manifest.of("embedded", "m", "math", "arithmetic", SamplingParams(), budget=8)
COMMAND = [sys.executable, "-m", "distrivote"]


def row(sample: int, answer: str = "4", question: str = "q") -> Row:
    return Row(question_id=question, sample=sample, answer=answer, confidence=2.0, ground_truth="4")


def stored(path: Path, *rows: Row) -> None:
    with RunWriter(path, MANIFEST, max_wait=None) as adding:
        for each in rows:
            adding.add(each)


def answers(path: Path) -> dict[int, str]:
    table = Run.open(path).table(["sample", "answer"])
    return dict(zip(table["sample"].to_pylist(), table["answer"].to_pylist(), strict=True))


def part_names(path: Path) -> list[str]:
    return sorted(part.name for part in (path / "parts").glob("*.parquet"))


class Clock:
    """A clock that may go backwards."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 10**18
        monkeypatch.setattr(run_parts.time, "time_ns", lambda: self.now)


# What a reader has seen stays


def test_a_writer_whose_clock_is_behind_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    one, other = RunWriter(tmp_path, MANIFEST), RunWriter(tmp_path, MANIFEST)
    one.add(row(0, "one"))
    one.flush()
    assert answers(tmp_path) == {0: "one"}
    clock.now -= 10**12
    other.add(row(0, "other"))
    other.flush()
    assert answers(tmp_path) == {0: "one"}
    compact(tmp_path)
    assert answers(tmp_path) == {0: "one"}


def test_merging_does_not_move_rows_before_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "N_MERGED", 2)
    one, other = RunWriter(tmp_path, MANIFEST), RunWriter(tmp_path, MANIFEST)
    for adding, sample, answer in ((one, 0, "one"), (other, 1, "other"), (one, 1, "late")):
        adding.add(row(sample, answer))
        adding.flush()
    assert len(part_names(tmp_path)) == 2  # those of `one` were merged
    assert answers(tmp_path) == {0: "one", 1: "other"}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["flush", "flush", "flush", "compact", "open", "orphan"]),
        st.integers(0, 2),
        st.integers(0, 5),
    ),
    max_size=25,
)


@pytest.mark.slow
@given(STEPS, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_seen_stays_whatever_writers_and_clocks_do(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]], chance: random.Random
) -> None:
    path = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        patch.setattr(writer, "N_MERGED", 3)
        writers = [RunWriter(path, MANIFEST, max_wait=None) for _ in range(3)]
        seen: dict[int, str] = {}
        for number, (what, who, sample) in enumerate(steps):
            clock.now += chance.randrange(-(10**12), 10**12)
            if what == "compact":
                compact(path)
            elif what == "open":
                writers[who] = RunWriter(path, MANIFEST, max_wait=None)
            elif ("q", sample) not in writers[who].done():
                writers[who].add(row(sample, str(number)))
                if what == "orphan":  # killed after its part was in place, and before the claim
                    with pytest.MonkeyPatch.context() as killed:
                        killed.setattr(run_parts, "claim", _killed)
                        with pytest.raises(KeyboardInterrupt):
                            writers[who].flush()
                    writers[who] = RunWriter(path, MANIFEST, max_wait=None)
                else:
                    writers[who].flush()
            now = answers(path)
            assert {key: now[key] for key in seen} == seen
            seen = now
        run = Run.open(path)
        assert run.notes == ()
        assert len(run.table(["sample"])) == len(seen)
    shutil.rmtree(path)


def _killed(*_: object) -> int:
    raise KeyboardInterrupt


def test_a_part_counts_from_its_claim_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path, row(0))
    adding = RunWriter(tmp_path, MANIFEST, max_wait=None)
    adding.add(row(1))
    with monkeypatch.context() as patch:
        patch.setattr(run_parts, "claim", _killed)
        with pytest.raises(KeyboardInterrupt):
            adding.flush()
    assert len(part_names(tmp_path)) == 2
    assert answers(tmp_path) == {0: "4"}
    assert RunWriter(tmp_path, MANIFEST).done() == {("q", 0), ("q", 1)}
    assert answers(tmp_path) == {0: "4", 1: "4"}


def test_a_new_run_has_its_claims_before_its_first_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adding = RunWriter(tmp_path, MANIFEST, max_wait=None)
    adding.add(row(0))
    monkeypatch.setattr(run_parts, "claim", _killed)
    with pytest.raises(KeyboardInterrupt):
        adding.flush()
    assert len(part_names(tmp_path)) == 1
    assert answers(tmp_path) == {}


def test_the_first_claim_of_an_older_run_comes_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for failing in ("mkdir", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(f"pathlib.Path.{failing}", _killed)
            with pytest.raises(KeyboardInterrupt):
                claims.claim(tmp_path, ["part"])
        assert claims.read_claims(tmp_path) is None
    assert claims.claim(tmp_path, ["part"]) == 1


def test_numbers_are_never_given_twice(tmp_path: Path) -> None:
    numbers = [claims.claim(tmp_path, [f"part-{i}"]) for i in range(5)]
    assert numbers == [1, 2, 3, 4, 5]
    claims.release(tmp_path, [f"part-{i}" for i in range(5)])
    assert claims.read_claims(tmp_path) == {}
    assert claims.claim(tmp_path, ["part-5"]) == 6


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr("os.link", no_links)
    assert [claims.claim(tmp_path, ["a", "b"]), claims.claim(tmp_path, ["b", "c"])] == [1, 2]
    assert claims.read_claims(tmp_path) == {"a": (1, 0), "b": (1, 1), "c": (2, 1)}


def test_each_writer_knows_which_of_its_rows_count(tmp_path: Path) -> None:
    writers = [RunWriter(tmp_path, MANIFEST, max_wait=None) for _ in range(3)]
    for sample in range(6):
        for who in range(3):
            adding = writers[(sample + who) % 3]
            adding.add(row(sample))
            adding.flush()
    assert [adding.n_doubled() for adding in writers] == [4, 4, 4]
    compact(tmp_path)
    assert len(Run.open(tmp_path).done()) == 6


# Runs of earlier versions


def as_before(path: Path) -> None:
    """Make a run what an earlier version would have written: no claims, checksums and places."""
    import pyarrow.parquet as pq

    shutil.rmtree(path / "claims")
    manifest = path / NAME
    lines = manifest.read_text().splitlines()
    manifest.write_text("\n".join([*lines[:-3], lines[-3].rstrip(","), "}"]) + "\n")
    for part in (path / "parts").glob("*.parquet"):
        table = pq.read_table(part)
        kept = {name: value for name, value in table.schema.metadata.items() if name != b"distrivote.order"}
        pq.write_table(table.replace_schema_metadata(kept), part.with_name(f"old{part.name[:20]}.parquet"))
        part.unlink()


def test_runs_of_earlier_versions_are_read_and_go_on(tmp_path: Path) -> None:
    stored(tmp_path, row(0, "a"))
    stored(tmp_path, row(1, "b"))
    as_before(tmp_path)
    assert answers(tmp_path) == {0: "a", 1: "b"}
    assert not (tmp_path / "claims").exists()
    stored(tmp_path, row(2, "c"))
    assert answers(tmp_path) == {0: "a", 1: "b", 2: "c"}
    assert len(claims.read_claims(tmp_path) or {}) == 3
    compact(tmp_path)
    assert answers(tmp_path) == {0: "a", 1: "b", 2: "c"}


# Parts that are missing


@pytest.fixture
def lacking(tmp_path: Path) -> tuple[Path, str]:
    """A run without one of its parts, and the name of that."""
    for sample in range(4):
        stored(tmp_path / "run", row(sample))
    gone = part_names(tmp_path / "run")[1]
    (tmp_path / "run" / "parts" / gone).unlink()
    return tmp_path / "run", gone


def test_a_missing_part_is_an_error_that_names_it(lacking: tuple[Path, str]) -> None:
    path, gone = lacking
    for reading in (Run.open, compact):
        with pytest.raises(InputError, match=f"lacks {gone}, so it was not copied whole"):
            reading(path)
    run = Run.open(path, partial=True)
    assert run.notes == (f"{gone} is missing: its trajectories do not count",)
    assert len(run.done()) == 3


def test_sampling_goes_on_without_it_and_makes_it_again(lacking: tuple[Path, str]) -> None:
    path, gone = lacking
    adding = RunWriter(path, MANIFEST)
    assert adding.notes == (f"{gone} is missing: its trajectories count as not done",)
    for name in {("q", sample) for sample in range(4)} - adding.done():
        adding.add(row(name[1]))
    adding.close()
    assert len(Run.open(path).done()) == 4


def test_merged_parts_are_missed_too(tmp_path: Path) -> None:
    for sample in range(3):
        stored(tmp_path, row(sample))
    compact(tmp_path)
    (name,) = part_names(tmp_path)
    assert list(claims.read_claims(tmp_path) or {}) == [name]
    (tmp_path / "parts" / name).unlink()
    with pytest.raises(InputError, match=f"lacks {name}"):
        Run.open(tmp_path)


def test_a_copy_without_its_claims_is_not_whole(tmp_path: Path) -> None:
    stored(tmp_path, row(0))
    shutil.rmtree(tmp_path / "claims")
    with pytest.raises(InputError, match="lacks claims, so it was not copied whole"):
        Run.open(tmp_path)
    assert Run.open(tmp_path, partial=True).done() == {("q", 0)}
    stored(tmp_path, row(1))
    assert Run.open(tmp_path).done() == {("q", 0), ("q", 1)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["vote"], ["show"], ["evaluate"], ["compact"], ["export", "-o", "out.csv"]]
)
def test_commands_say_it_and_go_on_if_asked_to(command: list[str], lacking: tuple[Path, str]) -> None:
    path, gone = lacking
    words = [*COMMAND, command[0], str(path), *command[1:]]
    refused = subprocess.run(words, capture_output=True, text=True, cwd=path.parent)
    assert refused.returncode == 2
    assert f"lacks {gone}" in refused.stderr
    assert refused.stderr.rstrip().endswith("or take what is there with --partial")
    taken = subprocess.run([*words, "--partial"], capture_output=True, text=True, cwd=path.parent)
    assert f"{gone} is missing" in taken.stderr
    assert taken.returncode == 0 or command[0] == "evaluate"


def test_a_run_that_changes_while_it_is_listed_is_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for sample in range(3):
        stored(tmp_path, row(sample))
    real, n_left = listing._names, [2]

    def compacted_meanwhile(folder: Folder) -> list[str]:
        if n_left[0]:
            n_left[0] -= 1
            monkeypatch.setattr(listing, "_names", real)
            compact(tmp_path)
            stored(tmp_path, row(5 + n_left[0]))
            compact(tmp_path)
            monkeypatch.setattr(listing, "_names", compacted_meanwhile)
        return real(folder)

    monkeypatch.setattr(listing, "_names", compacted_meanwhile)
    assert len(Run.open(tmp_path).done()) >= 4


# The manifest


@pytest.mark.slow
def test_every_flipped_byte_of_a_manifest_is_noticed(tmp_path: Path) -> None:
    MANIFEST.save(tmp_path)
    path = tmp_path / NAME
    content = path.read_bytes()
    assert Manifest.load(tmp_path) == MANIFEST
    for place in range(len(content)):
        for bit in range(8):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
            with pytest.raises(InputError):
                Manifest.load(tmp_path)


def test_a_manifest_of_an_earlier_version_has_no_checksum(tmp_path: Path) -> None:
    MANIFEST.save(tmp_path)
    lines = (tmp_path / NAME).read_text().splitlines()
    (tmp_path / NAME).write_text("\n".join([*lines[:-3], lines[-3].rstrip(","), "}"]))
    assert Manifest.load(tmp_path) == MANIFEST
