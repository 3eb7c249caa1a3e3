"""A trajectory as a row of a run, and back.

`row_of` computes every measure of `confidence`. Values of steps and tokens are stored as float32, so the
log-probabilities of a restored trajectory have seven digits.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.extract import OwnExtractor
from distrivote.answers.kinds.kind import Kind
from distrivote.confidence import (
    DEFAULT_K,
    TrajectoryConfidence,
    entries_given,
    measure_named,
    step_confidences,
    token_confidence,
)
from distrivote.confidence.trajectories import N_GROUP_TOKENS
from distrivote.defaults import SPLIT
from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.reading import Reader, Reading
from distrivote.splitting import OwnSplit, Splitter, splitter
from distrivote.steering import ENDED
from distrivote.store.columns import CONFIDENCE, FINISH_REASON
from distrivote.store.runs.schema import MEASURES, SCHEMA
from distrivote.store.tables.labels import text_array
from distrivote.trajectory import Insertion, Interventions, Trajectory

Ints: TypeAlias = npt.NDArray[np.int32]
Singles: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Keep:
    """What a run stores of each trajectory in addition to its measures and steps."""

    texts: bool = True
    """The texts of replies and questions."""

    token_confidences: bool = False
    """Also the log-probabilities of the sampled tokens and, with the texts, where each token ends."""

    top_logprobs: bool = False
    """The k most probable entries at each token: large."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Row:
    """One stored trajectory; the fields are the columns of `SCHEMA`, and docs/runs.md describes them."""

    question_id: str
    sample: int
    seed: int | None = None
    answer: str | None = None
    answer_class: int | None = None
    """-1 for no answer, None if not known yet."""

    correct: bool | None = None
    ground_truth: str | None = None
    confidence: float = np.nan
    confidence_mean: float = np.nan
    confidence_tail: float = np.nan
    confidence_lowest_group: float = np.nan
    confidence_bottom_groups: float = np.nan
    logprob: float = np.nan
    entropy: float = np.nan
    self_certainty: float = np.nan
    k: int | None = None
    whole_distribution: bool | None = None
    """Whether entropy and self-certainty come from the whole distribution, not the top k; None without."""

    n_tokens: int | None = None
    seconds: float | None = None
    """How long the engine took, None if not known."""

    finish_reason: str | None = None
    flaw: str | None = None
    """What is wrong with the trajectory, None if nothing is."""

    step_ends: Ints | None = None
    step_confidences: Singles | None = None
    unfinished: bool | None = None
    reflections: Ints | None = None
    """None without a controller."""

    reflection_lengths: Ints | None = None
    server: str | None = None
    """The server that sampled it, if there are several."""

    model: str | None = None
    """The model that sampled it, if the run has several."""

    question: str | None = None
    text: str | None = None
    token_ends: Ints | None = None
    token_confidences: Singles | None = None
    token_logprobs: Singles | None = None
    top_logprobs: Singles | None = None
    """(n_tokens, width)"""

    def __post_init__(self) -> None:
        _require(self.question_id != "", "a question has an empty id: give every question its own")
        _require(_is_utf8(self.question_id), f"the question id {self.question_id!r} is not Unicode text")
        _require(0 <= self.sample < 2**31, f"sample is {self.sample}: give a number from 0")
        fits = self.seed is None or -(2**63) <= self.seed < 2**63
        _require(fits, f"seed is {self.seed}: give a number of 64 bits with sign")


