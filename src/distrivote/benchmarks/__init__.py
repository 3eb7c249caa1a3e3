"""Named sets of problems: published ones, downloaded on use or read from a file, and three built-in ones.

`registry` finds a benchmark by name or path. `matharena`, `gpqa`, `gsm8k` and `tables` turn rows into
problems; the rows come from `files` (a local file) or `hub` (Hugging Face). `arithmetic`, `choice` and
`notes` make problems from a seed, so that everything can be tried without a network.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.benchmarks.benchmark import Benchmark
    from distrivote.benchmarks.registry import BENCHMARKS, load
    from distrivote.benchmarks.shard import Shard

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Shard",
    "load",
]

__getattr__ = face(
    __name__,
    {
        "benchmark": "Benchmark",
        "registry": "BENCHMARKS load",
        "shard": "Shard",
    },
)
