"""Spoiled tables of answers, benchmarks and runs, each read as the commands read them."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import random
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from starlette.exceptions import HTTPException

import foreign_files as foreign
from distrivote.benchmarks import files as benchmark_files
from distrivote.benchmarks.tables import problems
from distrivote.errors import DistrivoteError
from distrivote.problem import Problem
from distrivote.server.runs import question_json, questions_json, run_json, sample_json
from distrivote.store.importers.base import HEAD, ImportOptions
from distrivote.store.importers.registry import formats
from distrivote.store.runs.parts import write_part
from distrivote.store.runs.rows import row_of, table_of
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.tables.questions import QuestionCameBack, stream_questions
from distrivote.store.tables.source import Columns, open_table
from faults.spoiling import lines, spoiled, spoiled_json, written

_FORMATS = {each.name: each for each in formats()}


def imported(path: Path, name: str) -> None:
    head = path.read_bytes()[:HEAD]
    for each in _FORMATS.values():
        each.is_one(path, head)
    try:
        for _ in _FORMATS[name].read(path, ImportOptions()):
            pass
    finally:
        path.unlink()


def _answers(rng: random.Random, n: int) -> list[dict[str, Any]]:
    return [
        {
            "question_id": rng.choice(("q1", "q1", "q2", 7)),
            "answer": rng.choice(("4", "5", None, 4, "", "\\frac12")),
            "confidence": rng.choice((1.5, 14, 3e-300, 0.25)),
            "ground_truth": "4",
            "correct": rng.random() < 0.5,
        }
        for _ in range(n)
    ]


def _voted(path: Path) -> None:
    with open_table(str(path), Columns()) as table:
        try:
            for _ in stream_questions(table.batches()):
                pass
        except QuestionCameBack:
            pass


def spoiled_jsonl(rng: random.Random, folder: Path) -> None:
    records = _answers(rng, rng.randrange(1, 6))
    if rng.random() < 0.5:
        records = [spoiled_json(rng, record) for record in records]
    content = lines(records)
    if rng.random() < 0.5:
        content = spoiled(rng, content, [content, _CSV])
    _voted(written(folder, "a.jsonl", content))


_CSV = (
    b'question_id,answer,confidence,ground_truth,correct\nq1,4,1.5,4,true\nq1,"5,0",2.5,4,false\n'
    b'q2,"a ""quoted"" one",0.5,,\n'
)


def spoiled_csv(rng: random.Random, folder: Path) -> None:
    content = _CSV
    for old, new in ((b",", b";"), (b",", b"\t"), (b"\n", b"\r\n")):
        if rng.random() < 0.2:
            content = content.replace(old, new)
    content = spoiled(rng, content, [_CSV, b'"' * 5 + b"\n,,,,\n"])
    _voted(written(folder, rng.choice(("a.csv", "a.tsv", "a")), content))


_KINDS = (
    pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(),
    pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("ns"), pa.decimal128(10, 2), pa.list_(pa.int32()),
    pa.null(), pa.dictionary(pa.int8(), pa.string()), pa.struct([("a", pa.int32())]),
)  # fmt: skip


def _column(rng: random.Random, name: str, n: int) -> pa.Array:
    plain = {"confidence": pa.float64(), "correct": pa.bool_()}.get(name, pa.string())
    kind = plain if rng.random() < 0.7 else rng.choice(_KINDS)
    values = [rng.choice((None, 0, 1, 4, 14.5)) for _ in range(n)]
    try:
        return pa.array([None if v is None else int(v) for v in values]).cast(kind)
    except pa.ArrowException:
        return pa.nulls(n, kind)


def parquet_bytes(rng: random.Random) -> bytes:
    """Return a small Parquet file of sampled answers, of any types and in any writing."""
    n = rng.randrange(0, 9)
    names = ["question_id", "answer", "confidence", "ground_truth", "correct"]
    table = pa.table([_column(rng, name, n) for name in names], names=names)
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression=rng.choice(("none", "zstd", "snappy", "gzip")),
        use_dictionary=rng.random() < 0.5,
        row_group_size=rng.choice((1, 3, 100)),
        data_page_version=rng.choice(("1.0", "2.0")),
        write_statistics=rng.random() < 0.5,
        write_page_checksum=rng.random() < 0.3,
    )
    return sink.getvalue()


def spoiled_parquet_table(rng: random.Random, folder: Path) -> None:
    content = parquet_bytes(rng)
    if rng.random() < 0.75:
        content = _spoiled_parquet(rng, content)
    _voted(written(folder, "a.parquet", content))


def _spoiled_parquet(rng: random.Random, content: bytes) -> bytes:
    """Return a Parquet file with bytes changed in its pages, in its footer, or anywhere."""
    size = int.from_bytes(content[-8:-4], "little")
    pages, footer = content[: -8 - size], content[-8 - size : -8]
    if rng.random() < 0.2:
        return spoiled(rng, content, [content])
    if rng.random() < 0.5:
        pages = spoiled(rng, pages, [pages])
    else:
        footer = spoiled(rng, footer, [footer])
    return pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def spoiled_table(rng: random.Random, folder: Path) -> None:
    """A plain table through the importer."""
    match rng.randrange(3):
        case 0:
            name, content = "t.parquet", parquet_bytes(rng)
            if rng.random() < 0.5:
                content = _spoiled_parquet(rng, content)
        case 1:
            name, content = "t.jsonl", spoiled(rng, lines(_answers(rng, 3)), [_CSV])
        case _:
            name, content = "t.csv", spoiled(rng, _CSV, [_CSV])
    imported(written(folder, name, content), "table")


def spoiled_benchmark(rng: random.Random, folder: Path) -> None:
    kind = rng.choice(("jsonl", "csv", "parquet"))
    rows = [{"id": str(i), "question": f"{i} + {i}?", "answer": 2 * i} for i in range(3)]
    if kind == "jsonl":
        content = lines([spoiled_json(rng, row) if rng.random() < 0.3 else row for row in rows])
    elif kind == "csv":
        content = b'id,question,answer\n1,1 + 1?,2\n2,"2, and 2?",4\n'
    else:
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        content = _spoiled_parquet(rng, sink.getvalue())
    if kind != "parquet" and rng.random() < 0.6:
        content = spoiled(rng, content, [content])
    problems(benchmark_files.read(written(folder, f"b.{kind}", content)))


# Runs


@cache
def _part() -> bytes:
    rows = []
    for i in range(4):
        made = row_of(Problem("2 + 2?", f"q{i % 2}", "4"), foreign.trajectory())
        rows.append(dataclasses.replace(made, sample=i))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "parts").mkdir()
        part = write_part(folder, "f", 0, table_of(rows))
        return (Path(folder) / "parts" / part.name).read_bytes()


_MANIFEST = {
    "engine": "import",
    "model": "m",
    "template": "",
    "benchmark": "b",
    "sampling": {"temperature": 0.6},
    "ssc": {"kind": "SelfStepConf", "alpha": 0.8, "delta": 0.8},
    "budget": 4,
    "limit": None,
    "seed": 0,
    "stop_when": None,
    "library_version": "0.1.0",
    "format_version": 1,
}


def _strange_part(rng: random.Random) -> bytes:
    """Return a part whose columns are of the right types, and whose values nobody would write."""
    sink = io.BytesIO()
    columns = [pa.array([_strange_value(rng, field) for _ in range(3)], field.type) for field in SCHEMA]
    names = list(SCHEMA.names)
    for at in range(len(names)):
        if rng.random() < 0.03:
            columns[at] = pa.array([rng.randrange(3) for _ in range(3)])
        if rng.random() < 0.01:
            names[at] = rng.choice(names)
    pq.write_table(pa.table(columns, names=names), sink, use_dictionary=rng.random() < 0.5)
    return sink.getvalue()


def _strange_value(rng: random.Random, field: pa.Field) -> Any:
    kind = field.type
    if rng.random() < (0.3 if field.nullable and field.name in SCHEMA.names else 0.02):
        return None
    if pa.types.is_string(kind):
        return rng.choice(("q1", "q1", "q2", "", "4", "1/2", "../x", "a\0b", "\x1b[2J", "x" * 300))
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_floating(kind):
        return rng.choice(
            (1.5, 14.0, 14.5, 3.0, 1e-300, math.nan) + ((-1.0, math.inf) if rng.random() < 0.1 else ())
        )
    if pa.types.is_integer(kind):
        return rng.choice((0, 1, 2, 3, 7, 2**31 - 1) + ((-1, -7) if rng.random() < 0.2 else ()))
    return [_strange_value(rng, kind.field(0)) for _ in range(rng.randrange(4))]


def spoiled_run(rng: random.Random, folder: Path) -> None:
    run = folder / "run"
    (run / "parts").mkdir(parents=True, exist_ok=True)
    manifest: bytes = json.dumps(_MANIFEST).encode()
    part = _part()
    if rng.random() < 0.3:
        manifest = json.dumps(spoiled_json(rng, _MANIFEST)).encode()
        if rng.random() < 0.3:
            manifest = spoiled(rng, manifest, [manifest])
    elif rng.random() < 0.5:
        part = _strange_part(rng)
    else:
        part = _spoiled_parquet(rng, part)
    (run / "manifest.json").write_bytes(manifest)
    (run / "parts" / "foreign.parquet").write_bytes(part)
    stored = Run.open(run)
    run_json(run)
    for question in stored.questions()[:1]:
        rows = stored.table(None, question.id)
        if len(rows):
            _let(partial(sample_json, run, question.id, rows["sample"][0].as_py()))
        _let(partial(question_json, run, question.id, "sc"))
    _ = stored.notes
    _let(partial(questions_json, run, "sc"))
    _voted(run)


def _let(call: Callable[[], object]) -> None:
    """Call something that may refuse, and whose reply must be JSON that a browser reads."""
    with suppress(DistrivoteError, HTTPException):
        json.dumps(call(), allow_nan=False)
