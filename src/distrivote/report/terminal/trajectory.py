"""One trajectory for people: steps shaded by confidence, reflections marked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text

from distrivote.confidence import step_confidences, token_confidence
from distrivote.report.terminal.columns import INDENT
from distrivote.report.text import shortened, visible_lines
from distrivote.splitting import DelimiterSplitter, step_ends
from distrivote.store.runs.rows import Row
from distrivote.trajectory import Interventions, Trajectory

REFLECTION = "◆"
_REFLECTION_STYLE = "bold #CC79A7"
# Viridis, dark to light: lower confidence is darker. Each has a text colour with contrast.
_RAMP = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")


def facts_of(row: Row) -> Text:
    """Return the facts about a trajectory besides its text, – for unknown ones."""
    confidence = None if np.isnan(row.confidence) else f"{row.confidence:.4g}"
    facts = {
        **({} if row.model is None else {"model": shortened(row.model)}),
        "answer": row.answer and shortened(row.answer),
        "confidence": confidence,
        "tokens": None if row.n_tokens is None else f"{row.n_tokens:,}",
        "finish reason": row.finish_reason and shortened(row.finish_reason),
    }
    return Text(" · ".join(f"{name} {'–' if fact is None else fact}" for name, fact in facts.items()))


def trajectory_text(trajectory: Trajectory) -> Group:
    """Return the text of a trajectory, each step with its confidence before it."""
    ends, confidences = _steps(trajectory)
    known = confidences[~np.isnan(confidences)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    injected = _injected(trajectory.interventions, trajectory.n_tokens)
    parts: list[_Hanging] = []
    start = 0
    for end, confidence in zip(ends.tolist(), confidences.tolist(), strict=True):
        mark = Text(" " * INDENT)
        mark.append(_label(confidence), style=_shade(confidence, low, high))
        mark.append(" ")
        step, begun = Text(), False
        for index in range(start, end):
            if injected[index] and not (index and injected[index - 1]):
                step.append(f"{REFLECTION} ", style=_REFLECTION_STYLE)
            style = _REFLECTION_STYLE if injected[index] else ""
            token = trajectory.tokens[index] if begun else trajectory.tokens[index].lstrip()
            begun = begun or bool(token)
            step.append(visible_lines(token), style=style)
        step.rstrip()
        parts.append(_Hanging(mark, step))
        start = end
    if not parts:
        parts.append(_Hanging(Text(" " * INDENT), Text(visible_lines(trajectory.text))))
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _Hanging:
    """A text whose lines are aligned, the first of them after a mark."""

    mark: Text
    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        before = self.mark
        for line in self.text.wrap(console, max(1, options.max_width - before.cell_len)):
            whole = before + line
            whole.rstrip()
            yield whole
            before = Text(" " * self.mark.cell_len)


def _steps(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    record = trajectory.interventions
    if record is not None and record.step_ends and record.step_ends[-1] == trajectory.n_tokens:
        return np.array(record.step_ends), np.array(record.step_confidences)
    ends = step_ends(trajectory.tokens, DelimiterSplitter())
    return ends, step_confidences(token_confidence(trajectory.top_logprobs).values, ends)


def _injected(record: Interventions | None, n_tokens: int) -> list[bool]:
    marks = [False] * n_tokens
    for insertion in record.insertions if record is not None else ():
        for index in range(insertion.start, min(insertion.start + insertion.n_tokens, n_tokens)):
            marks[index] = True
    return marks


def _label(confidence: float) -> str:
    return f" {confidence:4.1f} " if confidence == confidence else "  --  "


def _shade(confidence: float, low: float, high: float) -> str:
    if confidence != confidence:
        return "dim"
    place = (confidence - low) / (high - low) if high > low else 1.0
    colour = _RAMP[min(int(place * len(_RAMP)), len(_RAMP) - 1)]
    return f"{'black' if place > 0.55 else 'white'} on {colour}"
