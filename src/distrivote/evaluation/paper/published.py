"""The paper's own numbers, to compare with measured ones.

Source: "Believe Your Model: Distribution-Guided Confidence Calibration", all tables of the paper and its
appendix, taken from its LaTeX source, and two numbers of its text: the density differences 0.165 and 0.251
of its section on separation. `published.csv` holds 4,256 values: table, model, method, setting, benchmark,
metric, value, spread, in the paper's units (percentages except AUROC, density differences, counts, times).
They are facts about the authors' runs, not about this program; where they contradict each other,
`CONTRADICTIONS` says so.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from distrivote.evaluation.paper.model_names import model_name

SOURCE = "Believe Your Model: Distribution-Guided Confidence Calibration"

_STARRED = (
    "The paper gives DIS-GMM* of DeepSeek-R1-8B on AIME2025 as 86.46 here and as 86.64 in the main table."
)

CONTRADICTIONS: Mapping[str, tuple[str, ...]] = {
    "main": (
        "The paper says MoB-adaptive but was run with q = 0.1; its method's own q is 0.75. Both are shown,"
        " and the published value belongs to q = 0.1.",
        "The paper gives DIS-Top50 of DeepSeek-R1-8B as 76.32 in the main and component tables and as 75.10"
        " in the clustering table.",
        "The paper gives DIS-GMM* of DeepSeek-R1-8B on AIME2025 as 86.64 here and as 86.46 in the tables of"
        " components, budgets, alpha and delta, and its average as 77.84 here and as 77.62 in the table of"
        " intervals, at the same 10.",
    ),
    "components": (
        "The paper gives DIS-Top50 of DeepSeek-R1-8B as 76.32 here and as 75.10 in the clustering table.",
        _STARRED,
    ),
    "budget": (_STARRED,),
    "alpha": (_STARRED,),
    "delta": (
        _STARRED,
        "The paper's delta = 0.1 has a pass@1 of 58.96 on HMMT2025 where basic inference has 57.71, though it"
        " says that SelfStepConf does nothing at so low a delta.",
    ),
    "intervals": (
        "The paper gives the average of DIS-GMM* of DeepSeek-R1-8B with 10 intervals as 77.62 here and as"
        " 77.84 in the main table, which has 10 intervals too.",
    ),
    "pass1": (
        "The paper's pass@1 of Qwen3-32B* with SelfStepConf repeats that of Qwen3-14B* in four of five"
        " columns (GPQA-D 54.24, AIME2024 30.05, AIME2025 21.64, BRUMO2025 34.02).",
        "The paper gives the average pass@1 of Qwen3-14B* with SelfStepConf as 42.14, and its columns give"
        " 43.06.",
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
    "metallama318binstruct": "Llama3.1-8B-Instruct",
}
_NEVER_THINK = ("Llama3.1-8B-Instruct", "Qwen2.5-Math-7B")
"""Models without a switch for thinking, and without thoughts."""

BENCHMARKS = ("HMMT2025", "GPQA-D", "AIME2024", "AIME2025", "BRUMO2025")
"""In the order of the paper's columns, by the names that its main table has."""

N_QUESTIONS = {"GPQA-D": 198} | dict.fromkeys(("HMMT2025", "AIME2024", "AIME2025", "BRUMO2025"), 30)
_BENCHMARKS = {
    "hmmtfeb2025": "HMMT2025",
    "hmmt": "HMMT2025",
    "gpqa": "GPQA-D",
    "gpqadiamond": "GPQA-D",
    "brumo": "BRUMO2025",
    "aime24": "AIME2024",
    "aime25": "AIME2025",
}


class KnownModel(NamedTuple):
    """A model of the paper."""

    name: str
    """As the paper has it, without the star."""

    quantised: str | None
    """The quantisation of the weights, if the name has one: the paper's were not quantised."""

    thinking: bool | None
    """Whether it thinks, according to the name; None: the name does not say."""


class Published:
    """The numbers by table, model, method, setting, benchmark and metric."""

    def __init__(self, values: Mapping[tuple[str, ...], float]) -> None:
        self._values = values
        self._names = {key[1] for key in values}
        self._models = {_plain(name): name.removesuffix("*") for name in sorted(self._names)} | _MODELS
        self._benchmarks = {_plain(key[4]): key[4] for key in values} | _BENCHMARKS

    def __len__(self) -> int:
        return len(self._values)

    def known(self, name: str) -> KnownModel | None:
        """Return the model that a name, a path or a file stands for, None if the paper does not have it."""
        base, quantised = model_name(name.removeprefix("simulated "))
        plain = _plain(base)
        thinking = None
        if "nonthinking" in plain or base.endswith("*"):
            thinking = False
        elif "thinking" in plain:
            thinking = True
        known = self._models.get(plain.replace("nonthinking", "").replace("thinking", ""))
        return None if known is None else KnownModel(known, quantised, thinking)

    def thinks(self, name: str, thinking: bool | None = None) -> bool | None:
        """Return whether a model thinks: by the setting, otherwise by its name, otherwise by its default.

        >>> published().thinks("Qwen/Qwen3-14B"), published().thinks("Qwen3-14B*")
        (True, False)
        """
        known = self.known(name)
        if known is None:
            return thinking
        if known.name in _NEVER_THINK:
            return False
        said = known.thinking if thinking is None else thinking
        return True if said is None else said

    def model(self, name: str, thinking: bool | None = None) -> str | None:
        """Return the paper's name of a model, with a star if it does not think; None if the paper lacks it.

        >>> published().model("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B")
        'DeepSeek-R1-8B'
        >>> published().model("./models/Qwen3-14B/", thinking=False)
        'Qwen3-14B*'
        """
        known = self.known(name)
        if known is None:
            return None
        if self.thinks(name, thinking) or known.name in _NEVER_THINK:
            return known.name
        starred = f"{known.name}*"
        return starred if starred in self._names else None

    def benchmark(self, name: str) -> str | None:
        """Return the paper's name of a benchmark, also if a file's name only contains it.

        >>> published().benchmark("hmmt_feb_2025"), published().benchmark("brumo2025_deepconf_64")
        ('HMMT2025', 'BRUMO2025')
        """
        title, _, source = name.removeprefix("simulated ").partition(": ")
        for text in (source, title) if source else (title,):
            plain = _plain(text.rstrip("/").rsplit("/", 1)[-1])
            inside = (known for key, known in self._benchmarks.items() if len(key) >= 8 and key in plain)
            found = self._benchmarks.get(plain) or next(inside, None)
            if found is not None:
                return found
        return None

    def find(
        self,
        table: str,
        model: str,
        method: str,
        setting: str,
        benchmark: str,
        metric: str,
        thinking: bool | None = None,
    ) -> float | None:
        """Return the paper's number for our names of model and benchmark, in its unit; None if it has none.

        The main results of all models count as one table, `main_results`.
        """
        known, bench = self.model(model, thinking), self.benchmark(benchmark)
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
    text = files("distrivote.evaluation.paper").joinpath("published.csv").read_text(encoding="utf-8")
    values = {}
    for row in csv.DictReader(text.splitlines()):
        key = tuple(row[name] for name in ("table", "model", "method", "setting", "benchmark", "metric"))
        values[key] = float(row["value"])
    return Published(values)


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
