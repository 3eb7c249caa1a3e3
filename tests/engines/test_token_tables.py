from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.token_tables import (
    BLANK,
    ENDED,
    NO_DELIMITER,
    SPLITTERS,
    TokenTable,
    pieces_of,
    table_number,
)
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
def test_without_a_delimiter_a_state_says_whether_there_is_text(tokens: list[str]) -> None:
    table = TokenTable([text.encode() for text in tokens])
    state = BLANK
    for token in range(len(tokens)):
        state = int(table.transitions[NO_DELIMITER, state, token])
        assert (state != BLANK) == bool("".join(tokens[: token + 1]).strip())


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
