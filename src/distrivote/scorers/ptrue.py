"""P(True): a model is asked whether a reply is true, and the probability of its first token is the score.

    score = mass of the tokens for True / mass of those for True and False

A side that is not among the listed tokens counts as the least probable of them, so that the score is above 0
and below 1. Without either side there is no score. See Kadavath et al. 2022, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from distrivote.engines.abilities import NextTokenEngine
from distrivote.engines.base import Engine
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.scorers.scorer import ANSWER, QUESTION, TEXT, Reply, Scored

_OF_ANSWER = ":answer"
NAME, OF_ANSWER = "ptrue", f"ptrue{_OF_ANSWER}"
_TRUE, _FALSE = {"a", "true"}, {"b", "false"}
_AROUND = " \t\n()[].:*\"'▁Ġ"
_PROMPT = """Question: {question}

Proposed answer: {proposed}

Is the proposed answer true?
A) True
B) False
Reply with the letter A or B only."""


class FirstTokenScorer:
    """Asks a model about the whole reply, or about its final answer only, and reads its first token.

    A subclass defines the question, and how the most probable tokens become a number.
    """

    column: str
    prompt: str

    def number(self, entries: Sequence[tuple[str, float]]) -> float | None:
        """Return the score by the texts and log-probabilities of the most probable first tokens."""
        raise NotImplementedError

    def __init__(self, name: str, engine: Engine) -> None:
        if not isinstance(engine, NextTokenEngine):
            raise InputError(
                f"{name} needs the probabilities of first tokens, which {engine.name} does not tell",
                hint="use the embedded engine or a server",
                argument="engine",
            )
        self.name, self._engine, self._model = name, engine, engine.model
        self._field = ANSWER if name.endswith(_OF_ANSWER) else TEXT
        self.reads = self.needs = (QUESTION, self._field)

    @property
    def settings(self) -> Mapping[str, Any]:
        body = getattr(self._engine, "request_settings", {}).get("body", {})
        return {"model": self._model, **body}

    def score(self, replies: Sequence[Reply]) -> Iterator[Scored]:
        """Yield the scores as they arrive."""
        prompts = [[Message("user", self._prompt(reply))] for reply in replies]
        for number, told in self._engine.next_tokens(prompts):
            yield Scored(number, self.number(told.entries), told.n_tokens)

    def _prompt(self, reply: Reply) -> str:
        return self.prompt.format(question=reply.question, proposed=getattr(reply, self._field))


class TrueScorer(FirstTokenScorer):
    """Asks a model whether the whole reply, or its final answer only, is true."""

    column = "ptrue"
    prompt = _PROMPT

    def number(self, entries: Sequence[tuple[str, float]]) -> float | None:
        return p_true(entries)


def stripped(token: str) -> str:
    """Return a token without what may stand around a letter or a digit.

    >>> stripped("▁(A)"), stripped(" 7.")
    ('a', '7')
    """
    return token.strip(_AROUND).lower()


def p_true(entries: Sequence[tuple[str, float]]) -> float | None:
    """Return the share of True in the mass of both sides; None if neither is listed.

    >>> round(p_true([("A", math.log(0.6)), (" B", math.log(0.2)), (" a", math.log(0.1))]), 4)
    0.7778
    >>> p_true([("The", -0.1)]) is None
    True
    """
    known = [(stripped(token), logprob) for token, logprob in entries if logprob > -math.inf]
    true = sum(math.exp(logprob) for token, logprob in known if token in _TRUE)
    false = sum(math.exp(logprob) for token, logprob in known if token in _FALSE)
    if not true and not false:
        return None
    least = max(min(math.exp(logprob) for _, logprob in known), 1e-12)
    true, false = true or least, false or least
    return true / (true + false)
