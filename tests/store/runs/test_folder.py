"""What a run relies on in the place of its files, on this machine and in an object store."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from distrivote.errors import InputError
from distrivote.store.runs import object_folder
from distrivote.store.runs.folder import Folder, LocalFolder, folder_at
from store.stores import arrow_folder, folder_of


@pytest.fixture(params=["local", "object"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    made = folder_of(request.param, tmp_path)
    made.make("claims")
    return made


def content(folder: Folder, name: str) -> bytes:
    with folder.open(name) as file:
        return file.read()


def test_what_is_written_is_read_listed_replaced_renamed_and_removed(folder: Folder) -> None:
    folder.write("claims/b", b"1")
    folder.write("claims/a", b"2")
    folder.write("claims/a", b"3")
    assert [name for name in folder.names("claims") if name[0] != "."] == ["a", "b"]
    assert "claims" in folder.folders()
    assert content(folder, "claims/a") == b"3"
    assert folder.has("claims/a")
    assert not folder.has("claims")
    folder.rename("claims/a", "claims/c")
    folder.remove(["claims/b", "claims/not-there"])
    assert [name for name in folder.names("claims") if name[0] != "."] == ["c"]


def test_what_is_not_there_is_not_found(folder: Folder) -> None:
    for act in (lambda: content(folder, "claims/x"), lambda: folder.names("nothing")):
        with pytest.raises(FileNotFoundError):
            act()
    assert not folder.has("claims/x")


def test_a_large_file_is_read_at_any_place(folder: Folder) -> None:
    folder.write("claims/x", bytes(range(256)) * 8192)
    with folder.open("claims/x") as file:
        assert file.seek(0, 2) == 256 * 8192
        file.seek(256 * 100 + 7)
        assert file.read(2) == b"\x07\x08"


def test_of_many_creators_one_succeeds_and_its_content_stays(folder: Folder) -> None:
    for round_ in range(8):
        begun, made = threading.Barrier(4), []

        def create(who: int, name: str = f"claims/{round_}", begun: threading.Barrier = begun) -> None:
            begun.wait()
            if folder.create(name, b"%d" % who):
                made.append(who)  # noqa: B023

        threads = [threading.Thread(target=create, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 1
        assert content(folder, f"claims/{round_}") == b"%d" % made[0]
        assert not folder.create(f"claims/{round_}", b"late")
    assert not [name for name in folder.names("claims") if name.endswith(".tmp")]


class Slow:
    """Another process that is at one step of creating the same object."""

    def __init__(self, folder: object_folder.ObjectFolder) -> None:
        self.folder = folder

    def announce(self) -> None:
        self.folder.write("claims/.x.00000000other.tmp", b"")

    def finish(self) -> None:
        self.folder.write("claims/x", b"other")
        self.folder.remove(["claims/.x.00000000other.tmp"])


def test_who_sees_the_note_of_another_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = arrow_folder(tmp_path)
    other = Slow(folder)
    other.announce()
    monkeypatch.setattr(object_folder.time, "sleep", lambda _: other.finish())
    assert folder.create("claims/x", b"mine") is False
    assert content(folder, "claims/x") == b"other"


def test_the_note_of_a_killed_process_is_removed_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = arrow_folder(tmp_path)
    Slow(folder).announce()
    now = [0.0]
    monkeypatch.setattr(object_folder.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(object_folder.time, "sleep", lambda _: now.__setitem__(0, now[0] + 10.0))
    assert folder.create("claims/x", b"mine") is True
    assert now[0] >= object_folder.PATIENCE
    assert folder.names("claims") == ["x"]


def test_a_path_is_a_folder_of_this_machine(tmp_path: Path) -> None:
    assert isinstance(folder_at(tmp_path), LocalFolder)
    assert isinstance(folder_at("s3 and more"), LocalFolder)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("s3://bucket", "give s3://bucket/folder"),
        ("s3:///run", "give s3://bucket/folder"),
        ("s3://[::1/run", "give s3://bucket/folder"),
        ("s3://key:secret@bucket/run", "keys by the environment"),
        ("s3://bucket/run?endpoint=x", "there are region, endpoint_override, scheme"),
        ("gs://bucket/run?region=x", "not known"),
    ],
)
def test_an_address_that_is_none_is_refused_in_a_sentence(address: str, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("?", r"\?")) as error:
        folder_at(address)
    assert "secret" not in str(error.value)
