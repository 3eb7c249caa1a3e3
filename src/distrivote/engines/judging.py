"""What an engine does for the comparison of answers: its model judges or lists inputs, its server embeds."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from distrivote.answers.code.given import AskInputs, prompt_for_inputs
from distrivote.answers.judge import Judge, prompt_for, verdict_of
from distrivote.answers.judging import Embed, JudgeOf
from distrivote.engines.abilities import EmbeddingEngine
from distrivote.engines.base import Engine, SamplingParams

FEW_TOKENS = 16
"""Limit of tokens for a verdict; a model that thinks first is asked again with the limit of a trajectory."""

_THINKS = "<think>"


def embedder(engine: Engine) -> Embed | None:
    """Return the function that computes embeddings, None if the engine has none."""
    return engine.embed if isinstance(engine, EmbeddingEngine) else None


def model_inputs(engine: Engine, params: SamplingParams) -> AskInputs:
    """Return who asks an engine for inputs of a function: one request, at temperature 0."""
    sure = replace(params, temperature=0.0, stop=())

    def ask(question: str, entry: str) -> str:
        with closing(engine.sample(prompt_for_inputs(question, entry), 1, sure, None)) as samples:
            return next((trajectory.text for trajectory in samples), "")

    return ask


def model_judge(engine: Engine, params: SamplingParams) -> JudgeOf:
    """Return a judge that asks an engine about each pair of answers, at temperature 0."""
    sure = replace(params, temperature=0.0, stop=())
    is_thinking = False

    def about(question: str) -> Judge:
        def ask(a: str, b: str, /) -> bool | None:
            nonlocal is_thinking
            said = None if is_thinking else reply(question, a, b, FEW_TOKENS)
            if said is None or said.lstrip().startswith(_THINKS):
                is_thinking = True
                said = reply(question, a, b, params.max_tokens)
            return verdict_of(said)

        return ask

    def reply(question: str, a: str, b: str, max_tokens: int) -> str:
        bounded = replace(sure, max_tokens=min(max_tokens, params.max_tokens))
        with closing(engine.sample(prompt_for(question, a, b), 1, bounded, None)) as samples:
            return next((trajectory.text for trajectory in samples), "")

    return about
