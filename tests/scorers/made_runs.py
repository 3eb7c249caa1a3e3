"""A small run with texts, for tests of scorers."""

from __future__ import annotations

from pathlib import Path

from distrivote.store.runs.folder import Place
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, Row
from distrivote.store.runs.writer import RunWriter

MANIFEST = Manifest("replay", "none", "math", "made-up", {"temperature": 0.6}, budget=8)
ANSWERS = {"a": ["4", "5", "5", "4", "5", "5"], "b": ["7", "7", "9", "9", "9", "7"]}


def made_run(path: Path | Place, keep: Keep = Keep()) -> str:  # noqa: B008
    """Store two questions of six replies; the right answers, 4 and 7, are not those of a majority."""
    with RunWriter(path, MANIFEST, keep=keep) as writer:
        for question, answers in ANSWERS.items():
            for sample, answer in enumerate(answers):
                writer.add(
                    Row(
                        question_id=question,
                        sample=sample,
                        question=f"What is {question}?",
                        text=f"{'Well. ' * sample}It is \\boxed{{{answer}}}.",
                        answer=answer,
                        ground_truth=ANSWERS[question][0],
                        confidence=5.0 + sample / 10,
                        n_tokens=10 + sample,
                    )
                )
    return writer.path


def reward(question: str | None, answer: str | None) -> float:
    """Return what a good reward model would say: a logit, below 0 for wrong answers."""
    return 2.5 if answer == ANSWERS[str(question)[8]][0] else -3.0
