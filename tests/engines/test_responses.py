from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.responses import trajectories_from_openai, trajectories_from_vllm
from distrivote.errors import InputError
from distrivote.trajectory import Trajectory
from strategies import LAW

TOP = [-0.1, -2.5, -4.0]


def entry(token: str, encoded: bytes | None = None, top: list[float] | None = None) -> dict[str, Any]:
    """Return one token of a chat reply."""
    rows = [
        {"token": f"t{i}", "logprob": x, "bytes": None} for i, x in enumerate(TOP if top is None else top)
    ]
    return {
        "token": token,
        "logprob": -0.1,
        "bytes": None if encoded is None else list(encoded),
        "top_logprobs": rows,
    }


def chat(
    content: str | None,
    tokens: list[dict[str, Any]] | None = None,
    finish_reason: str = "stop",
    **message: Any,
) -> dict[str, Any]:
    logprobs = None if tokens is None else {"content": tokens}
    message = {"role": "assistant", "content": content, **message}
    return {"message": message, "logprobs": logprobs, "finish_reason": finish_reason}


def completion(text: str, tokens: list[str], tops: list[Any]) -> dict[str, Any]:
    logprobs = {"tokens": tokens, "token_logprobs": [-0.1] * len(tokens), "top_logprobs": tops}
    return {"text": text, "logprobs": logprobs, "finish_reason": "length"}


def one(choice: dict[str, Any]) -> Trajectory:
    (trajectory,) = trajectories_from_openai({"choices": [choice]})
    return trajectory


