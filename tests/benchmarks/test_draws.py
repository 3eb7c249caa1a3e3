"""Random choices: pinned, within bounds, and the same for the same text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from distrivote.benchmarks.draws import Draws
from distrivote.benchmarks.lettering import LETTERS, lettered


@given(st.integers(), st.integers(-100, 100), st.integers(0, 100))
def test_a_number_is_within_its_bounds(seed: int, low: int, span: int) -> None:
    assert low <= Draws(seed).between(low, low + span) <= low + span


@given(st.integers(), st.lists(st.integers()))
def test_shuffling_loses_nothing(seed: int, items: list[int]) -> None:
    assert sorted(Draws(seed).shuffled(items)) == sorted(items)


@given(st.text(st.characters()))
def test_a_text_has_one_stream(text: str) -> None:
    assert Draws.of_text(text).between(0, 10**9) == Draws.of_text(text).between(0, 10**9)


def test_streams_of_texts_are_the_same_on_every_machine() -> None:
    assert [Draws.of_text(text).between(0, 999) for text in ("", "a", "ü")] == PINNED


@given(st.integers(), st.text("xy", max_size=2), st.lists(st.text("xy", max_size=2), min_size=3, max_size=3))
def test_the_letter_leads_to_the_right_choice_also_among_equal_ones(
    seed: int, right: str, wrong: list[str]
) -> None:
    put = lettered("q", right, wrong, Draws(seed))
    lines = put.question.split("\n")[1:]
    assert lines[LETTERS.index(put.letter)] == f"{put.letter}) {right}"
    assert sorted(line[3:] for line in lines) == sorted([right, *wrong])


PINNED = [937, 945, 280]
