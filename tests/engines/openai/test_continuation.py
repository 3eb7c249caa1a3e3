"""Steering by continuation, without a server: chunks in, cuts and prefixes out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from distrivote.confidence.tokens import token_confidence
from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.continuation import SteeredReply, row_confidence
from distrivote.splitting import EntropySplitter, WindowSplitter
from distrivote.steering import ENDED, BudgetForcing, Controller, DeepConfOnline, SelfStepConf, replay
from distrivote.trajectory import Insertion, Trajectory
from engines.scripted_server import Token, choices_of, typed

SURE = [Token("Sure", 10.0), Token(".", 10.0), Token("\n", 10.0), Token("\n", 10.0)]
UNSURE = [Token("Hm", 4.0), Token(".\n\n", 4.0)]
AFTER = [Token(", it is", 9.0), Token(" 4.", 9.0)]


def drive(
    says: Callable[[str], Sequence[Token]],
    controller: Controller,
    params: SamplingParams | None = None,
    *,
    size: int = 1,
    chat: bool = True,
    end_token: bool = False,
) -> tuple[Trajectory, list[str]]:
    """Play the server; returns the trajectory, and the prefixes that it was asked to go on from."""
    params = params or SamplingParams()
    reply = SteeredReply(controller, params, 20)
    prefixes = [""]
    while reply.finish_reason is None:
        tokens = list(says(prefixes[-1]))
        finish = "stop" if len(tokens) <= reply.n_left else "length"
        choices = choices_of(tokens[: reply.n_left], 20, chat, size, finish, end_token)
        if not any(reply.add(typed(choice)) for choice in choices):
            reply.end()
        if reply.finish_reason is None:
            prefixes.append(reply.prefix)
            reply.begin(echo=reply.prefix)
    return reply.trajectory("x"), prefixes[1:]


def story(prefix: str) -> Sequence[Token]:
    return {"": [*SURE, *UNSURE, Token("Never said")], "Sure.\n\nHm.\n\nwait": AFTER}[prefix]


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("end_token", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_a_drop_is_answered_with_the_reflection_however_tokens_come(
    chat: bool, end_token: bool, size: int
) -> None:
    found, prefixes = drive(story, SelfStepConf(), chat=chat, end_token=end_token, size=size)
    assert prefixes == ["Sure.\n\nHm.\n\nwait"]
    assert found.text == "Sure.\n\nHm.\n\nwait, it is 4."
    assert found.tokens == ("Sure", ".", "\n", "\n", "Hm", ".\n\n", "wait", ", it is", " 4.")
    record = found.interventions
    assert record is not None
    assert record.insertions == (Insertion(6, 1),)
    assert record.step_ends == (4, 6, 9)
    np.testing.assert_allclose(record.step_confidences, (10.0, 4.0, 9.0))
    assert np.isnan(found.top_logprobs[6]).all()
    assert np.isnan(found.logprobs[6])
    assert np.isfinite(np.delete(found.top_logprobs, 6, axis=0)).all()
    assert found.finish_reason == "stop"


@given(st.lists(st.sampled_from([*SURE, *UNSURE, Token("word", 5.0)]), max_size=30), st.integers(1, 7))
def test_the_record_is_what_a_replay_says(tokens: list[Token], size: int) -> None:
    controller = SelfStepConf(delta=0.9)
    found, _ = drive(lambda prefix: tokens if not prefix else AFTER, controller, size=size)
    record = found.interventions
    assert record is not None
    confidences = token_confidence(found.top_logprobs, 20).values.tolist()
    again = replay(controller, found.tokens, confidences, insertions=record.insertions)
    assert again.step_ends == record.step_ends
    np.testing.assert_allclose(again.step_confidences, record.step_confidences)
    assert again.insertions == record.insertions


def test_delta_zero_changes_nothing() -> None:
    found, prefixes = drive(story, SelfStepConf(delta=0.0), end_token=True)
    assert prefixes == []
    assert found.text == "Sure.\n\nHm.\n\nNever said"
    assert found.interventions is not None
    assert found.interventions.n_reflections == 0


def test_an_emoji_in_two_tokens_is_whole_in_the_prefix() -> None:
    emoji = "🤔".encode()
    tokens = [*SURE, Token("", 4.0, emoji[:2]), Token("🤔", 4.0, emoji[2:]), Token("\n\n", 4.0)]
    found, prefixes = drive(lambda prefix: AFTER if prefix else tokens, SelfStepConf())
    assert prefixes == ["Sure.\n\n🤔\n\nwait"]
    assert found.tokens[4:7] == ("", "🤔", "\n\n")


def test_a_cut_inside_an_emoji_keeps_whole_characters() -> None:
    emoji = "🤔".encode()
    tokens = [
        Token("a", 10.0),
        Token("b", 10.0),
        Token("c", 4.0),
        Token("", 4.0, emoji[:2]),
        Token("🤔", 4.0, emoji[2:]),
    ]
    controller = SelfStepConf(split=WindowSplitter(2))
    found, prefixes = drive(lambda prefix: AFTER if prefix else tokens, controller)
    # The half of the emoji has no text yet: it is reported with the other half, and dropped at the cut.
    assert prefixes == ["abcwait"]
    assert found.tokens[:5] == ("a", "b", "c", "", "wait")


def test_the_limit_is_that_of_the_whole_trajectory() -> None:
    found, _ = drive(story, SelfStepConf(), SamplingParams(max_tokens=8))
    assert (found.n_tokens, found.finish_reason) == (8, "length")
    found, prefixes = drive(story, SelfStepConf(), SamplingParams(max_tokens=6))
    assert (found.text, found.finish_reason, prefixes) == ("Sure.\n\nHm.\n\n", "length", [])
    assert found.interventions is not None
    assert found.interventions.insertions == ()
    found, prefixes = drive(story, SelfStepConf(), SamplingParams(max_tokens=7))
    assert (found.tokens[-1], found.finish_reason, prefixes) == ("wait", "length", [])


def test_a_stop_string_ends_it_over_the_seam_too() -> None:
    found, _ = drive(story, SelfStepConf(), SamplingParams(stop=("wait, it",)))
    assert (found.text, found.finish_reason) == ("Sure.\n\nHm.\n\n", "stop")
    found, prefixes = drive(story, SelfStepConf(), SamplingParams(stop=("Hm.\n\n",)))
    assert (found.text, prefixes) == ("Sure.\n\n", [])


def test_the_guard_turns_the_end_down_once() -> None:
    controller = SelfStepConf(guard=True, reflection=" Wait", has_answer=lambda _: False)
    found, prefixes = drive(lambda prefix: AFTER if prefix else SURE[:2], controller, end_token=True)
    assert prefixes == ["Sure. Wait"]
    assert found.text == "Sure. Wait, it is 4."
    assert found.interventions is not None
    assert found.interventions.insertions == (Insertion(2, 1),)
    _, prefixes = drive(lambda _: SURE[:2], replace(controller, has_answer=lambda _: True))
    assert prefixes == []


def test_tokens_are_taken_back_for_a_controller_that_wants_it() -> None:
    says = {
        "": [Token("4."), Token("</th"), Token("ink>"), Token("Never said")],
        "4.Wait": [Token(" no."), Token("</think>")],
    }
    found, prefixes = drive(lambda prefix: says[prefix], BudgetForcing(min_tokens=100))
    assert prefixes == ["4.Wait"]
    assert found.tokens == ("4.", "Wait", " no.", "</think>")


def test_a_drop_at_the_last_token_before_the_end_goes_on() -> None:
    found, prefixes = drive(
        lambda prefix: AFTER if prefix else [*SURE, *UNSURE], SelfStepConf(), end_token=True
    )
    assert prefixes == ["Sure.\n\nHm.\n\nwait"]
    assert found.text.endswith("wait, it is 4.")


def test_a_splitter_by_entropy_gets_its_entropies() -> None:
    controller = SelfStepConf(delta=10.0, split=EntropySplitter(threshold=0.0001, min_tokens=2))
    tokens = [Token("a", 10.0), Token("b", 10.0), Token("c", 3.0), Token("d", 3.0)]
    _, prefixes = drive(lambda prefix: [] if prefix else tokens, controller)
    assert prefixes == ["abcdwait"]


@given(
    st.lists(
        st.floats(-40, 0) | st.sampled_from([-math.inf, -9999.0, math.nan, -0.0]), min_size=2, max_size=22
    ),
    st.integers(2, 20),
)
def test_the_confidence_of_a_row_is_that_of_the_measure(row: list[float], k: int) -> None:
    assume(sum(not math.isnan(value) for value in row) > 1)
    expected = token_confidence(np.array([row]), k).values[0]
    np.testing.assert_allclose(row_confidence(row, k), expected, rtol=1e-12)


def test_a_reply_without_tokens_is_noticed() -> None:
    reply = SteeredReply(SelfStepConf(), SamplingParams(), 20)
    reply.add(typed({"delta": {"content": "Hi"}}))
    assert reply.lacks_tokens


@pytest.mark.parametrize("size", [1, 2, 50])
def test_a_controller_that_ends_a_trajectory_cuts_it_there(size: int) -> None:
    ending = DeepConfOnline(window=2, threshold=5.0)
    found, prefixes = drive(lambda _: [*SURE, *UNSURE, Token("Never said", 9.0)], ending, size=size)
    assert prefixes == []
    assert found.text == "Sure.\n\nHm.\n\n"
    assert found.finish_reason == ENDED
    assert found.top_logprobs.shape == (6, 20)