def _require(fits: bool, sentence: str) -> None:
    if not fits:
        raise InputError(sentence)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def row_of(
    problem: Problem,
    trajectory: Trajectory,
    *,
    seed: int | None = None,
    correct: bool | None = None,
    extract: str | re.Pattern[str] | OwnExtractor | Kind | None = None,
    split: str | Splitter | OwnSplit = SPLIT,
    k: int = DEFAULT_K,
) -> Row:
    """Return the row of a trajectory: its answer, all measures, its steps and reflections.

    Answers are found as the problem says unless `extract` is given. Steps are those of the controller if it
    has steps, otherwise those of `split`. `correct` is filled in later from the right answer if it is not
    given here, and so is the class of the answer.

    >>> row = row_of(Problem("2 + 2?", id="q1", answer="4"), Trajectory("It is \\\\boxed{4}.", index=3))
    >>> row.sample, row.answer, row.confidence
    (3, '4', nan)
    """
    if entries_given(trajectory.top_logprobs) == 1:
        # One entry shows no spread: a missing confidence is better than a wrong one; the other values stay.
        trajectory = dataclasses.replace(trajectory, top_logprobs=np.empty((trajectory.n_tokens, 0)))
    rule = splitter(split)
    reader = Reader.of(problem.extractor if extract is None else extract, MEASURES, rule, k, steered_by=rule)
    (reading,) = reader.read([trajectory])
    answer, ends = reading.vote, reading.step_ends
    columns = dict(zip(MEASURES.values(), reading.confidences, strict=True))
    confidences = token_confidence(trajectory.top_logprobs, k).values
    # The steps of a text without tokens can't be counted.
    untold = bool(trajectory.text) and not trajectory.tokens
    steps = {} if untold else {"step_ends": ends, "step_confidences": step_confidences(confidences, ends)}
    unmeasured = np.isnan(columns["entropy"].value)
    return Row(
        question_id=problem.id,
        sample=trajectory.index,
        seed=seed,
        answer=answer,
        answer_class=-1 if answer is None else None,
        correct=False if correct is None and answer is None and problem.answer is not None else correct,
        ground_truth=problem.answer,
        k=columns[CONFIDENCE].k,
        whole_distribution=None if unmeasured else trajectory.entropies is not None,
        n_tokens=trajectory.n_reply_tokens if untold else trajectory.n_tokens,
        seconds=trajectory.seconds,
        finish_reason=trajectory.finish_reason,
        flaw=trajectory.flaw,
        server=trajectory.server,
        question=problem.question or None,
        text=trajectory.text,
        token_ends=np.cumsum([len(token) for token in trajectory.tokens], dtype=np.int32),
        token_confidences=shortened(singles(confidences)),
        token_logprobs=shortened(singles(trajectory.logprobs)),
        top_logprobs=singles(trajectory.top_logprobs),
        **{column: confidence.value for column, confidence in columns.items()},  # type: ignore[arg-type]
        **_watched(trajectory.interventions, steps),
    )


def reading_of(row: Row, measure: str | None = None) -> Reading:
    """Return the reading of a row, as if its trajectory had been read again; `measure` adds a confidence."""
    confidences = [TrajectoryConfidence(row.confidence, row.k or 0)]
    if measure is not None:
        confidences.append(TrajectoryConfidence(_measured(row, measure), row.k or 0))
    record = None
    if row.step_ends is not None and row.step_confidences is not None:
        record = Interventions((), tuple(row.step_ends.tolist()), tuple(row.step_confidences.tolist()))
    is_ended = row.finish_reason == ENDED
    return Reading(row.sample, row.answer, tuple(confidences), is_ended=is_ended, record=record)


def _measured(row: Row, name: str) -> float:
    """Return a row's confidence by a measure of its tokens' confidences."""
    column = MEASURES.get(name.removesuffix(f":{N_GROUP_TOKENS}"))
    if column is not None:
        return float(getattr(row, column))
    if row.token_confidences is None:
        raise InputError(
            f"the run holds no confidences of tokens, which {name} needs",
            hint=f"store them (`token_confidences=True`), or use a window of {N_GROUP_TOKENS}",
        )
    values = row.token_confidences[~np.isnan(row.token_confidences)].astype(np.float64)
    return float(measure_named(name).reduce(values)) if len(values) else math.nan


def singles(values: npt.NDArray[Any]) -> Singles:
    """Return numbers in single precision; too large ones become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def shortened(values: Singles) -> Singles:
    """Return numbers rounded to 16 significant bits, half to even: within 1 / 65,536 of their value.

    Their last bytes are 0 and take no room in a part, whose floats are split by byte. Values of single tokens
    serve to make other steps and tails, which are means of many tokens: one more changes these far more.

    >>> shortened(np.array([14.123456, -0.0000123456], np.float32)).tolist()
    [14.12353515625, -1.2345612049102783e-05]
    """
    bits = values.view(np.uint32)
    rounded = bits + (np.uint32(0x7F) + ((bits >> np.uint32(8)) & np.uint32(1)))
    rounded &= np.uint32(0xFFFFFF00)
    # A number that is not one may have all bits set, which would be rounded to 0.
    short: Singles = np.where(np.isnan(values), values, rounded.view(np.float32))
    return short


def _watched(seen: Interventions | None, steps: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of steps and reflections, from the controller's record if it has them."""
    fields = dict(steps)
    if seen is not None:
        if seen.step_ends:
            fields = {"step_ends": seen.step_ends, "step_confidences": seen.step_confidences}
        fields["reflections"] = [insertion.start for insertion in seen.insertions]
        fields["reflection_lengths"] = [insertion.n_tokens for insertion in seen.insertions]
    arrays: dict[str, Any] = {
        name: singles(np.asarray(value)) if name == "step_confidences" else np.asarray(value, np.int32)
        for name, value in fields.items()
    }
    return arrays if seen is None else arrays | {"unfinished": seen.unfinished}


