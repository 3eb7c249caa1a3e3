"""Replies of a stored run with their texts, to be read and voted on in other ways, and what came out of it.

For `humaneval.py`, `json_votes.py` and `short_votes.py`: the same questions, methods and intervals for all.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import distrivote
from distrivote.confidence import measure_named
from distrivote.confidence.tokens import TokenValues
from distrivote.defaults import MEASURE, SPLIT
from distrivote.evaluation.estimates import Sample, compare, estimate, whole_pool_sample
from distrivote.splitting import splitter, step_ends
from distrivote.store import Run
from distrivote.store.runs.rows import Row, rows_of, trajectory_of
from distrivote.trajectory import Trajectory

METHODS = ("sc", "dis-gmm", "auto")
"""Majority, DistriVoting and ours, each on one question alone."""

SEED = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One stored reply."""

    trajectory: Trajectory
    tokens: TokenValues
    stored: float
    """The confidence that the run has for it, NaN for none."""

    @property
    def text(self) -> str:
        return self.trajectory.text

    @property
    def is_cut(self) -> bool:
        return self.trajectory.finish_reason == "length"

    def confidence(self, answer_end: int | None) -> float:
        """Return the confidence of the step in which an answer ends, of the last step for None."""
        ends = step_ends(self.trajectory.tokens, splitter(SPLIT))
        measure = measure_named(MEASURE)
        return measure.of(self.trajectory, step_ends=ends, answer_end=answer_end, tokens=self.tokens).value


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its replies in the order of their numbers."""

    id: str
    text: str
    right: str | None
    replies: tuple[Reply, ...]


def questions_of(path: str, limit: int | None = None) -> list[Question]:
    """Return the questions of a run as they were stored; `limit` takes the first replies of each."""
    rows: dict[str, list[Row]] = {}
    for row in rows_of(Run.open(path).table()):
        rows.setdefault(row.question_id, []).append(row)
    questions = []
    for name, own in rows.items():
        own.sort(key=lambda row: row.sample)
        replies = tuple(_reply(row) for row in own[:limit])
        questions.append(Question(name, own[0].question or "", own[0].ground_truth, replies))
    return questions


def _reply(row: Row) -> Reply:
    trajectory = trajectory_of(row)
    n = len(trajectory.tokens)
    known = row.token_confidences
    values = np.full(n, np.nan) if known is None or len(known) != n else known.astype(np.float64)
    return Reply(trajectory, TokenValues(values, 0, row.k or 0), row.confidence)


def winner(keys: Sequence[Hashable | None], confidences: Sequence[float], method: str) -> int | None:
    """Return the number of the first reply whose key wins the vote, None if there is nothing to vote on."""
    numbers: dict[Hashable, str] = {}
    answers = [None if key is None else numbers.setdefault(key, str(len(numbers))) for key in keys]
    if not numbers:
        return None
    elected = distrivote.vote(answers, confidences, method).answer
    return None if elected is None else answers.index(elected)


Shares = Mapping[str, Sequence[float]]
"""What was measured -> one value for each question."""


def summary(shares: Shares, names: Sequence[str], against: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return means over questions with 95% intervals, and paired differences, in percent."""
    samples = {name: _sample(values, names) for name, values in shares.items()}
    means = {name: _estimate(sample) for name, sample in samples.items()}
    differences = {
        f"{ours} - {theirs}": _difference(samples[ours], samples[theirs]) for ours, theirs in against
    }
    return {"n_questions": len(names), "percent": means, "differences": differences}


def _sample(values: Sequence[float], names: Sequence[str]) -> Sample:
    array: npt.NDArray[np.float64] = 100.0 * np.asarray(values, dtype=np.float64)
    return whole_pool_sample("stored", tuple(names), array)


def _estimate(sample: Sample) -> list[float | None]:
    found = estimate([sample], SEED)
    return [_rounded(each) for each in (found.mean, found.low, found.high)]


def _difference(ours: Sample, theirs: Sample) -> list[float | None]:
    found = compare([ours], [theirs], SEED)
    return [] if found is None else [_rounded(each) for each in (found.difference, found.low, found.high)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
