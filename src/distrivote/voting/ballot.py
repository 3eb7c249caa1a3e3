"""What is voted on, and what comes out.

A `Ballot` is one question's pool: an answer class and a confidence per trajectory. A `Tally` is what
one method made of it: the answer, the score of every answer, and what happened on the way there.
Neither knows how a vote works.

Missing is explicit: no answer is None (class -1), no confidence is NaN. Higher confidence means surer. An
answer without a confidence counts in the majority, and is left out of whatever looks at confidences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from distrivote.defaults import MEASURE, SPLIT, K
from distrivote.errors import InputError
from distrivote.voting.scales import check_confidences

if TYPE_CHECKING:
    from distrivote.answers.equality import Equality
    from distrivote.answers.extract import OwnExtractor
    from distrivote.confidence import Measure
    from distrivote.splitting import Splitter
    from distrivote.trajectory import Trajectory

Answer: TypeAlias = Hashable
"""An answer's label. Equal labels are one answer."""

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Ballot:
    """One pool of trajectories: who answered what, and how surely.

    >>> ballot = Ballot.of(["42", "41", "42", None], [15.2, 13.9, 14.8, None])
    >>> ballot.classes.tolist(), ballot.labels
    ([0, 1, 0, -1], ('42', '41'))
    """

    classes: npt.NDArray[np.int64]
    """(n_trajectories,) The answer class of each trajectory, -1 for none."""

    confidences: npt.NDArray[np.float64]
    """(n_trajectories,) Finite, NaN where there is none."""

    labels: tuple[Answer, ...]
    """The answer that each class stands for, in the order in which they were first seen."""

    notes: tuple[str, ...] = ()
    """What whoever made the ballot has to say about it, a sentence each."""

    @classmethod
    def of(
        cls,
        answers: Iterable[Answer | None],
        confidences: Iterable[float | None] | None = None,
        notes: Sequence[str] = (),
    ) -> Self:
        """Build a ballot from answers and confidences in the same order.

        None, NaN and blank strings are no answer. Confidences must be finite; None and NaN are missing.
        """
        answers = _listed(answers, "answers")
        classes, labels = _classes(answers)
        return cls(classes, _confidences(confidences, len(answers)), labels, tuple(notes))

    @classmethod
    def from_answers(
        cls,
        answers: Sequence[str | None],
        confidences: Iterable[float | None] | None = None,
        *,
        same: str | Equality | None = None,
        notes: Sequence[str] = (),
    ) -> Self:
        """Build a ballot from the texts of answers, of which those that are the same are one.

        `same` says when they are: text, notation, math (if nothing is said) or choice, or an `Equality`.

        >>> Ballot.from_answers(["0.5", "1/2", "7"]).classes.tolist()
        [0, 0, 1]
        """
        from distrivote.answers.equivalence import classify

        classes = classify(answers, same)
        return cls.of(classes.answers, confidences, [*notes, *classes.remarks.notes])

    @classmethod
    def from_trajectories(
        cls,
        trajectories: Iterable[Trajectory],
        *,
        extract: str | re.Pattern[str] | OwnExtractor = "auto",
        measure: str | Measure = MEASURE,
        split: str | Splitter = SPLIT,
        k: int = K,
        same: str | Equality | None = None,
        steered_by: Splitter | None = None,
    ) -> Self:
        """Build a ballot from the trajectories of one question.

        `extract`, `measure` and `split` are names or objects of one's own. `k` is how many of the most
        probable tokens count; if fewer were given, those count and a note says so. Trajectories with
        different numbers of them are refused, since their confidences do not compare. `same` is that of
        `from_answers`. `steered_by` is the splitter of the controller that steered the trajectories: if it
        is `split`, its record says where steps end. One that its controller ended has no vote.

        >>> from distrivote.trajectory import Trajectory
        >>> Ballot.from_trajectories([Trajectory("4"), Trajectory("5")], extract="number").labels
        ('4', '5')
        """
        from distrivote.reading import Pool, Reader

        pool = Pool(Reader.of(extract, [measure], split, k, steered_by))
        for trajectory in trajectories:
            pool.add(trajectory)
        pairs = pool.read()
        return cls.from_answers(
            [reading.vote for _, reading in pairs],
            [reading.confidence for _, reading in pairs],
            same=same,
            notes=pool.notes_on(pairs),
        )

    @classmethod
    def from_openai(
        cls,
        responses: object,
        *,
        extract: str | re.Pattern[str] | OwnExtractor = "auto",
        measure: str | Measure = MEASURE,
        split: str | Splitter = SPLIT,
        k: int = K,
        same: str | Equality | None = None,
    ) -> Self:
        """Build a ballot from the responses of an OpenAI-compatible server to one question.

        `responses` is one response or several, chat or completions, as dicts or as the objects of the
        openai package; every choice is a trajectory. Ask for them with logprobs=True, top_logprobs=20. The
        other arguments are those of `from_trajectories`.

        >>> texts = ["2 + 2 = 4", "The answer is 5.", "The answer is 4."]
        >>> choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in texts]
        >>> ballot = Ballot.from_openai({"choices": choices}, extract="number")
        >>> ballot.labels, ballot.classes.tolist()
        (('4', '5'), [0, 1, 0])
        """
        from distrivote.engines.responses import trajectories_from_openai

        found = trajectories_from_openai(responses)
        return cls.from_trajectories(found, extract=extract, measure=measure, split=split, k=k, same=same)

    @classmethod
    def from_vllm(
        cls,
        outputs: object,
        *,
        extract: str | re.Pattern[str] | OwnExtractor = "auto",
        measure: str | Measure = MEASURE,
        split: str | Splitter = SPLIT,
        k: int = K,
        same: str | Equality | None = None,
    ) -> Self:
        """Build a ballot from vLLM's outputs for one prompt, sampled with SamplingParams(n=..., logprobs=20).

        The other arguments are those of `from_trajectories`.

        >>> from types import SimpleNamespace as Object
        >>> row = {19: Object(logprob=-0.1, decoded_token="4"), 20: Object(logprob=-2.3, decoded_token="5")}
        >>> sample = Object(text="4", token_ids=[19], logprobs=[row], finish_reason="stop")
        >>> ballot = Ballot.from_vllm([Object(outputs=[sample, sample])])
        >>> ballot.labels, ballot.confidences.tolist()
        (('4',), [1.2, 1.2])
        """
        from distrivote.engines.responses import trajectories_from_vllm

        found = trajectories_from_vllm(outputs)
        return cls.from_trajectories(found, extract=extract, measure=measure, split=split, k=k, same=same)


