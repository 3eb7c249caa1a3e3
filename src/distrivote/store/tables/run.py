"""A stored run as a table of sampled answers: only the columns that a vote needs are read.

Answers of one class have one label, the first answer of the class, so that `0.5` and `1/2` are the same
answer here although they are written differently.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from distrivote.store.columns import (
    ANSWER,
    ANSWER_CLASS,
    CONFIDENCE,
    CORRECT,
    GROUND_TRUTH,
    MODEL,
    QUESTION_ID,
)
from distrivote.store.runs.models import models_of, together_note
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import MEASURES, SCHEMA
from distrivote.store.runs.sources import SOURCE, SOURCED, check_ks, check_sources
from distrivote.store.tables.parquet import BATCH_ROWS, Check
from distrivote.store.tables.source import AnswerTable, check_columns, is_empty

_COLUMNS = [QUESTION_ID, ANSWER, ANSWER_CLASS, CONFIDENCE, GROUND_TRUTH, CORRECT, "k", SOURCE]
_DEPEND_ON_K = {*MEASURES.values()} - {"logprob"}


def read_run(table: AnswerTable) -> Iterator[pa.RecordBatch]:
    """Read the batches of a table whose kind is run."""
    run = Run.open(table.name, table.same, partial=table.columns.partial)
    known = [*SCHEMA.names, *run.score_names]
    check_columns(table, known)
    wanted = {*_COLUMNS, MODEL, *table.columns.needed()}
    stored = run.table([name for name in known if name in wanted])
    table.notes += run.notes
    if not stored.num_rows:
        damaged = "".join(f" ({note})" for note in run.notes[:1])
        raise is_empty(table, f"holds no trajectories{damaged or ' yet'}")
    models = models_of(stored)
    several = len(models) > 1 and table.columns.by != MODEL
    if several:
        table.notes.append(together_note(models))
    if table.columns.confidence in _DEPEND_ON_K:
        names = (table.columns.question, table.columns.by, MODEL if several else None)
        pool = [name for name in names if name is not None]
        check_ks(stored, table.name, pool)
        if table.columns.confidence in SOURCED:
            check_sources(stored, table.name, pool)
    if table.columns.answer == ANSWER:
        stored = _labelled(stored)
    check = Check(table, *table.columns.truths(known))
    check.by_model = several
    wanted = check.wanted | ({MODEL} if several else set())
    for batch in stored.select(sorted(wanted)).combine_chunks().to_batches(BATCH_ROWS):
        table.done = (check.first + batch.num_rows - 1) / stored.num_rows
        yield check(batch)


def _labelled(stored: pa.Table) -> pa.Table:
    """Give every answer the label of its class in its question."""
    questions = stored[QUESTION_ID].combine_chunks().dictionary_encode().indices.to_numpy()
    classes = np.maximum(stored[ANSWER_CLASS].combine_chunks().fill_null(-1).to_numpy(), -1)
    keys = questions.astype(np.int64) * (int(classes.max(initial=0)) + 2) + classes + 1
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    labels = stored[ANSWER].combine_chunks().take(pa.array(first[which]))
    return stored.set_column(stored.schema.get_field_index(ANSWER), ANSWER, labels)
