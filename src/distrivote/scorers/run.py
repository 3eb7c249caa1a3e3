"""A column of scores added to a run: what `distrivote score` does.

Only missing scores are computed, equal replies are scored once, and stored scores survive a kill.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from distrivote.engines.base import Engine
from distrivote.engines.choice import EngineChoice
from distrivote.errors import InputError
from distrivote.names import origins
from distrivote.nouns import count
from distrivote.scorers.names import opened, scorer_of, uses_engine
from distrivote.scorers.scorer import Reply, Scored, Scorer
from distrivote.store.columns import ANSWER, QUESTION, QUESTION_ID, SAMPLE, TEXT
from distrivote.store.runs.run import Run
from distrivote.store.runs.score_writer import ScoreWriter
from distrivote.store.runs.scorer_record import ScorerRecord

_TOGETHER = 1024
"""How many replies a scorer gets at once."""

_IN_MEMORY = 256 << 20
"""Bytes of a run up to which all its texts are read at once; of a larger one question by question."""


@dataclass(frozen=True, slots=True)
class ScoreProgress:
    """How far the scoring of a run is."""

    n_done: int
    """Trajectories that were scored here, including those that got no score."""

    n_todo: int
    n_tokens: int


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """What scoring a run did."""

    column: str
    n_scored: int = 0
    """Trajectories that have a new score."""

    n_asked: int = 0
    """How many replies the scorer got: equal replies are scored once."""

    n_before: int = 0
    """Trajectories that had a score already."""

    n_without: int = 0
    """Trajectories for which the scorer gave none."""

    n_unreadable: int = 0
    """Trajectories that lack what the scorer reads."""

    n_left: int = 0
    n_tokens: int = 0
    notes: tuple[str, ...] = ()
    is_spent: bool = False
    """Whether the limit of tokens ended it."""


class ScoreInterrupted(KeyboardInterrupt):
    """Raised after an interrupt; what was scored is stored."""

    def __init__(self, result: ScoreResult) -> None:
        super().__init__()
        self.result = result


def score_run(
    run: str | os.PathLike[str] | Run,
    scorer: Any,
    *,
    name: str | None = None,
    engine: Engine | EngineChoice | None = None,
    max_tokens_total: int | None = None,
    partial: bool = False,
    watch: Callable[[ScoreProgress], None] = lambda _: None,
) -> ScoreResult:
    """Give every trajectory of a run a score, in a new column that votes and evaluations can use as signal.

    After a stop or a kill the same call continues: a stored score is not computed again unless its text has
    changed.

    Args:
        run: The folder of a run, or the run.
        scorer: `command:CMD`, `package.module:function`, `ptrue`, `ptrue:answer`, `judge`,
            `judge:answer`, `score`, `pooling`, `classify`; a function (reply) -> number, an object with
            `score_all(replies)`, or a `Scorer`.
        name: The name of the column; by default reward, ptrue, judge, score or that of the function.
        engine: The model that `ptrue` or `judge` asks, or the server of a reward model.
        max_tokens_total: Stop cleanly after this number of tokens.
        partial: Accept a run that lacks parts.
        watch: Called with the progress.
    """
    if isinstance(engine, EngineChoice):
        with_model = opened(engine, scorer) if uses_engine(scorer) else None
        try:
            return score_run(
                *(run, scorer),
                name=name,
                engine=with_model,
                max_tokens_total=max_tokens_total,
                partial=partial,
                watch=watch,
            )
        finally:
            if with_model is not None:
                with_model.close()
    stored = run if isinstance(run, Run) else Run.open(os.fspath(run), partial=partial)
    asked = scorer_of(scorer, engine)
    return _score(stored, asked, name or asked.column, max_tokens_total, watch)


def _score(
    run: Run,
    scorer: Scorer,
    name: str,
    max_tokens: int | None,
    watch: Callable[[ScoreProgress], None],
) -> ScoreResult:
    _check_fields(run, scorer)
    record = ScorerRecord(scorer.name, dict(scorer.settings), origins([scorer.name]))
    limit = math.inf if max_tokens is None else max_tokens
    n_rows, n_seen = len(run.table((SAMPLE,))), 0
    with ScoreWriter(run.folder, name, record) as writer:
        result = ScoreResult(name, notes=(*run.notes, *writer.notes))
        cache = {known.key: known.score for known in writer.known.values()}

        def done(replies: Sequence[Reply], key: bytes, score: float | None, n_tokens: int) -> ScoreResult:
            for reply in replies:
                writer.add(reply.question_id, reply.trajectory, key, score)
            n = len(replies)
            has = score is not None
            return replace(
                result,
                n_scored=result.n_scored + n * has,
                n_without=result.n_without + n * (not has),
                n_tokens=result.n_tokens + n_tokens,
            )

        try:
            for some in _batches(run):
                todo: dict[bytes, list[Reply]] = {}
                for reply in some:
                    key = reply.key(scorer.reads)
                    known = writer.known.get((reply.question_id, reply.trajectory))
                    if known is not None and known.key == key:
                        result = replace(result, n_before=result.n_before + 1)
                    elif any(getattr(reply, field) is None for field in scorer.needs):
                        result = replace(result, n_unreadable=result.n_unreadable + 1)
                    elif key in cache:
                        result = done([reply], key, cache[key], 0)
                    else:
                        todo.setdefault(key, []).append(reply)
                keys, first = list(todo), [replies[0] for replies in todo.values()]
                for number, score, n_tokens in _scored(scorer, first, limit - result.n_tokens):
                    key = keys[number]
                    cache[key] = score
                    result = replace(done(todo[key], key, score, n_tokens), n_asked=result.n_asked + 1)
                    n_done = result.n_scored + result.n_without
                    watch(ScoreProgress(n_done, n_rows - result.n_before, result.n_tokens))
                n_seen = result.n_before + result.n_scored + result.n_without + result.n_unreadable
                result = replace(result, n_left=n_rows - n_seen)
                if result.n_left and result.n_tokens >= limit:
                    result = replace(result, is_spent=True)
                    break
        except KeyboardInterrupt:
            raise ScoreInterrupted(replace(result, n_left=n_rows - n_seen)) from None
    return result


def _scored(scorer: Scorer, replies: Sequence[Reply], room: float) -> Iterator[Scored]:
    """Yield the scores of the replies until they have taken `room` tokens.

    Requests run together, and what was asked for has to be paid. So within a limit the first reply goes
    alone, and then as many at a time as fit if each takes as much as the largest so far; all are kept.
    """
    first, most = 0, 0
    while first < len(replies) and room > 0:
        if room == math.inf or (first and not most):
            n = len(replies)
        else:
            n = max(1, int(room // most)) if most else 1
        for number, score, n_tokens in scorer.score(replies[first : first + n]):
            most = max(most, n_tokens)
            room -= n_tokens
            yield Scored(first + number, score, n_tokens)
        first += n


def _batches(run: Run) -> Iterator[list[Reply]]:
    """Yield the replies of a run in batches."""
    if run.n_raw_bytes <= _IN_MEMORY:
        parts: Iterator[list[Reply]] = iter([_replies(run)])
    else:
        parts = (_replies(run, question.id) for question in run.questions())
    for replies in parts:
        for first in range(0, len(replies), _TOGETHER):
            yield replies[first : first + _TOGETHER]


def _replies(run: Run, question_id: str | None = None) -> list[Reply]:
    columns = (QUESTION_ID, SAMPLE, QUESTION, TEXT, ANSWER)
    table = run.table(columns, question_id)
    return [Reply(*values) for values in zip(*(table[name].to_pylist() for name in columns), strict=True)]


def _check_fields(run: Run, scorer: Scorer) -> None:
    """Raise InputError if a run has nothing of what a scorer reads."""
    table = run.table(scorer.needs)
    if not len(table):
        raise InputError(f"{run.path} holds no trajectories yet: there is nothing to score")
    for field in scorer.needs:
        if table[field].null_count == len(table):
            what = {TEXT: "texts of replies", QUESTION: "texts of questions"}.get(field, "answers")
            raise InputError(
                f"{run.path} holds no {what}, which {scorer.name} reads",
                hint="sample or import it with `texts=True`",
            )


def told(result: ScoreResult, run: str) -> str:
    """Return what was done in one sentence."""
    if not (result.n_scored or result.n_without or result.n_left or result.n_unreadable):
        return f"{run} has {result.column} of every trajectory"
    line = f"{run}: {count(result.n_scored, 'score')} added to {result.column}, {result.n_asked:,} asked for"
    if result.n_before:
        line += f", {result.n_before:,} there before"
    return line
