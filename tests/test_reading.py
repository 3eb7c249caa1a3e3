from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from distrivote.errors import InputError, UnknownNameError
from distrivote.splitting import DelimiterSplitter, EntropySplitter, Splitter
from distrivote.steering import SelfStepConf, replay
from distrivote.trajectory import Insertion, Interventions, Trajectory
from distrivote.voting.ballot import Ballot


def reply(tokens: list[str], confidences: list[float], k: int = 20) -> Trajectory:
    """Return a trajectory with the given token confidences."""
    spread = np.linspace(0.5, 1.5, k)
    top = -np.array(confidences)[:, None] * spread
    return Trajectory("".join(tokens), tuple(tokens), top, top[:, 0])


def bare(text: str) -> Trajectory:
    return Trajectory(text)


SURE = reply(["So", ".\n\n", r"\boxed{4}", "\n\n", "Bye"], [10.0, 12.0, 20.0, 22.0, 5.0])
UNSURE = reply(["So", ".\n\n", r"\boxed{5}", "\n\n", "Bye"], [10.0, 12.0, 8.0, 6.0, 5.0])


def test_answers_and_the_confidences_of_their_steps_make_a_ballot() -> None:
    ballot = Ballot.from_trajectories([SURE, UNSURE, SURE])
    assert ballot.labels == ("4", "5")
    assert ballot.classes.tolist() == [0, 1, 0]
    assert ballot.confidences.tolist() == pytest.approx([21.0, 7.0, 21.0])
    assert ballot.notes == ()


def test_without_an_answer_the_last_step_is_measured() -> None:
    cut_off = reply(["First", "\n\n", "and then it goes on and on,\nwith no end"], [10.0, 12.0, 7.0])
    ballot = Ballot.from_trajectories([cut_off, SURE])
    assert ballot.classes.tolist() == [-1, 0]
    assert ballot.confidences[0] == pytest.approx(7.0)


@pytest.mark.parametrize(("measure", "expected"), [("mean", 13.8), ("tail:2", 13.5), ("lowest-group:1", 5.0)])
def test_the_measure_can_be_chosen_by_name(measure: str, expected: float) -> None:
    assert Ballot.from_trajectories([SURE], measure=measure).confidences[0] == pytest.approx(expected)


def test_the_splitter_can_be_chosen_by_name_or_as_an_object() -> None:
    assert Ballot.from_trajectories([SURE], split="window:3").confidences[0] == pytest.approx(14.0)
    assert Ballot.from_trajectories([SURE], split=DelimiterSplitter("Bye")).confidences[0] == pytest.approx(
        13.8
    )
    assert Ballot.from_trajectories([SURE], split=EntropySplitter(0.0, 3)).confidences[0] == pytest.approx(
        14.0
    )


TOKENS = ["Sure", ".\n\n", "Hm", "\n\n", "wait\n\n", "So", r" \boxed{4}"]
VALUES = [10.0, 10.0, 5.0, 5.0, 20.0, 6.0, 6.0]


def steered(split: Splitter, entropies: list[float] | None = None) -> Trajectory:
    """Return a reply into which a reflection was injected that holds a boundary of its own."""
    record = replay(SelfStepConf(reflection="wait\n\n", split=split), TOKENS, VALUES, entropies)
    return replace(reply(TOKENS, VALUES), interventions=record)


def test_no_boundary_is_looked_for_in_injected_text() -> None:
    found = steered(DelimiterSplitter())
    assert found.interventions is not None
    assert found.interventions.step_ends == (2, 4, 7)
    assert Ballot.from_trajectories([found]).confidences[0] == pytest.approx(32 / 3)
    assert Ballot.from_trajectories([replace(found, interventions=None)]).confidences[0] == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("asked", "expected"), [("line", 32 / 3), ("exact", 32 / 3), ("window:5", 62 / 7), ("window:3", 6.0)]
)
def test_steps_of_another_splitter_have_no_boundary_there_either(asked: str, expected: float) -> None:
    found = Ballot.from_trajectories(
        [steered(DelimiterSplitter())], split=asked, steered_by=DelimiterSplitter()
    )
    assert found.confidences[0] == pytest.approx(expected)


def test_the_record_of_a_controller_with_the_same_splitter_is_believed() -> None:
    split = EntropySplitter(0.5, 2)
    known_to_the_engine = [0.0, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0]
    found = steered(split, known_to_the_engine)
    assert found.interventions is not None
    assert found.interventions.step_ends == (4, 7)
    own = Ballot.from_trajectories([found], split=split, steered_by=split)
    assert own.confidences[0] == pytest.approx(32 / 3)
    for other in (None, EntropySplitter(0.6, 2)):
        again = Ballot.from_trajectories([found], split=split, steered_by=other)
        assert (
            again.confidences[0]
            == Ballot.from_trajectories([reply(TOKENS, VALUES)], split=split).confidences[0]
        )


