"""The paper's own numbers, to be put beside measured ones.

Source: "Believe Your Model: Distribution-Guided Confidence Calibration", all tables of the paper and its
appendix, taken from its LaTeX source, and two numbers of its text: the density differences 0.165 and 0.251
of its section on separation. `published.csv` holds 4,256 values: table, model, method, setting, benchmark,
metric, value, spread, in the paper's units (percentages but for AUROC, density differences, counts, times).
They are facts about the authors' runs, not about this program; where they contradict each other,
`CONTRADICTIONS` says so.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

SOURCE = "Believe Your Model: Distribution-Guided Confidence Calibration"

CONTRADICTIONS: Mapping[str, tuple[str, ...]] = {
    "main": (
        "The paper says MoB-adaptive but was run with q = 0.1; its method's own q is 0.75. Both are shown,"
        " and the published value belongs to q = 0.1.",
        "The paper gives DIS-Top50 of DeepSeek-R1-8B as 76.32 in the main and component tables and as 75.10"
        " in the clustering table.",
    ),
    "components": (
        "The paper gives DIS-Top50 of DeepSeek-R1-8B as 76.32 here and as 75.10 in the clustering table.",
    ),
    "clustering": (
        "The paper gives the voting accuracy of Top50 as 75.10 here and as 76.32 in the main table.",
    ),
    "top-threshold": (
        "The paper's WSC-TopK at 50% (HMMT2025 79.64) is the hierarchical vote over the top half (79.95),"
        " not WSC-Top50 (73.80): compare it with the hierarchical rows.",
        "The paper draws 256 responses for this table, as is done here where the pools have as many, and 128"
        " for the others.",
    ),
    "separation": (
        "The paper gives WAcc of DeepSeek-R1-8B on HMMT2025 as 61.59 in one table and as 67.28 in another.",
    ),
    "stages": (
        "The paper gives WAcc of DeepSeek-R1-8B on HMMT2025 as 61.59 in one table and as 67.28 in another.",
    ),
    "step-split": (
        'The paper counts the steps of every splitter as those of "\\n\\n" (148 steps in 29k tokens for the'
        " window of 2,048).",
    ),
}
"""What a reader of the published numbers should know, by experiment."""

_MODELS = {
    "deepseekr10528qwen38b": "DeepSeek-R1-8B",
    "deepseekr1distillqwen7b": "DeepSeek-R1-7B",
    "llama318binstruct": "Llama3.1-8B-Instruct",
}
_BENCHMARKS = {
    "hmmtfeb2025": "HMMT2025",
    "hmmt": "HMMT2025",
    "gpqa": "GPQA-D",
    "gpqadiamond": "GPQA-D",
    "brumo": "BRUMO2025",
    "aime24": "AIME2024",
    "aime25": "AIME2025",
}


class Published:
    """The numbers by table, model, method, setting, benchmark and metric."""

    def __init__(self, values: Mapping[tuple[str, ...], float]) -> None:
        self._values = values
        models = {key[1] for key in values}
        self._models = {_plain(name): name for name in sorted(models)} | _MODELS
        self._benchmarks = {_plain(key[4]): key[4] for key in values} | _BENCHMARKS

    def __len__(self) -> int:
        return len(self._values)

    def model(self, name: str) -> str | None:
        """Return what the paper calls a model; a name that says non-thinking gets its star.

        >>> published().model("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B")
        'DeepSeek-R1-8B'
        """
        name = name.partition(" at temperature ")[0]
        plain = _plain(name.removeprefix("simulated ").rsplit("/", 1)[-1])
        thinking = "nonthinking" not in plain and not name.endswith("*")
        known = self._models.get(plain.replace("nonthinking", "").replace("thinking", ""))
        if known is None:
            return None
        return known.removesuffix("*") + ("" if thinking else "*")

    def benchmark(self, name: str) -> str | None:
        """Return what the paper calls a benchmark, also where a file's name only holds it.

        >>> published().benchmark("hmmt_feb_2025"), published().benchmark("brumo2025_deepconf_64")
        ('HMMT2025', 'BRUMO2025')
        """
        plain = _plain(name.removeprefix("simulated ").rsplit("/", 1)[-1])
        inside = (known for key, known in self._benchmarks.items() if len(key) >= 8 and key in plain)
        return self._benchmarks.get(plain) or next(inside, None)

    def find(
        self, table: str, model: str, method: str, setting: str, benchmark: str, metric: str
    ) -> float | None:
        """Return the paper's number for our names of model and benchmark, in its unit; None if it has none.

        The main results of all models count as one table, `main_results`.
        """
        known, bench = self.model(model), self.benchmark(benchmark)
        if known is None or bench is None:
            return None
        tables, names, methods = [table], [known], [method]
        if table == "main_results":
            other = "main_results_nonthinking" if known.endswith("*") else "main_results_thinking"
            tables, names = [table, other], [known, known.removesuffix("*")]
            methods = [method, method.removesuffix("-Adaptive")]
            if known.endswith("*"):
                tables, names = [other], names[1:]
        for one in tables:
            for called in names:
                for way in methods:
                    found = self._values.get((one, called, way, setting, bench, metric))
                    if found is not None:
                        return found
        return None


@lru_cache(maxsize=1)
def published() -> Published:
    """Return the paper's numbers."""
    text = files("distrivote.evaluation").joinpath("published.csv").read_text(encoding="utf-8")
    values = {}
    for row in csv.DictReader(text.splitlines()):
        key = tuple(row[name] for name in ("table", "model", "method", "setting", "benchmark", "metric"))
        values[key] = float(row["value"])
    return Published(values)


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
