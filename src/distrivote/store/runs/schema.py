"""The columns of a run's Parquet parts: names and types, defined only here.

A row is a trajectory. Missing is null; inside a list, no measurement is NaN. Everything that a vote needs
is in the first columns, so that a vote reads little; texts and per-token values come last and can be
left out. Every part has every column, so that any tool opens all of them as one table.
"""

from __future__ import annotations

import pyarrow as pa

from distrivote.store.columns import (
    ANSWER,
    ANSWER_CLASS,
    CONFIDENCE,
    CORRECT,
    GROUND_TRUTH,
    MODEL,
    N_TOKENS,
    QUESTION_ID,
    SAMPLE,
)

FORMAT_VERSION = 1
"""Incremented when an older reader could misread a newer run; not for new columns, which readers ignore."""

SCHEMA = pa.schema(
    [
        pa.field(QUESTION_ID, pa.string(), nullable=False),
        pa.field(SAMPLE, pa.int32(), nullable=False),
        pa.field("seed", pa.int64()),
        pa.field(ANSWER, pa.string()),
        pa.field(ANSWER_CLASS, pa.int32()),
        pa.field(CORRECT, pa.bool_()),
        pa.field(GROUND_TRUTH, pa.string()),
        pa.field(CONFIDENCE, pa.float64()),
        pa.field("confidence_mean", pa.float64()),
        pa.field("confidence_tail", pa.float64()),
        pa.field("confidence_lowest_group", pa.float64()),
        pa.field("confidence_bottom_groups", pa.float64()),
        pa.field("logprob", pa.float64()),
        pa.field("entropy", pa.float64()),
        pa.field("self_certainty", pa.float64()),
        pa.field("k", pa.int32()),
        pa.field("whole_distribution", pa.bool_()),
        pa.field(N_TOKENS, pa.int32()),
        pa.field("seconds", pa.float32()),
        pa.field("finish_reason", pa.string()),
        pa.field("flaw", pa.string()),
        pa.field("step_ends", pa.list_(pa.int32())),
        pa.field("step_confidences", pa.list_(pa.float32())),
        pa.field("unfinished", pa.bool_()),
        pa.field("reflections", pa.list_(pa.int32())),
        pa.field("reflection_lengths", pa.list_(pa.int32())),
        pa.field("server", pa.string()),
        pa.field(MODEL, pa.string()),
        pa.field("question", pa.string()),
        pa.field("text", pa.string()),
        pa.field("token_ends", pa.list_(pa.int32())),
        pa.field("token_confidences", pa.list_(pa.float32())),
        pa.field("token_logprobs", pa.list_(pa.float32())),
        pa.field("top_logprobs", pa.list_(pa.list_(pa.float32()))),
    ]
)
"""`reflections` are the token indices at which injected texts begin; docs/runs.md describes them all."""

MEASURES = {
    "answer-step": CONFIDENCE,
    "mean": "confidence_mean",
    "tail": "confidence_tail",
    "lowest-group": "confidence_lowest_group",
    "bottom-groups": "confidence_bottom_groups",
    "logprob": "logprob",
    "perplexity": "logprob",
    "entropy": "entropy",
    "self-certainty": "self_certainty",
}
"""The column of each measure of `confidence`."""

# Measured on 318 x 512 x 68 steps: floats split by byte 34 MB (plain 38), step ends as deltas 20 (plain 25).
# Ends split by byte take 15, but few readers know that encoding for whole numbers.
_SPLIT_BY_BYTE = dict.fromkeys(dict.fromkeys(MEASURES.values()), "BYTE_STREAM_SPLIT") | {
    f"{name}.list.element": "BYTE_STREAM_SPLIT"
    for name in ("step_confidences", "token_confidences", "token_logprobs", "top_logprobs.list.element")
}
_DELTAS = {f"{name}.list.element": "DELTA_BINARY_PACKED" for name in ("step_ends", "token_ends")}
ENCODINGS = _SPLIT_BY_BYTE | _DELTAS | {SAMPLE: "DELTA_BINARY_PACKED"}
"""The encodings of columns for which a dictionary does not help."""

DICTIONARIES = (
    QUESTION_ID, ANSWER, ANSWER_CLASS, GROUND_TRUTH, "k", N_TOKENS, "finish_reason", "flaw",
    "server", MODEL, "question",
    "reflections.list.element", "reflection_lengths.list.element",
)  # fmt: skip
"""The columns with repeated values."""
