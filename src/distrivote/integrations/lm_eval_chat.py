"""lm-evaluation-harness: a model on a chat server, whose replies have confidences.

It is the harness's `local-chat-completions` with log-probabilities. The harness finds it once this module is
imported; run as a program, the module is the harness's own command with this model:

    python -m distrivote.integrations.lm_eval_chat run --model distrivote-chat --apply_chat_template \\
        --model_args model=NAME,base_url=http://localhost:8000/v1/chat/completions --tasks TASK

The harness sends the same seed with every request. A server that uses it returns equal repeats, so here a
seed is sent only if the task's generation_kwargs set one.
"""

from __future__ import annotations

from typing import Any

from distrivote.answers.extract import extractor
from distrivote.confidence import DEFAULT_K, DEFAULT_MEASURE, measure_named
from distrivote.errors import MissingPackageError
from distrivote.integrations.lm_eval import Reply
from distrivote.integrations.replies import reply_confidence

try:
    from lm_eval.api.registry import register_model
    from lm_eval.models.openai_completions import LocalChatCompletion
except ImportError as error:
    raise MissingPackageError("lm-eval", "lm-eval", "voting in lm-evaluation-harness") from error


@register_model("distrivote-chat")
class ConfidentChat(LocalChatCompletion):
    """Accepts the model_args of local-chat-completions, and `extract` and `measure`."""

    def __init__(self, *, extract: str = "auto", measure: str = DEFAULT_MEASURE, **model_args: Any) -> None:
        extractor(extract)
        measure_named(measure)
        super().__init__(**model_args)
        self._extract, self._measure = extract, measure

    def _create_payload(
        self, messages: list[dict[str, Any]], *, gen_kwargs: dict[str, Any] | None = None, **how: Any
    ) -> dict[str, Any]:
        seed = (gen_kwargs or {}).get("seed")
        payload = super()._create_payload(messages, gen_kwargs=gen_kwargs, **how)
        payload |= {"logprobs": True, "top_logprobs": DEFAULT_K, "seed": seed}
        return {name: value for name, value in payload.items() if name != "seed" or value is not None}

    def parse_generations(self, outputs: Any, **how: Any) -> list[str | None]:
        """Return the replies of some responses, each with its confidence."""
        texts = super().parse_generations(outputs, **how)
        responses = outputs if isinstance(outputs, list) else [outputs]
        choices = [c for r in responses for c in sorted(r.get("choices", []), key=lambda c: c["index"])]
        if len(choices) != len(texts):
            return list(texts)
        return [
            None if text is None else Reply(text, self._confidence(choice))
            for text, choice in zip(texts, choices, strict=True)
        ]

    def _confidence(self, choice: Any) -> float | None:
        return reply_confidence(choice, extract=self._extract, measure=self._measure).value


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
