"""What every engine must do, as one suite: an engine's own test class inherits it.

    class TestContract(EngineContract):
        question = (Message("user", "What is 2 + 2?"),)
        deterministic = False

with a fixture `engine` (a module's or a session's) beside it. The attributes say what the engine and its
model can do; what they can't is skipped by name. Nothing here knows a particular engine, and controllers
are such that a server can be told of them by their parameters alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest

from distrivote.answers.extract import auto
from distrivote.confidence.tokens import token_confidence
from distrivote.engines.base import BaseEngine, Engine, Job, Progress, SamplingParams
from distrivote.errors import DistrivoteError, EngineError, InputError
from distrivote.problem import Message
from distrivote.splitting import DelimiterSplitter, WindowSplitter, step_ends
from distrivote.steering import SelfStepConf, replay
from distrivote.steering.threshold import Threshold
from distrivote.trajectory import Interventions, Trajectory

REFLECTIONS = ("wait", " wait, let me check", "\n\nWait. 🤔 Hmm")
"""One token or two, several, and one with a character that no tokenizer has in one piece."""

UNFINISHED = "\ufffd"
"""Stands for a character that the model did not finish; the token behind it has it in front."""


class EngineContract:
    """The common suite. Subclasses are named Test... and set what differs."""

    question: ClassVar[Sequence[Message]]

    k: ClassVar[int] = 20
    """The log-probabilities that the engine gives at each token when asked for 20."""

    max_tokens: ClassVar[int] = 32
    """A length at which most trajectories are still under way."""

    reproduces_alone: ClassVar[bool] = True
    """Whether the same call gives the same trajectories again."""

    deterministic: ClassVar[bool] = True
    """Whether a trajectory is the same whatever else is sampled beside it."""

    can_steer: ClassVar[bool] = True
    """Whether it takes SelfStepConf at all."""

    counts_prompts: ClassVar[bool] = True
    """Whether it says how many tokens a prompt has."""

    can_inject_exactly: ClassVar[bool] = True
    """Whether injected positions are tokens of the model with its own distribution; false for engines
    that work by continuation."""

    any_delimiter: ClassVar[bool] = True
    """Whether steps may end with any text, and not only where a named splitter says so."""

    can_guard: ClassVar[bool] = True
    """Whether the end of the text can be turned down."""

    ending: ClassVar[SamplingParams] = SamplingParams(max_tokens=64, seed=1)
    """Under these at least one of 8 trajectories ends by itself."""

    too_long: ClassVar[str] = "apple " * 20_000
    """A text that no context of the model has room for."""

    close_to: ClassVar[float] = 0.05
    """How far the log-probabilities of two runs behind the same text may lie apart."""

    @classmethod
    def params(cls) -> SamplingParams:
        return SamplingParams(temperature=0.8, max_tokens=cls.max_tokens, seed=3)

    @classmethod
    def greedy(cls) -> SamplingParams:
        return SamplingParams(temperature=0.0, max_tokens=cls.max_tokens)

    @classmethod
    def steering(cls, reflection: str) -> SelfStepConf:
        """Return a controller that reflects behind every step less sure than the one before it."""
        return SelfStepConf(delta=100.0, reflection=reflection, split=WindowSplitter(3))

    @classmethod
    def sample(
        cls, engine: Engine, n: int, params: SamplingParams, controller: SelfStepConf | None = None
    ) -> list[Trajectory]:
        found = list(engine.sample(cls.question, n, params, controller))
        return sorted(found, key=lambda trajectory: trajectory.index)

    @pytest.fixture
    def short_lived(self) -> BaseEngine:
        """An engine that the test may close."""
        pytest.skip("the model takes too long to load again")

    @pytest.fixture(scope="class")
    @classmethod
    def plain(cls, engine: Engine) -> Trajectory:
        """What the model says by itself."""
        return cls.sample(engine, 1, cls.greedy())[0]

    @pytest.fixture(scope="class")
    @classmethod
    def sampled(cls, engine: Engine) -> list[Trajectory]:
        return cls.sample(engine, 4, cls.params())

    @pytest.fixture(scope="class", params=REFLECTIONS, ids=["a word", "several tokens", "an emoji"])
    @classmethod
    def steered(cls, engine: Engine, request: pytest.FixtureRequest) -> tuple[str, list[Trajectory]]:
        """A reflection, and trajectories that were steered with it."""
        if not cls.can_steer:
            pytest.skip("the engine takes no controller")
        return request.param, cls.sample(engine, 4, cls.params(), cls.steering(request.param))

    @pytest.fixture(scope="class")
    @classmethod
    def ended(cls, engine: Engine) -> list[Trajectory]:
        """Long ones, with the record of their paragraphs where the engine can be steered."""
        return cls.sample(engine, 8, cls.ending, SelfStepConf(delta=0.0) if cls.can_steer else None)

    # Seeds

    def test_the_same_seed_gives_the_same_trajectories(
        self, engine: Engine, sampled: list[Trajectory]
    ) -> None:
        if not self.reproduces_alone:
            pytest.skip("the engine's seeds do not reproduce")
        assert texts(self.sample(engine, 4, self.params())) == texts(sampled)

    def test_another_seed_gives_others(self, engine: Engine, sampled: list[Trajectory]) -> None:
        assert texts(self.sample(engine, 4, replace(self.params(), seed=4))) != texts(sampled)

    def test_trajectories_are_numbered_and_differ(self, sampled: list[Trajectory]) -> None:
        assert [trajectory.index for trajectory in sampled] == [0, 1, 2, 3]
        assert len(set(texts(sampled))) > 1

    def test_single_indices_can_be_asked_for(self, engine: Engine, sampled: list[Trajectory]) -> None:
        found = {t.index: t for t in engine.sample(self.question, 2, self.params(), indices=[3, 1])}
        assert sorted(found) == [1, 3]
        if self.deterministic:
            assert texts([found[1], found[3]]) == texts([sampled[1], sampled[3]])

    # What a trajectory holds

    def test_tokens_joined_are_the_text(self, sampled: list[Trajectory]) -> None:
        for trajectory in sampled:
            assert 0 < trajectory.n_tokens <= self.max_tokens
            assert "".join(trajectory.tokens) == trajectory.text
            assert trajectory.finish_reason in ("stop", "length")
            assert trajectory.interventions is None

    def test_the_prompt_is_counted_and_the_time_taken(self, sampled: list[Trajectory]) -> None:
        for trajectory in sampled:
            assert trajectory.seconds is not None
            assert trajectory.seconds > 0
            assert trajectory.n_prompt_tokens == sampled[0].n_prompt_tokens
        if self.counts_prompts:
            assert (sampled[0].n_prompt_tokens or 0) > len(self.question)

    def test_the_kept_probabilities_sum_to_at_most_one(self, sampled: list[Trajectory]) -> None:
        for trajectory in sampled:
            self._holds_distributions(trajectory)

    def test_the_kept_probabilities_are_the_largest(self, sampled: list[Trajectory]) -> None:
        for trajectory in sampled:
            _holds_the_largest(trajectory, self.k)

    def test_at_temperature_zero_the_most_probable_token_is_taken(self, plain: Trajectory) -> None:
        best = np.nanmax(plain.top_logprobs, axis=1)
        np.testing.assert_allclose(plain.logprobs, best, atol=1e-4)

    def test_fewer_log_probabilities_are_the_first_of_many(self, engine: Engine, plain: Trajectory) -> None:
        n = min(5, self.k)
        found = self.sample(engine, 1, replace(self.greedy(), n_logprobs=n, max_tokens=3))[0]
        assert found.top_logprobs.shape[1] in (n, n + 1)
        fewer, many = _sorted(found.top_logprobs), _sorted(plain.top_logprobs)
        np.testing.assert_allclose(fewer[:, :n], many[:3, :n], atol=self.close_to)

    def _holds_distributions(self, trajectory: Trajectory, unmeasured: frozenset[int] = frozenset()) -> None:
        n, width = trajectory.top_logprobs.shape
        assert n == trajectory.n_tokens
        assert width in (self.k, self.k + 1)
        measured = [i for i in range(n) if i not in unmeasured]
        rows = trajectory.top_logprobs[measured]
        assert (np.isfinite(rows).sum(axis=1) >= self.k).all()
        assert (np.nansum(np.exp(rows), axis=1) <= 1 + 1e-3).all()
        assert (trajectory.logprobs[measured] <= 1e-5).all()

    # Ends

    def test_a_token_limit_ends_a_trajectory(self, engine: Engine) -> None:
        found = self.sample(engine, 1, replace(self.greedy(), max_tokens=3))[0]
        assert (found.n_tokens, found.finish_reason) == (3, "length")

    def test_a_stop_string_is_not_part_of_the_text(self, engine: Engine, plain: Trajectory) -> None:
        stop = _stop_within(plain.text)
        found = self.sample(engine, 1, replace(self.greedy(), stop=("never to be seen", stop)))[0]
        assert found.text == plain.text[: plain.text.index(stop)]
        assert "".join(found.tokens) == found.text
        assert found.finish_reason == "stop"

    def test_a_stop_string_cuts_the_record_too(self, engine: Engine, plain: Trajectory) -> None:
        if not self.can_steer:
            pytest.skip("the engine takes no controller")
        stop = _stop_within(plain.text)
        found = self.sample(engine, 1, replace(self.greedy(), stop=(stop,)), SelfStepConf(delta=0.0))[0]
        assert _record(found).step_ends[-1] == found.n_tokens

    def test_a_trajectory_may_end_by_itself(self, ended: list[Trajectory]) -> None:
        by_themselves = [t for t in ended if t.finish_reason == "stop"]
        assert by_themselves
        for trajectory in by_themselves:
            assert trajectory.n_tokens <= self.ending.max_tokens
            assert "<|im_end|>" not in trajectory.text
            assert "<|endoftext|>" not in trajectory.text

    # Steering

    def test_delta_zero_is_plain_generation(self, engine: Engine, plain: Trajectory) -> None:
        if not self.can_steer:
            pytest.skip("the engine takes no controller")
        found = self.sample(engine, 1, self.greedy(), SelfStepConf(delta=0.0, split=WindowSplitter(3)))[0]
        assert found.tokens == plain.tokens
        assert found.finish_reason == plain.finish_reason
        assert _record(found).insertions == ()

    def test_exactly_the_reflection_stands_where_the_record_says(
        self, steered: tuple[str, list[Trajectory]]
    ) -> None:
        reflection, trajectories = steered
        whole = [injected for t in trajectories for injected in _whole_insertions(t, reflection)]
        assert whole
        if self.can_inject_exactly and "🤔" in reflection:
            # The text of a character goes to the token that completes it.
            assert all("" in injected for injected in whole)

    def test_a_reflection_follows_every_drop_and_nothing_else(
        self, steered: tuple[str, list[Trajectory]]
    ) -> None:
        reflection, trajectories = steered
        controller = self.steering(reflection)
        for trajectory in trajectories:
            record = _record(trajectory)
            threshold = Threshold(controller.alpha, controller.delta)
            judged = record.step_ends[:-1] if record.unfinished else record.step_ends
            dropped = [
                end
                for end, confidence in zip(judged, record.step_confidences, strict=False)
                if threshold.take(confidence) and end < trajectory.n_tokens
            ]
            assert [insertion.start for insertion in record.insertions] == dropped

    def test_the_record_is_what_the_log_probabilities_say(
        self, steered: tuple[str, list[Trajectory]]
    ) -> None:
        reflection, trajectories = steered
        for trajectory in trajectories:
            record = _record(trajectory)
            confidences = token_confidence(trajectory.top_logprobs, self.k).values.tolist()
            again = replay(
                self.steering(reflection), trajectory.tokens, confidences, insertions=record.insertions
            )
            assert again.step_ends == record.step_ends
            assert again.unfinished == record.unfinished
            np.testing.assert_allclose(again.step_confidences, record.step_confidences, atol=1e-3)

    def test_steps_are_those_of_the_text_less_boundaries_in_injected_tokens(
        self, steered: tuple[str, list[Trajectory]]
    ) -> None:
        reflection, trajectories = steered
        for trajectory in trajectories:
            record = _record(trajectory)
            inside = _injected(record)
            of_text = step_ends(trajectory.tokens, self.steering(reflection).split).tolist()
            kept = [end for end in of_text[:-1] if end - 1 not in inside]
            assert list(record.step_ends) == [*kept, trajectory.n_tokens]

    def test_injected_positions_keep_the_models_own_distribution(
        self, steered: tuple[str, list[Trajectory]], sampled: list[Trajectory]
    ) -> None:
        for trajectory, plain in zip(steered[1], sampled, strict=True):
            record = _record(trajectory)
            unmeasured = frozenset() if self.can_inject_exactly else _injected(record)
            self._holds_distributions(trajectory, unmeasured)
            if not (record.insertions and self.reproduces_alone and self.can_inject_exactly):
                continue
            # Up to the first reflection both have drawn the same numbers and read the same text.
            start = record.insertions[0].start
            assert trajectory.tokens[:start] == plain.tokens[:start]
            if start < plain.n_tokens:
                one, other = _sorted(trajectory.top_logprobs[start]), _sorted(plain.top_logprobs[start])
                np.testing.assert_allclose(one[: self.k], other[: self.k], atol=self.close_to)

    def test_a_boundary_in_two_tokens_ends_a_step(self, engine: Engine, plain: Trajectory) -> None:
        if not (self.can_steer and self.any_delimiter):
            pytest.skip("the engine takes no delimiter but those with a name")
        delimiter = _delimiter_within(plain.tokens)
        split = DelimiterSplitter(delimiter)
        found = self.sample(engine, 1, self.greedy(), SelfStepConf(delta=0.0, split=split))[0]
        assert found.tokens == plain.tokens
        assert _record(found).step_ends == tuple(step_ends(plain.tokens, split).tolist())
        assert not any(delimiter in token for token in found.tokens[: _record(found).step_ends[0]])

    def test_two_newlines_in_two_tokens_end_a_step(self, ended: list[Trajectory]) -> None:
        if not self.can_steer:
            pytest.skip("the engine takes no controller")
        n_split = 0
        for trajectory in ended:
            ends = step_ends(trajectory.tokens, DelimiterSplitter())
            assert _record(trajectory).step_ends == tuple(ends.tolist())
            n_split += any("\n\n" not in trajectory.tokens[end - 1] for end in ends[:-1])
        if not n_split:
            pytest.skip("the model wrote no two newlines in two tokens")

    def test_the_guard_turns_an_end_without_an_answer_down(self, engine: Engine) -> None:
        if not (self.can_steer and self.can_guard):
            pytest.skip("the engine can't turn the end of the text down")
        controller = SelfStepConf(delta=0.0, guard=True, reflection=" hold on")
        for trajectory in self.sample(engine, 8, self.ending, controller):
            insertions = _record(trajectory).insertions
            assert len(insertions) <= 1
            _whole_insertions(trajectory, controller.reflection)
            if insertions:
                assert auto("".join(trajectory.tokens[: insertions[0].start])) is None
            elif trajectory.finish_reason == "stop":
                assert auto(trajectory.text) is not None

    # Calls

    def test_a_cancelled_call_leaves_the_engine_at_work(
        self, engine: Engine, sampled: list[Trajectory]
    ) -> None:
        seen: list[Progress] = []
        short, long = replace(self.params(), max_tokens=2), replace(self.params(), max_tokens=256)
        jobs = [Job(self.question, short, [0]), Job(self.question, long, [1, 2, 3])]
        under_way = engine.sample_all(jobs, watch=seen.append)
        next(under_way)
        under_way.close()
        assert seen[-1].n_tokens < 2 + 3 * 256
        again = self.sample(engine, 4, self.params())
        assert texts(again) == texts(sampled) or not self.reproduces_alone

    def test_several_jobs_give_every_trajectory_once(self, engine: Engine, sampled: list[Trajectory]) -> None:
        seen: list[Progress] = []
        other = [Message("user", "Count to ten.")]
        jobs = [
            Job(self.question, self.params(), [0, 1]),
            Job(other, self.greedy(), [0]),
            Job(self.question, replace(self.params(), max_tokens=5), [2]),
        ]
        found = {
            (number, trajectory.index): trajectory
            for number, trajectory in engine.sample_all(jobs, watch=seen.append)
        }
        assert sorted(found) == [(0, 0), (0, 1), (1, 0), (2, 2)]
        assert found[2, 2].n_tokens <= 5
        assert seen[-1].n_tokens == sum(trajectory.n_tokens for trajectory in found.values())
        if self.deterministic:
            assert texts([found[0, 0], found[0, 1]]) == texts(sampled[:2])
            assert found[2, 2].tokens == sampled[2].tokens[:5]

    def test_the_progress_ends_with_all_tokens(self, engine: Engine) -> None:
        seen: list[Progress] = []
        params = replace(self.params(), max_tokens=4)
        found = list(engine.sample(self.question, 3, params, watch=seen.append))
        assert len(found) == 3
        assert seen[-1].n_tokens == sum(trajectory.n_tokens for trajectory in found)
        assert all(0 <= progress.n_live <= 3 for progress in seen)

    def test_a_prompt_that_is_too_long_is_one_sentence(self, engine: Engine) -> None:
        with pytest.raises((InputError, EngineError)) as caught:
            list(engine.sample([Message("user", self.too_long)], 1, self.params()))
        assert "\n" not in str(caught.value)
        assert "Traceback" not in str(caught.value)

    @pytest.mark.parametrize("thinking", [None, True, False])
    def test_thinking_may_be_switched(self, engine: Engine, thinking: bool | None) -> None:
        params = replace(self.params(), max_tokens=2, thinking=thinking)
        assert len(list(engine.sample(self.question, 1, params))) == 1

    def test_a_call_is_held_to_one_at_a_time_unless_calls_may_overlap(self, engine: Engine) -> None:
        params = replace(self.params(), max_tokens=1)
        under_way = engine.sample_all([Job(self.question, params, [0])])
        next(under_way)
        other = engine.sample(self.question, 1, params)
        if engine.concurrent:
            assert next(other).n_tokens == 1
        else:
            with pytest.raises(DistrivoteError, match="already sampling"):
                next(other)
        under_way.close()

    def test_after_with_an_engine_refuses_calls(self, short_lived: BaseEngine) -> None:
        with short_lived as engine:
            assert len(list(engine.sample(self.question, 1, replace(self.greedy(), max_tokens=1)))) == 1
        for call in (
            short_lived.sample(self.question, 1, self.params()),
            short_lived.sample_all([Job(self.question, self.params(), [0])]),
        ):
            with pytest.raises(DistrivoteError, match="the engine is closed: make a new one"):
                next(call)
        short_lived.close()

    def test_an_engine_has_a_name_and_a_model(self, engine: Engine) -> None:
        assert engine.name
        assert engine.model


def texts(trajectories: Sequence[Trajectory]) -> list[str]:
    return [trajectory.text for trajectory in trajectories]


def _record(trajectory: Trajectory) -> Interventions:
    assert trajectory.interventions is not None
    return trajectory.interventions


def _injected(record: Interventions) -> frozenset[int]:
    return frozenset(i for at in record.insertions for i in range(at.start, at.start + at.n_tokens))


def _whole_insertions(trajectory: Trajectory, reflection: str) -> list[tuple[str, ...]]:
    """Return the injected tokens of each insertion that the token limit did not cut; check all of them."""
    whole = []
    for insertion in _record(trajectory).insertions:
        end = insertion.start + insertion.n_tokens
        injected = trajectory.tokens[insertion.start : end]
        text = "".join(injected).lstrip(UNFINISHED)
        if end < trajectory.n_tokens or trajectory.finish_reason == "stop":
            assert text == reflection
            whole.append(injected)
        else:
            assert reflection.startswith(text.rstrip(UNFINISHED))
    return whole


def _sorted(logprobs: np.ndarray) -> np.ndarray:
    """Return the largest first, and what is missing last."""
    return -np.sort(-logprobs, axis=-1)


def _holds_the_largest(trajectory: Trajectory, k: int) -> None:
    """The sampled token is one of the k most probable, or less probable than all of them."""
    for row, own in zip(_sorted(trajectory.top_logprobs)[:, :k], trajectory.logprobs, strict=True):
        assert np.abs(row - own).min() < 1e-3 or own < row[-1] + 1e-3


def _stop_within(text: str) -> str:
    """Return a short text that first comes up within a longer one, best in the middle."""
    third = len(text) // 3
    for start in (*range(third, len(text) - 2), *range(1, third)):
        stop = text[start : start + 3]
        if text.find(stop) == start and UNFINISHED not in stop and stop.strip() == stop:
            return stop
    pytest.fail(f"no stop string is to be found in {text!r}: take a question with a livelier answer")


def _delimiter_within(tokens: Sequence[str]) -> str:
    """Return two characters that first come up where one token ends and the next begins."""
    before = ""
    for one, other in pairwise(tokens):
        before += one
        delimiter = one[-1:] + other[:1]
        whole = len(delimiter) == 2 and delimiter.strip() == delimiter and UNFINISHED not in delimiter
        if whole and (before + other).find(delimiter) == len(before) - 1 and len(before) > 1:
            return delimiter
    pytest.fail(f"no delimiter is to be found in {tokens!r}: take a question with a livelier answer")
