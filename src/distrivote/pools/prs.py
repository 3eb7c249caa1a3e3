"""PRS's samples: seven small models on up to 2,000 questions, graded answers and nothing else.

Files that a later one repeats (`deepscaler.shard0` and `1` and `gpqa_diamond.s3_0` of phi4_mini) and empty
ones are left out, and so is llama32_1b on deepscaler, whose checksum is not known.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from distrivote.pools.checksums import listed
from distrivote.pools.published import NO_SIGNAL, PublishedFile, PublishedPool, PublishedSet, TableCopy

_COMMIT = "efb3a728245cff9ed680e0d5e8874f74400b6149"
_NAME = re.compile(r"samples_(\w+?)_seed41_(\w+?)(?:\.\w+)?\.jsonl")


def _pools() -> tuple[PublishedPool, ...]:
    found: dict[tuple[str, str], list[PublishedFile]] = {}
    for file in listed("prs"):
        match = _NAME.fullmatch(PurePosixPath(file.path).name)
        assert match is not None, file.path
        model, benchmark = match.groups()
        found.setdefault((benchmark, model), []).append(file)
    return tuple(
        PublishedPool(f"prs/{benchmark}/{model}", model, benchmark, tuple(files))
        for (benchmark, model), files in sorted(found.items())
    )


PRS = PublishedSet(
    "prs",
    "Qwen2.5 0.5B to 7B, Llama-3.2-1B, Phi-4-mini and Gemma-3-4B on up to 2,000 questions, 64 answers each",
    "https://github.com/panhongxing-sds/PRS",
    f"commit {_COMMIT}",
    "MIT",
    NO_SIGNAL,
    "answers and whether they are right; no confidences and no lengths",
    "votes on answers alone, rules to stop by and totals spread over questions; nothing about confidence",
    _pools(),
    n_bytes=37_392_516,
    format="prs",
    address=f"https://raw.githubusercontent.com/panhongxing-sds/PRS/{_COMMIT}/",
    copy=TableCopy("prs_k64.parquet", "answer_key", model="model", benchmark="dataset"),
)
