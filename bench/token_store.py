"""How many bytes does a stored token take? By column, for runs with the confidences of single tokens; JSON.

    python bench/token_store.py [RUN ...]

Every run is written again as this version stores it: values of single tokens are rounded to 16 significant
bits, which runs of earlier versions are not. `as_found` is the size of all three columns as they are.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from distrivote.store.runs.parts import FOLDER, write_part
from distrivote.store.runs.rows import shortened
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA

ROUNDED = ("token_confidences", "token_logprobs")
COLUMNS = (*ROUNDED, "token_ends")
OURS = Path(__file__).parents[1] / "examples/runs/qwen2.5-coder-humaneval"


def sizes(run: Path) -> Counter[str]:
    """Return the compressed bytes of every column."""
    found: Counter[str] = Counter()
    for path in (run / FOLDER).glob("*.parquet"):
        metadata = pq.read_metadata(path)
        for group in range(metadata.num_row_groups):
            for number in range(metadata.num_columns):
                column = metadata.row_group(group).column(number)
                found[column.path_in_schema.split(".")[0]] += column.total_compressed_size
    return found


def written_again(table: pa.Table) -> Counter[str]:
    """Return the sizes of a run's columns as this version stores them."""
    table = table.combine_chunks()
    for name in ROUNDED:
        at, lists = table.schema.get_field_index(name), table[name].chunk(0)
        values = shortened(np.array(lists.values.to_numpy(zero_copy_only=False), np.float32))
        short = pa.LargeListArray if pa.types.is_large_list(lists.type) else pa.ListArray
        table = table.set_column(
            at, table.field(at), short.from_arrays(lists.offsets, pa.array(values), mask=lists.is_null())
        )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, FOLDER).mkdir()
        write_part(folder, "again", 0, table)
        return sizes(Path(folder))


def measured(run: Path) -> dict[str, Any]:
    table = Run.open(str(run)).table(list(SCHEMA.names))
    n_tokens = sum(filter(None, table["n_tokens"].to_pylist()))
    as_found, again = sizes(run), written_again(table)
    each = {name: round(again[name] / n_tokens, 3) for name in COLUMNS}
    return {
        "tokens": n_tokens,
        "bytes_per_token": each | {"all_three": round(sum(again[name] for name in COLUMNS) / n_tokens, 3)},
        "as_found": round(sum(as_found[name] for name in COLUMNS) / n_tokens, 3),
        "whole_run_bytes_per_token": round(again.total() / n_tokens, 3),
        "expected_at_most": {"all_three": 4.0},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="*", default=[OURS])
    args = parser.parse_args()
    print(json.dumps({run.name: measured(run) for run in args.runs}, indent=2))


if __name__ == "__main__":
    main()
