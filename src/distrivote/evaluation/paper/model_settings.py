"""How the paper's models were sampled.

The settings are those of the paper's section on evaluation, and of the authors' released scripts where the
paper is silent (top-p, the system message, the switch for thinking, questions without an instruction).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from distrivote.evaluation.paper.published import published

_NO_THINKING_TEMPERATURE = 0.7
_DEEPSEEK_SYSTEM = "该助手为DeepSeek-R1，由深度求索公司创造。\n今天是2025年5月28日，星期一。\n"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a model is sampled."""

    name: str | None
    """The paper's name of it; None if the paper does not have it."""

    max_tokens: int | None
    """The paper's context; None: the limit of the engine."""

    temperature: float = 0.6
    top_p: float = 0.95
    thinking: bool | None = None
    """The switch of the chat template; None: not set."""

    system: str | None = None
    """The message that the authors sent before the question."""

    plain: bool = False
    """Whether they sent mathematical questions without an instruction."""

    like: str | None = None
    """The model whose published lengths are the best estimate for this one."""


_MODELS = {
    each.name: each
    for each in (
        ModelSettings("DeepSeek-R1-8B", 65_536, system=_DEEPSEEK_SYSTEM, plain=True, like="DeepSeek-R1-8B"),
        ModelSettings("DeepSeek-R1-7B", 65_536, system=_DEEPSEEK_SYSTEM, plain=True, like="DeepSeek-R1-8B"),
        *(
            ModelSettings(f"Qwen3-{size}B", 32_768, thinking=True, like="Qwen3-8B")
            for size in ("0.6", "1.7", "4", "8", "14", "32")
        ),
        # The paper does not say its length; the model's own context is 4,096.
        ModelSettings("Qwen2.5-Math-7B", 3_072),
        ModelSettings("Llama3.1-8B-Instruct", 32_768),
    )
}


def model_settings(model: str, thinking: bool | None = None) -> ModelSettings:
    """Return the paper's settings of a model; without thinking if the argument or its name says so.

    >>> model_settings("Qwen/Qwen3-8B", thinking=False).temperature
    0.7
    """
    name = published().model(model)
    found = _MODELS.get(name.removesuffix("*") if name else None, ModelSettings(None, None))
    if thinking is False or (name or "").endswith("*"):
        return replace(found, temperature=_NO_THINKING_TEMPERATURE, thinking=False, like=None)
    return found if thinking is None else replace(found, thinking=thinking)
