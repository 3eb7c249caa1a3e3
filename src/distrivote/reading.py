"""What is voted on, from trajectories or from replies that people already have.

For each trajectory the answer is extracted, the text is cut into steps, and a measure turns its
log-probabilities into a confidence. The parts are exchangeable; how each of them works is in its own
file. A run stores what `reading_of` says, so that a ballot of it is the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from distrivote.answers.equality import Equality
from distrivote.answers.equivalence import classify
from distrivote.answers.extract import Extractor, OwnExtractor, extractor
from distrivote.confidence import (
    DEFAULT_K,
    DEFAULT_MEASURE,
    Measure,
    TrajectoryConfidence,
    entries_given,
    measure_named,
    token_entropy,
)
from distrivote.confidence.steps import StepEnds
from distrivote.confidence.tokens import TokenValues, check_k
from distrivote.engines.responses import trajectories_from_openai, trajectories_from_vllm
from distrivote.errors import InputError
from distrivote.nouns import count
from distrivote.splitting import Splitter, splitter, step_ends
from distrivote.trajectory import Floats, Trajectory
from distrivote.voting.ballot import Ballot


def from_openai(
    responses: Any,
    *,
    extract: str | re.Pattern[str] | OwnExtractor = "auto",
    measure: str | Measure = DEFAULT_MEASURE,
    split: str | Splitter = "paragraph",
    k: int = DEFAULT_K,
    same: str | Equality | None = None,
) -> Ballot:
    """Make a ballot of the responses of an OpenAI-compatible server to one question.

    `responses` is one response or several, chat or completions, as dicts or as the objects of the
    openai package; every choice is a trajectory. Ask for them with logprobs=True, top_logprobs=20.

    >>> texts = ["2 + 2 = 4", "The answer is 5.", "The answer is 4."]
    >>> choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in texts]
    >>> ballot = from_openai({"choices": choices}, extract="number")
    >>> ballot.labels, ballot.classes.tolist()
    (('4', '5'), [0, 1, 0])
    """
    trajectories = trajectories_from_openai(responses)
    return ballot_of(trajectories, extract=extract, measure=measure, split=split, k=k, same=same)


def from_vllm(
    outputs: Any,
    *,
    extract: str | re.Pattern[str] | OwnExtractor = "auto",
    measure: str | Measure = DEFAULT_MEASURE,
    split: str | Splitter = "paragraph",
    k: int = DEFAULT_K,
    same: str | Equality | None = None,
) -> Ballot:
    """Make a ballot of vLLM's outputs for one prompt, sampled with SamplingParams(n=..., logprobs=20).

    >>> from types import SimpleNamespace as Object
    >>> row = {19: Object(logprob=-0.1, decoded_token="4"), 20: Object(logprob=-2.3, decoded_token="5")}
    >>> sample = Object(text="4", token_ids=[19], logprobs=[row], finish_reason="stop")
    >>> ballot = from_vllm([Object(outputs=[sample, sample])])
    >>> ballot.labels, ballot.confidences.tolist()
    (('4',), [1.2, 1.2])
    """
    trajectories = trajectories_from_vllm(outputs)
    return ballot_of(trajectories, extract=extract, measure=measure, split=split, k=k, same=same)


def ballot_of(
    trajectories: Iterable[Trajectory],
    *,
    extract: str | re.Pattern[str] | OwnExtractor = "auto",
    measure: str | Measure = DEFAULT_MEASURE,
    split: str | Splitter = "paragraph",
    k: int = DEFAULT_K,
    same: str | Equality | None = None,
    steered_by: Splitter | None = None,
) -> Ballot:
    """Make a ballot of one question's trajectories.

    `extract`, `measure` and `split` are names or objects of one's own. `k` is how many of the most
    probable tokens count; if fewer were given, those count and a note says so. Trajectories with
    different numbers of them are refused, since their confidences do not compare. `same` says when two
    answers are one: text, notation, math (if nothing is said) or choice, or an `Equality` of one's own.
    `steered_by` is the splitter of the controller that steered the trajectories: if it is `split`, its
    record says where steps end.

    >>> ballot_of([Trajectory("4"), Trajectory("5")], extract="number").labels
    ('4', '5')
    """
    trajectories = list(trajectories)
    find = extractor(extract)
    rule = measure_named(measure) if isinstance(measure, str) else measure
    steps = splitter(split) if isinstance(split, str) else split
    check_k(k)
    if rule.uses_top_k:
        k = _common_k(_with_top_k(trajectories, rule), k)
    values = rule.values_of(trajectories, k)
    votes = [
        reading_of(trajectory, find, [(rule, tokens)], steps, k, steered_by)
        for trajectory, tokens in zip(trajectories, values, strict=True)
    ]
    classes = classify([vote.answer for vote in votes], same)
    return Ballot.of(
        classes.answers,
        [vote.confidences[0].value for vote in votes],
        [*_notes(trajectories, votes, rule), *classes.remarks.notes],
    )


class Reading(NamedTuple):
    """What one trajectory says, and how sure the model was of it."""

    answer: str | None

    step_ends: StepEnds
    """Empty if no measure looks at steps."""

    confidences: tuple[TrajectoryConfidence, ...]
    """One by each measure."""


def reading_of(
    trajectory: Trajectory,
    find: Extractor,
    measures: Sequence[tuple[Measure, TokenValues]],
    split: Splitter,
    k: int,
    steered_by: Splitter | None = None,
) -> Reading:
    """Find the answer and the steps of a trajectory and take its confidences.

    Each measure comes with its values of the tokens. `steered_by` is that of `ballot_of`.
    """
    found = find(trajectory.text)
    answer, answer_end = (None, None) if found is None else found
    ends = np.empty(0, dtype=np.int64)
    if any(measure.answer_step_only for measure, _ in measures):
        ends = _steps_of(trajectory, split, k, steered_by)
    confidences = (
        measure.of(trajectory, k=k, step_ends=ends, answer_end=answer_end, tokens=tokens)
        for measure, tokens in measures
    )
    return Reading(answer, ends, tuple(confidences))


def _steps_of(trajectory: Trajectory, split: Splitter, k: int, steered_by: Splitter | None) -> StepEnds:
    """Return where steps end: by the record of a controller with the same splitter, else by the text.

    There is no boundary in what a controller that knows steps has injected.
    """
    tokens, record = trajectory.tokens, trajectory.interventions
    steps = () if record is None else record.step_ends
    if split == steered_by and steps[-1:] == (len(tokens),):
        # A stop string may have left white space alone of the last step, which then is none.
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


def _with_top_k(trajectories: Sequence[Trajectory], measure: Measure) -> list[Trajectory]:
    """Return those that are measured by their most probable entries.

    InputError if others are measured by the whole distribution: their confidences do not compare.
    """
    rest = [trajectory for trajectory in trajectories if measure.whole(trajectory) is None]
    is_whole = any(t.tokens and measure.whole(t) is not None for t in trajectories)
    if is_whole and any(entries_given(t.top_logprobs) for t in rest):
        raise InputError(
            f"some trajectories have the {measure.name} of the whole distribution and some that of their most"
            " probable tokens, and their confidences do not compare: vote on them separately, or by another"
            " measure"
        )
    return rest


def _common_k(trajectories: Sequence[Trajectory], k: int) -> int:
    """Return how many of the most probable entries all trajectories have, k at most.

    Trajectories without any do not count, and neither does the one more that an engine gives where
    the sampled token is not among the most probable.
    """
    given = [(min(entries_given(t.top_logprobs), k), t) for t in trajectories]
    given = [(n, trajectory) for n, trajectory in given if n]
    if not given:
        return k
    fewest = min(n for n, _ in given)
    if fewest == 1:
        raise InputError(
            "some trajectories have 1 log-probability per token: ask the server for at least 2"
            f" (top_logprobs={DEFAULT_K} is usual)"
        )
    for n, trajectory in given:
        if n > fewest and not _only_extras(trajectory, fewest):
            raise InputError(
                f"some trajectories have {fewest} log-probabilities per token and some {n}, and their"
                f" confidences do not compare: vote on them separately, or set k={fewest}"
            )
    return fewest


def _only_extras(trajectory: Trajectory, k: int) -> bool:
    """Say whether no token has more than k entries but for the sampled token's own, the last one."""
    n_entries = np.count_nonzero(~np.isnan(trajectory.top_logprobs), axis=1)
    longer = n_entries > k
    least = np.nanmin(trajectory.top_logprobs[longer], axis=1)
    return bool((n_entries <= k + 1).all() and (trajectory.logprobs[longer] <= least).all())


