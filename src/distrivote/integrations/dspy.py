"""DSPy: `majority` with confidences, as a replacement for `dspy.majority`.

    lm = dspy.LM(..., n=32, temperature=0.7, logprobs=True, top_logprobs=20)
    prediction = majority(dspy.Predict("question -> answer")(question="What is 6 * 7?").completions)

DSPy keeps the log-probabilities of a completion beside its fields, as `logprobs`. Where they are missing, the
majority decides. Answers are the same by our rule for short answers: DSPy's own compares texts without
punctuation, so that to it -4 is 4.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from distrivote.answers.extract import OwnExtractor
from distrivote.defaults import METHOD
from distrivote.errors import InputError, MissingPackageError
from distrivote.integrations.repeats import vote_on
from distrivote.integrations.replies import reply_confidence
from distrivote.voting.methods import Method, method_of
from distrivote.voting.tally import Tally

try:
    from dspy.primitives.prediction import Completions, Prediction
except ImportError as error:
    raise MissingPackageError("dspy", "dspy", "voting in DSPy") from error

LOGPROBS = "logprobs"
"""The key under which DSPy keeps the log-probabilities of a completion."""

Normalize = Callable[[Any], Any]


class Voted(NamedTuple):
    """A vote over completions."""

    tally: Tally
    prediction: Any
    """A `dspy.Prediction`: the most confident completion that gave the answer, the first of several."""


def same_short(value: Any) -> str | None:
    """Return a value as the text by which answers are compared; None if it is blank: it has no vote."""
    return _text(value) or None


def majority(
    prediction_or_completions: Any,
    normalize: Normalize | None = same_short,
    field: str | None = None,
    *,
    method: Method = METHOD,
) -> Any:
    """Return the completion that wins the vote, as a `dspy.Prediction`; the arguments of `dspy.majority`.

    Args:
        prediction_or_completions: A `Prediction`, its `completions`, or a list of either's entries.
        normalize: What makes values comparable. With your own function equal results are the same answer,
            and a completion for which it returns None has no vote; None compares the values as they are.
        field: The field to vote on; by default the last one of the signature.
        method: How to vote; without confidences the majority decides.
    """
    return vote_on_completions(prediction_or_completions, normalize, field, method=method).prediction


def vote_on_completions(
    prediction_or_completions: Any,
    normalize: Normalize | None = same_short,
    field: str | None = None,
    *,
    method: Method = METHOD,
) -> Voted:
    """Do what `majority` does, and return the whole tally with it."""
    given = prediction_or_completions
    if not isinstance(given, (Prediction, Completions, list)):
        raise InputError(
            f"these completions are a {type(given).__name__}",
            hint="give a Prediction, its completions, or a list",
            argument="prediction_or_completions",
        )
    completions = given.completions if isinstance(given, Prediction) else given
    rows = [] if completions is None else [completions[at] for at in range(len(completions))]
    if not rows:
        raise InputError("there are no completions", argument="prediction_or_completions")
    signature = getattr(completions, "signature", None)
    name = field or _last_field(rows[0], signature)
    values = [row.get(name) for row in rows]
    answers = [_normalized(value, normalize) for value in values]
    if not any(answers):  # as in DSPy: then they vote as they are
        answers = [_text(value) or "None" for value in values]
    confidences, notes = _confidences(rows, values)
    is_plain = all(value is None or isinstance(value, (str, int, float)) for value in values)
    same = "text" if normalize is not same_short else "short" if is_plain else "json"
    voted = vote_on(answers, confidences, method_of(method), same=same, notes=notes)
    place = voted.tally.best
    if place is None:
        place = voted.answers.index(str(voted.tally.answer))
    return Voted(voted.tally, Prediction.from_completions([rows[place]], signature=signature))


def _last_field(row: Any, signature: Any) -> str:
    names = list(row.keys()) if signature is None else list(signature.output_fields)
    fields = [name for name in names if name != LOGPROBS]
    if not fields:
        raise InputError("the completions have no field", hint="give `field`", argument="field")
    return str(fields[-1])


def _normalized(value: Any, normalize: Normalize | None) -> str | None:
    found = value if normalize is None else normalize(value)
    return None if found is None else _text(found) or None


def _text(value: Any) -> str:
    """Return a value as text: equal values of one type have equal texts."""
    if value is None or isinstance(value, str):
        return (value or "").strip()
    plain = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, default=str)


def _confidences(rows: Sequence[Any], values: Sequence[Any]) -> tuple[list[float | None], list[str]]:
    """Return the confidence of each completion, where its log-probabilities say it."""
    found: list[float | None] = []
    notes: dict[str, None] = {}
    for row, value in zip(rows, values, strict=True):
        logprobs = row.get(LOGPROBS)
        entries = (logprobs or {}).get("content") or []
        if not entries:
            found.append(None)
            continue
        text = "".join(entry["token"] for entry in entries)
        choice = {"message": {"content": text}, "logprobs": logprobs}
        read = reply_confidence(choice, extract=_finding(value if isinstance(value, str) else str(value)))
        found.append(read.value)
        notes.update(dict.fromkeys(read.notes))
    return found, list(notes)


def _finding(value: str) -> OwnExtractor:
    """Return an extractor that finds a field's value in the whole reply; else the reply is the answer."""

    def find(text: str) -> str:
        return value if value in text else text

    return find
