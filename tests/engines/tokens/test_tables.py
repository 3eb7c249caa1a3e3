from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.tokens.tables import (
    BLANK,
    ENDED,
    NO_DELIMITER,
    SPLITTERS,
    TokenTable,
    chat_text,
    pieces_of,
    table_number,
    table_of,
    tokens_after,
)
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.splitting import DelimiterSplitter, EntropySplitter, WindowSplitter
from strategies import MANY

texts = st.lists(st.text("ab \n\t\u3000é🙂", max_size=4), min_size=1, max_size=12)


@MANY
@given(texts, st.sampled_from(SPLITTERS))
def test_the_tables_end_steps_where_the_splitters_do(tokens: list[str], split: DelimiterSplitter) -> None:
    table = TokenTable([text.encode() for text in tokens])
    state = BLANK
    stream = split.start()
    for token in range(len(tokens)):
        state = int(table.transitions[table_number(split), state, token])
        ended = stream.push(tokens[token])
        assert (state == ENDED) == ended
        state = BLANK if ended else state


@MANY
@given(texts)
def test_without_a_delimiter_a_state_says_whether_there_is_more_than_white_space(tokens: list[str]) -> None:
    table = TokenTable([text.encode() for text in tokens])
    state = BLANK
    for token in range(len(tokens)):
        state = int(table.transitions[NO_DELIMITER, state, token])
        # A token without text is a part of a character.
        assert (state != BLANK) == any(not text.isspace() for text in tokens[: token + 1])


def test_every_splitter_has_its_table() -> None:
    assert [table_number(split) for split in SPLITTERS] == [0, 1, 2]
    assert table_number(WindowSplitter(3)) == table_number(EntropySplitter()) == NO_DELIMITER


@MANY
@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_texts_joined_are_what_the_bytes_say(joined: bytes, cuts: list[int]) -> None:
    edges = sorted({0, len(joined), *(cut for cut in cuts if cut <= len(joined))})
    table = TokenTable([joined[a:b] for a, b in pairwise(edges)])
    spelled = table.spelled(range(len(table.pieces)))
    assert "".join(spelled) == joined.decode("utf-8", "replace")


def test_a_character_goes_to_the_token_that_completes_it() -> None:
    smile = "🙂".encode()
    table = TokenTable([b"a", smile[:1], smile[1:3], smile[3:] + b"!"])
    assert table.spelled([0, 1, 2, 3]) == ["a", "", "", "🙂!"]
    assert table.context([0, 1, 2]) == "a"
    assert table.context([2, 3]) == "!"


def test_the_context_is_short() -> None:
    table = TokenTable([b"abc", b"x" * 100])
    assert table.context([1, 0]) == "x" * 29 + "abc"
    assert table.context([0] * 100) == ("abc" * 100)[-32:]
    assert table.context([]) == ""


@pytest.mark.parametrize(
    ("vocabulary", "pieces"),
    [
        ({"Ċ": 0, "Ġthe": 1, "ĊĊ": 2, "ðŁĻĤ": 3, "<think>": 4, "<end>": 5}, ["\n", " the", "\n\n", "🙂"]),
        ({"▁the": 0, "<0x0A>": 1, "a▁b": 2, "Ġ": 3, "<think>": 4, "<end>": 5}, [" the", "\n", "a b", "Ġ"]),
    ],
    ids=["byte by byte", "with spaces marked"],
)
def test_tokens_are_read_as_their_vocabulary_writes_them(
    vocabulary: dict[str, int], pieces: list[str]
) -> None:
    found = pieces_of(vocabulary, {4: "<think>", 5: "<end>"}, {5}, 8)
    assert found == [*(piece.encode() for piece in pieces), b"<think>", b"", b"", b""]


def test_added_tokens_that_are_special_have_no_text_even_without_a_name() -> None:
    def entry(content: str, special: bool) -> SimpleNamespace:
        return SimpleNamespace(content=content, special=special)

    tokenizer: Any = SimpleNamespace(
        get_vocab=lambda: {"Ċ": 0, "<think>": 1, "<|tool|>": 2, "<end>": 3},
        added_tokens_decoder={
            1: entry("<think>", False),
            2: entry("<|tool|>", True),
            3: entry("<end>", True),
        },
        all_special_ids=[3],
    )
    assert table_of(tokenizer, 4).pieces == (b"\n", b"<think>", b"", b"")
    del tokenizer.added_tokens_decoder
    assert table_of(tokenizer, 4).pieces == (b"\n", b"<think>", b"<|tool|>", b"")


class TemplateError(Exception):
    """As Jinja's: no ValueError."""


class Template:
    """A tokenizer whose template writes down what it was given, or refuses it."""

    def __init__(self, error: Exception | None = None, system: str = "kept") -> None:
        self.error = error
        self.system = system

    def apply_chat_template(self, turns: list[dict[str, str]], **switches: bool) -> str:
        if self.error is not None:
            raise self.error
        if turns[0]["role"] == "system" and self.system == "refused":
            raise TemplateError("System role not supported")
        if self.system == "left out":
            turns = [turn for turn in turns if turn["role"] != "system"]
        return f"{turns} {switches}"


@pytest.mark.parametrize("system", ["refused", "left out"])
def test_where_a_template_has_no_system_role_its_message_goes_before_the_question(system: str) -> None:
    turns = [Message("system", "Be brief."), Message("user", "2 + 2?")]
    merged = [Message("user", "Be brief.\n\n2 + 2?")]
    template = Template(system=system)
    assert chat_text(template, turns, None, "m") == chat_text(template, merged, None, "m")
    assert "'role': 'system', 'content': 'Be brief.'" in chat_text(Template(), turns, None, "m")


def test_a_conversation_is_written_by_the_template() -> None:
    turns = [Message("user", "2 + 2?")]
    written = "[{'role': 'user', 'content': '2 + 2?'}] {'tokenize': False, 'add_generation_prompt': True"
    assert chat_text(Template(), turns, None, "m") == written + "}"
    assert chat_text(Template(), turns, False, "m") == written + ", 'enable_thinking': False}"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TemplateError("System role\nnot supported."), "System role not supported"),
        (ValueError("chat_template is not set"), "chat_template is not set"),
        (TypeError(), "TypeError"),
    ],
    ids=repr,
)
def test_a_template_may_refuse_by_any_error(error: Exception, said: str) -> None:
    with pytest.raises(InputError, match=rf"template of m rejects the conversation \({said}\): use other"):
        chat_text(Template(error), [Message("system", "Be brief.")], None, "m")


@pytest.mark.parametrize(
    ("before", "text", "tokens"),
    [("", "ab", [2]), ("b", "ab", [0, 1]), ("a", "b", [1]), ("b", "", [])],
    ids=["alone", "as it stands there", "grown together with what is before", "nothing"],
)
def test_a_text_is_cut_as_it_would_stand_behind_another(before: str, text: str, tokens: list[int]) -> None:
    def tokens_of(text: str) -> list[int]:
        """Know a, b and, at the beginning only, ab."""
        rest = text.removeprefix("ab")
        return [2] * (rest != text) + ["ab".index(letter) for letter in rest]

    assert tokens_after(tokens_of, before, text) == tokens
