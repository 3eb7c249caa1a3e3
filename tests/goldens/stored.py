"""A stored run as text: its manifest, its files, the types of its columns and its rows."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldens.normal import normal, pretty, rounded


def run_text(folder: Path) -> str:
    """Return a run as text; rows in the order of questions and samples, each without its empty fields."""
    manifest = json.loads((folder / "manifest.json").read_text())
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    tables = [pq.read_table(path) for path in files if path.suffix == ".parquet"]
    rows: list[dict[str, Any]] = [row for table in tables for row in table.to_pylist()]
    rows.sort(key=lambda row: (row["question_id"], row["sample"]))
    lines = [pretty(rounded(manifest)), "", "files"]
    names = [f"  {path.relative_to(folder).as_posix()}" for path in files]
    lines += sorted({normal(name) for name in names})
    columns = textwrap.wrap(", ".join(_columns(tables[0].schema)), 110)
    lines += ["", "columns", *(f"  {line}" for line in columns), "", "rows"]
    lines += [
        json.dumps(
            {name: rounded(value) for name, value in row.items() if value is not None}, ensure_ascii=False
        )
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _columns(schema: pa.Schema) -> list[str]:
    return [f"{field.name} {field.type}{'' if field.nullable else ' not null'}" for field in schema]
