"""A controller made from a user's function."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from distrivote.errors import OwnCodeError
from distrivote.names import Own
from distrivote.steering import End, Injection, SelfStepConf
from distrivote.steering.own import OwnController, own_controller


def nothing(_text: str, _confidences: Sequence[float]) -> None:
    """Never act."""


def test_a_function_becomes_a_controller_with_its_name() -> None:
    made = own_controller(Own("mine:nothing", nothing))
    assert isinstance(made, OwnController)
    assert made.name == "mine:nothing"


def test_a_controller_is_taken_as_it_is_and_a_class_is_called() -> None:
    ready = SelfStepConf(delta=0.5)
    assert own_controller(Own("mine:ready", ready)) is ready
    assert own_controller(Own("mine:SelfStepConf", SelfStepConf)) == SelfStepConf()


def test_it_sees_the_text_and_the_mean_of_each_step_and_may_inject_or_end() -> None:
    seen: list[tuple[str, tuple[float, ...]]] = []

    def decide(text: str, confidences: Sequence[float]) -> str | End | None:
        seen.append((text, tuple(confidences)))
        return (None, "wait", "wait", End())[len(seen) - 1]

    stream = OwnController("mine", decide).start()
    assert stream.push("a", 1.0) is None
    assert stream.push("b\n\n", 3.0) is None
    assert stream.push("c\n\n", math.nan) == Injection("wait")
    stream.push_injected("wa")
    stream.push_injected("it")
    assert stream.push("d\n\n", 5.0) == Injection("wait")
    stream.push_injected("wait")
    assert isinstance(stream.push("e\n\n", 7.0), End)
    assert [text for text, _ in seen] == [
        "ab\n\n", "ab\n\nc\n\n", "ab\n\nc\n\nwaitd\n\n", "ab\n\nc\n\nwaitd\n\nwaite\n\n",
    ]  # fmt: skip
    assert seen[-1][1][0] == 2.0
    assert math.isnan(seen[-1][1][1])
    assert seen[-1][1][2:] == (5.0, 7.0)
    # Three tokens, two injected, one token, one injected: each insertion by its first token and its length.
    assert [(each.start, each.n_tokens) for each in stream.record().insertions] == [(3, 2), (6, 1)]


def test_what_is_neither_text_nor_end_is_named() -> None:
    stream = OwnController("mine", lambda _text, _confidences: 7).start()
    with pytest.raises(OwnCodeError, match=r"mine.*returned 7"):
        stream.push("a\n\n", 1.0)
