"""The model's prompts, with a library that knows nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from distrivote.engines.llamacpp.model import LlamaModel
from distrivote.problem import Message, Problem, plain_prompt


def test_a_model_without_a_chat_template_reads_the_plain_text() -> None:
    model: Any = LlamaModel.__new__(LlamaModel)
    model.library, model.handle = SimpleNamespace(llama_model_chat_template=lambda *_: None), None
    turns = [Message("user", "2 + 2?"), Message("assistant", "4"), Message("user", "3 + 3?")]
    assert model.chat_prompt(turns) == plain_prompt(turns)


class Templates:
    """A library with a template that has no system role: it leaves such a message out."""

    def llama_model_chat_template(self, *_: Any) -> bytes:
        return b"any"

    def llama_chat_apply_template(self, _: bytes, chat: Any, n: int, __: bool, buffer: Any, size: int) -> int:
        turns = [(chat[i].role, chat[i].content) for i in range(n)]
        text = b"".join(b"<%b>%b" % turn for turn in turns if turn[0] != b"system") + b"<assistant>"
        assert len(text) < size
        buffer.value = text
        return len(text)


def test_a_system_message_that_the_template_leaves_out_goes_before_the_question() -> None:
    model: Any = LlamaModel.__new__(LlamaModel)
    model.library, model.handle = Templates(), None
    turns = Problem("Why?", template="plain", system="Be brief.").messages()
    assert model.chat_prompt(turns) == "<user>Be brief.\n\nWhy?<assistant>"
    assert model.chat_prompt(turns[1:]) == "<user>Why?<assistant>"
