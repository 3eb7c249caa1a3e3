from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.errors import InputError, UnknownNameError
from distrivote.splitting import (
    DelimiterSplitter,
    EntropySplitter,
    Splitter,
    WindowSplitter,
    splitter,
    step_ends,
)
from strategies import LAW

NAN = math.nan
PARAGRAPH = DelimiterSplitter()
LINE = DelimiterSplitter("\n")
EXACT = DelimiterSplitter(exact_token=True)


def ends(tokens: list[str], rule: Splitter = PARAGRAPH, entropies: list[float] | None = None) -> list[int]:
    return step_ends(tokens, rule, entropies).tolist()


def naive_ends(tokens: list[str], rule: Splitter, entropies: list[float]) -> list[int]:
    """Cut by the text of the method, keeping the whole step at hand."""
    found, start = [], 0
    for i, token in enumerate(tokens):
        step = "".join(tokens[start : i + 1])
        length = i + 1 - start
        # A token without text is a part of a character.
        is_blank = all(each.isspace() for each in tokens[start : i + 1])
        if isinstance(rule, DelimiterSplitter) and rule.exact_token:
            over = token == rule.delimiter and bool(step.strip())
        elif isinstance(rule, DelimiterSplitter):
            over = rule.delimiter in step.lstrip()
        elif isinstance(rule, WindowSplitter):
            over = length >= rule.n_tokens and not is_blank
        else:
            assert isinstance(rule, EntropySplitter)
            over = entropies[i] > rule.threshold and length >= rule.min_tokens and not is_blank
        if over:
            found.append(i + 1)
            start = i + 1
    if "".join(tokens[start:]).strip() or (tokens and not found):
        found.append(len(tokens))
    elif found:
        found[-1] = len(tokens)
    return found


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], []),
        (["a"], [1]),
        (["a", "\n\n", "b"], [2, 3]),
        (["a", ".\n\n", "b"], [2, 3]),
        (["a", "\n", "\n", "b"], [3, 4]),
        (["a\n", "\nb", "c"], [2, 3]),
        (["a\n\nb", "c"], [1, 2]),
        (["a\n\nb\n\nc", "d"], [1, 2]),
        (["a", "\n", "b", "\n", "c"], [5]),
        (["a", "\n \n", "b"], [3]),
        (["a", "\n\n", "\n\n", "b"], [2, 4]),
        (["a", "\n\n", "\n", "\n", "\n", "b"], [2, 6]),
        (["a\n\n\n\n\n", "b"], [1, 2]),
        (["\n\n", "a", "\n\n", "b"], [3, 4]),
        (["\n", "\n", " ", "\n\n"], [4]),
        (["a", "\n\n"], [2]),
        (["a", "\n\n", "\n"], [3]),
        (["a", "\n\n", " ", "", "\n\n"], [5]),
        (["a", "", "\n", "", "\n", "b"], [5, 6]),
        (["a\n\nb", "\n\n", "c"], [1, 3]),
        (["", ""], [2]),
    ],
)
def test_a_paragraph_ends_where_its_text_first_completes_a_blank_line(
    tokens: list[str], expected: list[int]
) -> None:
    assert ends(tokens) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["a", "\n", "b"], [2, 3]),
        (["a", "\n\n", "b"], [2, 3]),
        (["a", "\n", "\n", "b"], [2, 4]),
        (["a\nb", "c\n", "d"], [1, 2, 3]),
    ],
)
def test_a_line_ends_with_its_newline(tokens: list[str], expected: list[int]) -> None:
    assert ends(tokens, LINE) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["a", "\n\n", "b"], [2, 3]),
        (["a", ".\n\n", "b", "\n\n", "c"], [4, 5]),
        (["a", "\n", "\n", "b"], [4]),
        (["\n\n", "a", "\n\n", "\n\n", "b"], [3, 5]),
    ],
)
def test_an_exact_token_is_the_delimiter_and_nothing_else(tokens: list[str], expected: list[int]) -> None:
    assert ends(tokens, EXACT) == expected


def test_a_delimiter_may_be_any_text_and_lie_in_several_tokens() -> None:
    assert ends(["one#", "#", "#two", "#", "##"], DelimiterSplitter("###")) == [3, 5]


def test_a_window_is_so_many_tokens() -> None:
    assert ends(["a"] * 7, WindowSplitter(3)) == [3, 6, 7]
    assert ends(["a"] * 6, WindowSplitter(3)) == [3, 6]


def test_a_window_of_white_space_goes_on_until_there_is_text() -> None:
    assert ends(["\n"] * 4 + ["a"], WindowSplitter(2)) == [5]
    assert ends(["a", "b", "\n", " ", "c", "d"], WindowSplitter(2)) == [2, 5, 6]
    assert ends(["\n", "a", "b"], WindowSplitter(1)) == [2, 3]


def test_a_window_of_parts_of_a_character_ends() -> None:
    # A server sees the parts where a client sees nothing before the last one.
    assert ends(["", "", "é", "a"], WindowSplitter(1)) == [1, 2, 3, 4]


def test_white_space_behind_the_last_window_belongs_to_it() -> None:
    assert ends(["a", "b", "\n"], WindowSplitter(2)) == [3]


def test_a_high_entropy_token_ends_a_step_that_is_long_enough() -> None:
    rule = EntropySplitter(threshold=0.5, min_tokens=3)
    assert ends(["a"] * 7, rule, [0.9, 0.9, 0.5, 0.6, 0.9, 0.1, 0.1]) == [4, 7]


def test_a_token_of_unknown_entropy_ends_nothing() -> None:
    rule = EntropySplitter(threshold=0.5, min_tokens=1)
    assert ends(["a", "b", "c"], rule, [NAN, 0.9, NAN]) == [2, 3]
    assert ends(["a", "b", "c"], rule) == [3]


