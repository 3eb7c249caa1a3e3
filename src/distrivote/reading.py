"""The answer of a trajectory and the confidence of the model: each trajectory is read once.

A `Reader` defines how: the answer is extracted, the text is cut into steps, and measures turn the
log-probabilities into confidences. The parts are exchangeable; each has its own file. A
`Pool` reads the trajectories of one question as they finish, one by one or many at once with the same result.
Votes are not known here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from distrivote.answers.extract import OwnExtractor
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.own import own_kind
from distrivote.confidence import (
    DEFAULT_K,
    DEFAULT_MEASURE,
    STATED,
    Measure,
    OwnMeasure,
    TokenValues,
    TrajectoryConfidence,
    entries_given,
    measure_of,
    token_entropy,
    unstated,
)
from distrivote.confidence.steps import StepEnds
from distrivote.confidence.tokens import check_k
from distrivote.defaults import SPLIT
from distrivote.errors import InputError, OwnCodeError
from distrivote.nouns import count, verb
from distrivote.splitting import OwnSplit, Splitter, splitter, step_ends
from distrivote.steering import ENDED
from distrivote.trajectory import CUT_OFF, Floats, Interventions, Trajectory

_NO_STEPS: StepEnds = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The answer of one trajectory, and the confidence of the model."""

    index: int
    """The trajectory's number."""

    answer: str | None
    """None if no answer was found."""

    confidences: tuple[TrajectoryConfidence, ...]
    """One for each measure; the vote uses the first."""

    answer_end: int | None = None
    """The offset in the text just after the answer."""

    answer_start: int | None = None
    """Where a long answer begins; None for a short one."""

    step_ends: StepEnds = field(default_factory=lambda: _NO_STEPS)
    """Exclusive ends in tokens; empty if no measure uses steps."""

    is_ended: bool = False
    """Whether its controller ended it because of low confidence: then it has no vote."""

    is_cut: bool = False
    """Whether the reply reached the token limit before it had finished an answer."""

    record: Interventions | None = None
    """What a controller saw and did."""

    model: str | None = None
    """The model of the trajectory, if several share the question."""

    @property
    def confidence(self) -> float:
        """The confidence for the vote, NaN if it was not measured."""
        return self.confidences[0].value

    @property
    def vote(self) -> str | None:
        """The answer that it votes for."""
        return None if self.is_ended else self.answer


@dataclass(frozen=True, slots=True)
class Reader:
    """How trajectories are read."""

    kind: Kind
    """What an answer is."""

    measures: tuple[Measure, ...]
    """The vote uses the first."""

    split: Splitter
    k: int = DEFAULT_K
    """How many of the most probable tokens count at most."""

    steered_by: Splitter | None = None
    """The splitter of the controller that steered the trajectories: if it equals `split`, the controller's
    record says where steps end."""

    @classmethod
    def of(
        cls,
        extract: str | re.Pattern[str] | OwnExtractor | Kind = "auto",
        measures: Iterable[str | Measure | OwnMeasure] = (DEFAULT_MEASURE,),
        split: str | Splitter | OwnSplit = SPLIT,
        k: int = DEFAULT_K,
        steered_by: Splitter | None = None,
    ) -> Self:
        """Return a reader; each part is a name or your own object."""
        check_k(k)
        named, steps = tuple(map(measure_of, measures)), splitter(split)
        return cls(extract if isinstance(extract, Kind) else own_kind(extract), named, steps, k, steered_by)

    def read(self, trajectories: Sequence[Trajectory], k: int | None = None) -> list[Reading]:
        """Return the reading of each trajectory; `k` replaces the reader's own if a pool has fewer."""
        k = self.k if k is None else k
        # Several measures use the same values of the tokens.
        made: dict[object, list[TokenValues]] = {}
        for measure in self.measures:
            source = (measure.token_values, measure.whole)
            if source not in made:
                made[source] = measure.values_of(trajectories, k)
        values = [made[measure.token_values, measure.whole] for measure in self.measures]
        return [
            self._reading(trajectory, k, [of_all[at] for of_all in values])
            for at, trajectory in enumerate(trajectories)
        ]

    def cleaned(self, trajectory: Trajectory) -> Trajectory:
        """Return a trajectory without the text that only a measure reads: the line of a stated confidence."""
        return unstated(trajectory) if any(each.name == STATED for each in self.measures) else trajectory

    def _reading(self, trajectory: Trajectory, k: int, values: Sequence[TokenValues]) -> Reading:
        is_cut = trajectory.finish_reason == CUT_OFF
        found = self.kind.read(trajectory.text, is_cut=is_cut)
        answer, answer_end, answer_start = (None, None, None) if found is None else found
        ends = _NO_STEPS
        if any(measure.answer_step_only for measure in self.measures):
            ends = _steps_of(trajectory, self.split, k, self.steered_by)
        confidences = [
            measure.of(
                trajectory,
                k=k,
                step_ends=ends,
                answer_end=answer_end,
                answer_start=answer_start,
                tokens=tokens,
            )
            for measure, tokens in zip(self.measures, values, strict=True)
        ]
        is_ended = trajectory.finish_reason == ENDED
        return Reading(
            trajectory.index,
            answer,
            tuple(confidences),
            answer_end,
            answer_start,
            ends,
            is_ended,
            is_cut and answer is None,
            trajectory.interventions,
            trajectory.model,
        )


