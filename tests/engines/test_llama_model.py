"""The model's prompts, with a library that knows nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from distrivote.engines.llama_model import LlamaModel
from distrivote.problem import Message, plain_prompt


def test_a_model_without_a_chat_template_reads_the_plain_text() -> None:
    model: Any = LlamaModel.__new__(LlamaModel)
    model.library, model.handle = SimpleNamespace(llama_model_chat_template=lambda *_: None), None
    turns = [Message("user", "2 + 2?"), Message("assistant", "4"), Message("user", "3 + 3?")]
    assert model.chat_prompt(turns) == plain_prompt(turns)
