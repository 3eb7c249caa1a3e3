"""Published pools become runs: from copies, from files as published, by download; and what fails."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foreign_files
from distrivote.errors import DistrivoteError, InputError
from distrivote.pools.opening import open_pools, pools_at_hand
from distrivote.pools.published import PublishedFile, PublishedPool, PublishedSet
from distrivote.pools.registry import Listed, pools_named
from distrivote.store.runs.run import Run

ROOT = Path(__file__).parents[2]
EXCERPTS = ROOT / "tests" / "data"
REAL = ROOT.parent / "shared" / "data"

QUESTIONS = [
    {"problem_num": n, "gold_answer": "4", "all_answers": [["4", 100], ["5", 400], ["4", 200]]}
    for n in range(3)
]
TEXT = "".join(json.dumps(question) + "\n" for question in QUESTIONS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DISTRIVOTE_DATA", raising=False)
    return tmp_path / "cache"


def made(address: str | None = None, archive: str | None = None, sha256: str | None = None) -> Listed:
    """Return a set of one pool with one file of a known form."""
    pool = PublishedPool("made/sums/m", "m", "sums", (PublishedFile("part/sums.jsonl", sha256),))
    return Listed(
        pool,
        PublishedSet(
            *("made", "sums", "https://example.org", "commit 1", "MIT", "length", "lengths", "little"),
            (pool,),
            format="prefix-consistency",
            address=address,
            archive=archive,
            votes_with="length",
        ),
    )


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve tmp_path/site on loopback."""
    folder = tmp_path / "site"
    (folder / "part").mkdir(parents=True)
    (folder / "part" / "sums.jsonl").write_text(TEXT)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


DIGEST = hashlib.sha256(TEXT.encode()).hexdigest()


# From a folder


def test_a_pool_is_taken_out_of_a_converted_copy() -> None:
    (opened,) = open_pools(pools_named("boinf/aime2024/Qwen3-4B"), data=EXCERPTS)
    run = Run.open(str(opened.run))
    assert (run.manifest.model, run.manifest.benchmark) == ("Qwen3-4B", "aime2024")
    assert len(run.questions()) == 30
    assert sum(question.n_trajectories for question in run.questions()) == 2400
    assert opened.signal is None
    assert str(opened.remark).endswith("a converted copy")


def test_a_copy_has_only_the_pools_of_its_benchmark() -> None:
    names = {listed.pool.name for listed in pools_at_hand(EXCERPTS, "boinf")}
    assert len(names) == 11
    assert all(name.startswith("boinf/aime2024/") for name in names)


@pytest.mark.parametrize("place", ["", "part/", "made/", "made/part/"])
def test_a_published_file_is_found_in_the_folder_of_data(place: str, tmp_path: Path) -> None:
    file = tmp_path / "data" / place / "sums.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    (opened,) = open_pools([made(sha256=DIGEST)], data=tmp_path / "data")
    assert opened.remark is None
    assert opened.signal == "length"
    assert len(Run.open(str(opened.run)).table(["answer"])) == 9


def test_the_folder_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sums.jsonl").write_text(TEXT)
    monkeypatch.setenv("DISTRIVOTE_DATA", str(tmp_path))
    (opened,) = open_pools([made()])
    assert opened.run.is_dir()


def test_a_copy_that_differs_is_used_and_said_to_differ(tmp_path: Path) -> None:
    (tmp_path / "sums.jsonl").write_text(TEXT.splitlines()[0])
    (opened,) = open_pools([made(sha256=DIGEST)], data=tmp_path)
    assert opened.remark == "the local copy is not what was published (its checksum differs)"


def test_a_conversion_is_kept_until_the_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "sums.jsonl"
    file.write_text(TEXT)
    said: list[str] = []
    first, second = (open_pools([made()], data=tmp_path, watch=said.append)[0].run for _ in range(2))
    assert first == second
    assert said == ["converting made/sums/m"]
    file.write_text(TEXT + TEXT.splitlines()[0].replace('"problem_num": 0', '"problem_num": 7'))
    (third,) = open_pools([made()], data=tmp_path)
    assert third.run != first


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere is not a folder of published pools.*`data`"):
        open_pools([made()], data=tmp_path / "nowhere")