def trajectory_of(row: Row) -> Trajectory:
    """Return a row as a trajectory, with tokens and log-probabilities as far as they are stored."""
    text = row.text or ""
    interventions = None
    if row.reflections is not None:
        lengths = row.reflection_lengths if row.reflection_lengths is not None else row.reflections * 0
        steps = () if row.step_ends is None else tuple(row.step_ends.tolist())
        judged = () if row.step_confidences is None else tuple(row.step_confidences.tolist())
        insertions = tuple(map(Insertion, row.reflections.tolist(), lengths.tolist()))
        interventions = Interventions(insertions, steps, judged, bool(row.unfinished))
    ends = [] if row.token_ends is None else row.token_ends.tolist()
    if not ends or ends[-1] != len(text):
        return Trajectory(
            text,
            finish_reason=row.finish_reason,
            index=row.sample,
            interventions=interventions,
            seconds=row.seconds,
            flaw=row.flaw,
            model=row.model,
        )
    tokens = tuple(text[start:end] for start, end in zip([0, *ends], ends, strict=False))
    n = len(tokens)
    top = np.empty((n, 0)) if row.top_logprobs is None else row.top_logprobs.astype(np.float64)
    logprobs = np.full(n, np.nan) if row.token_logprobs is None else row.token_logprobs.astype(np.float64)
    return Trajectory(
        *(text, tokens, top, logprobs, row.finish_reason, row.sample, interventions),
        flaw=row.flaw,
        seconds=row.seconds,
        model=row.model,
    )


def table_of(rows: Sequence[Row], keep: Keep = Keep()) -> pa.Table:  # noqa: B008
    """Return rows as a table with the columns of `SCHEMA`, null for values that are not stored."""
    dropped: set[str] = set()
    if not keep.texts:
        dropped |= {"question", "text", "token_ends"}
    if not keep.token_confidences:
        dropped |= {"token_confidences", "token_logprobs"}
    if not keep.top_logprobs:
        dropped.add("top_logprobs")
    if not (keep.token_confidences or keep.top_logprobs):
        dropped.add("token_ends")
    columns = []
    for field in SCHEMA:
        values = [None if field.name in dropped else getattr(row, field.name) for row in rows]
        columns.append(_array(values, field.type))
    return pa.table(columns, schema=SCHEMA)


def _array(values: list[Any], kind: Any) -> pa.Array:
    if pa.types.is_string(kind):
        return text_array(values)
    if pa.types.is_list(kind) and pa.types.is_list(kind.value_type):
        return pa.array([None if value is None else list(value) for value in values], kind)
    # from_pandas turns NaN into null, which is right for single numbers but not inside lists.
    return pa.array(values, kind, from_pandas=pa.types.is_float64(kind))


def rows_of(table: pa.Table) -> list[Row]:
    """Return the rows of a table with the columns of `SCHEMA`."""
    rows = []
    for values in table.select(SCHEMA.names).to_pylist():
        for field in SCHEMA:
            value = values[field.name]
            if value is None and pa.types.is_float64(field.type):
                values[field.name] = np.nan
            elif value is not None and pa.types.is_list(field.type):
                whole = pa.types.is_int32(field.type.value_type)
                try:
                    array = np.asarray(value, np.int32 if whole else np.float32)
                except (TypeError, ValueError) as error:
                    where = f"sample {values['sample']} of question {values['question_id']!r}"
                    raise InputError(
                        f"{where} has {field.name} with gaps or of several lengths: make the run again"
                    ) from error
                nested = pa.types.is_list(field.type.value_type)
                values[field.name] = array.reshape(0, 0) if nested and not value else array
        rows.append(Row(**values))
    return rows


def n_ended(table: pa.Table) -> int:
    """Return how many trajectories in rows of a run were ended early by their controller."""
    return int(pc.sum(pc.equal(table[FINISH_REASON], ENDED)).as_py() or 0)
