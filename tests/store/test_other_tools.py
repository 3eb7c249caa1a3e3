"""A run opens in pandas and in datasets, with every column and every value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from distrivote.benchmarks.replies import fetched_file
from distrivote.engines.base import SamplingParams
from distrivote.problem import Problem
from distrivote.store.importers.base import ImportOptions
from distrivote.store.importers.registry import sources
from distrivote.store.runs.export import export_run
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, row_of
from distrivote.store.runs.run import Run
from distrivote.store.runs.schema import SCHEMA
from distrivote.store.runs.writer import RunWriter
from distrivote.trajectory import Insertion, Interventions, Trajectory

pytestmark = pytest.mark.integrations
PROBLEM = Problem("What is 2 + 2?", id="q1", answer="4")


def trajectory(index: int, interventions: Interventions | None = None) -> Trajectory:
    tokens = ("Well", ".\n\n", "\\boxed{4}")
    top = np.sort(-np.random.default_rng(index).exponential(3, (3, 20)), axis=1)[:, ::-1]
    return Trajectory("".join(tokens), tokens, top, top[:, 0], "stop", index, interventions)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parts: one with everything in it, one without texts and with a reply that has no answer.

    Every row has a seed: pandas makes floats of whole numbers of which one is missing.
    """
    path = tmp_path_factory.mktemp("run")
    manifest = Manifest.of("by hand", "none", "math", "made-up", SamplingParams(), budget=3)
    watched = Interventions((Insertion(1, 2),), (1, 3), (1.5, 2.5))
    with RunWriter(path, manifest, keep=Keep(token_confidences=True, top_logprobs=True)) as writer:
        writer.add(row_of(PROBLEM, trajectory(0, watched), seed=2**63 - 1))
    with RunWriter(path, manifest, keep=Keep(texts=False)) as writer:
        writer.add(row_of(PROBLEM, trajectory(1), seed=1))
        writer.add(row_of(PROBLEM, Trajectory("Ich weiß es nicht, 不知道.", index=2), seed=2))
    return path / "parts"


def plain(value: Any) -> Any:
    """Return a value as lists and numbers of Python's own, None for every kind of missing."""
    if isinstance(value, (np.ndarray, list)):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if value is None or value != value else value


def values(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the columns with their rows in the order of the samples."""
    order = np.argsort(columns["sample"])
    return {name: [plain(column[i]) for i in order] for name, column in columns.items()}


def written(run: Path) -> dict[str, list[Any]]:
    return values(pq.read_table(run).to_pydict())


def test_it_opens_in_pandas(run: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (make test-integrations)")
    frame = pandas.read_parquet(run)
    assert list(frame.columns) == SCHEMA.names
    assert values({name: list(frame[name]) for name in frame.columns}) == written(run)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_it_opens_in_datasets(run: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed (make test-integrations)")
    found = datasets.load_dataset(
        "parquet", data_files=f"{run}/*.parquet", cache_dir=str(tmp_path), split="train"
    )
    assert found.column_names == SCHEMA.names
    assert values(found.to_dict()) == written(run)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_copy_to_publish_opens_by_its_card_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed (make test-integrations)")
    stored = Run.open(Path(__file__).parents[2] / "examples" / "runs" / "qwen2.5-coder-basic")
    n = export_run(stored, tmp_path / "copy")
    found = datasets.load_dataset(str(tmp_path / "copy"), split="train", cache_dir=str(tmp_path / "cache"))
    assert (len(found), found.column_names) == (n, SCHEMA.names)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (source,) = sources([str(fetched_file(f"hf:{tmp_path / 'copy'}", tmp_path))])
    rows = list(source.format.read(source.path, ImportOptions()))
    assert [row.answer for row in rows] == stored.table(("answer",))["answer"].to_pylist()
    assert sum(row.confidence == row.confidence for row in rows) > 0
