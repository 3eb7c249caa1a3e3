"""A Hugging Face model in memory: its vocabulary, its chat template, and batched `generate`.

Only this module knows torch and transformers: its callers see lists and NumPy arrays. It does not decide
what is sampled. `generate` decodes greedily after a logits processor that leaves one token per row: the one
that the caller chose. So the caller sees the model's own logits, before any temperature or penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from distrivote.engines.tokens.tables import chat_text, tokenizer_pieces
from distrivote.errors import EngineError, InputError, MissingPackageError, UnknownNameError
from distrivote.problem import Message, plain_prompt

_DTYPES = ("auto", "float32", "bfloat16", "float16")

Choose = Callable[[npt.NDArray[np.float32]], Sequence[int]]
"""(n_rows, n_vocab) logits -> the next token of each row; that of a row that has ended is ignored."""


class TransformersModel:
    """The weights and the tokenizer of one model."""

    def __init__(self, model: str, device: str | None, dtype: str | None) -> None:
        if dtype is not None and dtype not in _DTYPES:
            raise UnknownNameError("dtype", dtype, _DTYPES, argument="dtype")
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingPackageError("transformers", "transformers", "the transformers engine") from None
        self._torch: Any = torch
        self._transformers: Any = transformers
        self.name = _checked_name(model)
        self._device = _device(torch, device)
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(model, trust_remote_code=False)
            self._model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                model, dtype=dtype or "auto", trust_remote_code=False
            )
        # For a damaged file, loaders raise exceptions of any type.
        except Exception as error:
            raise InputError(
                f"transformers can't load {model} ({_first_line(error)}): give a folder with a model's"
                " weights, configuration and tokenizer, or ORG/NAME on the Hugging Face hub"
            ) from error
        self._model = self._model.eval().to(self._device)
        config = self._model.config.get_text_config()
        self.n_vocab = int(config.vocab_size)
        self.n_ctx: int | None = getattr(config, "max_position_embeddings", None)
        own = self._model.generation_config
        self.end_tokens: frozenset[int] = _tokens(own.eos_token_id) | _tokens(self._tokenizer.eos_token_id)
        # `generate` would otherwise apply what a checkpoint recommends, such as a repetition penalty.
        self._model.generation_config = transformers.GenerationConfig()

    def close(self) -> None:
        del self._model
        if self._device.type == "cuda":
            self._torch.cuda.empty_cache()

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes that each token stands for; special tokens stand for nothing."""
        return tokenizer_pieces(self._tokenizer, self.n_vocab)

    def tokenize(self, text: str, special: bool = False) -> list[int]:
        """Return the tokens of a text; `special` reads <|im_start|> and the like as special tokens."""
        tokens: list[int] = self._tokenizer.encode(
            text, add_special_tokens=False, split_special_tokens=not special, verbose=False
        )
        return tokens

    def chat_prompt(self, messages: Sequence[Message], thinking: bool | None) -> list[int]:
        """Return the prompt for a conversation, by the model's own template if it has one."""
        if self._tokenizer.chat_template is None:
            plain: list[int] = self._tokenizer.encode(plain_prompt(messages), verbose=False)
            return plain
        return self.tokenize(chat_text(self._tokenizer, messages, thinking, self.name), special=True)

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        max_tokens: int,
        choose: Choose,
        ended: Callable[[], Sequence[bool]],
    ) -> None:
        """Decode all rows until each of them has ended.

        Args:
            prompts: The tokens of each row so far.
            max_tokens: The limit of new tokens per row.
            choose: Called with the logits after the last token of every row.
            ended: Called after `choose`; returns which rows have ended.
        """
        torch, transformers = self._torch, self._transformers
        length = max(map(len, prompts))
        pads = [length - len(prompt) for prompt in prompts]
        ids = torch.tensor([[0] * n + list(prompt) for n, prompt in zip(pads, prompts, strict=True)])
        mask = torch.tensor([[0] * n + [1] * (length - n) for n in pads])
        config = transformers.GenerationConfig(do_sample=False, max_new_tokens=max_tokens, pad_token_id=0)

        def leave_one(_: Any, scores: Any) -> Any:
            tokens = torch.tensor(choose(scores.cpu().numpy()), device=scores.device)
            return torch.full_like(scores, -torch.inf).scatter_(1, tokens[:, None], 0.0)

        def have_ended(ids: Any, _: Any, **__: Any) -> Any:
            return torch.tensor(ended(), device=ids.device)

        try:
            self._model.generate(
                ids.to(self._device),
                attention_mask=mask.to(self._device),
                generation_config=config,
                logits_processor=transformers.LogitsProcessorList([leave_one]),
                stopping_criteria=transformers.StoppingCriteriaList([have_ended]),
            )
        except torch.OutOfMemoryError as error:
            raise EngineError(
                f"the device does not have enough memory for {len(prompts)} trajectories of"
                f" {length + max_tokens} tokens: use a smaller batch_size or token limit"
            ) from error


def _checked_name(model: str) -> str:
    """Return the name of a model: that of its folder, or its name on the hub."""
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve().name
    if path.exists() or path.is_absolute() or model.startswith((".", "~")) or model.count("/") != 1:
        raise InputError(
            f"{model} is not a folder: give one with a model's weights, configuration and tokenizer, or"
            " ORG/NAME on the Hugging Face hub"
        )
    return model


def _device(torch: Any, device: str | None) -> Any:
    if device is None:
        if torch.cuda.is_available():
            device = "cuda"
        else:
            device = "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    # torch raises AssertionError if it was built without the device's library.
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(
            f"torch can't use the device {device!r} ({_first_line(error)}): give cpu, cuda, cuda:1, mps, ..."
        ) from error
    return chosen


def _tokens(ids: int | Sequence[int] | None) -> frozenset[int]:
    if ids is None:
        return frozenset()
    return frozenset([ids] if isinstance(ids, int) else ids)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
