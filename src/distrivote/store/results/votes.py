"""Results of methods on the questions of a file, some questions at a time.

`hold_elections` takes whole questions and yields their results, in order, and works on two or more threads.
`Totals` counts over all of them. Results are written elsewhere.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equality import Same
from distrivote.defaults import MIN_PROBABILITY
from distrivote.store.beliefs import Beliefs, learned_first, learns, models_of, of_model, worth_first
from distrivote.store.columns import CONFIDENCE
from distrivote.store.tables.questions import Questions
from distrivote.store.tables.truth import UNKNOWN, Judge, is_right
from distrivote.voting.abstaining import abstains
from distrivote.voting.caveats import MIN_POOL, MIN_SEPARATION
from distrivote.voting.methods import parse_method
from distrivote.voting.models import EQUAL, Worth
from distrivote.voting.probability import Calibration
from distrivote.voting.scales import Scale, Seen, scale_of
from distrivote.voting.tally import Outcome, Tally
from distrivote.voting.vote import elect

MAJORITY = "sc"
_MOST_THREADS = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """How probable an answer must be to be given."""

    calibration: Calibration = field(default_factory=Calibration)
    min_probability: float = MIN_PROBABILITY
    each_alone: bool = False
    """Whether questions are voted on independently, as a promise about errors requires: no trust is learned
    from the others."""

    no_probability: str | None = None
    """Why answers have no probability, in a sentence: then none is withheld."""


class Verdict(NamedTuple):
    """The results of one method on some questions: arrays over questions."""

    answer: pa.Array
    """Text, null where nothing was answered or the answer is withheld."""

    share: npt.NDArray[np.float64]
    n_kept: npt.NDArray[np.int64]
    n_cast: npt.NDArray[np.int64]
    n_unmeasured: npt.NDArray[np.int64]
    rejected: pa.Array
    """Text, null for none."""

    right: npt.NDArray[np.int8]
    """1 right, 0 wrong, -1 unknown: the winner, withheld or not."""

    separation: npt.NDArray[np.float64]
    probability: npt.NDArray[np.float64]
    """How probable the winner is, withheld or not; NaN if such answers have no probability."""

    withheld: pa.Array
    """Text: the answer that is not probable enough; null for none."""

    abstained: npt.NDArray[np.bool_]
    overrules: npt.NDArray[np.bool_]
    """Whether the winner goes against a clear majority of few answers."""

    @property
    def winner(self) -> pa.Array:
        """Text: the answer, withheld or not."""
        return pc.coalesce(self.answer, self.withheld)

    @property
    def given_right(self) -> npt.NDArray[np.int8]:
        """As `right`, and unknown where the answer was withheld."""
        return np.where(self.abstained, np.int8(UNKNOWN), self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """The results of every method on some questions; those of the majority are always included."""

    ids: pa.Array
    by: pa.Array | None
    truths: pa.Array | None
    n_trajectories: npt.NDArray[np.int64]
    methods: tuple[str, ...]
    verdicts: dict[str, Verdict]
    n_doubtful: int = 0
    """Winners that could not be compared with the right answer for certain: they count as wrong."""

    @property
    def majority(self) -> Verdict:
        return self.verdicts[MAJORITY]

    @property
    def n_unmeasured(self) -> npt.NDArray[np.int64]:
        """Answers without a confidence, if a method uses confidences."""
        counted: npt.NDArray[np.int64] = np.max(
            [each.n_unmeasured for each in self.verdicts.values()], axis=0
        )
        return counted

    def __len__(self) -> int:
        return len(self.ids)


class NotPositive(Exception):
    """Raised for confidences that are not positive: the scale has to be chosen from all of them."""


def scale_of_rows(batches: Iterable[pa.RecordBatch]) -> Scale:
    """Return the scale for all confidences of a file."""
    seen = Seen()
    for batch in batches:
        answers = np.where(batch.column("answer").is_valid().to_numpy(zero_copy_only=False), 0, -1)
        seen.add(answers, batch.column(CONFIDENCE).to_numpy())
    return seen.scale


def hold_elections(
    questions: Iterable[Questions],
    methods: Sequence[str],
    bar: Bar | None = None,
    same: Same | None = None,
    scale: Scale = Scale.POSITIVE,
) -> Iterator[Results]:
    """Vote on all questions by all methods (canonical names), in order.

    `same` decides whether a winner is the right answer, if rows do not say it. `scale` is that of all
    confidences; raises NotPositive if it is `POSITIVE` and one of them is not. `auto` learns its trust in
    each model from the first questions.
    """
    bar = bar or Bar()
    beliefs: Beliefs = {}
    worth = EQUAL
    if learns(methods) and not bar.each_alone:
        questions, beliefs = learned_first(questions)
        questions, worth = worth_first(questions)
    n_threads = max(1, min(_MOST_THREADS, os.cpu_count() or 1))
    waiting: deque[Future[Results]] = deque()
    pool = ThreadPoolExecutor(n_threads)
    try:
        for some in questions:
            waiting.append(pool.submit(_results, some, tuple(methods), bar, same, scale, beliefs, worth))
            # One waiting batch per thread: memory holds a few batches, whatever the file's size.
            while len(waiting) > 2 * n_threads or (waiting and waiting[0].done()):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _results(
    some: Questions,
    methods: tuple[str, ...],
    bar: Bar,
    same: Same | None,
    scale: Scale,
    beliefs: Beliefs,
    worth: Worth,
) -> Results:
    names = dict.fromkeys([*methods, MAJORITY])
    if some.models is not None:  # confidences count by their rank within their model
        pools = (some.classes, some.confidences, some.offsets)
        models = some.models.tolist()
        outcomes = elect(*pools, names, calibration=bar.calibration, models=models, worth=worth)
        return _judged(some, outcomes, methods, bar, same)
    if scale is Scale.POSITIVE and scale_of(some.classes, some.confidences) is not scale:
        raise NotPositive
    outcomes = _outcomes(some, list(names), bar.calibration, scale, beliefs)
    return _judged(some, outcomes, methods, bar, same)


def results_of(
    one: Questions,
    tallies: Sequence[Tally],
    majority: Tally,
    bar: Bar | None = None,
    same: Same | None = None,
) -> Results:
    """Return the results of a single question whose votes are counted already."""
    outcomes = {tally.method: _outcome(one, tally) for tally in (*tallies, majority)}
    return _judged(one, outcomes, tuple(tally.method for tally in tallies), bar or Bar(), same)


def _judged(
    some: Questions,
    outcomes: dict[str, Outcome],
    methods: tuple[str, ...],
    bar: Bar,
    same: Same | None,
) -> Results:
    """Return the results: which answers are given, and which of them are right."""
    # The majority is shown for comparison only: none of its answers are withheld.
    least = {name: bar.min_probability if name in methods else 0.0 for name in outcomes}
    if bar.no_probability is not None:
        unknown = np.full(len(some.ids), np.nan)
        outcomes = {name: outcome._replace(probability=unknown) for name, outcome in outcomes.items()}
    judge = Judge(same)
    verdicts = {name: _verdict(some, outcome, least[name], judge) for name, outcome in outcomes.items()}
    return Results(
        ids=some.ids,
        by=some.by,
        truths=some.truths,
        n_trajectories=np.diff(some.offsets),
        methods=methods,
        verdicts=verdicts,
        n_doubtful=judge.n_doubtful(),
    )


def _outcomes(
    some: Questions, names: list[str], calibration: Calibration, scale: Scale, beliefs: Beliefs
) -> dict[str, Outcome]:
    """Return the outcomes of all questions, with the trust of each model."""

    def elected(pools: tuple[np.ndarray, np.ndarray, np.ndarray], model: str) -> dict[str, Outcome]:
        return elect(*pools, names, calibration=calibration, scale=scale, trust=beliefs.get(model))

    models = np.array(models_of(some), dtype=object)
    distinct = list(dict.fromkeys(models.tolist()))
    if len(distinct) < 2 or not beliefs:
        return elected((some.classes, some.confidences, some.offsets), *distinct[:1] or [""])
    parts = {model: elected(of_model(some, models == model), model) for model in distinct}
    order = np.argsort(np.concatenate([np.flatnonzero(models == model) for model in distinct]))
    return {
        name: Outcome(*(np.concatenate(each)[order] for each in zip(*outcomes, strict=True)))
        for name in names
        for outcomes in [[part[name] for part in parts.values()]]
    }


def _outcome(one: Questions, tally: Tally) -> Outcome:
    """Return a tally as the outcome of `elect` for one pool."""
    winner = -1 if tally.best is None else one.classes[tally.best]
    rejected = one.classes[tally.dropped.argmax()] if tally.dropped.any() else -1
    return Outcome(
        winner=np.array([winner]),
        share=np.array([tally.share]),
        n_cast=np.array([tally.n_cast]),
        n_kept=np.array([tally.n_kept]),
        n_unmeasured=np.array([tally.n_unmeasured]),
        rejected=np.array([rejected]),
        separation=np.array([np.nan if tally.separation is None else tally.separation]),
        probability=np.array([np.nan if tally.probability is None else tally.probability]),
        overrules=np.array([tally.overrules]),
    )


def _verdict(some: Questions, outcome: Outcome, min_probability: float, judge: Judge) -> Verdict:
    def labels(classes: npt.NDArray[np.int64]) -> pa.Array:
        return some.labels.take(pa.array(classes, mask=classes < 0))

    abstained = abstains(outcome, min_probability)
    return Verdict(
        answer=labels(np.where(abstained, -1, outcome.winner)),
        share=outcome.share,
        n_kept=outcome.n_kept,
        n_cast=outcome.n_cast,
        n_unmeasured=outcome.n_unmeasured,
        rejected=labels(outcome.rejected),
        right=is_right(some, outcome.winner, judge),
        separation=outcome.separation,
        probability=outcome.probability,
        withheld=labels(np.where(abstained, outcome.winner, -1)),
        abstained=abstained,
        overrules=outcome.overrules,
    )


@dataclass(slots=True)
class Accuracy:
    """Right answers out of those whose truth is known."""

    n_right: int = 0
    n_known: int = 0

    @property
    def value(self) -> float:
        return self.n_right / self.n_known if self.n_known else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval for a share of few questions (Wilson's)."""
        n, p, z = self.n_known, self.value, 1.959964
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(slots=True)
class Totals:
    """Counts over all questions of a file."""

    methods: tuple[str, ...]
    bar: Bar = field(default_factory=Bar)
    n_questions: int = 0
    n_trajectories: int = 0
    n_unanswered: int = 0
    n_unmeasured: int = 0
    """Answers without a confidence, if a method uses confidences."""

    n_fallbacks: int = 0
    """Questions on which the majority decides because no answer has a confidence."""

    n_small: int = 0
    """Questions with too few answers for a split by confidence."""

    n_one_hump: int = 0
    """Questions whose confidences are hardly bimodal, for one of the methods that depend on it."""

    n_doubtful: int = 0
    """Winners that could not be compared with the right answer for certain."""

    n_uncalibrated: int = 0
    """Questions with fewer or more answers than probabilities were fitted on."""

    accuracy: dict[str, Accuracy] = field(default_factory=dict)
    """Of the answers that were given."""

    n_overruling: int = 0
    """Questions with few answers and a clear majority that one of the methods goes against."""

    n_withheld: dict[str, int] = field(default_factory=dict)
    """Answers that were not probable enough, by method."""

    def add(self, results: Results) -> None:
        self.n_questions += len(results)
        self.n_trajectories += int(results.n_trajectories.sum())
        self.n_doubtful += results.n_doubtful
        n_cast = results.majority.n_cast
        self.n_unanswered += int((results.n_trajectories - n_cast).sum())
        n_measured = n_cast - results.n_unmeasured
        self.n_unmeasured += int(results.n_unmeasured.sum())
        self.n_fallbacks += int(((n_cast > 0) & (n_measured == 0)).sum())
        if any(parse_method(name).filter is not None for name in self.methods):
            self.n_small += int(((n_measured > 0) & (n_measured < MIN_POOL)).sum())
        fitted = self.bar.calibration
        self.n_uncalibrated += int(((n_cast > fitted.most) | ((n_cast > 0) & (n_cast < fitted.fewest))).sum())
        separations = [results.verdicts[name].separation for name in self.methods]
        one_hump = np.any([d < MIN_SEPARATION for d in separations], axis=0)
        self.n_one_hump += int((one_hump & (n_measured >= MIN_POOL)).sum())
        self.n_overruling += int(
            np.any([results.verdicts[name].overrules for name in self.methods], axis=0).sum()
        )
        for name in dict.fromkeys([*self.methods, MAJORITY]):
            right = results.verdicts[name].given_right
            withheld = int(results.verdicts[name].abstained.sum())
            self.n_withheld[name] = self.n_withheld.get(name, 0) + withheld
            accuracy = self.accuracy.setdefault(name, Accuracy())
            accuracy.n_right += int((right == 1).sum())
            accuracy.n_known += int((right != UNKNOWN).sum())
