"""Plain tables: JSON Lines, CSV or Parquet with a row per sampled answer, as `distrivote vote` reads them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from distrivote.store.importers.base import Format, Reading
from distrivote.store.importers.records import first_fields
from distrivote.store.run_rows import Row
from distrivote.store.tables import SUFFIXES, open_table

_TELLING = {"question_id", "answer"}


def _is_one(path: Path, head: bytes) -> bool:
    if head.startswith(b"PAR1"):
        return True
    kind = SUFFIXES.get(path.suffix.lower())
    # Much is JSON, and a folder of logs has some that are no table.
    return kind == "csv" or (kind == "jsonl" and not first_fields(head).isdisjoint(_TELLING))


def read(path: Path, reading: Reading) -> Iterator[Row]:
    """Yield the rows of a table; without a column of confidences they have none."""
    with open_table(str(path), reading.columns) as table:
        for batch in table.batches():
            content = batch.to_pydict()
            n = len(batch)
            nothing: list[None] = [None] * n
            for question, answer, confidence, truth, correct in zip(
                content["question"],
                content["answer"],
                content.get("confidence", nothing),
                content.get("truth", nothing),
                content.get("correct", nothing),
                strict=True,
            ):
                yield Row(
                    question_id=str(question),
                    sample=0,
                    answer=answer,
                    answer_class=-1 if answer is None else None,
                    correct=correct,
                    ground_truth=truth,
                    confidence=math.nan if confidence is None else confidence,
                )


FORMAT = Format("table", "JSON Lines, CSV or Parquet with a row per answer", _is_one, read)
