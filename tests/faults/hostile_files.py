"""Files that are made to fill the memory of whoever reads them, each small on disk."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import foreign_files as foreign
from faults.crafted_parquet import Column, closed, crafted

BILLION = 10**9
MB = 1 << 20
MANIFEST: dict[str, Any] = {
    "engine": "import",
    "model": "m",
    "template": "",
    "benchmark": "b",
    "sampling": {},
    "ssc": None,
    "budget": 4,
    "limit": None,
    "seed": 0,
    "stop_when": None,
    "library_version": "0.1.0",
    "format_version": 1,
}
QUESTION, ANSWER = Column("question_id", "text", "q"), Column("answer", "text", "4")
SAMPLE, CONFIDENCE = Column("sample", "int32", 0), Column("confidence", "double", 1.5)


def run_folder(folder: Path, parts: dict[str, bytes], manifest: Any = None) -> Path:
    """Write somebody's run: a manifest and parts that carry no checksums."""
    (folder / "parts").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(MANIFEST if manifest is None else manifest))
    for name, content in parts.items():
        (folder / "parts" / name).write_bytes(content)
    return folder


def tables() -> dict[str, bytes]:
    """Return Parquet tables of sampled answers."""
    return {
        "a billion rows": crafted([QUESTION, ANSWER, CONFIDENCE], BILLION),
        "a page of 2 GB": crafted(
            [QUESTION, ANSWER, CONFIDENCE._replace(packing="zstd", claim=2**31 - 1)], 9
        ),
        "a page of zeros": crafted(
            [QUESTION, Column("answer", "text", "0" * 140 * MB, packing="zstd"), CONFIDENCE], 9
        ),
        "a long answer a million times": crafted(
            [QUESTION, Column("answer", "text", "x" * 30 * MB), CONFIDENCE], 10**6
        ),
        "a long number a million times": crafted(
            [QUESTION, ANSWER, Column("confidence", "text", "1" * MB)], 10**6
        ),
        "a list of a billion numbers": crafted(
            [QUESTION, ANSWER, Column("confidence", "double", 1.5, BILLION)], 1
        ),
        "a huge footer": huge_footer(),
        "statistics that abort": crafted([QUESTION, ANSWER._replace(histogram=(0, 0, 9)), CONFIDENCE], 9),
    }


def huge_footer() -> bytes:
    """Return a file without rows and with more said about it than is read."""
    return closed(b"PAR1", [QUESTION], [], 0, {"x": "y" * 9 * MB})


def parts() -> dict[str, bytes]:
    """Return parts of runs."""
    names = {"distrivote.replaces": "[" * 100_000}
    return {
        "a billion trajectories": crafted([QUESTION, SAMPLE, ANSWER, CONFIDENCE], BILLION),
        "a long answer for each": crafted([QUESTION, SAMPLE, Column("answer", "text", "x" * 30 * MB)], 10**6),
        "a page of 2 GB": crafted([QUESTION, SAMPLE._replace(packing="gzip", claim=2**31 - 1), ANSWER], 9),
        "deep metadata": crafted([QUESTION, SAMPLE, ANSWER], 9, names),
        "no samples": crafted([QUESTION, ANSWER], 9),
        "statistics that abort": crafted([QUESTION._replace(histogram=(0, 0, 9)), SAMPLE, ANSWER], 9),
        "a sample below 0": crafted([QUESTION, Column("sample", "int32", -1), ANSWER], 1),
        "ids that are no text": crafted([Column("question_id", "double", 1.5), SAMPLE], 1),
    }


def benchmarks() -> dict[str, bytes]:
    """Return Parquet files of questions."""
    asked = Column("question", "text", "q" * 1000)
    return {
        "twenty million questions": crafted([asked, ANSWER], 20_000_000),
        "a long question many times": crafted([Column("question", "text", "q" * 10 * MB), ANSWER], 200_000),
        "a billion choices": crafted([asked, Column("answer", "text", "4" * MB, 2**26)], 1),
    }


def sparse(path: Path, size: int = 10**9) -> Path:
    """Write a file that is one line of NUL bytes and takes no room."""
    with open(path, "wb") as file:
        file.truncate(size)
    return path


def long_line(path: Path, start: bytes, n_megabytes: int) -> Path:
    """Write a line that begins well and does not end."""
    with open(path, "wb") as file:
        file.write(start)
        for _ in range(n_megabytes):
            file.write(b"x" * MB)
    return path


def heavy_json(n_bytes: int) -> bytes:
    """Return a JSON document that takes thirty times its size in memory."""
    return b'[{"question_id": "q", "x": [' + b'{"a":1},' * (n_bytes // 8) + b"{}]}]"


def zip_bomb(packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a log of which one sample unpacks to 300 MB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packed, compresslevel=1) as archive:
        archive.writestr("header.json", json.dumps(foreign.inspect_log()))
        with archive.open("samples/1_epoch_1.json", "w", force_zip64=True) as member:
            for _ in range(300):
                member.write(b" " * MB)
    return file.getvalue()


def snapshot(folder: Path, but: Path) -> dict[str, int]:
    """Return every file below a folder, except those below another, with its size."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if but not in path.parents:
                found[str(path)] = path.stat().st_size
    return found