def test_a_record_that_does_not_fit_the_tokens_or_has_no_steps_is_not_used() -> None:
    plain = Ballot.from_trajectories([SURE]).confidences[0]
    for record in (Interventions(), Interventions((), (2,), (9.0,)), Interventions((), (2, 9), (9.0, 9.0))):
        found = replace(SURE, interventions=record)
        assert Ballot.from_trajectories([found], steered_by=DelimiterSplitter()).confidences[0] == plain


def test_other_controllers_leave_the_steps_of_the_text() -> None:
    found = replace(reply(TOKENS, VALUES), interventions=Interventions((Insertion(4, 1),)))
    assert Ballot.from_trajectories([found]).confidences[0] == pytest.approx(6.0)


def test_white_space_before_a_stop_string_is_no_step_of_its_own() -> None:
    tokens = ["First", "\n\n", "\n", "END"]
    record = replay(SelfStepConf(), tokens, [9.0, 9.0, 3.0, 3.0])
    found = replace(reply(tokens[:3], [9.0, 9.0, 3.0]), interventions=record.up_to(3))
    assert found.interventions is not None
    assert found.interventions.step_ends == (2, 3)
    assert Ballot.from_trajectories([found], steered_by=DelimiterSplitter()).confidences[0] == pytest.approx(
        7.0
    )


def test_the_extraction_can_be_a_name_a_pattern_or_a_function() -> None:
    assert Ballot.from_trajectories([SURE], extract="number").labels == ("4",)
    assert Ballot.from_trajectories([SURE], extract=re.compile(r"(B\w+)")).labels == ("Bye",)
    assert Ballot.from_trajectories([SURE], extract=lambda text: text[:2]).labels == ("So",)


def test_no_log_probabilities_leave_majority_voting_and_a_note() -> None:
    ballot = Ballot.from_trajectories([bare(r"\boxed{4}"), bare(r"\boxed{5}")])
    assert np.isnan(ballot.confidences).all()
    assert len(ballot.notes) == 1
    assert "there are no usable log-probabilities and so no confidences" in ballot.notes[0]
    assert "top_logprobs=20" in ballot.notes[0]


def test_sampled_log_probabilities_alone_suffice_for_some_measures() -> None:
    sampled = Trajectory("4!", ("4", "!"), np.empty((2, 0)), np.log([0.5, 0.5]))
    assert 'measure="logprob"' in Ballot.from_trajectories([sampled]).notes[0]
    ballot = Ballot.from_trajectories([sampled], measure="logprob")
    assert ballot.confidences.tolist() == pytest.approx([0.5])
    assert ballot.notes == ()


def test_some_replies_without_log_probabilities_are_noted() -> None:
    ballot = Ballot.from_trajectories([SURE, bare("4"), bare("and so on\nand on")])
    assert np.isnan(ballot.confidences).tolist() == [False, True, True]
    assert ballot.notes == (
        "some trajectories came without usable log-probabilities and so without a confidence",
    )


def test_fewer_than_twenty_log_probabilities_work_and_are_noted() -> None:
    ballot = Ballot.from_trajectories([reply(["4"], [9.0], k=5), reply(["5"], [8.0], k=5)])
    assert ballot.confidences.tolist() == pytest.approx([9.0, 8.0])
    assert len(ballot.notes) == 1
    assert "the 5 most probable tokens" in ballot.notes[0]


def test_a_pool_of_different_k_is_refused_unless_k_makes_them_equal() -> None:
    pool = [reply(["4"], [9.0], k=20), reply(["5"], [8.0], k=5)]
    with pytest.raises(InputError, match="some trajectories have 5 log-probabilities per token and some 20"):
        Ballot.from_trajectories(pool)
    assert len(Ballot.from_trajectories(pool, k=5).notes) == 1


def whole(trajectory: Trajectory, entropy: float = 2.0) -> Trajectory:
    """Return a reply with values from the whole distribution."""
    values = np.full(trajectory.n_tokens, entropy)
    return replace(trajectory, entropies=values, self_certainties=values)


def test_values_of_the_whole_distribution_go_before_the_top_k() -> None:
    pool = [whole(reply(["4"], [9.0], k=20)), whole(reply(["5"], [8.0], k=5), 3.0)]
    ballot = Ballot.from_trajectories(pool, measure="entropy")
    assert ballot.confidences.tolist() == pytest.approx([math.exp(-2), math.exp(-3)])
    assert ballot.notes == ()
    assert Ballot.from_trajectories(pool, measure="self-certainty").confidences.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("measure", ["entropy", "self-certainty"])
def test_a_pool_of_whole_distributions_and_of_top_k_is_refused(measure: str) -> None:
    pool = [whole(SURE), UNSURE]
    with pytest.raises(InputError, match=f"some trajectories have the {measure} of the whole distribution"):
        Ballot.from_trajectories(pool, measure=measure)
    assert len(Ballot.from_trajectories(pool).labels) == 2
    silent = Ballot.from_trajectories([whole(SURE), bare("4"), whole(reply([], []))], measure=measure)
    assert np.isnan(silent.confidences).tolist() == [False, True, True]


