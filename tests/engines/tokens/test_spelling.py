"""What tokens may leave out of a text or write otherwise, and what is another text."""

from __future__ import annotations

import pytest

from distrivote.engines.tokens.spelling import Spelling, spelled

ORDINARY = {
    "the same": (["It is", " 12", "."], "It is 12."),
    "half a character, marked": (["a", "\ufffd", "\ufffd", " 4"], "aé 4"),
    "half a character within a token": (["a\ufffd", "\ufffd b", " 4"], "aé b 4"),
    "half a character without a text": (["a", "", " 4"], "aé 4"),
    "a byte by its name": (["a", "<0xC3>", "<0xA9>", " 4"], "aé 4"),
    "a special token in the text's middle": (["So", "<|channel|>", " 4"], "So 4"),
    "a role between special tokens": (["é\ufffd", "<|end|>", "assistant", "<|message|>", " 4"], "éé 4"),
    "a mark of an instruction": (["[INST]", "So", "[/INST]", " 4", "\ufffd"], "So 4é"),
    "a beginning without its space": ([" It is", " 4"], "It is 4"),
    "tokens without their spaces": (["Hi", "there", "4"], "Hi there 4"),
    "spaces that the server tidied": (["do", " n't", " know", " ,", " 4"], "don't know, 4"),
    "an end without its space": (["It is", " 4", "\n"], "It is 4"),
    "a stop string behind the text": (["It is", " 4", "\nQ", ":"], "It is 4"),
    "a stop string within a token": (["\ufffd", " 4.\nQ"], "é 4."),
    "a tool call behind the text": (["\ufffd", " 4", "<tool_call>", *["word "] * 40, "</tool_call>"], "é 4"),
    "an end token": (["It is", " 4", "<|im_end|>"], "It is 4"),
    "a letter in another form": (["cafe\u0301", " 4"], "caf\u00e9 4"),
    "a vocabulary's spelling": (["\u2581Hi", "\u2581there", "<0x0A>", "4"], "Hi there\n4"),
}


@pytest.mark.parametrize("case", ORDINARY)
def test_what_servers_ordinarily_change_is_the_same_text(case: str) -> None:
    pieces, text = ORDINARY[case]
    found = spelled(text, "", Spelling(pieces, []))
    assert found is not None
    assert "".join(found).strip() == text.strip()


def test_bytes_that_are_cut_inside_characters_are_the_same_text() -> None:
    encoded = [b"a", b"\xf0\x9f", b"\x98", b"\x80 4"]
    assert spelled("a\U0001f600 4", "", Spelling(["a", "\ufffd", "\ufffd", "\ufffd 4"], encoded)) == [
        *("a", "", ""),
        "\U0001f600 4",
    ]


@pytest.mark.parametrize("thinking", ["hm so", ""])
def test_thinking_that_a_server_splits_off_is_the_same_text(thinking: str) -> None:
    pieces = ["<think>", "hm", " so", "</think>", "\n\n", "It is", " 4"]
    assert spelled("It is 4", thinking, Spelling(pieces, [])) == pieces


OTHER = {
    "another number": (["It is", " \\boxed{", "35", "}."], "It is \\boxed{12}."),
    "another number of equal length": (["Let me see.", " It is ", "9", " now"], "Let me see. It is 7 now"),
    "a digit too many in the text": (["It is", " \\boxed{", "12", "}."], "It is \\boxed{112}."),
    "a digit too few in the text": (["It is", " \\boxed{", "1", "12", "}."], "It is \\boxed{12}."),
    "a word too few in the text": (["It is", " not", " 12", " today"], "It is 12 today"),
    "a sign too few in the text": (["It is ", "-", "5", " now"], "It is 5 now"),
    "another beginning": (["Nine", " or", " 12", "."], "Ten or 12."),
    "another end": (["It is", " 12", " or", " 35"], "It is 12 or 77"),
    "another word behind half a character": (["é\ufffd", " and", " 12", "."], "éé and 35."),
    "another text": (["lorem", "lorem", "lorem"], "It is 12."),
}


@pytest.mark.parametrize("case", OTHER)
def test_tokens_that_say_something_else_do_not_spell_the_text(case: str) -> None:
    pieces, text = OTHER[case]
    assert spelled(text, "", Spelling(pieces, [])) is None
    assert spelled(text, "", Spelling(pieces, [piece.encode() for piece in pieces])) is None