def _notes(trajectories: Sequence[Trajectory], votes: Sequence[Reading], measure: Measure) -> list[str]:
    notes = []
    n_answered = sum(vote.answer is not None for vote in votes)
    silent = [vote.answer is not None and math.isnan(vote.confidences[0].value) for vote in votes]
    if votes and not n_answered:
        notes.append(
            f"no answer was found in any of {count(len(votes), 'trajectory')}: check how answers are"
            " extracted"
        )
    if votes and all(math.isnan(vote.confidences[0].value) for vote in votes):
        notes.append(_no_confidence_note(trajectories, measure))
    elif any(silent):
        # How many there are, and what becomes of them, the tally says.
        notes.append("some trajectories came without usable log-probabilities and so without a confidence")
    used = max((vote.confidences[0].k for vote in votes), default=0)
    if 0 < used < DEFAULT_K:
        notes.append(
            f"confidences rest on the {used} most probable tokens; {DEFAULT_K} are usual, and values for"
            " different numbers do not compare"
        )
    noted = [(i, note) for i, vote in enumerate(votes) for note in vote.confidences[0].notes]
    if noted:
        first, note = noted[0]
        notes.append(f"trajectory {first}: {note}")
    n_noted = len({i for i, _ in noted})
    if n_noted > 1:
        notes.append(f"{n_noted} of {len(votes)} trajectories have such a note; this was the first")
    return notes


def _no_confidence_note(trajectories: Sequence[Trajectory], measure: Measure) -> str:
    ask = f"ask the server for logprobs with top_logprobs={DEFAULT_K}"
    if measure.uses_top_k and any(np.isfinite(t.logprobs).any() for t in trajectories):
        ask += ', or use measure="logprob", which needs the sampled tokens only'
    return f"there are no usable log-probabilities and so no confidences: {ask}"
