"""What is voted on: a `Ballot` is the pool of one question, with an answer class and a confidence for each
trajectory.

How votes are counted is defined elsewhere; the result is a `Tally`.

Missing is explicit: no answer is None (class -1), no confidence is NaN. Higher confidence means surer. An
answer without a confidence counts in the majority, and is left out wherever confidences are used.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from distrivote.defaults import MEASURE, SPLIT, K
from distrivote.errors import InputError
from distrivote.voting.scales import check_confidences

if TYPE_CHECKING:
    from distrivote.answers.equality import Same
    from distrivote.answers.extract import OwnExtractor
    from distrivote.confidence import Measure, OwnMeasure
    from distrivote.splitting import OwnSplit, Splitter
    from distrivote.trajectory import Trajectory
    from distrivote.voting.tally import Outcome as Outcome
    from distrivote.voting.tally import Split as Split
    from distrivote.voting.tally import Tally as Tally
    from distrivote.voting.tally import Weighing as Weighing

Answer: TypeAlias = Hashable
"""An answer's label. Equal labels are one answer."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Ballot:
    """One pool of trajectories: their answers and their confidences.

    >>> ballot = Ballot.of(["42", "41", "42", None], [15.2, 13.9, 14.8, None])
    >>> ballot.classes.tolist(), ballot.labels
    ([0, 1, 0, -1], ('42', '41'))
    """

    classes: npt.NDArray[np.int64]
    """(n_trajectories,) The answer class of each trajectory, -1 for none."""

    confidences: npt.NDArray[np.float64]
    """(n_trajectories,) Finite, NaN if missing."""

    labels: tuple[Answer, ...]
    """The answer of each class, in the order in which they first appear."""

    notes: tuple[str, ...] = ()
    """Remarks about how the ballot was made, a sentence each."""

    models: tuple[str, ...] = ()
    """(n_trajectories,) The model of each trajectory if there are several; empty: all are of one model."""

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
        same: Same | None = None,
        notes: Sequence[str] = (),
    ) -> Self:
        """Build a ballot from the texts of answers; equal answers become one class.

        `same` says when they are equal: text, notation, math (the default) or choice, or an `Equality`.

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
        measure: str | Measure | OwnMeasure = MEASURE,
        split: str | Splitter | OwnSplit = SPLIT,
        k: int = K,
        same: Same | None = None,
        steered_by: Splitter | None = None,
    ) -> Self:
        """Build a ballot from the trajectories of one question.

        `extract`, `measure` and `split` are names or your own objects. `k` is the number of most probable
        tokens to use; if there are fewer, those are used and a note says so. Trajectories with different
        numbers of them are refused, since their confidences are not comparable. `same` is that of
        `from_answers`. `steered_by` is the splitter of the controller that steered the trajectories: if it
        is `split`, its record says where steps end. A trajectory that its controller ended has no vote.

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
        measure: str | Measure | OwnMeasure = MEASURE,
        split: str | Splitter | OwnSplit = SPLIT,
        k: int = K,
        same: Same | None = None,
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
        measure: str | Measure | OwnMeasure = MEASURE,
        split: str | Splitter | OwnSplit = SPLIT,
        k: int = K,
        same: Same | None = None,
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


# Aliases that will be removed in the next version.
ballot_of = Ballot.from_trajectories
from_openai = Ballot.from_openai
from_vllm = Ballot.from_vllm


def __getattr__(name: str) -> object:
    if name not in ("Outcome", "Split", "Tally", "Weighing"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from distrivote.voting import tally

    return getattr(tally, name)


def _classes(answers: Sequence[Answer | None]) -> tuple[npt.NDArray[np.int64], tuple[Answer, ...]]:
    """Number the answers in the order in which they first appear."""
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
                " give strings or numbers"
            ) from None
    return classes, tuple(numbers)


def _confidences(values: Iterable[float | None] | None, n: int) -> npt.NDArray[np.float64]:
    """Return the confidences as checked floats, NaN where missing."""
    if values is None:
        return np.full(n, np.nan)
    items = _listed(values, "confidences")
    if len(items) != n:
        raise InputError(f"{n} answers but {len(items)} confidences: give one confidence per answer")
    try:
        confidences = np.array([np.nan if v is None else v for v in items], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        index, value = next((i, v) for i, v in enumerate(items) if not _is_number(v))
        said = "too large" if isinstance(value, int) else repr(value)
        raise InputError(
            f"confidence {index} is {said}: give a number, or None where there is none"
        ) from None
    if confidences.ndim != 1:
        raise InputError(f"confidences have {confidences.ndim} dimensions: give one number per answer")
    check_confidences(confidences)
    return confidences


def _listed(values: Iterable[_T], what: str) -> list[_T]:
    try:
        items = iter(values)
    except TypeError:
        raise InputError(f"{what} are {values!r}: give a list with one for each trajectory") from None
    return list(items)


def _is_number(value: object) -> bool:
    if isinstance(value, np.ndarray) and value.ndim:
        return False
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return value is None
    return True
