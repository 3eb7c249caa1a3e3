"""One trajectory under way, with a vocabulary of letters and logits made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from distrivote.engines.base import SamplingParams
from distrivote.engines.tokens.drive import Drive
from distrivote.engines.tokens.sampling import TokenSampler
from distrivote.splitting import EntropySplitter
from distrivote.steering import ENDED, BudgetForcing, Controller, DeepConfOnline, SelfStepConf
from distrivote.trajectory import Insertion
from distrivote.voting.ballot import Ballot

LETTERS = "abcdefgh"


class Letters:
    pieces = tuple(letter.encode() for letter in LETTERS)
    end_tokens: frozenset[int] = frozenset()

    def tokenize(self, text: str, special: bool = False) -> list[int]:  # noqa: ARG002
        return [LETTERS.index(letter) for letter in text]


def logits(peak: float) -> np.ndarray:
    """Return logits that make the first letter likely, the more the higher the peak."""
    values = np.zeros(len(LETTERS), dtype=np.float32)
    values[0] = peak
    return values


def driven(controller: Controller | None, stop: tuple[str, ...] = ()) -> Drive:
    params = SamplingParams(temperature=0, n_logprobs=4, max_tokens=9, stop=stop)
    return Drive(0, params, Letters(), TokenSampler(len(LETTERS), params), controller)


def test_a_controller_that_ends_a_trajectory_ends_it_behind_the_token() -> None:
    drive = driven(DeepConfOnline(window=2, threshold=5.0))
    assert drive.advance(logits(9.0)) is not None
    assert drive.advance(logits(9.0)) is not None
    assert drive.advance(logits(0.0)) is None
    assert drive.finish_reason == ENDED
    trajectory = drive.trajectory()
    assert trajectory.text == "aaa"
    assert trajectory.finish_reason == "confidence"
    assert trajectory.interventions is not None
    assert trajectory.interventions.n_reflections == 0


def test_one_that_does_not_goes_on_to_the_limit() -> None:
    drive = driven(DeepConfOnline(window=2))
    while drive.advance(logits(0.0)) is not None:
        pass
    assert drive.finish_reason == "length"
    assert drive.trajectory().n_tokens == 9


def entropy(peak: float) -> float:
    chances = np.exp(logits(peak).astype(np.float64))
    chances /= chances.sum()
    return float(-(chances * np.log(chances)).sum())


def self_certainty(peak: float) -> float:
    values = logits(peak).astype(np.float64)
    return float(np.log(np.exp(values).sum()) - values.mean() - np.log(len(values)))


def advance(drive: Drive, peaks: Sequence[float]) -> None:
    for peak in peaks:
        drive.advance(logits(peak))


def test_a_trajectory_has_the_entropies_of_the_whole_distribution() -> None:
    peaks = [9.0, 0.0, 2.0]
    drive = driven(None)
    advance(drive, peaks)
    found = drive.trajectory()
    assert found.entropies is not None
    assert found.self_certainties is not None
    assert found.entropies.tolist() == pytest.approx([entropy(peak) for peak in peaks], abs=1e-6)
    assert found.self_certainties.tolist() == pytest.approx([self_certainty(p) for p in peaks], abs=1e-6)


def test_an_empty_trajectory_has_none_of_them() -> None:
    found = driven(None).trajectory()
    assert found.entropies is not None
    assert found.entropies.shape == (0,)


def test_they_are_cut_at_a_stop_string() -> None:
    drive = driven(None, stop=("aaa",))
    advance(drive, [1.0, 2.0, 3.0])
    assert drive.finish_reason == "stop"
    drive = driven(None, stop=("ba",))
    rows = [logits(1.0), -logits(5.0), logits(2.0)]
    for row in rows:
        drive.advance(row)
    found = drive.trajectory()
    assert found.text == "a"
    assert found.entropies is not None
    assert found.entropies.tolist() == pytest.approx([entropy(1.0)], abs=1e-6)


def test_an_injected_token_has_those_of_the_models_own_distribution() -> None:
    drive = driven(BudgetForcing(min_tokens=9, text="bc", end_of_thinking="a"))
    advance(drive, [4.0, 2.0])
    found = drive.trajectory()
    assert found.text == "bc"
    assert found.entropies is not None
    assert found.entropies.tolist() == pytest.approx([entropy(4.0), entropy(2.0)], abs=1e-6)


def test_steps_by_entropy_are_measured_as_they_were_judged() -> None:
    # With 8 letters the 4 most probable have other entropies than the whole distribution.
    threshold = (entropy(2.0) + entropy(1.0)) / 2
    controller = SelfStepConf(delta=0.0, split=EntropySplitter(threshold, 2))
    drive = driven(controller)
    advance(drive, [9.0, 9.0, 2.0, 1.0, 9.0, 2.0])
    found = drive.trajectory()
    assert found.interventions is not None
    assert found.interventions.step_ends == (4, 6)
    ballot = Ballot.from_trajectories([found], extract=lambda text: text, split=controller.split)
    assert ballot.confidences[0] == pytest.approx(found.interventions.step_confidences[-1])


def test_a_controller_judges_by_as_many_tokens_as_the_vote_however_many_are_recorded() -> None:
    class Many(Letters):
        pieces = tuple(chr(0x100 + n).encode() for n in range(40))

    judged = []
    for n_logprobs in (20, 40):
        params = SamplingParams(temperature=0, n_logprobs=n_logprobs, max_tokens=9)
        drive = Drive(0, params, Many(), TokenSampler(40, params), SelfStepConf())
        values = np.full(40, -30.0, dtype=np.float32)
        values[:20] = 0.0
        drive.advance(values)
        found = drive.trajectory()
        assert found.interventions is not None
        judged.append(found.interventions.step_confidences)
        assert Ballot.from_trajectories([found], extract=str).confidences.tolist() == pytest.approx(
            judged[-1]
        )
    assert judged[0] == judged[1]


class Words(Letters):
    """Letters, of which the last but one is the delimiter and the last one the end of the text."""

    pieces = (*(letter.encode() for letter in LETTERS[:-2]), b"\n\n", b"")
    end_tokens = frozenset({len(LETTERS) - 1})


DELIMITER, END = len(LETTERS) - 2, len(LETTERS) - 1
PUBLISHED = replace(SelfStepConf.as_published(), reflection="b")
CHANCES = np.log(np.array([0.5, 0.02, 0.2, 0.1, 0.08, 0.05, 0.03, 0.02], dtype=np.float32))


def released(params: SamplingParams, index: int = 0) -> Drive:
    """Return a drive at the position behind a step that dropped: the next one is exchanged."""
    asked = replace(PUBLISHED, has_answer=lambda _: pytest.fail("asked"))
    drive = Drive(index, params, Words(), TokenSampler(len(LETTERS), params), asked)
    for peak in (40.0, 25.0):
        likely = np.zeros(len(LETTERS), dtype=np.float32)
        likely[DELIMITER] = peak
        assert drive.advance(likely) is not None
    return drive


def test_as_published_a_greedy_trajectory_has_exactly_the_reflection() -> None:
    drive = released(SamplingParams(temperature=0, n_logprobs=4, max_tokens=9))
    drive.advance(CHANCES)
    drive.advance(CHANCES)
    found = drive.trajectory()
    assert found.text == "\n\n\n\nba"
    assert found.interventions is not None
    assert found.interventions.insertions == (Insertion(2, 1),)
    assert drive.n_reflections == 1
    # Its log-probability and the largest ones are those of the model's own distribution.
    assert found.logprobs[2] == pytest.approx(np.log(0.02))
    assert found.top_logprobs[2] == pytest.approx(found.top_logprobs[3])


@pytest.mark.slow
def test_as_published_the_exchanged_position_is_sampled_from_the_exchanged_probabilities() -> None:
    n = 4000
    params = SamplingParams(temperature=1.0, top_p=1.0, n_logprobs=4, max_tokens=9)
    counts = np.zeros(len(LETTERS))
    n_recorded = 0
    for index in range(n):
        drive = released(params, index)
        drive.advance(CHANCES)
        token = drive.tokens[2] if len(drive.tokens) > 2 else END
        counts[token] += 1
        record = drive.trajectory().interventions
        assert record is not None
        assert record.n_reflections == drive.n_reflections == (token == 1)
        n_recorded += record.n_reflections
    assert n_recorded == counts[1]
    expected = np.exp(CHANCES.astype(np.float64))
    expected[[0, 1]] = expected[[1, 0]]
    # The seeds are fixed. With others each of the 8 shares would lie outside of 5 standard errors once in
    # 1.7 million draws.
    errors = np.abs(counts / n - expected) / np.sqrt(expected * (1 - expected) / n)
    assert errors.max() < 5


def test_as_published_temperature_and_top_p_cut_the_exchanged_probabilities() -> None:
    params = SamplingParams(temperature=0.6, top_p=0.5, n_logprobs=4, max_tokens=9)
    # At this temperature the most likely token has 0.72: it fills the nucleus, and b takes its place.
    for index in range(20):
        drive = released(params, index)
        drive.advance(CHANCES)
        assert drive.tokens[2] == 1


def test_as_published_an_end_is_not_turned_down() -> None:
    params = SamplingParams(temperature=0, n_logprobs=4, max_tokens=9)
    sampler = TokenSampler(len(LETTERS), params)
    drive = Drive(0, params, Words(), sampler, PUBLISHED)
    drive.advance(logits(9.0))
    ending = np.zeros(len(LETTERS), dtype=np.float32)
    ending[END] = 9.0
    assert drive.advance(ending) is None
    assert drive.finish_reason == "stop"
    controller = SelfStepConf(guard=True, reflection="b", has_answer=lambda _: False)
    guarded = Drive(0, params, Words(), sampler, controller)
    guarded.advance(logits(9.0))
    assert guarded.advance(ending) is not None
    assert guarded.trajectory().text == "ab"
