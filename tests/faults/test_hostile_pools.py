"""Published pools that are damaged, huge or something else: each is one sentence, and leaves nothing."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from distrivote.errors import DistrivoteError
from distrivote.pools import archives
from distrivote.pools.opening import open_pools
from distrivote.pools.published import PublishedFile, PublishedPool, PublishedSet, TableCopy
from distrivote.pools.registry import Listed
from engines.scripted_server import Reply, ScriptedServer
from faults.crafted_parquet import Column, crafted

LINE = b'{"problem_num": 0, "gold_answer": "4", "all_answers": [["4", 100], ["5", 400]]}\n'
POOL = PublishedPool("made/sums/m", "m", "sums", (PublishedFile("part/sums.jsonl"),))
SET = PublishedSet(
    *("made", "sums", "https://example.org", "commit 1", "MIT", "length", "lengths", "little"),
    (POOL,),
    format="prefix-consistency",
    votes_with="length",
)
COPY = TableCopy("all.parquet", answer="answer", model="model", benchmark="benchmark")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DISTRIVOTE_DATA", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data" / "part").mkdir(parents=True)
    return tmp_path / "data"


def refused(data: Path | None, of: PublishedSet, cache: Path) -> str:
    """Return the sentence with which a pool is refused."""
    with pytest.raises(DistrivoteError) as caught:
        open_pools([Listed(POOL, of)], data=data)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 1000
    # No run and no half file.
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    return sentence


FILES = {
    "empty": b"",
    "no JSON": b"\x00\xff\xfe" * 1000,
    "half a line": LINE[:40],
    "deep": b'{"problem_num": ' + b"[" * 100_000,
    "another document": b"[1, 2, 3]\n",
    "another question": LINE.replace(b'"all_answers"', b'"others"'),
    "numbers as answers": LINE.replace(b'[["4", 100], ["5", 400]]', b"17"),
    "a number too large": LINE.replace(b"100", b"1e999"),
    "a line of a page": b"<html><body>please log in</body></html>\n",
    "a zip file": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("case", FILES)
def test_a_published_file_that_is_damaged_is_one_sentence(case: str, data: Path, cache: Path) -> None:
    (data / "part" / "sums.jsonl").write_bytes(FILES[case])
    assert "sums.jsonl" in refused(data, SET, cache)


def zipped(name: str, content: bytes, kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        archive.writestr(name, content)
    return file.getvalue()


GOOD = zipped("part/sums.jsonl", LINE)


def changed(content: bytes, name: bytes, offset: int, value: int) -> bytes:
    """Change two bytes behind each of the headers with these first bytes."""
    found, at = bytearray(content), content.find(name)
    while at >= 0:
        found[at + offset : at + offset + 2] = value.to_bytes(2, "little")
        at = content.find(name, at + 1)
    return bytes(found)


ARCHIVES = {
    "empty": b"",
    "no archive": b"\x00" * 1000,
    "truncated": GOOD[:-30],
    "another member": zipped("other.jsonl", LINE),
    "encrypted": changed(changed(GOOD, b"PK\x01\x02", 8, 1), b"PK\x03\x04", 6, 1),
    "an unknown compression": changed(changed(GOOD, b"PK\x01\x02", 10, 99), b"PK\x03\x04", 8, 99),
    "another content": GOOD[:50] + b"\xff" * 9 + GOOD[59:],
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_an_archive_that_is_damaged_is_one_sentence(case: str, data: Path, cache: Path) -> None:
    (data / "all.zip").write_bytes(ARCHIVES[case])
    assert "all.zip" in refused(data, replace(SET, archive="https://example.org/all.zip"), cache)


def test_an_archive_that_unpacks_to_far_more_is_refused(
    data: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_FREE", 1 << 20)
    (data / "all.zip").write_bytes(zipped("part/sums.jsonl", bytes(32 << 20)))
    of = replace(SET, archive="https://example.org/all.zip")
    assert "far more than its size" in refused(data, of, cache)


def parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


ROWS = pa.table({"question_id": ["q"], "answer": ["4"], "model": ["m"], "benchmark": ["sums"]})
COPIES = {
    "empty": b"",
    "no Parquet": b"\x00" * 1000,
    "truncated": parquet(ROWS)[:-20],
    "a list as model": parquet(ROWS.set_column(2, "model", [[["m"]]])),
    "a list as answer": parquet(ROWS.set_column(1, "answer", [[["4"]]])),
    "a struct as benchmark": parquet(ROWS.set_column(3, "benchmark", [[{"a": "sums"}]])),
    "no answer": parquet(ROWS.drop_columns(["answer"])),
    "no row": parquet(ROWS.set_column(2, "model", [["another"]])),
    "bytes as model": parquet(ROWS.set_column(2, "model", [[b"\xff"]])),
    "a name that is no text": crafted([Column("x\udcff", "int32", 1)], 2),
    "far more rows": crafted([Column("question_id", "text", "q"), Column("answer", "text", "4")], 10**10),
    "half of the pages": parquet(ROWS)[:30] + b"\xff" * 30 + parquet(ROWS)[60:],
}


@pytest.mark.parametrize("case", COPIES)
def test_a_copy_that_is_damaged_is_one_sentence(case: str, data: Path, cache: Path) -> None:
    (data / "all.parquet").write_bytes(COPIES[case])
    of = replace(SET, copy=COPY, how="put it there")
    refused(data, of, cache)


def endless() -> Iterator[bytes]:
    while True:
        yield bytes(1 << 16)


def test_a_download_without_an_end_is_given_up(cache: Path) -> None:
    with ScriptedServer(lambda _: Reply(events=endless())) as server:
        of = replace(SET, address=f"{server.url}/", n_bytes=1 << 20)
        assert "has more than 2,097,152 bytes, which is the limit" in refused(None, of, cache)


def test_a_file_that_is_another_is_not_kept(cache: Path) -> None:
    pool = replace(POOL, files=(PublishedFile("sums.jsonl", "0" * 64),))
    with ScriptedServer(lambda _: Reply(body=LINE)) as server:
        of = replace(SET, address=f"{server.url}/", pools=(pool,))
        with pytest.raises(DistrivoteError, match="is not the file that was published"):
            open_pools([Listed(pool, of)])
    assert [path for path in cache.rglob("*") if path.is_file()] == []
