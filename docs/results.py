"""Write docs/results.md, its tables and the README's from stored samples: `python docs/results.py`.

The text of the page is in docs/results.template. Our own runs are in examples/runs; the page says how they
were made. The samples of BRUMO 2025 and BoInf and the tests of HumanEval are not part of the project: with
`--brumo`, `--boinf` and `--humaneval FILE` their tables are made again, else those in docs/results stay.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import answer_kinds
import evidence
from evidence import Evidence
from figures import write
from lengths import BUDGET as LENGTHS_BUDGET
from lengths import length_tables, sets_of

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.registry import EXPERIMENTS, experiments_named, reads_of
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.results import Report
from distrivote.report.files.markdown import explained_table, report_markdown
from distrivote.store.tables.source import Columns

DOCS = Path(__file__).parent
RUNS = DOCS.parent / "examples" / "runs"
TABLES = DOCS / "results"
README = DOCS.parent / "README.md"


class Sample(NamedTuple):
    """The samples of one section of the page, and what the page shows of them."""

    name: str
    title: str
    what: str
    """The sample in the tables of all samples."""

    short: str
    """The sample in the README's picture."""

    budget: int
    n_repeats: int
    shown: Mapping[str, int]
    """Experiment -> how many of its tables the page shows."""

    charts: Sequence[str]
    """Experiments whose first chart the page shows."""

    runs: Sequence[str] = ()
    """Our own runs, in examples/runs."""


QWEN = Sample(
    "qwen2.5-coder",
    "Qwen2.5-Coder-1.5B-Instruct on GSM8K",
    "Qwen2.5-Coder-1.5B on GSM8K, answers in boxes",
    "GSM8K",
    16,
    64,
    {"pass1": 2, "main": 2, "separation": 2, "length": 1, "trust": 2},
    ("budget", "separation"),
    ("qwen2.5-coder-basic", "qwen2.5-coder-ssc"),
)
SMOLLM2 = Sample(
    "smollm2",
    "SmolLM2-135M on the first 60 of the built-in word problems",
    "SmolLM2-135M on word problems, the first 60",
    "60 word problems",
    32,
    64,
    {"pass1": 2, "main": 2, "separation": 2, "length": 1, "trust": 2},
    ("budget", "separation"),
    ("smollm2-basic", "smollm2-ssc"),
)
SMOLLM2_400 = Sample(
    "smollm2-400",
    "SmolLM2-135M on 400 of the built-in word problems",
    "SmolLM2-135M on word problems",
    "word problems",
    32,
    64,
    {"pass1": 1, "main": 2, "separation": 2, "trust": 2},
    ("budget", "separation"),
    ("smollm2-400",),
)
BRUMO = Sample(
    "brumo",
    "DeepSeek-R1-0528-Qwen3-8B on BRUMO 2025, sampled by others",
    "DeepSeek-R1-0528-Qwen3-8B on BRUMO 2025, sampled by others, most traces stopped early",
    "BRUMO 2025",
    32,
    64,
    {"main": 2, "separation": 2, "trust": 2},
    ("budget", "separation"),
)

OWN = (SMOLLM2_400, SMOLLM2, QWEN)


def pools_of_runs(sample: Sample) -> Sequence[PoolSet]:
    paths = [str(RUNS / name) for name in sample.runs]
    loaded = load_pool_sets(paths, reads=reads_of(experiments_named(list(EXPERIMENTS))))
    return loaded.pool_sets


def pools_of_brumo(path: str) -> Sequence[PoolSet]:
    loaded = load_pool_sets([path], columns=Columns(answer="answer_key", by="model"), reads=("measures",))
    return [replace(each, benchmark="BRUMO 2025") for each in loaded.pool_sets]


def make(sample: Sample, pools: Sequence[PoolSet]) -> None:
    """Evaluate a sample and write its tables, its charts and what the page shows of them."""
    report = evaluate(pools, list(EXPERIMENTS), budget=sample.budget, n_repeats=sample.n_repeats)
    whole = report_markdown(report).replace("# Evaluation", f"# Every table: {sample.title}", 1)
    (TABLES / f"{sample.name}.md").write_text(whole)
    for experiment in sample.charts:
        _draw(sample, report, experiment)
    row = evidence.of_pools(sample.what, sample.short, pools[:1], sample.budget)
    _store(sample.name, _parts(sample, report), row)


def _parts(sample: Sample, report: Report) -> dict[str, list[str]]:
    """Return the tables that the page shows as Markdown, by experiment."""
    return {
        result.experiment: [
            f"**{table.title}**\n\n{explained_table(table)}"
            for table in result.tables[: sample.shown[result.experiment]]
        ]
        for result in report.results
        if result.experiment in sample.shown
    }


def _draw(sample: Sample, report: Report, experiment: str) -> None:
    (result,) = (each for each in report.results if each.experiment == experiment)
    write(replace(result.charts[0], name=f"results-{sample.name}-{experiment}"))


def _store(name: str, tables: Mapping[str, Sequence[str]], row: Evidence) -> None:
    """Write what the pages show of a sample."""
    parts = {"tables": tables, "evidence": row._asdict()}
    (TABLES / f"{name}.json").write_text(json.dumps(parts, indent=1, ensure_ascii=False) + "\n")


def make_lengths(path: str) -> None:
    """Write what the page shows of BoInf."""
    sets = sets_of(path)
    what = f"{len(sets)} models on AIME 2024, sampled by others, length as the only signal"
    row = evidence.of_pools(what, "AIME 2024", sets, LENGTHS_BUDGET)
    _store("boinf", {"votes": length_tables(sets)}, row)


def page(template: str) -> str:
    """Return the template with each mark replaced by its tables or picture."""
    template = template.replace("{evidence}", evidence.results_tables(evidence.stored()))

    def tables(mark: re.Match[str]) -> str:
        return "\n\n".join(json.loads((TABLES / f"{mark[1]}.json").read_text())["tables"][mark[2]])

    def picture(mark: re.Match[str]) -> str:
        name = f"img/results-{mark[1]}-{mark[2]}"
        return f"![{mark[3]}]({name}.svg#gh-light-mode-only)\n![{mark[3]}]({name}-dark.svg#gh-dark-mode-only)"

    text = re.sub(r"\{tables (\S+) (\S+)\}", tables, template)
    return re.sub(r"\{picture (\S+) (\S+): (.*)\}", picture, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--brumo", metavar="FILE", help="the sample of BRUMO 2025, as Parquet")
    parser.add_argument("--boinf", metavar="FILE", help="the samples of BoInf, as Parquet")
    parser.add_argument(
        "--humaneval", metavar="FILE", type=Path, help="HumanEval with its tests, as JSON Lines"
    )
    parser.add_argument(
        "--page-only", action="store_true", help="write only the page, from the stored tables"
    )
    options = parser.parse_args()
    if not options.page_only:
        for sample in OWN:
            make(sample, pools_of_runs(sample))
        if options.brumo:
            make(BRUMO, pools_of_brumo(options.brumo))
        if options.boinf:
            make_lengths(options.boinf)
        kinds = {"notes": answer_kinds.notes(RUNS), "plain": answer_kinds.plain(RUNS)}
        if options.humaneval:
            kinds["code"] = answer_kinds.code(RUNS, options.humaneval)
        for name, kind in kinds.items():
            _store(name, {"votes": kind.tables}, kind.evidence)
    rows = evidence.stored()
    write(evidence.picture(rows))
    README.write_text(evidence.with_table(README.read_text(), rows))
    (DOCS / "results.md").write_text(page((DOCS / "results.template").read_text()))


if __name__ == "__main__":
    main()
