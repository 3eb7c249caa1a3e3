"""How many bytes does a stored token take? By column, for runs with the confidences of single tokens; JSON.

python bench/token_store.py examples/runs/qwen2.5-coder-humaneval [RUN ...]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

COLUMNS = ("token_confidences", "token_logprobs", "token_ends")


def measured(run: Path) -> dict[str, Any]:
    n_tokens = 0
    sizes: Counter[str] = Counter()
    for path in sorted((run / "parts").glob("*.parquet")):
        file = pq.ParquetFile(path)
        n_tokens += sum(filter(None, file.read(["n_tokens"])["n_tokens"].to_pylist()))
        for group in range(file.metadata.num_row_groups):
            columns = file.metadata.row_group(group)
            for number in range(columns.num_columns):
                column = columns.column(number)
                sizes[column.path_in_schema.split(".")[0]] += column.total_compressed_size
    each = {name: round(sizes[name] / n_tokens, 3) for name in COLUMNS}
    return {
        "tokens": n_tokens,
        "bytes_per_token": each | {"all three": round(sum(sizes[name] for name in COLUMNS) / n_tokens, 3)},
        "whole_run_bytes_per_token": round(sizes.total() / n_tokens, 3),
        "expected_at_most": {"all three": 4.0},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    args = parser.parse_args()
    print(json.dumps({run.name: measured(run) for run in args.runs}, indent=2))


if __name__ == "__main__":
    main()
