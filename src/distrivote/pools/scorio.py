"""scorio's datasets: listed with where they are; there is no converter for them yet."""

from __future__ import annotations

from distrivote.pools.published import PublishedPool, PublishedSet

_NAMES = {
    "scorio-trace": "datasets/harimo/scorio-trace",
    "scorio-lite": "datasets/harimo/scorio-lite",
    "scorio-math": "buckets/harimo/scorio-math",
    "scorio-gpqa": "buckets/harimo/scorio-gpqa",
}

SCORIO = PublishedSet(
    "scorio",
    "20 models on AIME 2024 and 2025, HMMT and BRUMO 2025 (Trace); 4 models on competitions and superGPQA"
    " (Lite, Math, GPQA), 80 answers a question",
    "https://github.com/mohsenhariri/scorio",
    "not known",
    "not known; the code is MIT",
    "log-probs",
    "log-probabilities of the sampled tokens (Trace, Lite) or of the top 20 (Math, GPQA)",
    "what log-probabilities gain for many models at 80 samples",
    tuple(PublishedPool(f"scorio/{name}", "several", name) for name in _NAMES),
    n_bytes=960_411_000_000,
    how="there is no converter: take question_id, answer, confidence and ground_truth out of a pool of "
    + ", ".join(f"https://huggingface.co/{place}" for place in _NAMES.values())
    + " into a table, and evaluate the table",
)
