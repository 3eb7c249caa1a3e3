"""scorio's datasets: Trace is fetched; of the others a folder of files is imported, and this says where."""

from __future__ import annotations

from distrivote.pools.published import PublishedFile, PublishedPool, PublishedSet

_MODELS = (
    "AceReason-Nemotron-1.1-7B",
    "Bespoke-Stratos-7B",
    "DeepSeek-R1-Distill-Qwen-1.5B",
    "EXAONE-4.0-1.2B",
    "FuseO1-DeepSeekR1-QwQ-SkyT1-Flash-32B-Preview",
    "LIMO-v2",
    "Light-R1-14B-DS",
    "NVIDIA-Nemotron-Nano-9B-v2",
    "OpenR1-Distill-7B",
    "OpenReasoning-Nemotron-1.5B",
    "OpenThinker2-32B",
    "OpenThinker3-1.5B",
    "Phi-4-reasoning",
    "Phi-4-reasoning-plus",
    "Qwen3-30B-A3B-Thinking-2507",
    "Qwen3-4B-Thinking-2507",
    "Sky-T1-32B-Flash",
    "gpt-oss-20b_high",
    "gpt-oss-20b_low",
    "gpt-oss-20b_medium",
)
_BENCHMARKS = ("aime24", "aime25", "brumo25", "hmmt25_feb")
_OTHERS = {
    "scorio-lite": "datasets/harimo/scorio-lite",
    "scorio-math": "buckets/harimo/scorio-math",
    "scorio-gpqa": "buckets/harimo/scorio-gpqa",
}


def _pool(benchmark: str, model: str) -> PublishedPool:
    file = PublishedFile(f"meta/{benchmark}/{model}.parquet")
    return PublishedPool(f"scorio/{benchmark}/{model}", model, benchmark, (file,))


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
    (
        *(_pool(benchmark, model) for benchmark in _BENCHMARKS for model in _MODELS),
        *(PublishedPool(f"scorio/{name}", "several", name) for name in _OTHERS),
    ),
    n_bytes=960_411_000_000,
    format="scorio",
    address="https://huggingface.co/datasets/harimo/scorio-trace/resolve/main/",
    how="import the Parquet files of one model from "
    + ", ".join(f"https://huggingface.co/{place}" for place in _OTHERS.values())
    + " by the format scorio, and evaluate the run",
)