def test_steps_by_entropy_are_those_of_the_whole_distribution() -> None:
    split = EntropySplitter(0.5, 1)
    tokens = ["One", " two", r" \boxed{3}", "."]
    found = reply(tokens, [9.0, 9.0, 4.0, 2.0])
    entropies = np.array([0.1, 0.9, 0.1, 0.1])
    found = replace(found, entropies=entropies, self_certainties=entropies)
    assert Ballot.from_trajectories([found], split=split).confidences[0] == pytest.approx(3.0)


def test_more_than_k_log_probabilities_are_no_mix() -> None:
    ballot = Ballot.from_trajectories([reply(["4"], [9.0], k=20), reply(["5"], [8.0], k=25)])
    assert not ballot.notes


def test_the_extra_entry_of_an_improbable_token_is_no_mix() -> None:
    plain = Trajectory("4", ("4",), np.array([[-0.1, -3.9]]), np.array([-0.1]))
    extra = Trajectory("5", ("5",), np.array([[-0.1, -3.9, -7.0]]), np.array([-7.0]))
    assert Ballot.from_trajectories([plain, extra]).confidences.tolist() == pytest.approx([2.0, 2.0])
    asked_for = Trajectory("5", ("5",), np.array([[-0.1, -3.9, -7.0]]), np.array([-0.1]))
    with pytest.raises(InputError, match="do not compare"):
        Ballot.from_trajectories([plain, asked_for])


def test_one_log_probability_per_token_is_refused() -> None:
    single = Trajectory("4", ("4",), np.array([[-0.1]]), np.array([-0.1]))
    with pytest.raises(InputError, match="at least 2"):
        Ballot.from_trajectories([single])
    assert Ballot.from_trajectories([single], measure="logprob").confidences[0] == pytest.approx(
        math.exp(-0.1)
    )


def test_damaged_trajectories_are_noted_once() -> None:
    top = np.tile(np.linspace(-0.1, -30, 20), (3, 1))
    top[0, 5] = -9999.0
    damaged = Trajectory("4\n!", ("4", "\n", "!"), top, top[:, 0])
    ballot = Ballot.from_trajectories([SURE, damaged, damaged])
    assert ballot.notes[0].startswith("trajectory 1: 1 of its 3 tokens lack some of their 20")
    assert ballot.notes[1].startswith("2 of 3 trajectories")
    assert len(ballot.notes) == 2


def test_no_answer_anywhere_is_noted() -> None:
    ballot = Ballot.from_trajectories([reply(["one\n", "two"], [9.0, 9.0])])
    assert ballot.labels == ()
    assert ballot.notes[0].startswith("no answer was found in any of 1 trajectory:")


def test_no_replies_make_an_empty_ballot() -> None:
    assert len(Ballot.from_openai([]).classes) == 0
    assert Ballot.from_openai([]).notes == ()


@pytest.mark.parametrize("option", ["extract", "measure", "split"])
def test_an_unknown_name_is_an_error(option: str) -> None:
    choices: dict[str, Any] = {option: "nonesuch"}
    with pytest.raises(UnknownNameError, match="nonesuch"):
        Ballot.from_trajectories([SURE], **choices)


@pytest.mark.parametrize("k", [1, 0, -1])
def test_a_k_below_two_is_an_error(k: int) -> None:
    with pytest.raises(InputError, match=f"k is {k}"):
        Ballot.from_trajectories([SURE], k=k)


def openai_choice(answer: str, spread: float) -> dict[str, Any]:
    tokens = ["So", ".\n\n", f"\\boxed{{{answer}}}"]
    top = [{"token": "x", "logprob": -spread * (i + 1) / 10, "bytes": None} for i in range(20)]
    content = [{"token": t, "logprob": -0.1, "bytes": None, "top_logprobs": top} for t in tokens]
    return {"message": {"content": "".join(tokens)}, "logprobs": {"content": content}}


def test_openai_responses_become_a_ballot() -> None:
    responses = [{"choices": [openai_choice("4", 10), openai_choice("5", 4)]}] * 2
    ballot = Ballot.from_openai(responses)
    assert ballot.labels == ("4", "5")
    assert ballot.confidences.tolist() == pytest.approx([10.5, 4.2, 10.5, 4.2])
    assert ballot.notes == ()


def test_vllm_outputs_become_a_ballot() -> None:
    row = {i: SimpleNamespace(logprob=-1.0 - i, rank=i + 1, decoded_token=str(i)) for i in range(20)}
    sample = SimpleNamespace(text="7", token_ids=[7], logprobs=[row], finish_reason="stop")
    ballot = Ballot.from_vllm([SimpleNamespace(prompt="3 + 4?", outputs=[sample, sample])])
    assert ballot.labels == ("7",)
    assert ballot.confidences.tolist() == pytest.approx([10.5, 10.5])
