"""One trajectory under way, with a vocabulary of letters and logits made up."""

from __future__ import annotations

import numpy as np

from distrivote.engines.base import SamplingParams
from distrivote.engines.drive import Drive
from distrivote.engines.sampling import TokenSampler
from distrivote.selfstepconf import ENDED, DeepConfOnline

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


def driven(controller: DeepConfOnline) -> Drive:
    params = SamplingParams(temperature=0, n_logprobs=4, max_tokens=9)
    return Drive(0, params, Letters(), TokenSampler(len(LETTERS), params), controller, lambda _: True)


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
