"""What the tokens of a vocabulary mean, as tables: built once, looked up while a server decodes.

A piece is the bytes that a token stands for; special tokens stand for none. From the pieces follows, for
every token, whether it has text and what it does to a splitter: whether it ends a step, and what state it
leaves the splitter in. The tables are built by calling the splitters of `splitting`, so the rule is
written once.

A splitter that looks for text is in one of three states: no text yet, text, and text followed by one
newline, half of a delimiter. A token that holds part of a character counts as text.

The functions that read pieces and prompts from a transformers tokenizer are here as well.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from distrivote.engines.tokens.spelling import vocabulary_bytes
from distrivote.errors import InputError
from distrivote.problem import Message, shows_system, with_system_merged
from distrivote.splitting import DelimiterSplitter, Splitter, StepStream

BLANK, TEXT, NEWLINE, ENDED = range(4)
"""The states of a splitter, and what the tables hold for a token that ends a step."""

_REACHED_BY = ("", "a", "a\n")
"""A text that leads from the beginning of a step to each of the states."""

SPLITTERS: tuple[DelimiterSplitter, ...] = (
    DelimiterSplitter(),
    DelimiterSplitter("\n"),
    DelimiterSplitter(exact_token=True),
)
NO_DELIMITER = len(SPLITTERS)
"""The table after those of the splitters: for splitters that do not end a step by its text."""

CONTEXT = 32
"""How many characters, and tokens, of a text affect how what follows it is tokenized."""

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class TokenTable:
    """The tokens of one vocabulary."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = tuple(pieces)
        texts = [piece.decode("utf-8", "replace") for piece in self.pieces]
        self.transitions: npt.NDArray[np.uint8] = _transitions(texts)
        """(n_tables, n_states, n_tokens) The state after each token, or ENDED."""

    def context(self, tokens: Sequence[int]) -> str:
        """Return the last characters of the text, which affect how the next text is tokenized.

        A character that these tokens contain only in part is left out.
        """
        joined = b"".join(self.pieces[token] for token in tokens[-CONTEXT:])
        while joined and joined[0] & 0xC0 == 0x80:
            joined = joined[1:]
        return codecs.getincrementaldecoder("utf-8")("replace").decode(joined)[-CONTEXT:]

    def spelled(self, tokens: Sequence[int]) -> list[str]:
        """Return the text of each token; a character in several tokens goes to the one that completes it."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        texts = [decoder.decode(self.pieces[token]) for token in tokens]
        if texts:
            texts[-1] += decoder.decode(b"", final=True)
        return texts


def pieces_of(
    vocabulary: Mapping[str, int], added: Mapping[int, str], special: Collection[int], n_tokens: int
) -> list[bytes]:
    """Return the bytes of every token of a vocabulary as the tokenizers package writes it.

    Args:
        vocabulary: Every token as the vocabulary writes it: byte by byte in GPT-2's alphabet ("Ġthe"), or
            with "▁" for a space and "<0x0A>" for a byte.
        added: The tokens that are written literally.
        special: The tokens that stand for no text.
        n_tokens: How many the model has; a tokenizer may have fewer.
    """
    bytewise = "Ċ" in vocabulary
    pieces = [b""] * max(n_tokens, max(vocabulary.values(), default=-1) + 1)
    for written, token in vocabulary.items():
        if token in special:
            continue
        if token in added:
            pieces[token] = added[token].encode()
        elif bytewise:
            pieces[token] = vocabulary_bytes(written)
        elif match := _BYTE.fullmatch(written):
            pieces[token] = bytes([int(match[1], 16)])
        else:
            pieces[token] = written.replace("▁", " ").encode()
    return pieces


def table_of(tokenizer: Any, n_tokens: int) -> TokenTable:
    """Return the table of a transformers tokenizer."""
    return TokenTable(tokenizer_pieces(tokenizer, n_tokens))


def tokenizer_pieces(tokenizer: Any, n_tokens: int) -> list[bytes]:
    """Return the bytes of every token of a transformers tokenizer; special tokens stand for nothing."""
    # Tokenizers that vLLM provides have no list of added tokens.
    added = getattr(tokenizer, "added_tokens_decoder", {})
    special = {token for token, entry in added.items() if entry.special}
    texts = {token: entry.content for token, entry in added.items()}
    return pieces_of(tokenizer.get_vocab(), texts, special | set(tokenizer.all_special_ids), n_tokens)


def chat_text(tokenizer: Any, messages: Sequence[Message], thinking: bool | None, model: str) -> str:
    """Return a conversation as the chat template of a tokenizer writes it.

    Where the template refuses a system message or leaves it out, it is put before the first question.
    """
    merged = with_system_merged(messages)
    try:
        text = _templated(tokenizer, messages, thinking, model)
    except InputError:
        if merged == tuple(messages):
            raise
        return _templated(tokenizer, merged, thinking, model)
    return text if shows_system(text, messages) else _templated(tokenizer, merged, thinking, model)


def _templated(tokenizer: Any, messages: Sequence[Message], thinking: bool | None, model: str) -> str:
    turns = [{"role": each.role, "content": each.content} for each in messages]
    switch = {} if thinking is None else {"enable_thinking": thinking}
    try:
        text: str = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **switch)
    except Exception as error:  # a template raises errors of its own, of any type
        said = " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__
        raise InputError(
            f"the chat template of {model} rejects the conversation ({said})",
            hint='use other roles, a single turn (`template="plain"`), or a model that was tuned for chat',
            argument="template",
        ) from error
    return text


def end_tokens_of(tokenizer: Any) -> tuple[int, ...]:
    """Return the token that ends a text, where the tokenizer has one."""
    token = getattr(tokenizer, "eos_token_id", None)
    return () if token is None else (int(token),)


def cutter(tokenizer: Any) -> Callable[[str, str], list[int]]:
    """Return a function that tokenizes a text as it would be after another one."""

    def tokens_of(text: str) -> list[int]:
        tokens: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return tokens

    return partial(tokens_after, tokens_of)


def tokens_after(tokens_of: Callable[[str], list[int]], before: str, text: str) -> list[int]:
    """Return the tokens of a text as it would be after another one; alone if a token spans both."""
    context, both = tokens_of(before), tokens_of(before + text)
    if both[: len(context)] == context and len(both) > len(context):
        return both[len(context) :]
    return tokens_of(text)


def table_number(split: Splitter) -> int:
    """Return the number of a splitter's table."""
    for number, splitter in enumerate(SPLITTERS):
        if split == splitter:
            return number
    return NO_DELIMITER


def _transitions(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    transitions = np.full((NO_DELIMITER + 1, len(_REACHED_BY), len(texts)), TEXT, dtype=np.uint8)
    # Tokens with text and without a newline, nearly all of them, lead to TEXT from everywhere.
    others = [token for token, text in enumerate(texts) if "\n" in text or not text.strip()]
    for token in others:
        text = texts[token]
        for state, before in enumerate(_REACHED_BY):
            for number, split in enumerate(SPLITTERS):
                transitions[number, state, token] = _state_after(split, before, text)
            # A token without text is part of a character.
            transitions[NO_DELIMITER, state, token] = BLANK if (before + text).isspace() else TEXT
    return transitions


def _state_after(split: Splitter, before: str, text: str) -> int:
    if _stream(split, before).push(text):
        return ENDED
    reached = _stream(split, before)
    reached.push(text)
    if not reached.flush():
        return BLANK
    half = _stream(split, before)
    half.push(text)
    # A newline ends any line, so that only a paragraph can be half ended.
    return NEWLINE if split == SPLITTERS[0] and half.push("\n") else TEXT


def _stream(split: Splitter, text: str) -> StepStream:
    stream = split.start()
    if text:
        stream.push(text)
    return stream
