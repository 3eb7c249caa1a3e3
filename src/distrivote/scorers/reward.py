"""A reward model or reranker on a server, by the endpoints that vLLM documents.

    score      POST /v1/score   text_1 the question, text_2 the reply      -> data[0].score
    pooling    POST /pooling    the conversation as messages               -> the last number of data[0].data
    classify   POST /classify   the same                                   -> a probability of data[0].probs

`classify:N` takes the probability of class N; without it the only one, or the second of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.many import n_tokens_of
from distrivote.errors import EngineError, InputError
from distrivote.scorers.scorer import QUESTION, TEXT, Reply, Scored, number_of

WAYS = ("score", "pooling", "classify")


class RewardScorer:
    """Scores by a model that a server has."""

    column = "reward"
    reads = needs = (QUESTION, TEXT)

    def __init__(self, way: str, engine: OpenAIEngine) -> None:
        self.name, self._engine = way, engine
        self._way, _, label = way.partition(":")
        if label and (self._way != "classify" or not label.isdecimal() or len(label) > 6):
            raise InputError(
                f"the scorer is {way!r}", hint="the number of a class follows classify:", argument="scorer"
            )
        self._label = int(label) if label else None

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"model": self._engine.model, **self._engine.request_settings.get("body", {})}

    def score(self, replies: Sequence[Reply]) -> Iterator[Scored]:
        """Yield the scores as they arrive."""
        extra = self._engine.request_settings.get("body", {})
        bodies = [{"model": self._engine.model, **self._body(reply), **extra} for reply in replies]
        for number, answer in self._engine.ask_all(self._way, bodies, beside=self._way != "score"):
            value = self._value(answer)
            yield Scored(number, number_of(value, self.name, replies[number]), n_tokens_of(answer))

    def _body(self, reply: Reply) -> dict[str, Any]:
        if self._way == "score":
            return {"text_1": reply.question, "text_2": reply.text}
        turns = (("user", reply.question), ("assistant", reply.text))
        return {"messages": [{"role": role, "content": content} for role, content in turns]}

    def _value(self, answer: Any) -> Any:
        try:
            first = answer["data"][0]
            if self._way == "score":
                return first["score"]
            if self._way == "classify":
                return self._class_of(list(first["probs"]))
            value = first["data"]
            while isinstance(value, list):  # of each token, or of each label too: the end's is last
                value = value[-1]
            return value
        except (KeyError, IndexError, TypeError):
            raise EngineError(
                f"the server's reply to {self._way} has no score ({str(answer)[:80]!r})",
                hint="choose another of score, pooling and classify",
            ) from None

    def _class_of(self, probs: list[Any]) -> Any:
        if self._label is not None and self._label >= len(probs):
            raise InputError(
                f"the model has {len(probs)} classes, and {self.name} names another",
                hint="count from 0",
                argument="scorer",
            )
        if self._label is None and len(probs) > 2:
            raise InputError(
                f"the model has {len(probs)} classes", hint="name one, as in classify:2", argument="scorer"
            )
        return probs[-1 if self._label is None else self._label]
