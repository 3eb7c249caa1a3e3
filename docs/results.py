"""Write docs/results.md and its tables from stored samples: `python docs/results.py`.

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

from answer_kinds import code_tables, json_tables, short_tables
from figures import write
from lengths import length_tables

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.registry import EXPERIMENTS, experiments_named, reads_of
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.results import Axis, Chart, Report, Row
from distrivote.evaluation.winners import votes_of
from distrivote.report.files.markdown import explained_table, report_markdown
from distrivote.store.tables.source import Columns

DOCS = Path(__file__).parent
RUNS = DOCS.parent / "examples" / "runs"
TABLES = DOCS / "results"
N_DRAWS = 128


class Sample(NamedTuple):
    """The samples of one section of the page, and what the page shows of them."""

    name: str
    title: str
    short: str
    budget: int
    n_repeats: int
    shown: Mapping[str, int]
    """Experiment -> how many of its tables the page shows."""

    charts: Sequence[str]
    """Experiments whose first chart the page shows."""


QWEN = Sample(
    "qwen2.5-coder",
    "Qwen2.5-Coder-1.5B-Instruct on GSM8K",
    "Qwen2.5-Coder-1.5B, GSM8K",
    16,
    64,
    {"pass1": 2, "main": 2, "separation": 2, "length": 1, "trust": 2},
    ("budget", "separation"),
)
SMOLLM2 = Sample(
    "smollm2",
    "SmolLM2-135M on the built-in word problems",
    "SmolLM2-135M, word problems",
    32,
    64,
    {"pass1": 2, "main": 2, "separation": 2, "length": 1, "trust": 2},
    ("budget", "separation"),
)
BRUMO = Sample(
    "brumo",
    "DeepSeek-R1-0528-Qwen3-8B on BRUMO 2025, sampled by others",
    "DeepSeek-R1-8B, BRUMO 2025",
    32,
    64,
    {"main": 2, "separation": 2, "trust": 2},
    ("budget", "separation"),
)

SAMPLES = (SMOLLM2, QWEN, BRUMO)


def pools_of_runs(sample: Sample) -> Sequence[PoolSet]:
    paths = [str(RUNS / f"{sample.name}-{arm}") for arm in ("basic", "ssc")]
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
    parts = {"tables": _parts(sample, report), "budgets": budgets(sample.short, pools[0])}
    (TABLES / f"{sample.name}.json").write_text(json.dumps(parts, indent=1) + "\n")


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


def make_votes(name: str, tables: Sequence[str]) -> None:
    """Write what the page shows of a section with votes alone."""
    parts = {"tables": {"votes": list(tables)}}
    (TABLES / f"{name}.json").write_text(json.dumps(parts, indent=1, ensure_ascii=False) + "\n")


def budgets(title: str, source: PoolSet) -> list[Row]:
    """Return how often each vote is right, by the number of samples."""
    rows: list[Row] = []
    for budget in (1, 2, 4, 8, 16, 32, 64):
        if budget > source.smallest:
            break
        votes = votes_of(source, budget, N_DRAWS, seed=0)
        for method, name in (("sc", "SC"), ("dis-gmm", "DIS-GMM"), ("auto", "auto")):
            share = float(votes.right(method).mean())
            rows.append({"budget": budget, "accuracy": share, "method": name, "panel": title})
    return rows


def draw_readme() -> None:
    """Draw the picture at the top of the README, from the stored rows of each sample."""
    lines = [json.loads((TABLES / f"{sample.name}.json").read_text())["budgets"] for sample in SAMPLES]
    write(
        Chart(
            "readme",
            "What does asking again buy, and which vote is right?",
            "SC: majority voting · DIS-GMM: DistriVoting, the paper's · auto: ours",
            "lines",
            Axis("budget", "Samples per question", "whole", log=True),
            Axis("accuracy", "Right answers", "percent"),
            tuple(row for each in lines for row in each),
            series="method",
            facet="panel",
        )
    )


def page(template: str) -> str:
    """Return the template with each mark replaced by its tables or picture."""

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
        for sample in (SMOLLM2, QWEN):
            make(sample, pools_of_runs(sample))
        if options.brumo:
            make(BRUMO, pools_of_brumo(options.brumo))
        # Their runs are published once they are whole.
        for name, tables in (("notes", json_tables), ("plain", short_tables)):
            if (RUNS / f"qwen2.5-coder-{name}").exists():
                make_votes(name, tables(RUNS))
        if options.boinf:
            make_votes("boinf", length_tables(options.boinf))
        if options.humaneval:
            make_votes("code", code_tables(RUNS, options.humaneval))
    draw_readme()
    (DOCS / "results.md").write_text(page((DOCS / "results.template").read_text()))


if __name__ == "__main__":
    main()
