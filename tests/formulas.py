"""A question whose answers are formulas, written in several ways; and a machine without math-verify."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from distrivote.answers import mathverify
from distrivote.answers.mathverify import MathVerifier
from distrivote.engines.base import SamplingParams
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.writer import RunWriter

TRUTH = r"\sqrt{\frac{95}{24}}"
FORMULA, OTHER, NUMBER = r"\frac{\sqrt{570}}{12}", r"\frac{\sqrt{95}}{2\sqrt{6}}", "2"
ANSWERS = [FORMULA] * 5 + [OTHER] * 4 + [NUMBER] * 6
"""Nine of fifteen are right, and no notation tells it."""


def formula_rows(question: str = "q", answers: list[str] = ANSWERS, truth: str | None = TRUTH) -> list[Row]:
    return [
        Row(question_id=question, sample=i, answer=answer, ground_truth=truth, confidence=10.0 + i % 3, k=20)
        for i, answer in enumerate(answers)
    ]


def formula_run(path: Path, *rows: Row, same: str | None = None) -> str:
    """Store a run, which says nothing of how answers are compared unless it is told."""
    manifest = Manifest.of("replay", "none", "math", "made-up", SamplingParams(), budget=15, same=same)
    with RunWriter(path, manifest) as writer:
        for row in rows or formula_rows():
            writer.add(row)
    return str(path)


def hide_math_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = MathVerifier()
    verifier.__dict__["is_installed"] = False
    monkeypatch.setattr(mathverify, "_SHARED", {os.getpid(): verifier})
