"""What people see in a terminal: nothing wraps, nothing is drawn by what a model wrote."""

from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from distrivote.nouns import count
from distrivote.report.documents.fields import VoteRow
from distrivote.report.terminal.columns import Column, lines_of
from distrivote.report.terminal.palette import DARK, LIGHT, palette
from distrivote.report.terminal.votes import Score, summary, vote_table
from distrivote.report.text import shortened, visible

WIDTHS = [20, 30, 45, 60, 80, 120, 200]


def shown(renderable: RenderableType, width: int, colour: bool = False) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
    )
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def row(
    question: str,
    answer: str | None,
    majority: str | None,
    correct: bool | None = None,
    rejected: str | None = None,
    method: str = "dis-gmm",
) -> VoteRow:
    return {
        "question_id": question, "method": method, "answer": answer, "share": 0.714, "n_kept": 9,
        "n_cast": 31, "n_unanswered": 0, "rejected": rejected, "correct": correct, "majority": majority,
        "majority_correct": correct, "ground_truth": None, "probability": 0.623, "abstained": False,
        "withheld": None, "n_unmeasured": 0,
    }  # fmt: skip


ROWS = [
    row("aime-1", "12", "12", correct=True),
    row(
        "aime-2",
        "\\frac{\\sqrt{13}}{2} + \\text{a rather long formula}",
        "35",
        correct=False,
        rejected="2",
    ),
    row("a question with a very long name indeed, longer than it needs to be", None, None, correct=False),
    row("数学オリンピックの問題", "答えは四十二です" * 5, "答え", correct=True),
]


def test_the_table_says_it_with_words_and_marks() -> None:
    lines = shown(vote_table(ROWS[:2], ["dis-gmm"], 120), 120).splitlines()
    assert lines[0].split() == [
        "question",
        "answer",
        "majority",
        "share",
        "probability",
        "kept",
        "/",
        "cast",
        "rejected",
    ]
    assert lines[1].split() == ["aime-1", "✓", "12", "✓", "12", "71%", "62%", "9", "/", "31"]
    assert lines[2].startswith("  aime-2     ✗ \\frac{\\sqrt{13}}{2}")
    assert lines[2].endswith("71%           62%        9 / 31   2")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal_and_none_wraps(width: int) -> None:
    text = shown(vote_table(ROWS, ["dis-gmm"], width, n_questions=50), width)
    lines = text.splitlines()
    below = next(i for i, line in enumerate(lines) if line.strip().startswith(("no room", "…46")))
    assert below == 1 + len(ROWS)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    for part in ("question", "answer", "majority"):
        assert part[:3] in text.splitlines()[0]


def test_narrow_terminals_drop_columns_from_the_right() -> None:
    headers = [
        shown(vote_table(ROWS, ["dis-gmm"], width), width).splitlines()[0].split("  ")
        for width in (120, 75, 45)
    ]
    wide, middle, narrow = ([name.strip() for name in names if name.strip()] for names in headers)
    assert wide == ["question", "answer", "majority", "share", "probability", "kept / cast", "rejected"]
    assert middle == wide[:-1]
    assert narrow == wide[:3]


def test_of_a_question_in_a_group_the_name_of_the_group_is_shortened() -> None:
    model = "AM-Thinking-v1-with-a-long-name"
    rows = [ROWS[1] | {"question_id": each, "model": model} for each in ("7", "12", "x" * 40 + "z")]
    wide, narrow = (
        shown(vote_table(rows, ["dis-gmm"], width, by="model"), width).splitlines() for width in (200, 40)
    )
    assert wide[1].startswith("  AM-Thinking-v1-with-a-long-na…/7 ")
    starts = [line.split()[0] for line in narrow[1:]]
    assert starts[:2] == ["AM-Thinkin…/7", "AM-Thinki…/12"]
    assert starts[2] == "…" + 11 * "x" + "z"