def test_a_stream_says_which_token_ended_a_step_and_whether_one_is_left() -> None:
    stream = PARAGRAPH.start()
    assert [stream.push(text) for text in ["a", "\n", "\n", "b"]] == [False, False, True, False]
    assert stream.flush()
    assert not stream.flush()


def test_flush_does_not_count_white_space_as_a_step() -> None:
    for rule in (PARAGRAPH, EXACT, WindowSplitter(9), EntropySplitter()):
        stream = rule.start()
        stream.push(" \n")
        assert not stream.flush()


def test_streams_of_one_splitter_share_nothing() -> None:
    one, other = PARAGRAPH.start(), PARAGRAPH.start()
    one.push("a\n")
    other.push("b")
    assert not other.push("\n")
    assert one.push("\n")


def test_a_stream_keeps_no_more_than_the_delimiter() -> None:
    stream = PARAGRAPH.start()
    stream.push("word " * 1000)
    assert len(stream._tail) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("paragraph", PARAGRAPH),
        ("\n\n", PARAGRAPH),
        (r"\n\n", PARAGRAPH),
        ("line", LINE),
        ("\n", LINE),
        (r"\n", LINE),
        ("exact", EXACT),
        ("window:256", WindowSplitter(256)),
        ("entropy", EntropySplitter(0.672, 200)),
        ("entropy:0.5", EntropySplitter(0.5)),
    ],
)
def test_splitters_have_names(name: str, expected: Splitter) -> None:
    assert splitter(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        "paragraphs",
        "window",
        "window:",
        "window:x",
        "window:" + "9" * 5000,
        "entropy:",
        "entropy:x",
        "line:3",
        "\n\n\n",
    ],
)
def test_an_unknown_splitter_is_an_error(name: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown splitter"):
        splitter(name)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DelimiterSplitter(""),
        lambda: WindowSplitter(0),
        lambda: splitter("window:0"),
        lambda: EntropySplitter(math.nan),
        lambda: EntropySplitter(min_tokens=0),
    ],
)
def test_a_splitter_that_can_not_split_is_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]


def test_as_many_entropies_as_tokens_are_needed() -> None:
    with pytest.raises(ValueError, match="zip"):
        ends(["a", "b"], EntropySplitter(), [0.1])


texts = st.text(alphabet="ab. \n\n\n", max_size=60)
token_lists = st.lists(
    st.one_of(st.sampled_from(["\n\n", "\n", ".\n\n", " ", "", "a"]), st.text("ab \n\n", max_size=6)),
    max_size=25,
)
rules = st.sampled_from(
    [
        PARAGRAPH,
        LINE,
        EXACT,
        DelimiterSplitter("a"),
        DelimiterSplitter("\n\n\n"),
        WindowSplitter(1),
        WindowSplitter(4),
        EntropySplitter(0.5, 2),
    ]
)


@LAW
@given(token_lists, rules, st.data())
def test_a_stream_agrees_with_its_twin(tokens: list[str], rule: Splitter, data: st.DataObject) -> None:
    entropy = st.sampled_from([0.1, 0.5, 0.9, NAN])
    entropies = data.draw(st.lists(entropy, min_size=len(tokens), max_size=len(tokens)))
    assert ends(tokens, rule, entropies) == naive_ends(tokens, rule, entropies)


@LAW
@given(token_lists, rules)
def test_steps_joined_give_the_text_back(tokens: list[str], rule: Splitter) -> None:
    found = ends(tokens, rule)
    steps = [tokens[start:end] for start, end in pairwise([0, *found])]
    assert [token for step in steps for token in step] == tokens
    assert all(steps)


def chunks(text: str, cuts: list[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise(sorted({0, *cuts, len(text)}))]


@LAW
@given(texts, st.lists(st.integers(0, 60)), st.sampled_from([PARAGRAPH, LINE]))
def test_every_boundary_lies_in_a_token_that_holds_one_of_the_text(
    text: str, cuts: list[int], rule: Splitter
) -> None:
    tokens = chunks(text, [cut for cut in cuts if cut < len(text)])
    of_text = boundaries(list(text), rule)
    for start, end in token_spans(tokens, boundaries(tokens, rule)):
        assert any(start < boundary <= end for boundary in of_text)


@LAW
@given(texts, st.lists(st.integers(0, 60)), st.sampled_from([PARAGRAPH, LINE]))
def test_boundaries_do_not_depend_on_the_tokens_if_none_reaches_over_one(
    text: str, cuts: list[int], rule: Splitter
) -> None:
    of_text = boundaries(list(text), rule)
    tokens = chunks(text, [cut for cut in cuts if cut < len(text)] + of_text)
    assert boundaries(tokens, rule) == of_text


def boundaries(tokens: list[str], rule: Splitter) -> list[int]:
    """Return the offsets in the text at which a push ended a step."""
    stream = rule.start()
    found, at = [], 0
    for token in tokens:
        at += len(token)
        if stream.push(token):
            found.append(at)
    return found


def token_spans(tokens: list[str], offsets: list[int]) -> list[tuple[int, int]]:
    """Return the beginning and end of the tokens that end at the offsets."""
    at, spans = 0, []
    for token in tokens:
        if at + len(token) in offsets:
            spans.append((at, at + len(token)))
        at += len(token)
    return spans


@LAW
@given(token_lists, st.sampled_from([PARAGRAPH, LINE, DelimiterSplitter("a"), DelimiterSplitter("\n\n\n")]))
def test_the_whole_text_is_cut_where_its_stream_is(tokens: list[str], rule: Splitter) -> None:
    unknown = [NAN] * len(tokens)
    assert step_ends(tokens, rule).tolist() == step_ends(tokens, rule, unknown).tolist()
