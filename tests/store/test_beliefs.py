"""What `auto` believes of a file's confidences is learned from its own questions, at every door alike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from distrivote import vote_batch
from distrivote.cli.main import app
from distrivote.store.beliefs import MOST_QUESTIONS, learned_first
from distrivote.store.tables.questions import stream_questions
from distrivote.store.tables.source import Columns, open_table

RIGHT, WRONG = 0, 1


def rows_of(n_questions: int, misleads: bool, seed: int) -> list[dict[str, object]]:
    """Return questions with a majority of right answers and a confidence that separates or misleads."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for question in range(n_questions):
        share = rng.uniform(0.35, 0.95)
        for _ in range(32):
            right = rng.random() < share
            answer = "r" if right else f"w{rng.integers(2)}"
            surer = right != misleads
            confidence = float(np.exp(rng.normal(2.4 if surer else 2.2, 0.08)))
            rows.append({"question_id": f"q{question:03}", "answer": answer, "confidence": confidence})
    return rows


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def voted(*arguments: str) -> dict[str, str]:
    result = CliRunner().invoke(app, ["vote", *arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    return {
        f"{row.get('model', '')}{row['question_id']}": row["answer"]
        for row in json.loads(result.stdout)["questions"]
    }


def batch_of(rows: list[dict[str, object]]) -> list[str]:
    """Return the winners of `vote_batch`, by label."""
    labels = {label: number for number, label in enumerate(dict.fromkeys(str(row["answer"]) for row in rows))}
    classes = np.array([labels[str(row["answer"])] for row in rows]).reshape(-1, 32)
    confidences = np.array([row["confidence"] for row in rows]).reshape(-1, 32)
    winners = vote_batch(classes, confidences, ["auto"])["auto"]
    return [list(labels)[winner] for winner in winners.tolist()]


@pytest.mark.parametrize("misleads", [False, True])
def test_a_file_is_voted_on_as_a_batch_of_its_questions(tmp_path: Path, misleads: bool) -> None:
    rows = rows_of(60, misleads, seed=1)
    found = voted(write(tmp_path / "a.jsonl", rows))
    assert list(found.values()) == batch_of(rows)


def test_each_model_of_a_file_is_believed_by_itself(tmp_path: Path) -> None:
    one, other = rows_of(40, False, seed=2), rows_of(40, True, seed=3)
    mixed = [row | {"model": "good"} for row in one] + [row | {"model": "bad"} for row in other]
    found = voted(write(tmp_path / "a.jsonl", mixed), "--by", "model")
    assert [answer for name, answer in found.items() if name.startswith("good")] == batch_of(one)
    assert [answer for name, answer in found.items() if name.startswith("bad")] == batch_of(other)


def test_one_question_is_explained_as_the_file_is_voted_on(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", rows_of(40, True, seed=4))
    answers = voted(path)
    for question in list(answers)[:8]:
        assert voted(path, "--explain", question) == {question: answers[question]}


def test_no_more_questions_are_held_than_a_belief_needs(tmp_path: Path) -> None:
    n = 3 * MOST_QUESTIONS
    rows = [{"question_id": f"q{i:04}", "answer": "a", "confidence": 9.0} for i in range(n)]
    with open_table(write(tmp_path / "a.jsonl", rows), Columns()) as table:
        questions, beliefs = learned_first(stream_questions(table.batches()))
        assert sum(len(some) for some in questions) == n
    assert beliefs[""].n_questions == 0  # all agree, so nothing was learned
