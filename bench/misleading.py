"""Pool sets whose confidence is weak, misleading or strong, to be told apart without labels (bench/trust.py).

Simulated ones have an AUROC of 0.2 to 0.5, or a minority of careless wrong answers that look very sure.
Painted ones have the answers of real models (PRS: 64 for each question, no confidences) and a confidence that
is drawn here: right ones N(d, 1) and wrong ones N(0, 1), with d for a given AUROC.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pyarrow.parquet as pq

from distrivote.errors import InputError
from distrivote.evaluation.pools import Pool, PoolSet
from distrivote.simulation.model import Simulation, simulate, with_auroc
from fit_calibration import made_up_model

CARELESS = 0.15
"""The share of wrong trajectories that look very sure."""

WEAK = (0.2, 0.3, 0.4, 0.5)
STRONG = (0.8, 0.9)
PAINTED_SETS = (
    ("gemma3_4b", "deepscaler"),
    ("qwen25_3b", "competition_math_l5_500"),
    ("qwen25_3b", "math_level4plus_300"),
    ("qwen25_7b", "gpqa_diamond"),
    ("llama32_1b", "competition_math_l5_500"),
    ("phi4_mini", "deepscaler"),
)
HELD_OUT_SETS = (
    ("qwen25_05b", "deepscaler"),
    ("qwen25_15b", "deepscaler"),
    ("qwen25_3b", "deepscaler"),
    ("qwen25_7b", "deepscaler"),
    ("qwen25_3b", "minerva"),
    ("qwen25_3b", "gpqa_diamond"),
    ("phi4_mini", "gpqa_diamond"),
    ("llama32_1b", "gpqa_diamond"),
)
"""The last constants were chosen with the sets above in view, and not with these, nor with the made-up models
of `held_out_sets`. Who changes a constant after a look at them has to find others."""

SEPARATION = {auroc: 2**0.5 * NormalDist().inv_cdf(auroc) for auroc in (*WEAK, *STRONG)}


def inverted(source: PoolSet) -> PoolSet:
    """Return the set with 1000 / confidence: what was surest is least sure."""
    pools = tuple(replace(pool, confidence=1000.0 / pool.confidence) for pool in source.pools)
    return replace(source, pools=pools)


def careless(source: PoolSet, rng: np.random.Generator) -> PoolSet:
    """Return the set with some of the wrong trajectories far surer than all others."""
    pools = []
    for pool in source.pools:
        which = ~pool.correct & (rng.random(pool.n_trajectories) < CARELESS)
        pools.append(replace(pool, confidence=np.where(which, 2 * pool.confidence, pool.confidence)))
    return replace(source, pools=tuple(pools))


def simulated_sets(n_questions: int, n: int, n_sets: int) -> Iterator[tuple[str, PoolSet]]:
    """Yield sets of made-up models, with what they are."""
    plain = Simulation(easy_rate=0.75, hard_rate=0.15, hard_share=0.4, confidently_wrong=0.0, popularity=1.0)
    for auroc in (*WEAK, *STRONG):
        for index in range(n_sets):
            rng = np.random.default_rng([index, round(100 * auroc), n_questions, n])
            yield f"AUROC {auroc}", simulate(with_auroc(plain, auroc), n_questions, n, rng)
    for index in range(n_sets):
        rng = np.random.default_rng([index, n_questions, n])
        yield "careless", careless(simulate(with_auroc(plain, 0.6), n_questions, n, rng), rng)


def held_out_sets(n_questions: int, n: int, n_sets: int) -> Iterator[tuple[str, PoolSet]]:
    """Yield sets of made-up models that differ in everything, as those that the calibration is fitted on."""

    def model(rng: np.random.Generator, auroc: float) -> Simulation | None:
        try:
            return with_auroc(replace(made_up_model(rng), confidently_wrong=0.0, hard_drop=0.0), auroc)
        except InputError:
            return None

    for kind, auroc in (*((f"AUROC {auroc}", auroc) for auroc in (*WEAK, *STRONG)), ("careless", 0.6)):
        for index in range(n_sets):
            rng = np.random.default_rng([777, index, n_questions, n, round(100 * auroc)])
            simulation = model(rng, auroc)
            if simulation is not None:
                source = simulate(simulation, n_questions, n, rng)
                yield kind, careless(source, rng) if kind == "careless" else source


def painted_sets(
    path: Path, n_questions: int, n: int, sets: Sequence[tuple[str, str]] = PAINTED_SETS
) -> Iterator[tuple[str, PoolSet]]:
    """Yield the answers of PRS with a confidence of every AUROC, and with careless outliers."""
    columns = ["model", "dataset", "question_id", "answer_key", "correct"]
    for model, dataset in sets:
        chosen = [("model", "=", model), ("dataset", "=", dataset)]
        rows = pq.read_table(path, columns=columns, filters=chosen).to_pydict()
        by_question: dict[str, list[tuple[str | None, bool]]] = {}
        for question, answer, right in zip(
            rows["question_id"], rows["answer_key"], rows["correct"], strict=True
        ):
            by_question.setdefault(str(question), []).append((answer or None, bool(right)))
        rng = np.random.default_rng([len(by_question), n_questions, n])
        names = rng.permutation(sorted(by_question))[:n_questions].tolist()
        answers = {name: [by_question[name][at] for at in rng.permutation(64)[:n]] for name in names}
        for auroc in (*WEAK, *STRONG):
            painted = [_painted(name, answers[name], SEPARATION[auroc], rng) for name in names]
            yield f"AUROC {auroc}", PoolSet(f"{model}/{dataset}", model, dataset, tuple(painted))
        plain = [_painted(name, answers[name], 0.3, rng) for name in names]
        yield "careless", careless(PoolSet(f"{model}/{dataset}", model, dataset, tuple(plain)), rng)


def _painted(
    name: str, answers: list[tuple[str | None, bool]], separation: float, rng: np.random.Generator
) -> Pool:
    numbers: dict[str, int] = {}
    classes = [-1 if answer is None else numbers.setdefault(answer, len(numbers)) for answer, _ in answers]
    correct = np.array([right and answer is not None for answer, right in answers])
    confidence = np.exp(2.0 + 0.15 * (rng.normal(size=len(answers)) + separation * correct))
    return Pool(name, np.array(classes), correct, np.where(np.array(classes) >= 0, confidence, np.nan))
