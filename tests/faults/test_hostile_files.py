"""Files that attack: refused in one sentence, with little memory, and nothing is written but where asked.

All commands run in one process, whose memory is watched: what it took at most beyond its start is that of the
worst of them.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pytest

import foreign_files as foreign
from distrivote.benchmarks import files as benchmark_files
from distrivote.benchmarks.tables import problems
from distrivote.errors import InputError
from distrivote.store.importers import archives
from distrivote.store.importers.records import parsed
from distrivote.store.runs.run import Run
from distrivote.store.tables import parquet_sizes
from distrivote.store.tables.source import Columns, open_table
from faults import hostile_files as hostile
from faults.bounded import Outcome, refused, run

MOST_MEGABYTES = 1200
"""Most of it is a line of 256 MB that was read before it was found too long."""


def commands(folder: Path) -> dict[str, list[str | Path]]:
    """Write all attacks and return a command for each."""
    found: dict[str, list[str | Path]] = {}

    def written(name: str, content: bytes) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    for n, (name, content) in enumerate(hostile.tables().items()):
        found[f"table: {name}"] = ["vote", written(f"t{n}.parquet", content)]
    found["table: imported"] = ["import", folder / "t0.parquet", "-o", folder / "no"]
    for n, (name, content) in enumerate(hostile.benchmarks().items()):
        found[f"benchmark: {name}"] = [
            "generate",
            written(f"b{n}.parquet", content),
            "-o",
            folder / "no",
            "--dry-run",
        ]
    for n, (name, content) in enumerate(hostile.parts().items()):
        place = hostile.run_folder(folder / f"r{n}", {"x.parquet": content})
        found[f"part: {name}"] = ["show", place, "q", "0"]
    found["line: 1 GB, jsonl"] = ["vote", hostile.sparse(folder / "s.jsonl")]
    found["line: 1 GB, csv"] = ["vote", hostile.sparse(folder / "s.csv")]
    sparse = hostile.sparse(folder / "i.jsonl")
    found["line: 1 GB, imported"] = ["import", sparse, "--format", "openai", "-o", folder / "no"]
    found["line: 1 GB, benchmark"] = ["generate", sparse, "-o", folder / "no", "--dry-run"]
    found["line: open string"] = ["vote", hostile.long_line(folder / "l.jsonl", b'{"question_id": "', 70)]
    found["line: open field"] = [
        "vote",
        hostile.long_line(folder / "l.csv", b'question_id,answer,confidence\n"', 70),
    ]
    found["line: header"] = ["vote", hostile.long_line(folder / "h.csv", b"question_id,answer,confidence", 2)]
    heavy = written("heavy.json", hostile.heavy_json(105 * hostile.MB))
    found["json: heavy"] = ["import", heavy, "--format", "openai", "-o", folder / "no"]
    found["json: heavy, benchmark"] = ["generate", heavy, "-o", folder / "no", "--dry-run"]
    found["zip: 300 MB"] = ["import", written("z.eval", hostile.zip_bomb()), "-o", folder / "no"]
    return found


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("attacks")
    asked = commands(folder)
    done = dict(zip(asked, run(list(asked.values())), strict=True))
    assert not (folder / "no").exists()
    return done


SAID = {
    "table: a billion rows": "claims 1,000,000,000 rows in",
    "table: a page of 2 GB": "can't be read from row 1 on",
    "table: a page of zeros": "answer takes 1,260 MB in 9 rows",
    "table: a long answer a million times": "answer takes 7,864,320 MB in 262,144 rows",
    "table: a long number a million times": "row 1: confidence is '1111",
    "table: a list of a billion numbers": "confidences must be numbers",
    "table: a huge footer": "its footer takes 9 MB",
    "table: statistics that abort": "histogram size mismatch",
    "table: imported": "claims 1,000,000,000 rows in",
    "benchmark: twenty million questions": "it holds more than a benchmark does",
    "benchmark: a long question many times": "it holds more than a benchmark does",
    "benchmark: a billion choices": "row 1: answer is a list",
    "part: a billion trajectories": "claims 1,000,000,000 rows in",
    "part: a long answer for each": "its content would not fit into memory",
    "part: a page of 2 GB": "didn't decompress to expected size",
    "part: deep metadata": "its metadata can't be read",
    "part: no samples": "a row has no sample",
    "part: statistics that abort": "histogram size mismatch",
    "part: a sample below 0": "a sample has a number below 0",
    "part: ids that are no text": "has no sample 0 of question 'q'",
    "line: 1 GB, jsonl": "line 1 is longer than 64 MB",
    "line: 1 GB, csv": "line 1 is longer than 64 MB",
    "line: 1 GB, imported": "line 1 is longer than 256 MB",
    "line: 1 GB, benchmark": "is larger than 256 MB",
    "line: open string": "line 1 is longer than 64 MB",
    "line: open field": "line 2 is longer than 64 MB",
    "line: header": "line 1 is a header of more than 1 MB",
    "json: heavy": "more than 3 GB of memory",
    "json: heavy, benchmark": "more than 3 GB of memory",
    "zip: 300 MB": "larger than 256 MB unpacked",
}


@pytest.mark.parametrize(("attack", "said"), SAID.items(), ids=SAID)
def test_an_attack_is_refused_in_a_sentence(outcomes: dict[str, Outcome], attack: str, said: str) -> None:
    outcome = outcomes[attack]
    if outcome.err.startswith("note: "):  # the damage is said first, and then what is missing
        outcome = outcome._replace(err=outcome.err.partition("\n")[2])
    assert said in refused(outcome) or said in outcomes[attack].err


def test_no_attack_takes_much_memory(outcomes: dict[str, Outcome]) -> None:
    assert set(outcomes) == set(SAID)
    assert max(outcome.megabytes for outcome in outcomes.values()) < MOST_MEGABYTES


def test_members_that_unpack_to_far_more_than_their_archive_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_FREE", 1 << 20)
    path = tmp_path / "a.eval"
    path.write_bytes(foreign.zstandard_archive({f"m{n}": b" " * (1 << 20) for n in range(4)}))
    with archives.Archive(path) as archive, pytest.raises(InputError, match="200 times its size"):
        [archive.read(name) for name in archive.names]


@pytest.mark.parametrize("depth", [100, 900, 960, 980, 990, 1000, 100_000])
@pytest.mark.parametrize("bracket", ["[]", "{}"])
def test_deeply_nested_json_is_refused_at_any_depth(tmp_path: Path, depth: int, bracket: str) -> None:
    opened = bracket[0] if bracket == "[]" else '{"a":'
    line = opened * depth + ("1" if bracket == "{}" else "") + bracket[1] * depth
    path = tmp_path / "a.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError), open_table(str(path), Columns()) as table:
        list(table.batches())
    with pytest.raises(InputError):
        problems(benchmark_files.read(path))
    manifest = tmp_path / "run"
    hostile.run_folder(manifest, {})
    (manifest / "manifest.json").write_text(line)
    with pytest.raises(InputError):
        Run.open(manifest)
    if depth > 1000:
        with pytest.raises(InputError, match="deeply nested"):
            parsed(line.encode(), "here")


@pytest.mark.parametrize("content", [b"\xff\xfe", b'{"question_id": "\xc3\x28"}\n', b"a\0b\n", b"\0" * 100])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_what_is_no_text_is_refused_wherever_it_is_read(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"UTF-8|NUL"), open_table(str(path), Columns()) as table:
        list(table.batches())
    with pytest.raises(InputError, match=r"UTF-8|NUL"):
        benchmark_files.read(path)
    with pytest.raises(InputError, match=r"UTF-8|NUL"):
        parsed(content, "here")


BAD_MANIFESTS = {
    "a list where settings belong": {"sampling": [1]},
    "a text where settings belong": {"ssc": "on"},
    "a controller without numbers": {"ssc": {"kind": "SelfStepConf", "alpha": "x"}},
    "a budget that is a text": {"budget": "32"},
    "a flag for a number": {"seed": True},
    "settings a thousand deep": {"sampling": {"a": [[[[[[[[[[[[1]]]]]]]]]]]]}},
    "a number that is none": {"sampling": {"top_p": float("nan")}},
}


@pytest.mark.parametrize("change", BAD_MANIFESTS.values(), ids=BAD_MANIFESTS)
def test_a_hostile_manifest_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = hostile.run_folder(tmp_path / "run", {}, {**hostile.MANIFEST, **change})
    with pytest.raises(InputError, match=r"manifest\.json") as caught:
        Run.open(path)
    assert "\n" not in str(caught.value)


def test_a_huge_manifest_is_not_read_whole(tmp_path: Path) -> None:
    path = hostile.run_folder(tmp_path / "run", {})
    hostile.sparse(path / "manifest.json")
    with pytest.raises(InputError, match="larger than 4 MB"):
        Run.open(path)


def test_a_pipe_among_the_parts_is_not_waited_for(tmp_path: Path) -> None:
    path = hostile.run_folder(tmp_path / "run", {})
    os.mkfifo(path / "parts" / "part-x.parquet")
    assert Run.open(path).questions() == ()


def test_many_parts_share_what_one_may_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = hostile.crafted([hostile.QUESTION, hostile.SAMPLE, hostile.ANSWER], 1000)
    path = hostile.run_folder(tmp_path / "run", {f"{n}.parquet": part for n in range(4)})
    assert not (Run.open(path).notes)
    monkeypatch.setattr(parquet_sizes, "_FREE", 30_000)
    monkeypatch.setattr(parquet_sizes, "_PER_BYTE", 1)
    stored = Run.open(path)
    stored.table(("question_id", "sample"))
    assert 1 <= len(stored.notes) < 4


NAMES = [
    "../../up",
    "/etc/passwd",
    "a/b",
    "..",
    ".",
    "~",
    "nul\x00byte",
    "two\nlines",
    "x" * 5000,
    "CON",
    "-o",
    "\x1b[2J",
    "é",
]


def test_names_of_questions_lead_nowhere(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "target"
    target.mkdir(parents=True)
    rows = [
        {"question_id": name, "answer": str(n % 3), "confidence": 1.0 + n, "ground_truth": "1"}
        for name in NAMES
        for n in range(6)
    ]
    (target / "a.jsonl").write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    batch = [foreign.batch(name, foreign.chat()) for name in NAMES]
    (target / "b.jsonl").write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in batch))
    asked = [{"id": name, "question": "2 + 2?", "answer": "4"} for name in NAMES]
    (target / "q.jsonl").write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in asked))
    before = hostile.snapshot(tmp_path, but=target)
    done = run(
        [
            ["import", "a.jsonl", "-o", "run"],
            ["import", "b.jsonl", "-o", "run2"],
            ["export", "run", "--format", "deepconf", "-o", "traces"],
            ["export", "run", "-o", "out.csv"],
            ["vote", "run", "--method", "sc", "-o", "votes.csv"],
            ["show", "run", "../../up"],
            ["show", "run2", "../../up", "0"],
            ["evaluate", "run", "--budget", "4", "--repeats", "2", "-o", "report.html"],
            ["generate", "q.jsonl", "-o", "gen", "--dry-run"],
            ["compact", "run"],
        ],
        cwd=target,
    )
    assert [outcome.code for outcome in done] == [0] * len(done), done
    assert hostile.snapshot(tmp_path, but=target) == before
    assert len(list((target / "traces").iterdir())) == len(NAMES)
    assert "\x1b" not in "".join(outcome.out + outcome.err for outcome in done[5:7])


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "target"
    target.mkdir(parents=True)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("header.json", json.dumps(foreign.inspect_log()))
        sample = json.dumps({**foreign.inspect_sample(), "id": "../../up"})
        for name in ("samples/../../../up_epoch_1.json", "samples//etc/x_epoch_2.json", "../out.json"):
            archive.writestr(name, sample)
    (target / "log.eval").write_bytes(file.getvalue())
    before = hostile.snapshot(tmp_path, but=target)
    (done,) = run([["import", "log.eval", "-o", "run"]], cwd=target)
    assert done.code == 0, done
    assert hostile.snapshot(tmp_path, but=target) == before
