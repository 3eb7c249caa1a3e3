"""The samples of prefix-consistency: five models on four benchmarks, with several measures of confidence."""

from __future__ import annotations

from distrivote.pools.published import PublishedFile, PublishedPool, PublishedSet

_MODELS = (
    "gpt-oss-120b",
    "gpt-oss-20b",
    "nemotron-3-nano-30b-a3b",
    "nemotron-nano-9b-v2",
    "ministral-3-14b-reasoning-2512",
)
_BENCHMARKS = ("aime2025", "hmmt", "brumo", "frontierscience")
"""A folder is named `MODEL_BENCHMARK_jsonl`; the name of the last benchmark goes on there."""


def _pool(benchmark: str, model: str) -> PublishedPool:
    path = f"data-self-judge/{model}_{benchmark}*_jsonl/*_init.jsonl"
    return PublishedPool(f"prefix-consistency/{benchmark}/{model}", model, benchmark, (PublishedFile(path),))


PREFIX_CONSISTENCY = PublishedSet(
    "prefix-consistency",
    "5 models on AIME 2025, HMMT 2026, BRUMO 2025 and FrontierScience-Olympiad",
    "https://doi.org/10.5281/zenodo.20082164",
    "Zenodo record 20082164",
    "not known; the code is MIT",
    "top tokens",
    "DeepConf's measures of each trajectory, of which the mean over its tokens votes",
    "what log-probabilities of whole trajectories gain, by model and benchmark",
    tuple(_pool(benchmark, model) for benchmark in _BENCHMARKS for model in _MODELS),
    format="prefix-consistency",
    archive="https://zenodo.org/records/20082164/files/prefix-consistency-data.zip?download=1",
)
