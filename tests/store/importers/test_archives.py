"""Members of zip archives: every packing that logs use, and nothing that fills the memory."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import Path

import pytest

from distrivote.errors import InputError
from distrivote.store.importers import archives
from distrivote.store.importers.archives import Archive
from foreign_files import written, zstandard_archive

MEMBERS = {"a.json": b'{"a": 1}' * 100, "ü/b.json": b"", "c.json": b"x"}


def packed(method: int, members: dict[str, bytes] = MEMBERS) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_members_are_read_as_they_were_written(tmp_path: Path, method: int) -> None:
    with Archive(written(tmp_path, "a.eval", packed(method))) as archive:
        assert {name: archive.read(name) for name in archive.names} == MEMBERS


def test_zstandard_is_read_in_all_its_frames(tmp_path: Path) -> None:
    members = {name: content for name, content in MEMBERS.items() if name.isascii()}
    with Archive(written(tmp_path, "a.eval", zstandard_archive(members))) as archive:
        assert {name: archive.read(name) for name in archive.names} == members


def test_a_member_written_again_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("a", b"old")
        archive.writestr("a", b"new")
    with Archive(path) as opened:
        assert opened.names == ["a"]
        assert opened.read("a") == b"new"


@pytest.mark.parametrize("pack", [lambda m: packed(zipfile.ZIP_DEFLATED, m), zstandard_archive])
@pytest.mark.parametrize("lies", [False, True])
def test_a_member_that_is_too_large_is_refused(tmp_path: Path, monkeypatch, pack, lies: bool) -> None:
    monkeypatch.setattr(archives, "LARGEST", 1000)
    content = pack({"a": b"0" * 5000})
    if lies:  # the sizes in the archive can say anything
        content = content.replace((5000).to_bytes(4, "little"), (900).to_bytes(4, "little"))
    with (
        Archive(written(tmp_path, "a.eval", content)) as archive,
        pytest.raises(InputError, match=r"larger than|can't be unpacked"),
    ):
        archive.read("a")


@pytest.mark.parametrize("pack", [lambda m: packed(zipfile.ZIP_DEFLATED, m), zstandard_archive])
def test_one_changed_byte_is_noticed(tmp_path: Path, pack) -> None:
    content = bytearray(pack({"a": bytes(range(256))}))
    content[60] ^= 1
    with (
        Archive(written(tmp_path, "a.eval", bytes(content))) as archive,
        pytest.raises(InputError, match="can't be unpacked"),
    ):
        archive.read("a")


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    content = bytearray(packed(zipfile.ZIP_STORED, {"a": b"x"}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with (
        Archive(written(tmp_path, "a.eval", bytes(content))) as archive,
        pytest.raises(InputError, match="encrypted"),
    ):
        archive.read("a")


def test_an_unknown_packing_is_refused(tmp_path: Path) -> None:
    content = bytearray(packed(zipfile.ZIP_STORED, {"a": b"x"}))
    content[content.index(b"PK\x01\x02") + 10] = 77
    with (
        Archive(written(tmp_path, "a.eval", bytes(content))) as archive,
        pytest.raises(InputError, match="unpacked"),
    ):
        archive.read("a")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", packed(zipfile.ZIP_DEFLATED)[:-10]])
def test_half_an_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="not a complete zip archive"):
        Archive(written(tmp_path, "a.eval", content))
