"""A run as a table of sampled answers: what takes part in a vote, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distrivote.errors import InputError
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.writer import RunWriter
from distrivote.store.signal_columns import mixed_questions
from distrivote.store.tables.questions import Questions, hold_questions
from distrivote.store.tables.source import Columns, open_table

MANIFEST = Manifest("replay", "none", "math", "made-up", {"temperature": 0.6}, budget=8)


def row(question: str, sample: int, answer: str | None = "4", confidence: float = 9.0, **more: object) -> Row:
    fields = {"k": 20, "confidence_mean": confidence} | more
    return Row(question_id=question, sample=sample, answer=answer, confidence=confidence, **fields)  # type: ignore[arg-type]


def stored(path: Path, *rows: Row) -> str:
    with RunWriter(path, MANIFEST) as writer:
        for each in rows:
            writer.add(each)
    return str(path)


def read(run: str, columns: Columns | None = None) -> tuple[list[Questions], list[str]]:
    with open_table(run, columns or Columns()) as table:
        return list(hold_questions(table.batches())), table.notes


def test_answers_without_a_confidence_are_answers(tmp_path: Path) -> None:
    rows = [row("a", 0), row("a", 1, confidence=np.nan), row("a", 2, None, np.nan), row("b", 0, "5", np.nan)]
    run = stored(tmp_path / "run", *rows)
    (found,), notes = read(run)
    assert found.ids.to_pylist() == ["a", "b"]
    assert (found.classes >= 0).tolist() == [True, True, False, True]
    assert np.isnan(found.confidences).tolist() == [False, True, True, True]
    assert notes == []


def test_a_question_that_mixes_different_k_is_refused(tmp_path: Path) -> None:
    rows = [row(name, 0, logprob=0.5) for name in ("a", "b")]
    run = stored(tmp_path / "run", *rows, row("b", 1, k=5, logprob=0.5))
    sentence = 'question b of .*run mixes confidences of the 5 and of the 20 most probable tokens.*`by="k"`'
    with pytest.raises(InputError, match=sentence):
        read(run)
    for columns in (Columns(by="k"), Columns(confidence=None), Columns(confidence="logprob")):
        assert read(run, columns)[0]


@pytest.mark.parametrize("column", ["entropy", "self_certainty"])
def test_a_question_that_mixes_two_distributions_is_refused(tmp_path: Path, column: str) -> None:
    whole, older = {column: 0.5, "whole_distribution": True}, {column: 0.5}
    run = stored(tmp_path / "run", row("a", 0, **whole), row("b", 0, **whole), row("b", 1, **older))
    sentence = "question b of .*run mixes entropies of the whole distribution and of the most probable tokens"
    with pytest.raises(InputError, match=sentence):
        read(run, Columns(confidence=column))
    assert read(run)[1] == []


def test_several_questions_may_have_different_k(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", row("a", 0), row("b", 0, k=5), row("b", 1, k=5))
    assert len(read(run)[0][0]) == 2


def test_damaged_parts_are_named(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", row("a", 0))
    (part,) = (tmp_path / "run" / "parts").glob("*.parquet")
    whole = part.read_bytes()
    stored(tmp_path / "run", row("b", 0))
    part.write_bytes(whole[:-20])
    (found,), notes = read(run)
    assert found.ids.to_pylist() == ["b"]
    assert len(notes) == 1
    assert part.name in notes[0]


def test_a_mix_is_of_the_signals_that_most_answers_have(tmp_path: Path) -> None:
    rows = [row("a", i, "4" if i % 3 else "5", 9.0 + i, entropy=0.1 + i / 100) for i in range(12)]
    rows += [row("a", 12, confidence=np.nan, entropy=0.5), row("a", 13, "5", confidence=np.nan)]
    mixed = mixed_questions(stored(tmp_path / "run", *rows), Columns())
    assert list(mixed.weights[""]) == ["entropy"]
    assert mixed.notes == ()
    (found,) = mixed.questions
    assert int((found.classes >= 0).sum()) == 14
    assert np.flatnonzero(np.isnan(found.confidences)).tolist() == [13]
