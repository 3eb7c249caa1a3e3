"""The picture of one vote: true to the numbers, and readable at any width."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from distrivote.report.terminal.explanation import explanation
from distrivote.report.terminal.histogram import bins_of
from distrivote.report.text import told
from distrivote.voting.ballot import Ballot
from distrivote.voting.vote import vote

METHODS = ["sc", "wsc", "bon", "hier", "wsc-top50", "dis-top50", "wsc-gmm", "dis-gmm", "dis-kmeans"]


def pool(seed: int = 1) -> Ballot:
    rng = np.random.default_rng(seed)
    answers = ["12"] * 11 + ["35"] * 14 + ["2"] * 5 + [None] * 2
    means = [15.0] * 11 + [11.0] * 19 + [9.0] * 2
    return Ballot.of(
        answers,
        [None if a is None else float(c) for a, c in zip(answers, rng.normal(means, 0.8), strict=True)],
    )


def shown(
    ballot: Ballot, method: str = "dis-gmm", width: int = 80, colour: bool = False, **more: object
) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        no_color=not colour,
        highlight=False,
    )
    tally = vote(ballot, method=method)
    console.print(explanation("q1", tally, width, **more))  # type: ignore[arg-type]
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_story_is_told_from_the_answer_to_the_votes() -> None:
    lines = [line.strip() for line in shown(pool(), right=True).splitlines()]
    assert lines[0] == "q1"
    assert lines[2] == "12   ✓ right"
    assert lines[3].endswith("majority voting says 35 instead")
    assert lines[5].startswith("confidence")
    assert "cut 1" in lines[5]
    (counts,) = (line for line in lines if line.startswith("likely wrong"))
    assert counts == "likely wrong 19   ┊   likely right 11 · no answer 2"
    (header,) = (line for line in lines if line.startswith("answer"))
    assert header.split() == ["answer", "all", "kept", "after", "reject", "score"]
    assert any(line.startswith("12  ") and "100%" in line and "█" in line for line in lines)
    assert any(line.endswith("rejected") for line in lines)


def test_the_cut_is_one_column_in_the_whole_picture() -> None:
    places = {line.index("┊") for line in shown(pool()).splitlines() if "┊" in line}
    assert len(places) == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("width", [30, 60, 80, 120, 200])
def test_every_method_fits_every_terminal(method: str, width: int) -> None:
    text = shown(pool(), method, width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert f"{vote(pool(), method=method).answer} wins with" in " ".join(text.split())


def test_colours_only_repeat_what_the_text_says() -> None:
    plain, coloured = shown(pool()), shown(pool(), colour=True)
    assert "\x1b[38;2;" in coloured
    assert Text.from_ansi(coloured).plain.split() == plain.split()


def test_many_answers_are_summed_up_and_the_rejected_one_stays() -> None:
    answers = ["12"] * 12 + [str(i) for i in range(100, 120)]
    confidences = [15.0 + i / 20 for i in range(12)] + [10.0 + i / 20 for i in range(20)]
    text = shown(Ballot.of(answers, confidences))
    assert "…13 more" in text
    assert "rejected" in text.split("score", 2)[2]


def test_hostile_and_endless_answers_are_tamed() -> None:
    answers = ["\x1b[31m" + "x" * 10_000] * 12 + ["[bold]y[/]"] * 12
    ballot = Ballot.of(answers, [15.0 + i / 10 for i in range(12)] + [10.0 + i / 10 for i in range(12)])
    text = shown(ballot, right=False, truth="\x1b]0;title\x07")
    assert "\x1b" not in text
    assert "[bold]y[/]" in text
    assert len(text) < 6000
    assert "x" * 200 not in told(vote(ballot))


@pytest.mark.parametrize(
    "confidences",
    [
        [3.0],
        [3.0] * 20,
        [1e-100, 2e-100],
        [1e100, 2.0],
        [1.0, 1.0 + 1e-15],
        [0.1, 0.2, 0.3],
        [1, 1, 1, 1e6],
    ],
)
def test_odd_pools_have_a_picture_too(confidences: list[float]) -> None:
    for method in METHODS:
        assert "x" in shown(Ballot.of(["x"] * len(confidences), confidences), method)


def test_no_answer_at_all_is_said() -> None:
    assert "no answer" in shown(Ballot.of([None, None], [None, None]))


@settings(max_examples=200, deadline=None)
@given(
    values=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60),
    place=st.floats(0, 1),
    most=st.integers(4, 72),
)
def test_bins_count_every_value_once_and_never_straddle_the_cut(
    values: list[float], place: float, most: int
) -> None:
    array = np.sort(np.array(values))
    index = int(place * (len(array) - 1))
    cut = None
    if len(array) > 1 and array[index] < array[min(index + 1, len(array) - 1)]:
        cut = float((array[index] + array[index + 1]) / 2)
    below = np.arange(len(array)) <= (index if cut is not None else -1)
    bins = bins_of(array, below, cut, most)
    assert bins.counts.sum() == len(array)
    assert len(bins.edges) == len(bins.counts) + 1
    assert len(bins.counts) <= most + 1
    if bins.n_below:
        assert bins.counts[: bins.n_below].sum() == below.sum()


def test_answers_without_a_confidence_are_not_in_the_picture_but_in_the_votes() -> None:
    ballot = Ballot.of(["4"] * 4 + ["5"] * 3, [9.0, 9.5, None, None, 4.0, 4.1, 4.3])
    text = shown(ballot)
    assert "likely wrong 3" in text
    assert "likely right 2" in text
    assert "7 answers, 5 of them with a confidence" in " ".join(text.split())
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("  4  ")] == [["4", "4"]]


def test_a_single_answer_has_no_picture_and_says_so_itself() -> None:
    told = shown(Ballot.of(["12", None], [14.0, None]))
    assert "1 of 1 answer says so" in told
    assert "confidence " not in told.partition("answer   all")[0]
    assert "█" not in told.partition("answer   all")[0]


def test_a_vote_without_any_confidence_has_no_picture_and_says_why() -> None:
    text = shown(Ballot.of(["4", "5", "4"]))
    assert "2 of 3 answers say so · majority voting, because there are no confidences" in text
    assert "(majority voting, not dis-gmm)" in text
    assert "likely right" not in text


def test_best_of_negative_numbers_shows_shares_of_votes() -> None:
    text = shown(Ballot.of(["4", "5", "5", "6"], [-0.1, -0.4, -0.3, None]), "bon")
    assert "4 wins with 33% of the votes (bon); majority voting would have said 5." in " ".join(text.split())
    assert [line.split()[0] for line in text.splitlines() if "%" in line][:2] == ["4", "5"]
