from __future__ import annotations

import numpy as np
from rich.console import Console

from distrivote.report.terminal.trajectory import REFLECTION, facts_of, trajectory_text
from distrivote.store.runs.rows import Row
from distrivote.trajectory import Insertion, Interventions, Trajectory


def shown(trajectory: Trajectory) -> str:
    console = Console(width=60, force_terminal=False, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(trajectory_text(trajectory))
    return capture.get()


def trajectory(*tokens: str, confidences: list[float], record: Interventions | None = None) -> Trajectory:
    top = -np.repeat(np.array(confidences)[:, None], 20, axis=1)
    return Trajectory("".join(tokens), tokens, top, np.full(len(tokens), -0.1), "stop", 0, record)


def test_every_step_is_a_line_with_its_confidence() -> None:
    text = shown(trajectory("One.\n\n", "Two", ".", confidences=[7.0, 9.0, 10.0]))
    assert text.splitlines() == ["    7.0  One.", "    9.5  Two."]


def test_a_reflection_is_marked_at_its_place() -> None:
    record = Interventions((Insertion(1, 2),), (1, 4), (7.0, 8.0), True)
    text = shown(trajectory("One.\n\n", "wait", ",", " no", confidences=[7.0] * 4, record=record))
    assert text.splitlines()[1] == f"    8.0  {REFLECTION} wait, no"


def test_what_a_model_says_is_never_markup_or_an_escape() -> None:
    text = shown(trajectory("[bold]x[/]\x1b[31m", confidences=[5.0]))
    assert "[bold]x[/]␛[31m" in text


def test_a_reply_without_tokens_is_shown_as_it_is() -> None:
    assert shown(Trajectory("just text")).strip() == "just text"


def test_a_step_without_a_confidence_says_so() -> None:
    record = Interventions((), (1,), (float("nan"),), True)
    assert "--" in shown(trajectory("One", confidences=[5.0], record=record))


def test_every_line_of_a_step_stands_under_the_first() -> None:
    text = shown(trajectory("One\nand more.\n\n", "word " * 20, confidences=[7.0, 9.0]))
    first, second, *rest = text.splitlines()
    assert (first, second) == ("    7.0  One", "         and more.")
    assert rest[0].startswith("    9.0  word word")
    assert rest[1].startswith("         word")


def test_a_reply_without_tokens_has_an_even_indent_and_no_blanks_at_the_ends_of_lines() -> None:
    text = shown(Trajectory("one\n\ntwo\n  code\n" + "word " * 20))
    assert text.splitlines()[:4] == ["  one", "", "  two", "    code"]
    assert all(line == line.rstrip() for line in text.splitlines())
    assert all(line.startswith("  word") for line in text.splitlines()[4:])


def test_what_is_known_of_a_stored_trajectory_is_a_line() -> None:
    row = Row(
        question_id="q", sample=0, answer="4\x1b", confidence=12.3456, n_tokens=1200, finish_reason="stop"
    )
    assert facts_of(row).plain == "answer 4␛ · confidence 12.35 · tokens 1,200 · finish reason stop"


def test_what_is_not_known_is_a_dash() -> None:
    row = Row(question_id="q", sample=0)
    assert facts_of(row).plain == "answer – · confidence – · tokens – · finish reason –"