def test_several_methods_keep_the_majority_at_any_width() -> None:
    methods = [f"method-{i}" for i in range(8)]
    rows = [row("q", "a long answer", "other", method=method) for method in methods]
    for width in WIDTHS:
        header = shown(vote_table(rows, methods, width), width).splitlines()[0]
        assert "majo" in header
        assert "meth" in header


def test_a_question_without_an_answer_says_so() -> None:
    assert "✗ no answer" in shown(vote_table([ROWS[2]], ["sc"], 100), 100)


def test_more_questions_than_shown_are_counted() -> None:
    assert "…1,230 more questions; -o FILE or --json gives all" in shown(
        vote_table(ROWS, ["sc"], 80, n_questions=1234), 80
    )


def test_the_rejected_answer_is_struck_through_under_the_word() -> None:
    text = shown(vote_table(ROWS, ["dis-gmm"], 120), 120, colour=True)
    assert "rejected" in text
    assert re.search(r"\x1b\[9;[0-9;]*m2\x1b", text)


def test_the_summary_gives_accuracy_with_its_interval_and_counts() -> None:
    scores = [Score("dis-gmm", 28, 29, (0.828, 0.994)), Score("majority", 17, 29, (0.407, 0.745))]
    assert shown(summary(scores, 29, 1856, 118, 7, 80), 80).splitlines() == [
        "  dis-gmm    96.6%  28 of 29 right · 95% interval 82.8 to 99.4",
        "  majority   58.6%  17 of 29 right · 95% interval 40.7 to 74.5",
        "  29 questions · 1,856 trajectories · 118 without an answer",
        "  7 answers without a confidence",
    ]
    narrow = shown(summary(scores, 29, 1856, 118, 0, 40), 40).splitlines()
    assert narrow[0] == "  dis-gmm    96.6%  28 of 29 right"
    assert max(map(len, narrow)) <= 40
    assert shown(summary([], 1, 1, 0, 0, 80), 80) == "  1 question · 1 trajectory\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[bold]x[/]", "[bold]x[/]"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\nb\tc\x00\x7f", "a␊b␉c␀␡"),
        ("\x9b31m", "\\u009b31m"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\\frac{1}{2} ≤ 数 é 🎲", "\\frac{1}{2} ≤ 数 é 🎲"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_what_does_not_print_is_made_visible(text: str, expected: str) -> None:
    assert visible(text) == expected
    assert shown(Text(visible(text)), 80) == expected + "\n"


def test_long_text_is_shortened_with_an_ellipsis() -> None:
    assert shortened("x" * 80) == "x" * 80
    assert shortened("x" * 10_000) == "x" * 79 + "…"
    assert len(shortened("\x1b\u202e" * 100, 40)) == 40


@pytest.mark.parametrize("hostile", ["[bold]x[/]", "\x1b[2J\x1b[31m", "[link=http://x]y[/link]", ":smile:"])
def test_a_model_cant_draw(hostile: str) -> None:
    text = shown(vote_table([row(hostile, hostile, hostile, rejected=hostile)], ["dis-gmm"], 200), 200)
    assert text.count(visible(hostile)) == 4
    assert "\x1b" not in text


def test_columns_of_wide_characters_stay_aligned() -> None:
    columns = [Column("a", [Text("数学"), Text("x")]), Column("b", [Text("1"), Text("2")])]
    lines = [line.plain for line in lines_of(columns, 40)]
    assert lines == ["  a      b", "  数学   1", "  x      2"]


def test_numbers_with_their_nouns() -> None:
    assert [count(n, "trajectory") for n in (0, 1, 2000)] == [
        "0 trajectories",
        "1 trajectory",
        "2,000 trajectories",
    ]


def test_colours_follow_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert palette() == LIGHT
    monkeypatch.setenv("COLORFGBG", "15;0")
    assert palette() == DARK
    monkeypatch.delenv("COLORFGBG")
    assert palette() == DARK
