"""The settings of a run: kept, compared, refused."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import stat
from contextlib import nullcontext
from pathlib import Path

import pytest

from distrivote.engines.base import SamplingParams
from distrivote.errors import InputError
from distrivote.steering import SelfStepConf
from distrivote.store.runs.manifest import NAME, Manifest, differences

MANIFEST = Manifest.of(
    "embedded",
    "smollm2",
    "math",
    "arithmetic",
    SamplingParams(seed=5, stop=("\n",)),
    SelfStepConf(),
    budget=8,
)


def test_a_manifest_comes_back_as_it_was(tmp_path: Path) -> None:
    MANIFEST.save(tmp_path)
    assert Manifest.load(tmp_path) == MANIFEST
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_it_holds_the_settings_of_sampling_and_controller(tmp_path: Path) -> None:
    MANIFEST.save(tmp_path)
    content = json.loads((tmp_path / NAME).read_text())
    assert content["seed"] == 5
    assert content["sampling"]["temperature"] == 0.6
    assert content["ssc"]["kind"] == "SelfStepConf"
    assert content["ssc"]["split"] == {"kind": "DelimiterSplitter", "delimiter": "\n\n", "exact_token": False}
    assert content["format_version"] == 1


def test_the_same_settings_go_on(tmp_path: Path) -> None:
    MANIFEST.save(tmp_path)
    assert Manifest.load(tmp_path).going_on(MANIFEST, tmp_path) == MANIFEST


def test_changed_settings_are_named_one_by_one() -> None:
    asked = dataclasses.replace(
        MANIFEST, model="qwen", seed=6, sampling={**MANIFEST.sampling, "top_p": 1.0, "max_tokens": 2}
    )
    with pytest.raises(InputError) as caught:
        MANIFEST.going_on(asked, Path("here"))
    assert str(caught.value) == (
        "here was made with other settings: use the settings that it was made with, or make another run with"
        " `new=True`"
    )
    assert caught.value.__notes__ == [
        'model: was "smollm2", asked "qwen"',
        "sampling.top_p: was 0.95, asked 1.0",
        "sampling.max_tokens: was 1024, asked 2",
        "seed: was 5, asked 6",
    ]


def test_of_many_changes_the_first_are_named() -> None:
    asked = dataclasses.replace(MANIFEST, sampling={f"x{n}": 1 for n in range(20)}, ssc=None)
    n_changes = len(list(differences(MANIFEST, asked)))
    with pytest.raises(InputError) as caught:
        MANIFEST.going_on(asked, Path("here"))
    assert len(caught.value.__notes__) == 9
    assert caught.value.__notes__[-1] == f"and {n_changes - 8} more"


@pytest.mark.parametrize(("engine", "made"), [("import", "imported"), ("simulate", "simulated")])
def test_a_run_that_was_not_sampled_does_not_go_on(engine: str, made: str) -> None:
    was = Manifest(engine, "", "", "table", {})
    with pytest.raises(InputError) as caught:
        was.going_on(MANIFEST, Path("here"))
    assert str(caught.value) == (
        f"here was {made} and not sampled from a model: name another folder, or make another run with"
        " `new=True`"
    )
    assert not hasattr(caught.value, "__notes__")


def test_a_controller_more_or_less_is_a_change() -> None:
    plain = dataclasses.replace(MANIFEST, ssc=None)
    for was, asked in ((MANIFEST, plain), (plain, MANIFEST)):
        assert any(line.startswith("ssc") for line in differences(was, asked))


def test_another_system_message_is_a_change() -> None:
    told = dataclasses.replace(MANIFEST, system="Be brief.")
    assert list(differences(MANIFEST, told)) == ['system: was null, asked "Be brief."']
    assert list(differences(told, dataclasses.replace(told, system="Be long."))) == [
        'system: was "Be brief.", asked "Be long."'
    ]


def test_selfstepconf_as_published_is_a_change() -> None:
    asked = Manifest.of(
        *("embedded", "smollm2", "math", "arithmetic", SamplingParams(seed=5, stop=("\n",))),
        SelfStepConf.as_published(),
        budget=8,
    )
    assert list(differences(MANIFEST, asked)) == [
        "ssc.split.exact_token: was false, asked true",
        "ssc.released: was false, asked true",
    ]


def test_a_manifest_from_before_these_settings_goes_on(tmp_path: Path) -> None:
    MANIFEST.save(tmp_path)
    content = json.loads((tmp_path / NAME).read_text())
    del content["system"], content["ssc"]["released"], content["checksum"]
    (tmp_path / NAME).write_text(json.dumps(content))
    assert Manifest.load(tmp_path).going_on(MANIFEST, tmp_path) == MANIFEST


def test_another_version_of_the_library_goes_on() -> None:
    asked = dataclasses.replace(MANIFEST, library_version="9.9")
    assert MANIFEST.going_on(asked, Path("here")) == MANIFEST


@pytest.mark.parametrize(
    ("was", "asked", "then"), [(8, 16, 16), (16, 8, 16), (None, 8, None), (8, None, None), (None, None, None)]
)
def test_a_larger_budget_or_limit_only_adds(was: int | None, asked: int | None, then: int | None) -> None:
    first, second = dataclasses.replace(MANIFEST, limit=was), dataclasses.replace(MANIFEST, limit=asked)
    assert first.going_on(second, Path("here")).limit == then
    first, second = (
        dataclasses.replace(first, budget=was or 1),
        dataclasses.replace(second, budget=asked or 1),
    )
    assert first.going_on(second, Path("here")).budget == max(was or 1, asked or 1)


def test_a_newer_format_is_refused_with_a_sentence(tmp_path: Path) -> None:
    dataclasses.replace(MANIFEST, format_version=2).save(tmp_path)
    with pytest.raises(InputError, match="has format version 2 and this distrivote reads up to 1: install"):
        Manifest.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("", "not JSON"), ("[" * 100_000, "not JSON"), ("[]", "no format_version"),
     ('{"format_version": "1"}', "no format_version"),
     ('{"format_version": true}', "no format_version"), ('{"format_version": 1}', "lacks engine, model")],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(content: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(content)
    with pytest.raises(InputError, match=complaint):
        Manifest.load(tmp_path)


@pytest.mark.parametrize("source", ["./q.jsonl", "folder/../q.jsonl"])
def test_a_file_that_is_named_in_another_way_is_no_change(source: str) -> None:
    was = dataclasses.replace(MANIFEST, benchmark="q: q.jsonl")
    assert not list(differences(was, dataclasses.replace(was, benchmark=f"q: {source}")))
    assert list(differences(was, dataclasses.replace(was, benchmark="q: folder/q.jsonl")))


@pytest.mark.parametrize(("number", "is_ignored"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_a_folder_that_cant_be_synced_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_ignored: bool
) -> None:
    sync = os.fsync

    def files_only(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        sync(handle)

    monkeypatch.setattr(os, "fsync", files_only)
    with nullcontext() if is_ignored else pytest.raises(OSError, match="error"):
        assert MANIFEST.create(tmp_path)
    assert Manifest.load(tmp_path) == MANIFEST


def test_of_two_that_are_made_at_once_the_first_stays(tmp_path: Path) -> None:
    other = dataclasses.replace(MANIFEST, seed=9)
    assert MANIFEST.create(tmp_path)
    assert not other.create(tmp_path)
    assert Manifest.load(tmp_path) == MANIFEST
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_manifest_from_before_rules_that_stop_goes_on_without_one(tmp_path: Path) -> None:
    MANIFEST.save(tmp_path)
    content = json.loads((tmp_path / NAME).read_text())
    del content["stop_when"], content["checksum"]
    (tmp_path / NAME).write_text(json.dumps(content))
    assert Manifest.load(tmp_path) == MANIFEST
    asked = dataclasses.replace(MANIFEST, stop_when="beta:0.95")
    assert list(differences(Manifest.load(tmp_path), asked)) == ['stop_when: was null, asked "beta:0.95"']
