"""The expected number of tokens of a trajectory of the paper's grid, before sampling.

The paper has lengths of two models, at temperature 0. For other models these are used as an estimate, and
without any a number is assumed. Every estimate names its source.
"""

from __future__ import annotations

from typing import NamedTuple

from distrivote.evaluation.paper.model_settings import ModelSettings
from distrivote.evaluation.paper.published import published

UNTHINKING_TOKENS = 4_096
"""Assumed for the paper's benchmarks if a model does not think: the paper has no such lengths."""

BYTES_PER_TRAJECTORY = 150.0
"""Bytes per trajectory of a compacted run: measures and numbers. Our runs of short replies have 70 to 150."""

BYTES_PER_TOKEN = 0.2
"""Steps and their confidences."""

BYTES_OF_TEXT = 1.8
"""Per token. Our runs of short, similar replies have 0.5 to 0.8; long, varied ones compress less."""

BYTES_OF_TOKENS = 3.5
"""Per token, if confidences, log-probabilities and ends of tokens are stored: 1.2, 1.5 and 0.8 in our run of
HumanEval (`bench/token_store.py`)."""

BYTES_OF_TOP_K = 60.0
"""Per token, if the log-probabilities of the 20 most probable ones are stored."""


class Length(NamedTuple):
    """Expected tokens per trajectory."""

    n_tokens: float
    source: str
    """The source of the estimate, in words."""


def expected_length(settings: ModelSettings, benchmark: str, ssc: bool, max_tokens: int) -> Length:
    """Return the expected length of a model on a benchmark, by our name of it."""
    found = published()
    if found.benchmark(benchmark) is not None:
        method = "SelfStepConf" if ssc else "BasicInference"
        key = ("response_length", settings.like or "", method, "temperature=0", benchmark, "tokens")
        value = found.find(*key)
        if value is not None:
            whose = "published" if settings.like == settings.name else "assumed, as published"
            return Length(min(value, max_tokens), f"{whose} for {settings.like} at temperature 0")
        if settings.name is not None:
            n_tokens = min(UNTHINKING_TOKENS, max_tokens)
            return Length(n_tokens, f"{n_tokens:,} tokens assumed, since the paper has none of these")
    return Length(max_tokens / 2, f"half of the {max_tokens:,} tokens at most, an assumption")


def stored_bytes(
    n_trajectories: int, n_tokens: float, texts: bool, top_logprobs: bool, tokens: bool = False
) -> float:
    """Return the size of a run on disk; `tokens`: with the confidences of single tokens."""
    per_token = BYTES_PER_TOKEN + BYTES_OF_TEXT * texts + BYTES_OF_TOP_K * top_logprobs
    per_token += BYTES_OF_TOKENS * tokens
    return n_trajectories * BYTES_PER_TRAJECTORY + n_tokens * per_token
