"""Settings of SelfStepConf compared on runs of the built-in model, from sampling to the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from distrivote.cli.main import app
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.registry import experiments_named, reads_of
from distrivote.evaluation.loading import load_pool_sets

pytestmark = pytest.mark.model

RUNS = {
    "usual": [],
    "alpha": ["--alpha", "0.5"],
    "window": ["--split", "window:8"],
    "greedy": ["--temperature", "0"],
    "greedy-delta": ["--temperature", "0", "--delta", "0.99"],
}


def test_runs_with_different_settings_are_generated_and_compared(tmp_path: Path) -> None:
    for name, options in RUNS.items():
        asked = ["generate", "arithmetic", "--size", "1", "--limit", "1", "--budget", "2"]
        asked += ["--max-tokens", "16", "--threads", "1"]
        done = CliRunner().invoke(app, [*asked, *options, "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    names = ["alpha", "delta", "step-split", "length"]
    paths = [str(tmp_path / name) for name in RUNS]
    loaded = load_pool_sets(paths, reads=reads_of(experiments_named(names)))
    report = evaluate(loaded.pool_sets, names, n_repeats=2)
    results = {result.experiment: result for result in report.results}
    expected = {
        ("alpha", "0.6"): [0.5, 0.8],
        ("delta", "0"): [0.8, 0.99],
        ("step-split", "0.6"): ["\\n\\n", "window of 8"],
    }
    for (name, temperature), values in expected.items():
        table, lengths = results[name].tables
        assert table.title.startswith(f"smollm2-135m at temperature {temperature}:")
        assert [row[table.columns[0].name] for row in table.rows] == values
        assert all(float(row["steps"] or 0) > 0 and float(row["paragraphs"] or 0) > 0 for row in lengths.rows)
    assert "How does the threshold follow the steps?" in [chart.title for chart in results["alpha"].charts]
    greedy = [chart for chart in results["delta"].charts if "temperature 0," in chart.subtitle]
    assert [chart.y.label for chart in greedy] == ["Accuracy", "Reflections per trajectory"]
    assert all(float(row["seconds"] or 0) > 0 for row in results["length"].tables[0].rows)
