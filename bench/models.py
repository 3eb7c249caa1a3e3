"""Is a pool of several models better than the best of them at equal samples? Prints JSON.

    python bench/models.py [--data build/data] [--budget 33] [--repeats 16] [--questions 300]

BoInf's 11 models on AIME 2024 and the models of PRS on the data sets that they share (docs/trust.md says
where the files come from; without a file its rows are left out). Every pool has `budget` samples altogether,
divided evenly. `equal` is `auto` with equal weights, `learned` with weights from the votes on all other
questions (leave one out, no labels), `majority` is plain. The best single model is chosen with the labels of
the same questions, which nobody has beforehand; `picked` is the one of the highest weight without labels.
Differences are paired by question, with 95% intervals.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from distrivote.evaluation.estimates import compare, whole_pool_sample
from distrivote.voting.models import EQUAL, Worth, shares_of, worth_of
from distrivote.voting.vote import elect

DATA = Path(__file__).resolve().parents[1] / "build" / "data"
SETS = [
    ("boinf_aime2024.parquet", "aime2024", ()),
    ("boinf_aime2024.parquet", "aime2024", ("AM-Thinking-v1", "MetaStone-S1-32B", "Qwen3-14B")),
    ("boinf_aime2024.parquet", "aime2024", ("Datarus-R1-14B-preview", "Qwen3-14B")),
    ("boinf_aime2024.parquet", "aime2024", ("Phi-4-reasoning", "Qwen3-4B", "gpt-oss-20b")),
    ("prs_k64.parquet", "gpqa_diamond", ()),
    ("prs_k64.parquet", "competition_math_l5_500", ()),
    ("prs_k64.parquet", "aime_2024", ()),
    ("prs_k64.parquet", "deepscaler", ("phi4_mini", "qwen25_05b", "qwen25_15b", "qwen25_3b", "qwen25_7b")),
    ("prs_k64.parquet", "deepscaler", ("phi4_mini", "qwen25_3b", "qwen25_7b")),
    ("prs_k64.parquet", "deepscaler", ("phi4_mini", "qwen25_7b")),
]


class Question(NamedTuple):
    """The votes on one question: arrays over trajectories."""

    name: str
    classes: np.ndarray
    models: np.ndarray
    confidences: np.ndarray
    right: frozenset[int]


def questions_of(path: Path, dataset: str, only: Sequence[str], n: int) -> tuple[list[str], list[Question]]:
    columns = ["model", "dataset", "question_id", "answer_key", "correct"]
    columns += ["confidence"] if "confidence" in pq.read_schema(path).names else []
    table = pq.read_table(path, columns=columns)
    table = table.filter(pc.equal(table["dataset"], dataset))
    names = sorted(only or set(table["model"].unique().to_pylist()))
    table = table.filter(pc.is_in(table["model"], value_set=pa.array(names, table["model"].type)))
    ids = table["question_id"].combine_chunks().dictionary_encode()
    answers = table["answer_key"].combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy()
    models = np.array([names.index(each) for each in table["model"].to_pylist()])
    right = table["correct"].combine_chunks().fill_null(False).to_numpy(zero_copy_only=False)
    values = np.full(len(table), np.nan)
    if "confidence" in columns:
        values = table["confidence"].combine_chunks().to_numpy(zero_copy_only=False)
    which = ids.indices.to_numpy()
    found = []
    for number in range(len(ids.dictionary)):
        rows = np.flatnonzero(which == number)
        if len(set(models[rows].tolist())) == len(names):
            good = frozenset(answers[rows][right[rows]].tolist()) - {-1}
            parts = answers[rows], models[rows], values[rows]
            found.append(Question(str(ids.dictionary[number]), *parts, good))
        if len(found) == n:
            break
    return names, found


def drawn(questions: Sequence[Question], shares: Sequence[int], repeat: int) -> list[np.ndarray]:
    """Return the rows of each question that are drawn: `shares[k]` of model k."""
    rng = np.random.default_rng([len(shares), sum(shares), repeat])
    extra = rng.permutation(len(shares))  # who has the remainder
    each = [shares[extra[k]] if len(set(shares) - {0}) > 1 else shares[k] for k in range(len(shares))]
    return [
        np.concatenate(
            [rng.choice(np.flatnonzero(one.models == k), n, replace=False) for k, n in enumerate(each) if n]
        )
        for one in questions
    ]


def right_by(
    questions: Sequence[Question], rows: Sequence[np.ndarray], names: Sequence[str], worths: Sequence[Worth]
) -> dict[str, np.ndarray]:
    """Return whether each question is answered rightly, by `auto` and by the majority."""
    found: dict[str, list[bool]] = {"auto": [], "sc": []}
    for one, mine, worth in zip(questions, rows, worths, strict=True):
        models = [names[k] for k in one.models[mine]]
        offsets = np.array([0, len(mine)])
        votes = elect(
            one.classes[mine], one.confidences[mine], offsets, ["auto", "sc"], models=models, worth=worth
        )
        for method, right in found.items():
            right.append(int(votes[method].winner[0]) in one.right)
    return {method: np.array(right, dtype=np.float64) for method, right in found.items()}


def left_out_worths(
    questions: Sequence[Question], rows: Sequence[np.ndarray], names: list[str]
) -> list[Worth]:
    """Return what the models are worth for each question, learned from (at most 256 of) the others."""
    tables = [
        shares_of(one.classes[mine], one.models[mine], len(names))
        for one, mine in zip(questions, rows, strict=True)
    ]
    if len(tables) <= 64:
        return [worth_of([*tables[:i], *tables[i + 1 :]], names) for i in range(len(tables))]
    # With many questions, ten folds: each is judged by the other nine.
    folds = [worth_of([t for i, t in enumerate(tables) if i % 10 != fold][:256], names) for fold in range(10)]
    return [folds[i % 10] for i in range(len(tables))]


def trial(
    path: Path, dataset: str, only: Sequence[str], budget: int, n_repeats: int, n: int
) -> dict[str, object]:
    names, questions = questions_of(path, dataset, only, n)
    base, rest = divmod(budget, len(names))
    shares = [base + (k < rest) for k in range(len(names))]
    ways: dict[str, list[np.ndarray]] = {way: [] for way in ("majority", "equal", "learned", "picked")}
    singles: dict[str, list[np.ndarray]] = {name: [] for name in names}
    weights = []
    for repeat in range(n_repeats):
        rows = drawn(questions, shares, repeat)
        worths = left_out_worths(questions, rows, names)
        weights.append([float(np.mean([worth.weights[name] for worth in worths])) for name in names])
        equal = right_by(questions, rows, names, [EQUAL] * len(questions))
        ways["majority"].append(equal["sc"])
        ways["equal"].append(equal["auto"])
        ways["learned"].append(right_by(questions, rows, names, worths)["auto"])
        for k, name in enumerate(names):
            alone = [budget if j == k else 0 for j in range(len(names))]
            mine = drawn(questions, alone, repeat)
            singles[name].append(right_by(questions, mine, names, [EQUAL] * len(questions))["auto"])
        picks = [max(names, key=lambda name, worth=worth: worth.weights[name]) for worth in worths]
        ways["picked"].append(np.array([singles[pick][-1][i] for i, pick in enumerate(picks)]))
    means = {name: np.mean(values, axis=0) for name, values in (ways | singles).items()}
    best = max(names, key=lambda name: float(means[name].mean()))
    return {
        "set": dataset,
        "models": len(names) if not only else list(only),
        "questions": len(questions),
        "budget": budget,
        "best single": [best, percent(means[best])],
        "mean of singles": round(100 * float(np.mean([means[name].mean() for name in names])), 2),
        "accuracy": {way: percent(means[way]) for way in ways},
        "to the best single": {way: paired(questions, means[way], means[best]) for way in ways},
        "learned to majority": paired(questions, means["learned"], means["majority"]),
        "weights": dict(zip(names, np.round(np.mean(weights, axis=0), 2).tolist(), strict=True)),
        "singles": {name: percent(means[name]) for name in names},
    }


def percent(values: np.ndarray) -> float:
    return round(100 * float(values.mean()), 2)


def paired(questions: Sequence[Question], ours: np.ndarray, theirs: np.ndarray) -> list[float]:
    """Return the difference in points, and its interval."""
    names = tuple(one.name for one in questions)
    found = compare([whole_pool_sample("", names, ours)], [whole_pool_sample("", names, theirs)], 0)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return [round(100 * value, 2) for value in (found.difference, found.low, found.high)]


def trials(args: argparse.Namespace) -> Iterator[dict[str, object]]:
    for file, dataset, only in SETS:
        if (args.data / file).exists():
            yield trial(args.data / file, dataset, only, args.budget, args.repeats, args.questions)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--budget", type=int, default=33)
    parser.add_argument("--repeats", type=int, default=16)
    parser.add_argument("--questions", type=int, default=300)
    for line in trials(parser.parse_args()):
        print(json.dumps(line), flush=True)