def thing(value: Any) -> Any:
    """Turn dicts into objects with attributes, as the openai package has them."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: thing(item) for key, item in value.items()})
    return [thing(item) for item in value] if isinstance(value, list) else value


def vllm_sample(text: str, pieces: list[str | None], finish_reason: str = "stop") -> Any:
    """Return a vLLM sample in which token i has the id i and other entries beside it."""
    rows = []
    for i, piece in enumerate(pieces):
        row = {i: SimpleNamespace(logprob=-0.1, rank=1, decoded_token=piece)}
        for j, logprob in enumerate(TOP[1:]):
            row[1000 + j] = SimpleNamespace(logprob=logprob, rank=j + 2, decoded_token="?")
        rows.append(row)
    return SimpleNamespace(
        text=text, token_ids=list(range(len(pieces))), logprobs=rows, finish_reason=finish_reason
    )


def vllm_one(sample: Any) -> Trajectory:
    (trajectory,) = trajectories_from_vllm([SimpleNamespace(outputs=[sample])])
    return trajectory


def test_a_chat_reply_becomes_a_trajectory() -> None:
    reply = one(chat("It is 4", [entry("It"), entry(" is"), entry(" 4")]))
    assert (reply.text, reply.tokens, reply.finish_reason) == ("It is 4", ("It", " is", " 4"), "stop")
    np.testing.assert_array_equal(reply.top_logprobs, [TOP] * 3)
    np.testing.assert_array_equal(reply.logprobs, [-0.1] * 3)


def test_a_completion_becomes_a_trajectory() -> None:
    tops = [{"It": -0.1, "At": -2.0}, None, {" 4": -0.5, " 5": -1.0, " 6": -7.0}]
    reply = one(completion("It is 4", ["It", " is", " 4"], tops))
    assert (reply.text, reply.tokens, reply.finish_reason) == ("It is 4", ("It", " is", " 4"), "length")
    nan = math.nan
    np.testing.assert_array_equal(
        reply.top_logprobs, [[-0.1, -2.0, nan], [nan, nan, nan], [-0.5, -1.0, -7.0]]
    )


def test_dicts_and_objects_are_read_alike() -> None:
    response = {"choices": [chat("4!", [entry("4"), entry("!")]), chat("5", [entry("5")])]}
    for plain, objects in zip(
        trajectories_from_openai(response), trajectories_from_openai(thing(response)), strict=True
    ):
        assert plain.tokens == objects.tokens
        np.testing.assert_array_equal(plain.top_logprobs, objects.top_logprobs)


def test_one_response_and_several_give_every_choice_in_order() -> None:
    first = {"choices": [chat("1"), chat("2")]}
    second = {"choices": [chat("3")]}
    assert [t.text for t in trajectories_from_openai(first)] == ["1", "2"]
    assert [t.text for t in trajectories_from_openai([first, second])] == ["1", "2", "3"]
    assert [t.text for t in trajectories_from_openai(iter([first, second]))] == ["1", "2", "3"]


@pytest.mark.parametrize("logprobs", [None, {"content": None}, {"content": []}, {}])
def test_without_log_probabilities_there_is_the_text_alone(logprobs: Any) -> None:
    reply = one({"message": {"content": "It is 4"}, "logprobs": logprobs})
    assert (reply.text, reply.n_tokens, reply.top_logprobs.shape) == ("It is 4", 0, (0, 0))


def test_a_reply_without_text_is_an_empty_trajectory() -> None:
    assert one(chat(None)).text == ""


def test_sampled_log_probabilities_may_come_without_others() -> None:
    reply = one(chat("4!", [entry("4", top=[]), entry("!", top=[])]))
    assert reply.top_logprobs.shape == (2, 0)
    np.testing.assert_array_equal(reply.logprobs, [-0.1, -0.1])


def test_an_unusable_entry_is_kept_as_minus_infinity_so_that_it_can_be_counted() -> None:
    tokens = [entry("4", top=[-0.1, None, math.nan, -9999.0])]  # type: ignore[list-item]
    np.testing.assert_array_equal(one(chat("4", tokens)).top_logprobs, [[-0.1, -np.inf, -np.inf, -9999.0]])


def test_bytes_put_a_split_character_into_the_token_that_completes_it() -> None:
    emoji = "😊".encode()
    tokens = [entry("\\xf0", emoji[:1]), entry("\\x9f", emoji[1:3]), entry("!", emoji[3:] + b"!")]
    assert one(chat("😊!", tokens)).tokens == ("", "", "😊!")


def test_without_bytes_a_split_character_goes_to_the_next_token_that_is_known() -> None:
    reply = vllm_one(vllm_sample("So 😊 ok", ["So", " �", "�", " ok"]))
    assert reply.tokens == ("So", " ", "", "😊 ok")
    assert vllm_one(vllm_sample("So 😊", ["So", " �", "�"])).text == "So 😊"


@pytest.mark.parametrize(
    ("pieces", "text", "tokens"),
    [
        (["Hi", "Ġthere", "ĊĊ", "ok"], "Hi there\n\nok", ("Hi", " there", "\n\n", "ok")),
        (["æĺ¯", "Ġ!"], "是 !", ("是", " !")),
        (["▁Hi", "▁there"], " Hi there", (" Hi", " there")),
        (["Hi", "there"], "Hi there", ("Hi", " there")),
    ],
    ids=["byte-level", "byte-level-chinese", "sentencepiece", "lost-spaces"],
)
def test_tokens_as_the_vocabulary_writes_them_are_turned_back(
    pieces: list[str | None], text: str, tokens: tuple[str, ...]
) -> None:
    assert vllm_one(vllm_sample(text, pieces)).tokens == tokens


@pytest.mark.parametrize("end", ["<|im_end|>", "</s>", "<|a-new-kind-of-end|>", ""])
def test_the_end_of_text_token_is_left_out(end: str) -> None:
    assert one(chat("It is 4", [entry("It is"), entry(" 4"), entry(end)])).tokens == ("It is", " 4")
    reply = vllm_one(vllm_sample("It is 4", ["It is", " 4", end]))
    assert reply.tokens == ("It is", " 4")
    assert reply.top_logprobs.shape == (2, 3)


def test_a_known_end_of_text_token_is_left_out_of_the_text_too() -> None:
    reply = one(chat("4<|im_end|>", [entry("4"), entry("<|im_end|>")]))
    assert (reply.text, reply.tokens) == ("4", ("4",))


def test_tokens_behind_a_stop_string_are_left_out() -> None:
    reply = vllm_one(vllm_sample("It is 4", ["It is", " 4.\n", "\nQ", ":"]))
    assert reply.tokens == ("It is", " 4")


def test_a_special_token_that_the_text_does_not_show_has_no_text() -> None:
    pieces: list[str | None] = ["<|channel|>", "So", " 4", "<|channel|>", " yes"]
    assert vllm_one(vllm_sample("So 4 yes", pieces)).tokens == ("", "So", " 4", "", " yes")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_that_was_split_off_is_put_back_from_the_tokens(field: str) -> None:
    tokens = [entry(t) for t in ["<think>", "\n", "hm", "\n", "</think>", "\n\n", "4", "<|im_end|>"]]
    reply = one(chat("4", tokens, **{field: "hm"}))
    assert reply.text == "<think>\nhm\n</think>\n\n4"
    assert reply.n_tokens == 7


def test_thinking_that_never_ended_is_all_there_is() -> None:
    reply = one(
        chat(None, [entry("<think>"), entry("hm"), entry(" so")], "length", reasoning_content="hm so")
    )
    assert reply.text == "<think>hm so"


def test_thinking_without_log_probabilities_beside_a_reply_with_them_is_left_out() -> None:
    reply = one(chat("It is 4", [entry("It is"), entry(" 4")], reasoning_content="hm"))
    assert reply.text == "It is 4"


def test_thinking_with_log_probabilities_of_its_own_comes_first() -> None:
    choice = chat("4", [entry("4", b"4")], reasoning_content="hm so")
    choice["logprobs"]["reasoning_content"] = [entry("hm", b"hm"), entry(" so", b" so")]
    reply = one(choice)
    assert reply.text == "hm so\n</think>\n\n4"
    assert reply.n_tokens == 3


def test_thinking_without_any_log_probabilities_stands_before_the_reply() -> None:
    assert one(chat("4", reasoning_content="hm")).text == "hm\n</think>\n\n4"


def test_vllm_rows_are_read_with_the_sampled_token_found_by_its_id() -> None:
    row = {
        7: SimpleNamespace(logprob=-6.0, rank=40, decoded_token="4"),
        1: SimpleNamespace(logprob=-0.2, rank=1, decoded_token="5"),
        2: SimpleNamespace(logprob=-2.0, rank=2, decoded_token="6"),
    }
    plain = {
        1: SimpleNamespace(logprob=-0.2, rank=1, decoded_token="5"),
        2: SimpleNamespace(logprob=-2.0, rank=2, decoded_token="6"),
    }
    sample = SimpleNamespace(text="45", token_ids=(7, 1), logprobs=[row, plain], finish_reason="length")
    reply = vllm_one(sample)
    np.testing.assert_array_equal(reply.top_logprobs, [[-6.0, -0.2, -2.0], [-0.2, -2.0, np.nan]])
    np.testing.assert_array_equal(reply.logprobs, [-6.0, -0.2])


def test_vllm_samples_without_log_probabilities_have_their_text_alone() -> None:
    sample = SimpleNamespace(text="4", token_ids=[7], logprobs=None, finish_reason="stop")
    assert vllm_one(sample).text == "4"


def test_vllm_outputs_of_several_prompts_are_refused() -> None:
    outputs = [SimpleNamespace(prompt=p, outputs=[vllm_sample("4", ["4"])]) for p in ("a", "b")]
    with pytest.raises(InputError, match="output 1 is for a different prompt"):
        trajectories_from_vllm(outputs)
    assert len(trajectories_from_vllm([outputs[0], outputs[0]])) == 2


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ('{"choices": []}', "are a string"),
        (7, "int has no choices"),
        ({"error": {"message": "overloaded"}}, "response 0 has no list of choices"),
        ([{"choices": []}, None], "response 1 has no list of choices"),
        ({"choices": "text"}, "response 0 has no list of choices"),
        ({"choices": [{"delta": {"content": "4"}}]}, "chunk of a stream"),
        ({"choices": [{"message": {"content": 4}}]}, "its content is a int"),
        ({"choices": [chat("4", ["4"])]}, "response 0, choice 0, token 0 has None"),
        ({"choices": [chat("4", [entry("token_id:19")])]}, "tokens as text"),
        ({"choices": [chat("4", [{**entry("4"), "bytes": [300]}])]}, r"token 0: bytes is \[300\]"),
        ({"choices": [chat("4", [{**entry("4"), "logprob": "x"}])]}, "'x' is not a number"),
        (
            {"choices": [chat("4", [{**entry("4"), "top_logprobs": {"4": -1}}])]},
            "top_logprobs is not a list",
        ),
        ({"choices": [chat("4", [entry("4", top=[0.9, 0.1])])]}, "log-probability 0.9 is above 0"),
        ({"choices": [{"text": "4", "logprobs": {"content": 7}}]}, "are not a list"),
        ({"choices": [chat("a wholly different text", [entry("4")])]}, "do not spell its text"),
        ({"choices": [completion("4!", ["4", "!"], [{}])]}, "lists of the same length"),
        ({"choices": [completion("4", ["4"], [[-1.0]])]}, "top_logprobs is not an object"),
    ],
)
def test_a_malformed_response_is_an_error_that_says_where(responses: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trajectories_from_openai(responses)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([SimpleNamespace(text="4")], "output 0 has no list of outputs"),
        ([SimpleNamespace(outputs=[vllm_sample("4", [None])])], "sample 0, token 0 has None"),
        (
            [SimpleNamespace(outputs=[SimpleNamespace(text="4", token_ids=[1, 2], logprobs=[{}])])],
            "2 token_ids but 1 logprobs",
        ),
        (
            [SimpleNamespace(outputs=[SimpleNamespace(text="4", token_ids=[1], logprobs=[{}])])],
            "token 0: its logprobs do not include it",
        ),
    ],
)
def test_a_malformed_output_is_an_error_that_says_where(outputs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trajectories_from_vllm(outputs)


def byte_parts(text: str, cuts: list[int]) -> list[bytes]:
    encoded = text.encode()
    edges = sorted({0, len(encoded), *(cut for cut in cuts if cut < len(encoded))})
    return [encoded[start:end] for start, end in pairwise(edges)]


@LAW
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="<"), min_size=1, max_size=30),
    st.lists(st.integers(0, 120)),
)
def test_tokens_cut_anywhere_in_the_bytes_spell_the_text(text: str, cuts: list[int]) -> None:
    parts = byte_parts(text, cuts)
    tokens = [entry(part.decode(errors="replace"), part) for part in parts]
    reply = one(chat(text, tokens))
    assert "".join(reply.tokens) == reply.text == text
    assert reply.n_tokens == len(parts)


@LAW
@given(st.text("abc. \n😊é", min_size=1, max_size=30), st.lists(st.integers(0, 120)))
def test_tokens_spell_the_text_also_where_bytes_are_not_known(text: str, cuts: list[int]) -> None:
    pieces = [part.decode(errors="replace") for part in byte_parts(text, cuts)]
    reply = vllm_one(vllm_sample(text, list(pieces)))
    assert "".join(reply.tokens) == reply.text == text