# Aliases for one more version.
ballot_of = Ballot.from_trajectories
from_openai = Ballot.from_openai
from_vllm = Ballot.from_vllm


def _classes(answers: Sequence[Answer | None]) -> tuple[npt.NDArray[np.int64], tuple[Answer, ...]]:
    """Number the answers in the order in which they are first seen."""
    numbers: dict[Answer, int] = {}
    classes = np.full(len(answers), -1, dtype=np.int64)
    for index, answer in enumerate(answers):
        try:
            if answer is None or answer != answer or (isinstance(answer, str) and not answer.strip()):
                continue
            classes[index] = numbers.setdefault(answer, len(numbers))
        except (TypeError, ValueError):
            raise InputError(
                f"answer {index} is a {type(answer).__name__}, which can't be compared as one value:"
                " hand in strings or numbers"
            ) from None
    return classes, tuple(numbers)


def _confidences(values: Iterable[float | None] | None, n: int) -> npt.NDArray[np.float64]:
    """Return the confidences as checked floats, NaN where missing."""
    if values is None:
        return np.full(n, np.nan)
    items = _listed(values, "confidences")
    if len(items) != n:
        raise InputError(f"{n} answers but {len(items)} confidences: hand in one confidence per answer")
    try:
        confidences = np.array([np.nan if v is None else v for v in items], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        index, value = next((i, v) for i, v in enumerate(items) if not _is_number(v))
        said = "too large" if isinstance(value, int) else repr(value)
        raise InputError(
            f"confidence {index} is {said}: hand in a number, or None where there is none"
        ) from None
    if confidences.ndim != 1:
        raise InputError(f"confidences have {confidences.ndim} dimensions: hand in one number per answer")
    check_confidences(confidences)
    return confidences


def _listed(values: Iterable[_T], what: str) -> list[_T]:
    try:
        items = iter(values)
    except TypeError:
        raise InputError(f"{what} are {values!r}: hand in a list with one for each trajectory") from None
    return list(items)


def _is_number(value: object) -> bool:
    if isinstance(value, np.ndarray) and value.ndim:
        return False
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return value is None
    return True


class Split(NamedTuple):
    """How one pool was cut into likely right (positive) and likely wrong (negative)."""

    cut: float
    """Midpoint between the largest negative and the smallest positive; NaN if nothing is negative."""

    n_positive: int
    n_negative: int

    weights: tuple[float, float] | None = None
    """Of the negative and the positive Gaussian, where the split fits them."""

    means: tuple[float, float] | None = None
    sds: tuple[float, float] | None = None


class Weighing(NamedTuple):
    """How `auto` weighed confidence against votes."""

    answer: Answer
    """What was weighed against the majority: the winner, or where that is the majority's answer, the one
    that the confidences speak for most."""

    odds: float
    """Of that answer against the majority's; above 1, it won. NaN if they agree."""

    gap: float
    """How much surer its trajectories are than the others, in standard deviations of the pool's ranks."""

    voted: Answer | None
    """What DistriVoting elects by itself."""


def _nothing() -> BoolArray:
    return np.empty(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Tally:
    """What one method made of one ballot."""

    method: str
    answer: Answer | None
    """The answer to believe; None if no trajectory answered."""

    scores: dict[Answer, float]
    """The score of every answer, best first; 0 for answers that had no say in the final vote."""

    majority: Answer | None
    """What plain majority voting says, to be shown beside."""

    votes: dict[Answer, int]
    """How many trajectories gave each answer."""

    kept_votes: dict[Answer, int]
    """How many of them had a say in the final vote."""

    n_unanswered: int
    likely_right_votes: dict[Answer, int] = field(default_factory=dict)
    """How many trajectories with each answer are above the first cut; `votes`, where nothing is cut."""

    n_unmeasured: int = 0
    """Answers without a confidence, which had no say but in the majority; 0 where none is looked at."""

    fallback: bool = False
    """Whether the majority decided because no answer has a confidence, which the method looks at."""

    split: Split | None = None
    """The split that the final vote stands on: the second one if an answer was rejected, none where `auto`
    elects another answer than DistriVoting."""

    first_split: Split | None = None
    """The split of the whole pool."""

    rejected: Answer | None = None
    """The answer that the likely wrong half prefers and that was therefore dropped."""

    negative_answer: Answer | None = None
    """The answer that the likely wrong half prefers, dropped or not."""

    intervals_won: tuple[int, int] | None = None
    """In how many intervals of the final hierarchical vote the answer won, and how many voted."""

    weighing: Weighing | None = None
    """How far confidence was trusted; for `auto` only."""

    probabilities: dict[Answer, float] = field(default_factory=dict)
    """How probable each answer is, in the order of the scores. They leave room for answers nobody gave."""

    calibrated: bool = True
    """Whether the probabilities were fitted on pools of this size."""

    notes: tuple[str, ...] = ()
    """What a careful reader should know: a small pool, hardly two humps."""

    separation: float | None = None
    """How many standard deviations lie between the means of the first split's Gaussians; None without."""

    overrules: bool = False
    """Whether the answer goes against a clear majority of fewer than 16 answers."""

    best: int | None = None
    """The most confident trajectory that gave the answer, as its place in the ballot; None without an
    answer."""

    confidences: FloatArray = field(default_factory=lambda: np.empty(0), compare=False)
    """(n_trajectories,) The confidences as the method saw them; NaN without a confidence or an answer."""

    likely_right: BoolArray = field(default_factory=_nothing, compare=False)
    """(n_trajectories,) Who is above the first cut; all that answered, where the method cuts nothing."""

    likely_wrong: BoolArray = field(default_factory=_nothing, compare=False)
    """(n_trajectories,) Who is below the first cut."""

    dropped: BoolArray = field(default_factory=_nothing, compare=False)
    """(n_trajectories,) Who gave the rejected answer."""

    kept: BoolArray = field(default_factory=_nothing, compare=False)
    """(n_trajectories,) Who had a say in the final vote."""

    @property
    def share(self) -> float:
        """The winner's share of the score; not a probability."""
        return 0.0 if self.answer is None else self.share_of(self.answer)

    def share_of(self, answer: Answer) -> float:
        """Return an answer's share of the score; of the votes, where scores are below 0."""
        if self.shares_votes:
            return self.kept_votes[answer] / self.n_kept
        mine, total = self.scores[answer], sum(self.scores.values())
        if total == math.inf:
            return 1 / sum(score / mine for score in self.scores.values()) if mine else 0.0
        return mine / total if total else 0.0

    @property
    def shares_votes(self) -> bool:
        """Whether shares are those of the votes: of scores below 0 there is no share."""
        return self.fallback or min(self.scores.values(), default=0.0) < 0

    @property
    def probability(self) -> float:
        """How probable it is that the answer is right, by the calibration; 0 without an answer."""
        return self.probabilities[self.answer] if self.answer is not None else 0.0

    @property
    def n_trajectories(self) -> int:
        return self.n_cast + self.n_unanswered

    @property
    def n_cast(self) -> int:
        """How many trajectories have an answer."""
        return sum(self.votes.values())

    @property
    def n_kept(self) -> int:
        return sum(self.kept_votes.values())

    def explain(self) -> str:
        """Say in words how the answer came about."""
        from distrivote.voting.explain import explain

        return explain(self)


class Outcome(NamedTuple):
    """What one method made of a batch of pools: arrays over pools."""

    winner: npt.NDArray[np.int64]
    """The winning class, -1 where nothing was answered."""

    share: npt.NDArray[np.float64]
    """The winner's share of the score."""

    n_cast: npt.NDArray[np.int64]
    """How many trajectories have an answer."""

    n_kept: npt.NDArray[np.int64]
    """How many of them had a say in the final vote."""

    n_unmeasured: npt.NDArray[np.int64]
    """How many of them have no confidence; 0 where the method looks at none. If it is all of them, the
    majority decided."""

    rejected: npt.NDArray[np.int64]
    """The rejected class, -1 for none."""

    separation: npt.NDArray[np.float64]
    """How many standard deviations lie between the means of the whole pool's two Gaussians; NaN without."""

    probability: npt.NDArray[np.float64]
    """How probable the winner is; NaN without a calibration, 0 without an answer."""

    overrules: npt.NDArray[np.bool_]
    """Whether the winner goes against a clear majority of fewer than 16 answers."""
