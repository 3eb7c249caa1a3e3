"""Inspect AI: a reducer that votes over the epochs of a sample, and a scorer that stores confidences.

    Task(..., scorer=with_confidence(match(numeric=True)), epochs=Epochs(32, distrivote()),
         config=GenerateConfig(logprobs=True, top_logprobs=20))

A reducer gets only the scores of a sample's epochs. `with_confidence` therefore reads the log-probabilities
when the sample is scored, and puts the trajectory's confidence into the score's metadata.

Inspect finds the reducers by the names `distrivote/distrivote` and `distrivote/majority_answer`, through
the package's entry point. Its own `mode` counts values (right and wrong), not answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

from distrivote.answers.equality import Equality, equality
from distrivote.answers.extract import OwnExtractor, extractor
from distrivote.confidence import DEFAULT_K, DEFAULT_MEASURE, measure_named
from distrivote.confidence.tokens import check_k
from distrivote.defaults import METHOD
from distrivote.errors import MissingPackageError
from distrivote.integrations.repeats import Voted, vote_on
from distrivote.integrations.replies import reply_confidence
from distrivote.prompts import DEFAULT_SAME
from distrivote.voting.methods import parse_method
from distrivote.voting.pipeline import Pipeline

try:
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import (
        Score,
        Scorer,
        ScoreReducer,
        Target,
        accuracy,
        score_reducer,
        scorer,
        stderr,
    )
    from inspect_ai.solver import TaskState
    from inspect_ai.util import registry_info
except ImportError as error:
    raise MissingPackageError("inspect-ai", "inspect", "voting in Inspect") from error


@score_reducer
def distrivote(method: str = METHOD, same: str = DEFAULT_SAME) -> ScoreReducer:
    """Reduce the scores of a sample's epochs to the score of the answer that wins the vote.

    Args:
        method: A name such as "dis-gmm" or "wsc-top:0.1".
        same: When two answers are equal: text, notation, math or choice.

    The value is the most frequent one among the scores that gave the winning answer. Of answers with
    equal scores the one of the earlier epoch wins, and of equally frequent values the earlier one.
    """
    pipeline, rule = parse_method(method), equality(same)

    def reduce(scores: list[Score]) -> Score:
        return _reduced(scores, vote_on_scores(scores, pipeline, rule))

    return reduce


@score_reducer
def majority_answer(same: str = DEFAULT_SAME) -> ScoreReducer:
    """Reduce to the score of the most frequent answer, for comparison with `distrivote` in the results."""
    return distrivote(method="sc", same=same)


def with_confidence(
    scorer: Scorer,
    *,
    extract: str | re.Pattern[str] | OwnExtractor = "auto",
    measure: str = DEFAULT_MEASURE,
    k: int = DEFAULT_K,
) -> Scorer:
    """Wrap a scorer so that its scores have the model's confidence in metadata["confidence"].

    The model must be called with logprobs=True, top_logprobs=20. `extract` finds the answer in the reply.
    The vote uses the scorer's own answer; only if that is the whole reply, as with `includes` and the
    model-graded scorers, it uses the extracted one.
    """
    wrapped = _with_confidence(scorer, extract=extract, measure=measure, k=k)
    registry_info(wrapped).metadata["metrics"] = registry_info(scorer).metadata["metrics"]
    return wrapped


@scorer(metrics=[accuracy(), stderr()], name="with_confidence")
def _with_confidence(
    scorer: Scorer, extract: str | re.Pattern[str] | OwnExtractor, measure: str, k: int
) -> Scorer:
    find = extractor(extract)
    measure_named(measure)
    check_k(k)

    async def score(state: TaskState, target: Target) -> Score | None:
        plain = await scorer(state, target)
        if plain is None:
            return None
        answer = plain.answer
        if answer and _letters(answer) == _letters(state.output.completion):
            found = find(state.output.completion)
            answer = None if found is None else found.answer
        confidence = _confidence(state.output, extract, measure, k)
        return plain.model_copy(
            update={"answer": answer, "metadata": {**(plain.metadata or {}), **confidence}}
        )

    return score


def _confidence(
    output: ModelOutput, extract: str | re.Pattern[str] | OwnExtractor, measure: str, k: int
) -> dict[str, Any]:
    """Return the metadata about the confidence of the first choice."""
    if not output.choices:
        return {"confidence": None, "confidence_notes": ["there is no reply"]}
    choice = output.choices[0]
    message = {"content": choice.message.text, "reasoning": _reasoning(choice.message.content)}
    found = reply_confidence(
        {"message": message, "logprobs": choice.logprobs}, extract=extract, measure=measure, k=k
    )
    if found.value is None:
        return {"confidence": None, "confidence_notes": list(found.notes)}
    return {"confidence": found.value, "confidence_k": found.k}


def _reasoning(content: Any) -> str | None:
    if isinstance(content, str):
        return None
    return "".join(part.reasoning for part in content if part.type == "reasoning") or None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def vote_on_scores(scores: Sequence[Score], method: Pipeline, same: Equality) -> Voted:
    """Vote on the answers of scores, with the confidences in their metadata."""
    metadata = [score.metadata or {} for score in scores]
    confidences = [each.get("confidence") for each in metadata]
    depths = {each["confidence_k"] for each in metadata if each.get("confidence_k") is not None}
    notes = []
    if len(depths) > 1:
        notes.append(
            f"Some confidences use {min(depths)} log-probabilities per token and some {max(depths)}:"
            " they are not comparable."
        )
        confidences = [None] * len(scores)
    return vote_on([score.answer for score in scores], confidences, method, same=same, notes=notes)


def _reduced(scores: Sequence[Score], voted: Voted) -> Score:
    """Return the score of the winner; of all scores if none has an answer."""
    tally = voted.tally

    def of(answer: object) -> list[Score]:
        return [score for score, given in zip(scores, voted.answers, strict=True) if given == answer]

    winners = of(tally.answer)
    reasons = {score.reason for score in winners}
    return Score(
        value=_value(winners),
        answer=tally.answer,
        explanation=tally.explain(),
        reason=reasons.pop() if len(reasons) == 1 else None,
        metadata={
            "method": tally.method,
            "share": tally.share,
            "majority": tally.majority,
            "majority_value": _value(of(tally.majority)),
            "rejected": tally.rejected,
            "n_cast": tally.n_cast,
            "n_kept": tally.n_kept,
            "n_unanswered": tally.n_unanswered,
            "n_unmeasured": tally.n_unmeasured,
            "fallback": tally.fallback,
            "notes": list(tally.notes),
        },
    )


def _value(scores: Iterable[Score]) -> Any:
    """Return the most frequent value, on a tie the first; NaN, which is unscored, if there is none."""
    values = [score.value for score in scores]
    scored = [value for value in values if not (isinstance(value, float) and isnan(value))]
    if not scored:
        return float("nan")
    # A value may be a list or a dict, which is not hashable.
    names = [repr(value) for value in scored]
    return scored[names.index(Counter(names).most_common(1)[0][0])]
