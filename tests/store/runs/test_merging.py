"""Runs of several models, and shards, as one run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.evaluation import load_pool_sets
from distrivote.store.results.votes import hold_elections
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.merging import merge_runs
from distrivote.store.runs.rows import Row
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from distrivote.store.tables.classes import questions_of
from distrivote.store.tables.questions import stream_questions
from distrivote.store.tables.source import Columns, open_table
from distrivote.voting.vote import vote

BASE = Manifest("openai", "a", "math", "b: q.jsonl", {"temperature": 0.6, "top_p": 0.95}, budget=2)
OTHER = dataclasses.replace(BASE, model="b", sampling={"temperature": 1.0, "top_p": 0.95})


def made(path: Path, manifest: Manifest, rows: list[tuple[str, int, str | None, float]], **more: str) -> str:
    with RunWriter(path, manifest) as writer:
        for question, sample, answer, confidence in rows:
            fields = {"ground_truth": "1", "question": f"What is {question}?"} | more
            writer.add(
                Row(question_id=question, sample=sample, answer=answer, confidence=confidence, **fields)
            )
    return str(path)


def of_two(path: Path, n: int = 1) -> list[str]:
    rows = [(f"q{i}", s, "1" if s else "2", 10.0 + s) for i in range(n) for s in range(2)]
    low = [(f"q{i}", s, "1.0" if s < 2 else None, 0.1 + s / 100) for i in range(n) for s in range(3)]
    return [made(path / "a", BASE, rows), made(path / "b", OTHER, low)]


def test_each_trajectory_keeps_its_model_and_answers_are_compared_among_all(tmp_path: Path) -> None:
    done = merge_runs(of_two(tmp_path), str(tmp_path / "both"))
    assert (done.n_questions, done.n_trajectories, done.models) == (1, 5, ("a", "b"))
    run = Run.open(tmp_path / "both")
    table = run.table(("sample", "model", "answer_class", "correct", "confidence"))
    assert table["sample"].to_pylist() == [0, 1, 2, 3, 4]
    assert table["model"].to_pylist() == ["a", "a", "b", "b", "b"]
    assert table["answer_class"].to_pylist() == [0, 1, 1, 1, -1]
    assert table["correct"].to_pylist() == [False, True, True, True, False]
    assert run.trajectory("q0", 3).model == "b"
    manifest = run.manifest
    assert (manifest.engine, manifest.model, manifest.budget) == ("merge", "a,b", 5)
    assert manifest.sampling == {"top_p": 0.95}
    assert manifest.merged is not None
    assert manifest.merged["2 b"]["sampling"]["temperature"] == 1.0
    with pytest.raises(InputError, match="was merged and not sampled"):
        manifest.going_on(BASE, "both")


def test_a_vote_on_it_is_the_vote_on_several_models(tmp_path: Path) -> None:
    merge_runs(of_two(tmp_path), str(tmp_path / "both"))
    with open_table(str(tmp_path / "both"), Columns()) as table:
        (block,) = questions_of(table, stream_questions)
        (results,) = hold_elections([block], ["auto", "wsc"])
    assert table.notes[0].startswith("2 models vote together (a, b)")
    wanted = vote(
        ["2", "1", "1", "1", None], [10, 11, 0.1, 0.11, 0.12], "wsc", models=["a", "a", "b", "b", "b"]
    )
    assert results.verdicts["wsc"].answer.to_pylist() == [wanted.answer] == ["1"]
    np.testing.assert_allclose(results.verdicts["wsc"].share, [wanted.share])


def test_an_evaluation_ranks_within_models_and_learns_what_they_are_worth(tmp_path: Path) -> None:
    n = 40
    rng = np.random.default_rng(7)

    def answers(p: float) -> list[tuple[str, int, str | None, float]]:
        wrong = lambda: str(rng.integers(2, 30))  # noqa: E731
        return [
            (f"q{i}", s, "1" if rng.random() < p else wrong(), float(rng.uniform(1, 2)))
            for i in range(n)
            for s in range(3)
        ]

    names = ("a", "b", "c")
    paths = [
        made(tmp_path / name, dataclasses.replace(BASE, model=name), answers(p))
        for name, p in zip(names, (0.9, 0.9, 0.2), strict=True)
    ]
    merge_runs(paths, str(tmp_path / "all"))
    loaded = load_pool_sets([str(tmp_path / "all")], reads={"measures"})
    (one,) = loaded.pool_sets
    assert any("3 models vote together" in note for note in loaded.notes)
    pool = one.pools[0]
    assert pool.weights is not None
    assert pool.models == ("a",) * 3 + ("b",) * 3 + ("c",) * 3
    # The two good models agree: their votes weigh more than those of the third.
    assert pool.weights[:6].min() > 2 * pool.weights[6:].max()
    # Each model has the same three ranks, whatever its confidences are.
    by_model = [sorted(pool.confidence[at : at + 3].round(9)) for at in (0, 3, 6)]
    assert by_model[0] == by_model[1] == by_model[2]


def test_shards_become_one_run_that_can_go_on(tmp_path: Path) -> None:
    parts = [
        made(tmp_path / f"s{i}", BASE, [(f"q{i}", s, "1", 1.0) for s in range(2)] + [("q9", 0, "1", 1.0)])
        for i in range(2)
    ]
    done = merge_runs(parts, str(tmp_path / "whole"))
    assert (done.n_questions, done.n_trajectories, done.n_doubled, done.models) == (3, 5, 1, ())
    run = Run.open(tmp_path / "whole")
    assert run.done() == {("q0", 0), ("q0", 1), ("q1", 0), ("q1", 1), ("q9", 0)}
    assert run.table(("model",))["model"].null_count == 5
    assert run.manifest.going_on(BASE, "whole").merged is None


def test_a_run_whose_rows_are_all_there_already_adds_none(tmp_path: Path) -> None:
    same = [made(tmp_path / f"s{i}", BASE, [("q0", 0, "1", 1.0), ("q0", 1, "2", 1.0)]) for i in range(2)]
    done = merge_runs(same, str(tmp_path / "whole"))
    assert (done.n_trajectories, done.n_doubled) == (2, 2)


def test_merged_runs_can_be_merged_again(tmp_path: Path) -> None:
    merge_runs(of_two(tmp_path), str(tmp_path / "both"))
    third = made(tmp_path / "c", dataclasses.replace(BASE, model="c"), [("q0", 0, "1", 3.0)])
    done = merge_runs([str(tmp_path / "both"), third], str(tmp_path / "three"))
    assert done.models == ("a", "b", "c")
    assert Run.open(tmp_path / "three").trajectory("q0", 5).model == "c"


@pytest.mark.parametrize(
    ("more", "question", "said"),
    [
        ({"question": "What else?"}, "q0", "have different questions 'q0': 'What else?' and 'What is q0?'"),
        ({"ground_truth": "7"}, "q0", "have different questions 'q0': '7' and '1'"),
        ({}, "z", "have no question in common"),
    ],
)
def test_runs_of_other_questions_are_refused(
    more: dict[str, str], question: str, said: str, tmp_path: Path
) -> None:
    first = made(tmp_path / "a", BASE, [("q0", 0, "1", 1.0)])
    other = dataclasses.replace(OTHER, benchmark="c")
    second = made(tmp_path / "b", other, [(question, 0, "1", 1.0)], **more)
    with pytest.raises(InputError, match=said.replace("?", r"\?")):
        merge_runs([first, second], str(tmp_path / "both"))
    assert not (tmp_path / "both").exists()
    with pytest.raises(InputError, match="is named twice"):
        merge_runs([first, first], str(tmp_path / "both"))
