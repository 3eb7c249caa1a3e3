"""Our own runs, in `examples/runs` of the source: small models, on any machine."""

from __future__ import annotations

from distrivote.pools.published import PublishedPool, PublishedSet

_RUNS = {
    "smollm2-basic": ("smollm2-135m", "arithmetic"),
    "smollm2-ssc": ("smollm2-135m", "arithmetic"),
    "qwen2.5-coder-basic": ("qwen2.5-coder-1.5b", "gsm8k"),
    "qwen2.5-coder-plain": ("qwen2.5-coder-1.5b", "gsm8k"),
    "qwen2.5-coder-ssc": ("qwen2.5-coder-1.5b", "gsm8k"),
}

FOLDER = "examples/runs"

OWN_RUNS = PublishedSet(
    "runs",
    "SmolLM2-135M on 60 word problems (64 answers each), Qwen2.5-Coder-1.5B on 24 of GSM8K (16 each)",
    f"{FOLDER} of the source",
    "this version",
    "MIT",
    "answer step",
    "minus the mean of the top-20 log-probabilities, over the tokens of the answer's step",
    "that a comparison runs end to end, and weak signals of small models; the pools are small",
    tuple(PublishedPool(f"runs/{name}", model, benchmark) for name, (model, benchmark) in _RUNS.items()),
    how=f"it is in {FOLDER} of the source: run in a checkout, or name one with `data`",
)