def test_a_zip_file_gives_the_member_of_the_pool(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as whole:
        whole.writestr("all/part/m_sums_jsonl/run7_init.jsonl", TEXT)
        whole.writestr("all/part/m_sums_jsonl/run7_rm25.jsonl", "not this one")
    listed = made(archive="https://example.org/files/all.zip?download=1")
    pool = replace(listed.pool, files=(PublishedFile("part/m_sums*_jsonl/*_init.jsonl"),))
    (opened,) = open_pools([Listed(pool, listed.of)], data=tmp_path)
    assert len(Run.open(str(opened.run)).table(["answer"])) == 9
    assert "checksum" in str(opened.remark)


def test_a_zip_file_without_the_pool_or_that_is_none_is_an_error(tmp_path: Path) -> None:
    listed = made(archive="https://example.org/all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as whole:
        whole.writestr("other.txt", "")
    with pytest.raises(InputError, match=r"has no file part/sums\.jsonl"):
        open_pools([listed], data=tmp_path)
    (tmp_path / "all.zip").write_text("no zip")
    with pytest.raises(InputError, match="can't be read as a zip file"):
        open_pools([listed], data=tmp_path)


# By download


def test_a_file_is_fetched_once_and_kept(site: str, cache: Path, tmp_path: Path) -> None:
    listed = made(address=site, sha256=DIGEST)
    said: list[str] = []
    (first,) = open_pools([listed], watch=said.append)
    assert (cache / "pools" / "made" / "part" / "sums.jsonl").read_text() == TEXT
    (tmp_path / "site" / "part" / "sums.jsonl").unlink()
    (second,) = open_pools([listed], watch=said.append)
    assert first == second
    assert said == ["fetching made/sums/m, file 1 of 1", "converting made/sums/m"]
    assert pools_at_hand() != ()


def test_a_file_with_another_checksum_is_refused_and_not_kept(site: str, cache: Path) -> None:
    with pytest.raises(DistrivoteError, match="is not the file that was published"):
        open_pools([made(address=site, sha256="0" * 64)])
    assert not [path for path in cache.rglob("*") if path.is_file()]


@pytest.mark.parametrize("address", ["gone", "closed"])
def test_without_the_file_one_sentence_says_where_to_put_it(address: str, site: str) -> None:
    beginning = f"{site}none/" if address == "gone" else "http://127.0.0.1:9/"
    with pytest.raises(DistrivoteError) as error:
        open_pools([made(address=beginning)])
    said = str(error.value)
    assert said.startswith(f"made/sums/m: {beginning}part/sums.jsonl could not be fetched (")
    assert ("HTTP 404" in said) == (address == "gone")
    assert "put it at DIR/made/part/sums.jsonl and name that folder with `data`" in said


def test_a_set_that_is_not_fetched_says_how_to_get_it() -> None:
    with pytest.raises(InputError, match="scorio/scorio-lite is not on this machine: import"):
        open_pools(pools_named("scorio/scorio-lite"))


def test_a_file_of_scorio_in_a_folder_of_data_is_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "data" / "scorio" / "meta" / "aime25" / "LIMO-v2.parquet"
    path.parent.mkdir(parents=True)
    rows = [{**foreign_files.scorio(), "seed": seed, "extracted_answer": str(seed % 2)} for seed in range(6)]
    pq.write_table(pa.Table.from_pylist(rows), path)
    (opened,) = open_pools(pools_named("scorio/aime25/LIMO-v2"), data=tmp_path / "data")
    assert opened.remark == "the checksum of what was published is not known, so it was not checked"
    run = Run.open(str(opened.run))
    assert (run.manifest.model, run.manifest.benchmark) == ("LIMO-v2", "aime25")
    assert run.table(["answer"])["answer"].to_pylist() == ["0", "1", "0", "1", "0", "1"]


# The real files


@pytest.mark.skipif(not REAL.is_dir(), reason="needs the published samples in ../shared/data")
@pytest.mark.slow
def test_the_real_samples_are_at_hand_and_open() -> None:
    names = {listed.pool.name for listed in pools_at_hand(REAL)}
    assert len([name for name in names if name.startswith("boinf/")]) == 11
    assert len([name for name in names if name.startswith("prs/")]) == 22
    for name in ("brumo", "prs/aime_2024/qwen25_7b"):
        (opened,) = open_pools(pools_named(name), data=REAL)
        assert len(Run.open(str(opened.run)).questions()) in (29, 30)
