"""The BRUMO sample: one model, confidences of the answer's tokens, some trajectories ended early."""

from __future__ import annotations

from dataclasses import replace

from distrivote.pools.checksums import listed
from distrivote.pools.published import PublishedPool, PublishedSet, TableCopy

_COMMIT = "f79f412e7110ec8e272ef98cf1fa1f1291288f7b"
_NAME = "brumo/brumo_2025/DeepSeek-R1-0528-Qwen3-8B"
_FILES = tuple(replace(file, beside="/conf_exp" in file.path) for file in listed("brumo"))

BRUMO = PublishedSet(
    "brumo",
    "DeepSeek-R1-0528-Qwen3-8B on 29 questions of BRUMO 2025, 64 answers each",
    "https://github.com/dreamyang-liu/deepconf",
    f"commit {_COMMIT}",
    "MIT",
    "answer tokens",
    "the mean, over the answer's tokens, of minus the mean of the top-20 log-probabilities",
    "that a vote uses a strong signal; trajectories were ended early by DeepConf, which made a part of the"
    " difference, so not that a method is right in general",
    (PublishedPool(_NAME, "DeepSeek-R1-0528-Qwen3-8B", "brumo_2025", _FILES),),
    n_bytes=1_150_074,
    format="answer-tokens",
    address=f"https://raw.githubusercontent.com/dreamyang-liu/deepconf/{_COMMIT}/",
    copy=TableCopy("brumo2025_deepconf_64.parquet", "answer_key"),
)