class Pool:
    """The trajectories of one question, read as they finish.

    Trajectories are added by one thread. With `eager` each is read when it is added, and other threads may
    access the readings; without, all new trajectories are read together on access.
    """

    def __init__(self, reader: Reader, *, eager: bool = False) -> None:
        self.reader, self._eager = reader, eager
        self._trajectories: list[Trajectory] = []
        self._readings: list[Reading] = []
        self._unread: list[Trajectory] = []
        self._depth = _Depth(reader.measures[0], reader.k)

    def read_by(self, reader: Reader) -> None:
        """Read all trajectories again, and further ones, with another reader that has the same measures."""
        self.reader = reader
        self._readings = reader.read(self._trajectories, self._depth.k) if self._readings else []

    def add(self, trajectory: Trajectory) -> Trajectory:
        """Add a trajectory, and return it in the form in which it is read: without a stated confidence."""
        trajectory = self.reader.cleaned(trajectory)
        self._trajectories.append(trajectory)
        if self._eager:
            self._read()
        return trajectory

    def read(self) -> list[tuple[Trajectory, Reading]]:
        """Return the trajectories so far with their readings, in the order in which they were added.

        Raises InputError if their confidences are not comparable.
        """
        if not self._eager:
            self._read()
        return list(zip(self._trajectories, self._readings, strict=False))

    def _read(self) -> None:
        new = self._trajectories[len(self._readings) :]
        if not new:
            return
        before = self._depth.k
        for trajectory in new:
            self._depth.take(trajectory)
        k = self._depth.k
        if k != before:
            self._readings = self.reader.read(self._trajectories, k)
        else:
            try:
                self._readings += self.reader.read(new, k)
            except OwnCodeError:
                self._read_each(new, k)

    def _read_each(self, new: Sequence[Trajectory], k: int) -> None:
        """Read one after the other, leave out those that a user's function can't read, and then raise."""
        failure = None
        del self._trajectories[len(self._readings) :]
        for trajectory in new:
            try:
                self._readings += self.reader.read([trajectory], k)
                self._trajectories.append(trajectory)
            except OwnCodeError as error:
                failure = failure or error
                self._unread.append(trajectory)
        if failure is not None:
            raise failure

    @property
    def trajectories(self) -> tuple[Trajectory, ...]:
        """All trajectories, also those that a user's function could not read."""
        return *self._trajectories, *self._unread

    def notes_on(self, pairs: Sequence[tuple[Trajectory, Reading]]) -> list[str]:
        """Return caveats about the trajectories of this pool, a sentence each."""
        return _notes(pairs, self.reader.measures[0])


class _Depth:
    """How many of the most probable entries all trajectories of a pool have, k at most.

    Trajectories without any do not count, and neither does the extra entry that an engine gives if the
    sampled token is not among the most probable. Trajectories with different numbers of entries are refused,
    since their confidences are not comparable, and so is a mix with values of the whole distribution.
    """

    def __init__(self, measure: Measure, k: int) -> None:
        self.k = k
        self._measure, self._most = measure, k
        self._measured: list[Trajectory] = []
        self._fewest: int | None = None
        self._has_whole = False

    def take(self, trajectory: Trajectory) -> None:
        if not self._measure.uses_top_k:
            return
        if self._measure.whole(trajectory) is not None:
            self._has_whole |= bool(trajectory.tokens)
            n = 0
        else:
            n = min(entries_given(trajectory.top_logprobs), self._most)
        if n:
            self._compare(trajectory, n)
        if self._has_whole and self._measured:
            raise InputError(
                f"some trajectories have the {self._measure.name} of the whole distribution and some that of"
                " their most probable tokens, and their confidences do not compare: vote on them separately,"
                " or by another measure"
            )

    def _compare(self, trajectory: Trajectory, n: int) -> None:
        if n == 1:
            raise InputError(
                "some trajectories have 1 log-probability per token: ask the server for at least 2"
                f" (top_logprobs={DEFAULT_K} is usual)"
            )
        fewest = n if self._fewest is None else min(n, self._fewest)
        deeper = self._measured if self._fewest is not None and n < self._fewest else ()
        for each in (*deeper, *((trajectory,) if n > fewest else ())):
            if not _only_extras(each, fewest):
                more = min(entries_given(each.top_logprobs), self._most)
                raise InputError(
                    f"some trajectories have {fewest} log-probabilities per token and some {more}, and their"
                    f" confidences do not compare: vote on them separately, or set k={fewest}"
                )
        self._measured.append(trajectory)
        self.k = self._fewest = fewest


