"""Pool sets and runs that vote with another signal than their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distrivote.engines.base import SamplingParams
from distrivote.errors import InputError
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.mixing import by_length, by_mix
from distrivote.evaluation.pools import Pool, PoolSet
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.writer import RunWriter
from distrivote.store.tables.source import Columns


def made_set(n_questions: int = 40, n: int = 24) -> PoolSet:
    """Right answers are surer by `tail`, not by `mean`, and their lengths say nothing."""
    rng = np.random.default_rng(0)
    pools = []
    for index in range(n_questions):
        right = rng.random(n) < 0.5
        classes = np.where(right, 0, rng.integers(1, 4, n))
        tail = np.exp(rng.normal(0.0, 0.2, n) + 0.5 * right)
        mean = np.exp(rng.normal(0.0, 0.2, n))
        measures = {"tail": tail, "mean": mean, "entropy": np.full(n, np.nan)}
        pools.append(Pool(f"q{index}", classes, right, mean, measures, rng.integers(50, 100, n)))
    return PoolSet("made", "model", "sums", tuple(pools))


def test_a_mix_finds_the_measure_that_tells_right_from_wrong() -> None:
    mixed, weights = by_mix(made_set())
    assert set(weights) == {"tail", "mean", "length"}
    assert weights["tail"] > 0.7
    confidence = np.concatenate([pool.confidence for pool in mixed.pools])
    right = np.concatenate([pool.correct for pool in mixed.pools])
    assert confidence[right].mean() > confidence[~right].mean()


def test_shorter_is_surer() -> None:
    source = made_set(1)
    (pool,) = by_length(source).pools
    assert pool.n_tokens is not None
    assert np.array_equal(pool.confidence, 1000 / pool.n_tokens)


def test_a_set_without_lengths_or_measures_is_refused() -> None:
    bare = PoolSet("bare", "m", "b", (Pool("q", np.array([0]), np.array([True]), np.array([1.0])),))
    with pytest.raises(InputError, match="no lengths"):
        by_length(bare)
    with pytest.raises(InputError, match="bare has no measure of confidence"):
        by_mix(bare)


def write_run(path: Path) -> str:
    manifest = Manifest.of("replay", "tiny", "math", "sums", SamplingParams(), None, budget=8)
    with RunWriter(path, manifest) as writer:
        for pool in made_set(6).pools:
            assert pool.n_tokens is not None
            for sample in range(pool.n_trajectories):
                writer.add(
                    Row(
                        question_id=pool.question,
                        sample=sample,
                        answer=str(pool.classes[sample]),
                        ground_truth="0",
                        confidence=float(pool.confidence[sample]),
                        confidence_tail=float(pool.measures["tail"][sample]),
                        n_tokens=int(pool.n_tokens[sample]),
                    )
                )
    return str(path)


def test_a_run_is_evaluated_with_the_signal_that_is_named(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run")
    source = made_set(6).pools[0]
    assert source.n_tokens is not None
    expected = {
        "tail": source.measures["tail"],
        "confidence_tail": source.measures["tail"],
        "answer-step": source.confidence,
        "length": 1000 / source.n_tokens,
    }
    for signal, values in expected.items():
        first = load_pool_sets([path], signal=signal, reads=()).pool_sets[0].pools[0]
        assert np.allclose(first.confidence, values)
    loaded = load_pool_sets([path], signal="auto", reads=())
    assert "run votes with a mix of signals: tail " in loaded.notes[0]
    with pytest.raises(InputError, match="unknown signal 'tial': did you mean tail"):
        load_pool_sets([path], signal="tial")


def test_a_file_is_evaluated_with_a_mix_for_each_model(tmp_path: Path) -> None:
    lines = ["model,question_id,answer,correct,confidence,logprob"]
    for model in ("one", "two"):
        for pool in made_set(8).pools:
            for given, right, mean, tail in zip(
                pool.classes, pool.correct, pool.confidence, pool.measures["tail"], strict=True
            ):
                lines.append(f"{model},{pool.question},{given},{bool(right)},{mean},{tail}")
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(lines) + "\n")
    loaded = load_pool_sets([str(path)], columns=Columns(by="model"), signal="auto")
    assert [each.model for each in loaded.pool_sets] == ["one", "two"]
    assert loaded.notes[0].startswith("answers/one votes with a mix of signals: logprob ")
    named = load_pool_sets([str(path)], columns=Columns(by="model"), signal="logprob")
    assert np.allclose(named.pool_sets[0].pools[0].confidence, made_set(8).pools[0].measures["tail"])
