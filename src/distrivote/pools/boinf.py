"""BoInf's samples: 35 pools, each a model on a benchmark, with the answer and length of every trajectory."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from distrivote.pools.checksums import listed
from distrivote.pools.published import PublishedPool, PublishedSet, TableCopy

_COMMIT = "fbcb0970b0e235e9e5d8d7f5f1a6c81fe96d259c"
_NAME = re.compile(r"analysis_(aime2024|aime2025|gpqa_diamond|math500)_(.+)\.jsonl")


def _pools() -> tuple[PublishedPool, ...]:
    found = []
    for file in listed("boinf"):
        match = _NAME.fullmatch(PurePosixPath(file.path).name)
        assert match is not None, file.path
        benchmark, model = match.groups()
        found.append(PublishedPool(f"boinf/{benchmark}/{model}", model, benchmark, (file,)))
    return tuple(found)


BOINF = PublishedSet(
    "boinf",
    "11 models on AIME 2024 and 2025, 6 on GPQA Diamond and 7 on MATH-500, 80 or more answers a question",
    "https://github.com/jkomiyama/BoInf-code-publish",
    f"commit {_COMMIT}",
    "MIT",
    "length",
    "the length of each trajectory in tokens, as 1000 / length; there are no log-probabilities",
    "whether a method keeps the majority's accuracy where confidence says little or misleads; not what"
    " log-probabilities gain",
    _pools(),
    n_bytes=8_098_890,
    format="prefix-consistency",
    address=f"https://raw.githubusercontent.com/jkomiyama/BoInf-code-publish/{_COMMIT}/",
    votes_with="length",
    copy=TableCopy(
        "boinf_aime2024.parquet",
        "answer_key",
        model="model",
        benchmark="dataset",
        only="boinf/aime2024",
    ),
)