def _steps_of(trajectory: Trajectory, split: Splitter, k: int, steered_by: Splitter | None) -> StepEnds:
    """Return where steps end: by the record of a controller with the same splitter, else by the text.

    A text that a controller with steps has injected contains no boundary.
    """
    tokens, record = trajectory.tokens, trajectory.interventions
    steps = () if record is None else record.step_ends
    if split == steered_by and steps[-1:] == (len(tokens),):
        # A stop string may have left only white space of the last step, which then is not a step.
        is_blank = len(steps) > 1 and not "".join(tokens[steps[-2] :]).strip()
        return np.array((*steps[:-2], steps[-1]) if is_blank else steps, dtype=np.int64)
    injected = np.zeros(len(tokens), dtype=bool)
    for insertion in record.insertions if record is not None and steps else ():
        injected[insertion.start : insertion.start + insertion.n_tokens] = True
    entropies = np.where(injected, np.nan, _entropies(trajectory, k)) if split.uses_entropy else None
    ends = step_ends(tokens, split, entropies)
    counts = ~injected[ends - 1]
    counts[-1:] = True
    return ends[counts]


def _entropies(trajectory: Trajectory, k: int) -> Floats:
    whole = trajectory.entropies
    return token_entropy(trajectory.top_logprobs, k).values if whole is None else whole


def _only_extras(trajectory: Trajectory, k: int) -> bool:
    """Say whether no token has more than k entries, except the sampled token's own entry, the last one."""
    n_entries = np.count_nonzero(~np.isnan(trajectory.top_logprobs), axis=1)
    longer = n_entries > k
    least = np.nanmin(trajectory.top_logprobs[longer], axis=1)
    return bool((n_entries <= k + 1).all() and (trajectory.logprobs[longer] <= least).all())


def _notes(pairs: Sequence[tuple[Trajectory, Reading]], measure: Measure) -> list[str]:
    notes = []
    confidences = [reading.confidences[0] for _, reading in pairs]
    answered = [reading.answer is not None for _, reading in pairs]
    silent = [math.isnan(confidence.value) for confidence in confidences]
    n_cut = sum(reading.is_cut for _, reading in pairs)
    if n_cut:
        were = verb(n_cut, "were")
        of = count(len(pairs), "trajectory")
        notes.append(f"{n_cut} of {of} {were} cut off before an answer: allow more tokens")
    if pairs and not any(answered) and n_cut < len(pairs):
        notes.append(
            f"no answer was found in any of {count(len(pairs), 'trajectory')}: check how answers are"
            " extracted"
        )
    if pairs and all(silent):
        notes.append(_no_confidence_note([trajectory for trajectory, _ in pairs], measure))
    elif any(is_silent and is_answered for is_silent, is_answered in zip(silent, answered, strict=True)):
        # The tally says how many there are, and how they are treated.
        notes.append(f"some trajectories came without {measure.needs} and so without a confidence")
    used = max((confidence.k for confidence in confidences), default=0)
    if 0 < used < DEFAULT_K:
        notes.append(
            f"confidences rest on the {used} most probable tokens; {DEFAULT_K} are usual, and values for"
            " different numbers do not compare"
        )
    noted = [(i, note) for i, confidence in enumerate(confidences) for note in confidence.notes]
    if noted:
        first, note = noted[0]
        notes.append(f"trajectory {first}: {note}")
    n_noted = len({i for i, _ in noted})
    if n_noted > 1:
        notes.append(f"{n_noted} of {len(pairs)} trajectories have such a note; this was the first")
    n_ended = sum(reading.is_ended for _, reading in pairs)
    if n_ended:
        were, have = verb(n_ended, "were"), verb(n_ended, "have")
        of = count(len(pairs), "trajectory")
        notes.append(f"{n_ended} of {of} {were} ended for low confidence and {have} no vote")
    return notes


def _no_confidence_note(trajectories: Sequence[Trajectory], measure: Measure) -> str:
    if measure.name == STATED:
        return f"no trajectory came with {measure.needs}: give it more `max_tokens`, or use another measure"
    ask = f"ask the server for logprobs with top_logprobs={DEFAULT_K}"
    if measure.uses_top_k and any(np.isfinite(t.logprobs).any() for t in trajectories):
        ask += ', or use measure="logprob", which needs the sampled tokens only'
    return f"there are no usable log-probabilities and so no confidences: {ask}"
