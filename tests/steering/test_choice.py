"""What the rest of the library learns about a controller from itself."""

from __future__ import annotations

import math

import pytest

from distrivote.answers.extract import extractor
from distrivote.errors import InputError, UnknownNameError
from distrivote.splitting import DelimiterSplitter
from distrivote.steering import (
    ENDED,
    BudgetForcing,
    Controller,
    ControllerStream,
    DeepConfOnline,
    SelfStepConf,
    steering_of,
)
from distrivote.steering.choice import is_selfstepconf, stored_controller
from distrivote.store.runs.manifest import settings_of
from distrivote.trajectory import Insertion, Interventions, Trajectory


class Own(Controller):
    """A controller that says nothing about itself."""

    def start(self) -> ControllerStream:
        raise NotImplementedError


def test_auto_is_the_papers_selfstepconf() -> None:
    assert steering_of("auto") == SelfStepConf()
    assert steering_of(None) is None
    own = Own()
    assert steering_of(own).rule is own  # type: ignore[union-attr]


@pytest.mark.parametrize("wrong", [7, True, SelfStepConf, object()])
def test_what_is_no_controller_is_an_input_error(wrong: object) -> None:
    with pytest.raises(InputError, match="give 'auto', None, or a function"):
        steering_of(wrong)  # type: ignore[arg-type]


def test_an_unknown_word_is_an_input_error() -> None:
    with pytest.raises(UnknownNameError, match="did you mean auto"):
        steering_of("autom")


def test_a_controller_of_ones_own_has_the_defaults() -> None:
    own = Own()
    assert (own.name, own.split, own.measure, own.n_warmup) == ("Own", None, None, 0)
    assert (own.uses_entropy, own.released, own.ends_trajectories) == (False, False, False)
    assert own.after([1.0]) is own.answering(extractor("boxed")) is own
    assert (own.settings(), own.line(Interventions()), own.plugin_settings()) == ({}, (), None)
    assert own.has_answer("The answer is 4.")
    injected = Trajectory("x", interventions=Interventions((Insertion(0, 1),)))
    assert own.told([injected, Trajectory("y")]) == "1 insertion"


def test_controllers_say_what_a_vote_has_to_know() -> None:
    assert SelfStepConf().split == DelimiterSplitter()
    assert SelfStepConf().measure is None
    assert DeepConfOnline(window=64).measure == "lowest-group:64"
    assert DeepConfOnline().ends_trajectories
    assert BudgetForcing().split is None
    assert SelfStepConf(delta=0.5).plugin_settings() == SelfStepConf(delta=0.5)


def test_the_guard_looks_for_answers_as_the_question_has_them() -> None:
    stated, boxed = "The answer is 4.", r"\boxed{4}"
    guarded = SelfStepConf(guard=True)
    assert guarded.has_answer(stated)
    bound = guarded.answering(extractor("boxed"))
    assert (bound.has_answer(stated), bound.has_answer(boxed)) == (False, True)
    assert bound == guarded  # it belongs to the question, and is no setting of a run
    assert settings_of(bound) == settings_of(guarded)
    assert "has_answer" not in settings_of(bound)


def test_the_line_is_what_each_step_was_held_against() -> None:
    record = Interventions((), (4, 7, 9), (10.0, 12.0, 8.0))
    first, *others = SelfStepConf(alpha=0.5, delta=0.8).line(record)
    assert math.isnan(first)
    assert others == pytest.approx([8.0, 8.8])
    assert SelfStepConf().line(Interventions()) == ()


def test_what_was_ended_is_told() -> None:
    trajectories = [Trajectory("a", finish_reason=ENDED), Trajectory("b", finish_reason="stop")]
    assert DeepConfOnline().told(trajectories) == "1 of 2 trajectories ended for low confidence"


def test_a_stored_controller_has_its_threshold_again() -> None:
    settings = settings_of(SelfStepConf(0.7, 0.6))
    assert is_selfstepconf(settings)
    assert stored_controller(settings) == SelfStepConf(0.7, 0.6)
    assert stored_controller(settings_of(BudgetForcing())) is stored_controller(None) is None
