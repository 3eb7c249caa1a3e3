from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from distrivote.engines.base import Job, SamplingParams
from distrivote.engines.tokens.tables import TokenTable
from distrivote.engines.vllm.replies import VllmReply
from distrivote.splitting import WindowSplitter
from distrivote.steering import SelfStepConf
from distrivote.trajectory import Insertion, Trajectory

SMILE = "🙂".encode()
TABLE = TokenTable([b"a", b"\n\n", b"w", b"ait", SMILE[:2], SMILE[2:], b"<never>", b""])
A, PARAGRAPH, W, AIT, HALF, OTHER_HALF, _, END = range(8)


def cut(before: str, text: str) -> list[int]:
    assert not before or before.endswith("\n\n")
    assert text == "wait"
    return [W, AIT]


def flat(rows: list[list[float]]) -> Any:
    ends = np.cumsum([len(row) for row in rows]).tolist()
    return SimpleNamespace(
        start_indices=[0, *ends[:-1]],
        end_indices=ends,
        logprobs=[value for row in rows for value in row],
        token_ids=[A for row in rows for _ in row],
    )


def part(
    tokens: list[int],
    surenesses: list[float],
    finish: str | None = None,
    stop: Any = None,
    likeliest: list[int] | None = None,
) -> Any:
    rows = [[-9.0, -sure, -sure, -sure] for sure in surenesses]
    logprobs = flat(rows)
    for start, token, best in zip(logprobs.start_indices, tokens, likeliest or tokens, strict=True):
        logprobs.token_ids[start : start + 2] = [token, best]
    return SimpleNamespace(token_ids=tokens, logprobs=logprobs, finish_reason=finish, stop_reason=stop)


def reply(*parts: Any, params: SamplingParams | None = None, controller: Any = None) -> Trajectory:
    found = VllmReply(0, 5, Job((), params or SamplingParams(n_logprobs=3), (5,)))
    for new in parts:
        found.add(new)
    return found.trajectory(TABLE, cut, controller, end_tokens=[END])


def test_parts_are_put_together_and_the_end_is_left_out() -> None:
    found = reply(part([A], [1.0]), part([A, PARAGRAPH], [2.0, 3.0]), part([END], [4.0], "stop"))
    assert (found.text, found.tokens, found.finish_reason) == ("aa\n\n", ("a", "a", "\n\n"), "stop")
    assert found.top_logprobs.tolist() == [[-1.0] * 3, [-2.0] * 3, [-3.0] * 3]
    assert found.logprobs.tolist() == [-9.0] * 3
    assert found.index == 5
    assert found.interventions is None


def test_the_record_is_what_the_plugin_did() -> None:
    sampled = part([A, PARAGRAPH, A, PARAGRAPH, W, AIT, A], [9.0, 9.0, 5.0, 5.0, 4.0, 4.0, 4.0], "length")
    found = reply(sampled, controller=SelfStepConf(delta=10.0))
    assert found.interventions is not None
    assert found.interventions.insertions == (Insertion(4, 2),)
    assert found.interventions.step_ends == (2, 4, 7)
    assert found.interventions.step_confidences == (9.0, 5.0, 4.0)


def test_as_published_the_record_goes_by_the_most_likely_tokens_and_by_what_came() -> None:
    controller = SelfStepConf.as_published()
    sampled = part(
        [A, A, A, PARAGRAPH, W, PARAGRAPH, A, A],
        [9.0, 9.0, 5.0, 5.0, 4.0, 4.0, 4.0, 9.0],
        "length",
        likeliest=[A, PARAGRAPH, A, PARAGRAPH, PARAGRAPH, A, END, A],
    )
    found = reply(sampled, controller=controller)
    assert found.interventions is not None
    # The first step ends at 2, though a was sampled there. The reflection came at 4. At 6 the text was likely
    # to end without an answer: the next position was exchanged, and gave a.
    assert found.interventions.insertions == (Insertion(4, 1),)
    assert found.interventions.step_ends == (2, 4, 7, 8)
    assert found.interventions.step_confidences == (9.0, 5.0, 4.0, 9.0)


def test_a_reflection_that_the_limit_cut_is_recorded_as_far_as_it_got() -> None:
    sampled = part([A, PARAGRAPH, A, PARAGRAPH, W], [9.0, 9.0, 5.0, 5.0, 4.0], "length")
    found = reply(sampled, controller=SelfStepConf(delta=10.0))
    assert found.interventions is not None
    assert found.interventions.insertions == (Insertion(4, 1),)


def test_a_stop_string_is_cut_off_with_its_record() -> None:
    params = SamplingParams(n_logprobs=3, stop=("a<nev",))
    sampled = part([A, A, 6, A], [1.0] * 4, "stop", "a<nev")
    found = reply(sampled, params=params, controller=SelfStepConf(split=WindowSplitter(2)))
    assert (found.text, found.n_tokens) == ("a", 1)
    assert found.interventions is not None
    assert found.interventions.step_ends == (1,)


def test_a_character_in_two_tokens_is_whole_in_the_second() -> None:
    assert reply(part([A, HALF, OTHER_HALF], [1.0] * 3, "length")).tokens == ("a", "", "🙂")
    assert reply(part([A, HALF], [1.0] * 2, "length")).tokens == ("a", "\ufffd")


@pytest.mark.parametrize("controller", [None, SelfStepConf()])
def test_a_reply_may_be_empty(controller: SelfStepConf | None) -> None:
    found = reply(part([END], [1.0], "stop"), controller=controller)
    assert (found.text, found.n_tokens, found.finish_reason) == ("", 0, "stop")
    assert found.top_logprobs.shape == (0, 3)
