"""DeepConf's online rule, as a controller and in two phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import SamplingParams, Trajectory, sample, solve
from distrivote.confidence import measure_named
from distrivote.engines.base import Progress
from distrivote.engines.replay import ReplayEngine
from distrivote.engines.vllm.args import xargs_of
from distrivote.errors import InputError, UnknownNameError
from distrivote.problem import Message
from distrivote.steering import ENDED, Controller, DeepConfOnline, End
from distrivote.steering.deepconf import online_rule
from distrivote.trajectory import Interventions
from strategies import LAW


def said(confidences: Sequence[float], answer: str = "4", index: int = 0) -> Trajectory:
    """Return a trajectory whose tokens have these confidences; the last one gives the answer."""
    tokens = (*["so "] * (len(confidences) - 1), f"\\boxed{{{answer}}}")
    top = -np.repeat(np.array(confidences, dtype=np.float64)[:, None], 20, axis=1)
    return Trajectory("".join(tokens), tokens, top, np.zeros(len(tokens)), "stop", index)


def end_of(controller: DeepConfOnline, confidences: Sequence[float]) -> int | None:
    """Return behind how many tokens a trajectory ends, None if it may finish."""
    stream = controller.start()
    actions = [stream.push("x", confidence) for confidence in confidences]
    found = [number for number, action in enumerate(actions, 1) if action == End()]
    assert all(action in (None, End()) for action in actions)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        (None, None),
        ("low", DeepConfOnline.low()),
        (" high ", DeepConfOnline.high()),
        ("low:512", DeepConfOnline(10.0, 512)),
    ],
)
def test_the_online_rule_is_known_by_its_name(name: str | None, rule: DeepConfOnline | None) -> None:
    assert online_rule(name) == rule


def test_a_wrong_name_of_the_online_rule_says_what_to_write() -> None:
    with pytest.raises(UnknownNameError, match="did you mean high"):
        online_rule("hihg")
    for name in ("low:", "low:many", "low:1e3"):
        with pytest.raises(InputError, match="write low:2048"):
            online_rule(name)
    with pytest.raises(InputError, match="give 1 or more"):
        online_rule("low:0")


@pytest.mark.parametrize(
    ("confidences", "end"),
    [
        ([5, 5, 5, 5], None),
        ([9, 9, 1, 1], 4),
        ([1, 1], None),
        ([1, 1, 1], 3),
        ([5, 4, 6, 5, 4, 5], 6),
        ([5, math.nan, 4, 6, 1], 5),
    ],
)
def test_a_trajectory_ends_where_a_full_group_is_below_the_threshold(
    confidences: list[float], end: int | None
) -> None:
    assert end_of(DeepConfOnline(window=3, threshold=5.0), confidences) == end


def test_without_a_threshold_nothing_ends() -> None:
    assert end_of(DeepConfOnline(window=1), [1.0] * 50) is None


def test_the_end_of_the_text_stands_and_nothing_is_injected() -> None:
    stream = DeepConfOnline(window=1, threshold=5.0).start()
    assert stream.push("x", 1.0) == End()
    stream.push_injected("y")
    assert stream.at_end(lambda: False) is None
    assert stream.allows_end(lambda: False)
    assert stream.record() == Interventions()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 8), st.integers(1, 30))
@LAW
def test_a_trajectory_finishes_if_and_only_if_its_lowest_group_allows_it(
    confidences: list[int], window: int, threshold: int
) -> None:
    controller = DeepConfOnline(window=window, threshold=threshold + 0.01)
    lowest = measure_named(controller.measure).of(said(confidences)).value
    ends = len(confidences) >= window and lowest < threshold + 0.01
    assert (end_of(controller, confidences) is not None) == ends
    found = controller.ended_at(Interventions(), np.array(confidences, dtype=np.float64))
    assert found == end_of(controller, confidences)


@given(st.lists(st.floats(1, 30), min_size=1, max_size=40), st.integers(1, 8))
@LAW
def test_the_trajectory_that_made_the_threshold_is_not_ended_by_it(
    confidences: list[float], window: int
) -> None:
    rule = DeepConfOnline(window=window)
    lowest = measure_named(rule.measure).of(said(confidences)).value
    assert end_of(DeepConfOnline(window=window, threshold=lowest), confidences) is None


def test_the_threshold_is_a_percentile_of_the_warm_up() -> None:
    lowest = [float(n) for n in range(1, 12)]
    assert DeepConfOnline.low().after(lowest).threshold == 10.0
    assert DeepConfOnline.high().after(lowest).threshold == 2.0
    assert DeepConfOnline(eta=50).after([7.0, math.nan, 9.0]).threshold == 8.0
    assert DeepConfOnline().after([math.nan]).threshold is None


@pytest.mark.parametrize("options", [{"eta": 101}, {"eta": -1}, {"window": 0}, {"n_warmup": 0}])
def test_settings_that_make_no_sense_are_input_errors(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="give"):
        DeepConfOnline(**options)


def test_the_last_settings_that_make_sense_are_taken() -> None:
    lowest = [3.0, 5.0, 4.0]
    assert DeepConfOnline(eta=0).after(lowest).threshold == 5.0
    assert DeepConfOnline(eta=100).after(lowest).threshold == 3.0
    assert end_of(DeepConfOnline(window=1, n_warmup=1, threshold=5.0), [5.0, 4.9]) == 2


def test_the_plugin_of_vllm_is_told_the_threshold_and_the_window() -> None:
    assert xargs_of(DeepConfOnline(window=64).after([7.0])) == {
        "deepconf_threshold": 7.0,
        "deepconf_window": 64,
    }
    with pytest.raises(InputError, match="a window of 20000 tokens: vLLM's plugin takes 1 to 16,384"):
        xargs_of(DeepConfOnline(window=20_000))


class Driven(ReplayEngine):
    """Plays trajectories back under a controller that may end them, and remembers what it was asked for."""

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        super().__init__(trajectories)
        self.asked: list[tuple[list[int], Controller | None]] = []

    def sample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> Generator[Trajectory]:
        self.asked.append((list(range(n) if indices is None else indices), controller))
        assert controller is not None
        for whole in super().sample(messages, n, params, indices=indices, watch=watch):
            stream = controller.start()
            values = (-whole.top_logprobs[:, 0]).tolist()
            pushed = [stream.push(text, value) for text, value in zip(whole.tokens, values, strict=True)]
            end = pushed.index(End()) + 1 if End() in pushed else None
            if end is None:
                yield whole
            else:
                tokens = whole.tokens[:end]
                parts = (whole.top_logprobs[:end], whole.logprobs[:end])
                yield Trajectory("".join(tokens), tokens, *parts, ENDED, whole.index)


SURE, UNSURE = [9.0] * 6, [9.0, 9.0, 2.0, 2.0, 9.0, 9.0]


def test_the_warm_up_runs_whole_and_the_rest_under_its_threshold() -> None:
    engine = Driven([said(SURE), said(UNSURE, "5"), said(SURE), said(UNSURE, "5"), said(UNSURE, "5")])
    seen: list[Progress] = []
    controller = DeepConfOnline(window=2, n_warmup=3)
    found = list(sample(engine, "2 + 2?", budget=5, steering=controller, watch=seen.append))
    assert [t.n_tokens for t in found] == [6, 6, 6, 3, 3]
    assert [t.finish_reason for t in found] == ["stop"] * 3 + [ENDED] * 2
    assert engine.asked[0] == ([0, 1, 2], controller)
    assert engine.asked[1][0] == [3, 4]
    assert engine.asked[1][1] == controller.after([9.0, 2.0, 9.0])
    assert [progress.n_tokens for progress in seen] == [6, 12, 18, 24, 30]


def test_a_budget_within_the_warm_up_has_one_phase() -> None:
    engine = Driven([said(SURE)] * 2)
    assert len(list(sample(engine, "2 + 2?", budget=2, steering=DeepConfOnline(n_warmup=2)))) == 2
    assert len(engine.asked) == 1


def test_what_was_ended_costs_tokens_and_has_no_vote() -> None:
    engine = Driven([said(SURE), said(SURE)] + [said(UNSURE, "5")] * 6)
    solution = solve(engine, "2 + 2?", method="wsc", budget=8, steering=DeepConfOnline(window=2, n_warmup=2))
    assert solution.answer == "4"
    assert solution.tally.votes == {"4": 2}
    assert solution.tally.n_unanswered == 6
    assert solution.n_tokens == 12 + 6 * 3
    assert solution.ballot.confidences[:2].tolist() == [9.0, 9.0]


def test_votes_weigh_as_much_as_their_lowest_group() -> None:
    engine = Driven([said(SURE), said(UNSURE)])
    solution = solve(engine, "2 + 2?", method="wsc", budget=2, steering=DeepConfOnline(window=2, n_warmup=2))
    assert solution.ballot.confidences.tolist() == [9.0, 2.0]


def test_it_goes_together_with_a_rule_that_stops() -> None:
    engine = Driven([said(SURE)] * 40)
    controller = DeepConfOnline(window=2)
    solution = solve(engine, "2 + 2?", method="wsc", budget=40, steering=controller, stop_when="consensus")
    assert len(solution.trajectories) == 16
    assert len(engine.asked) == 1
