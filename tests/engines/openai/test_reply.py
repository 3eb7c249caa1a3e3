"""Streams read piece by piece give what the whole response gives."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.openai.reply import StreamedReply, finish_of
from distrivote.engines.responses import trajectories_from_openai
from distrivote.engines.wire import Choice
from distrivote.trajectory import Trajectory
from engines.scripted_server import Token, chat_entry, choices_of, completion_logprobs, typed, whole_choice

TOKENS = [
    Token("So", 9.0),
    Token(" it\n", 8.0),
    Token("\nis ", 7.0),
    Token("\ufffd", 5.0, "🤔".encode()[:2]),
    Token("\ufffd", 5.5, "🤔".encode()[2:]),
    Token(" 4", 6.0),
    Token(".", 11.0),
]
TEXT = "So it\n\nis 🤔 4."


def same(one: Trajectory, other: Trajectory) -> None:
    assert one.text == other.text
    assert one.tokens == other.tokens
    assert one.finish_reason == other.finish_reason
    np.testing.assert_array_equal(one.top_logprobs, other.top_logprobs)
    np.testing.assert_array_equal(one.logprobs, other.logprobs)


def read(choices: list[dict[str, Any]], stop: tuple[str, ...] = ()) -> StreamedReply:
    reply = StreamedReply(stop)
    for choice in choices:
        reply.add(typed(choice))
    return reply


@given(
    st.lists(st.integers(0, len(TOKENS)), max_size=6),
    st.lists(st.integers(0, len(TEXT)), max_size=6),
    st.booleans(),
)
def test_every_chunking_gives_the_trajectory_of_the_whole(
    cuts: list[int], text_cuts: list[int], chat: bool
) -> None:
    """Texts and log-probabilities may come in chunks of their own."""
    choices: list[dict[str, Any]] = []
    edges = [0, *sorted(text_cuts), len(TEXT)]
    for start, end in pairwise(edges):
        part = TEXT[start:end]
        choices.append({"delta": {"content": part}} if chat else {"text": part})
    edges = [0, *sorted(cuts), len(TOKENS)]
    for start, end in pairwise(edges):
        tokens = TOKENS[start:end]
        logprobs = (
            {"content": [chat_entry(t, 20) for t in tokens]} if chat else completion_logprobs(tokens, 20)
        )
        choices.append({"delta": {}, "logprobs": logprobs} if chat else {"text": "", "logprobs": logprobs})
    choices.append({"delta": {}, "finish_reason": "stop"} if chat else {"text": "", "finish_reason": "stop"})
    whole = whole_choice(TOKENS, 20, chat)
    whole |= {"message": {"content": TEXT}} if chat else {"text": TEXT}
    same(read(choices).trajectory("x"), trajectories_from_openai({"choices": [whole]})[0])


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_that_is_split_off_is_believed_from_the_tokens(field: str) -> None:
    tokens = [Token("<think>"), Token("Hm"), Token("</think>"), Token("\n\n"), Token("4")]
    entries = [chat_entry(token, 20) for token in tokens]
    deltas = [{}, {field: "Hm"}, {}, {}, {"content": "4"}]
    choices = [{"delta": d, "logprobs": {"content": [e]}} for d, e in zip(deltas, entries, strict=True)]
    choices.append({"delta": {}, "finish_reason": "stop"})
    message = {"content": "4", field: "Hm"}
    whole = {"message": message, "logprobs": {"content": entries}, "finish_reason": "stop"}
    found = read(choices).trajectory("x")
    same(found, trajectories_from_openai({"choices": [whole]})[0])
    assert found.text == "<think>Hm</think>\n\n4"


def test_log_probabilities_of_thinking_apart_come_first() -> None:
    thought = [chat_entry(Token("Hm"), 20), chat_entry(Token("."), 20)]
    said = [chat_entry(Token("4"), 20)]
    choices = [
        {"delta": {"reasoning_content": "Hm"}, "logprobs": {"content": [], "reasoning_content": thought[:1]}},
        {"delta": {"reasoning_content": "."}, "logprobs": {"content": [], "reasoning_content": thought[1:]}},
        {"delta": {"content": "4"}, "logprobs": {"content": said}, "finish_reason": "stop"},
    ]
    whole = {
        "message": {"content": "4", "reasoning_content": "Hm."},
        "logprobs": {"content": said, "reasoning_content": thought},
        "finish_reason": "stop",
    }
    same(read(choices).trajectory("x"), trajectories_from_openai({"choices": [whole]})[0])


def test_without_log_probabilities_there_is_a_text() -> None:
    choices = [
        {"delta": {"reasoning": "Hm", "content": None}},
        {"delta": {"content": "4"}, "finish_reason": "stop"},
    ]
    found = read(choices).trajectory("x")
    assert (found.text, found.tokens) == ("Hm\n</think>\n\n4", ())


@pytest.mark.parametrize("chat", [True, False])
def test_a_stop_string_that_the_server_passed_over_cuts(chat: bool) -> None:
    choices = choices_of([Token("One"), Token(" EN"), Token("D two"), Token(" three")], 20, chat)
    reply = StreamedReply(("END",))
    stopped = []
    for choice in choices[:3]:
        reply.add(typed(choice))
        stopped.append(reply.stopped)
    assert stopped == [False, False, True]
    found = reply.trajectory("x")
    assert (found.text, found.tokens, found.finish_reason) == ("One ", ("One", " "), "stop")
    assert found.top_logprobs.shape == (2, 20)


def test_a_stop_string_of_one_letter_is_found() -> None:
    assert read(choices_of([Token("a"), Token("b#c")], 0, True), ("#",)).trajectory("x").text == "ab"


def test_a_text_that_a_server_repeats_is_left_out() -> None:
    choices = [{"delta": {"content": "So far."}}, *choices_of([Token(" On")], 20, True)]
    assert read(choices).trajectory("x", "So far.").text == " On"


def test_a_reply_can_be_kept_without_its_tokens() -> None:
    choices = [{"delta": {"content": "One END two"}, "logprobs": {"content": [chat_entry(Token("zz"), 20)]}}]
    found = read([*choices, {"delta": {}, "finish_reason": "stop"}], ("END",)).bare()
    assert (found.text, found.tokens) == ("One ", ())


@pytest.mark.parametrize("unfinished", ["", "null"])
def test_a_reply_does_not_end_at_an_empty_reason(unfinished: str) -> None:
    choices = choices_of([Token("One"), Token(" two")], 20, True)
    for choice in choices[:-1]:
        choice["finish_reason"] = unfinished
    reply = StreamedReply()
    reply.add(typed(choices[0]))
    assert not reply.is_over
    assert read(choices).trajectory("x").finish_reason == "stop"


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("without", [{0}, {2}, {1, 2}, {0, 3}])
def test_texts_without_log_probabilities_amid_others_are_tokens_without(
    chat: bool, without: set[int]
) -> None:
    choices = choices_of([Token("One"), Token(" and two"), Token(" and three"), Token(" and")], 20, chat)
    for at in without:
        choices[at]["logprobs"] = None
    found = read(choices).whole("x")
    assert found.tokens == ("One", " and two", " and three", " and")
    assert {at for at in range(4) if np.isnan(found.top_logprobs[at]).all()} == without
    assert {at for at in range(4) if np.isnan(found.logprobs[at])} == without


def test_memory_per_token_stays_small() -> None:
    """A row of 20 numbers has 160 bytes; in lists it would have 640, and 20 objects."""
    reply = read(choices_of([Token("word")] * 200, 20, True))
    assert len(reply.read.values) == 200 * 20
    assert reply.read.values.itemsize == 8
    assert reply.read.encoded == []


@pytest.mark.parametrize(
    ("said", "reason"), [(None, None), ("", None), ("null", None), ("stop", "stop"), ("length", "length")]
)
def test_an_empty_reason_is_no_end(said: str | None, reason: str | None) -> None:
    assert finish_of(Choice(finish_reason=said)) == reason
    assert finish_of(Choice()) is None


def unsaid(
    text: str, pieces: list[str], finish: str = "stop", stop: tuple[str, ...] = (), **delta: Any
) -> str | None:
    """Return what is wrong with a reply whose text is shorter than its tokens."""
    tokens = [Token(piece) for piece in pieces]
    (choice,) = choices_of(tokens, 2, chat=True, size=len(tokens), finish=finish)[:1]
    choice |= {"delta": {"content": text, **delta}, "finish_reason": finish}
    reply = read([choice], stop)
    return reply.unsaid(reply.whole("here"))


CALL = {"tool_calls": [{"index": 0, "function": {"name": "add", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    ("text", "pieces", "options"),
    [
        ("It is 4", ["It is", " 4"], {}),
        ("It is 4", [" It is", " 4", "\n"], {"finish": "length"}),
        ("It is 4", ["It is", " 4", "<|im_end|>"], {}),
        ("It is 4", ["It is", " 4", "<|im_end|>", *["<pad>"] * 40], {"finish": "length"}),
        ("It is 4", ["It is", " 4", "\n", "User", ":"], {}),
        ("It is", ["It is", " 4", "\n"], {"stop": ("4",)}),
        ("It is", ["It is", "\ufffd"], {"finish": "length"}),
        ("Let me add", ["Let me add", *["word "] * 40], CALL),
        ("Let me add", ["Let me add", "<tool_call>", '{"name"'], {"finish": "length"}),
        ("Let me add", ["Let me add", '{"name": "add"'], {"finish": "length"}),
        ("It is 4", ["<think>", "hm", "</think>", "\n\n", "It is", " 4"], {"reasoning_content": "hm"}),
        ("It is 4", ["hm", "</think>", "\n\n", "It is", " 4"], {"finish": "length"}),
        ("", ["hm", " so", " long"], {"finish": "length"}),
        ("", ["hm", " so"], {"finish": "length", "reasoning_content": "hm so"}),
    ],
)
def test_what_servers_leave_out_of_a_text_is_no_flaw(
    text: str, pieces: list[str], options: dict[str, Any]
) -> None:
    assert unsaid(text, pieces, **options) is None


@pytest.mark.parametrize(
    ("pieces", "finish"), [([" or", " 12"], "length"), ([" or 12, which is more"] * 4, "stop")]
)
def test_tokens_that_go_on_behind_the_text_are_a_flaw(pieces: list[str], finish: str) -> None:
    assert unsaid("It is 4", ["It is", " 4", *pieces], finish) == "its tokens go on behind its text"
