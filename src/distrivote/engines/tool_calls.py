"""Tool calls that a server returns separately from the text of a reply, added to the text.

A trajectory has one text. Calls are at its end, each as `<tool_call>{...}</tool_call>`, which is how many
models write them themselves and how `answers.structured.tools` reads them. They came without
log-probabilities, so that they are one token without any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from distrivote.engines.wire import ToolCall
from distrivote.trajectory import Floats, Trajectory


class ToolCalls:
    """The calls of one reply as they arrive, complete or in parts."""

    __slots__ = ("_arguments", "_names")

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, calls: Sequence[ToolCall]) -> None:
        """Add the calls of a chunk, or of a complete reply, which may omit their numbers."""
        for place, call in enumerate(calls):
            number = place if call.index is None else call.index
            if call.function is None:
                continue
            if call.function.name:
                self._names[number] = self._names.get(number, "") + call.function.name
            given = call.function.arguments
            if given:
                text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
                self._arguments.setdefault(number, []).append(text)

    @property
    def text(self) -> str:
        """All calls as written in a text; arguments that are not an object are unchanged."""
        return "".join(f"<tool_call>{self._written(number)}</tool_call>" for number in sorted(self._names))

    def _written(self, number: int) -> str:
        raw = "".join(self._arguments.get(number, ())) or "{}"
        try:
            arguments: Any = json.loads(raw)
        except ValueError:
            arguments = raw
        return json.dumps({"name": self._names[number], "arguments": arguments}, ensure_ascii=False)

    def at_the_end_of(self, trajectory: Trajectory) -> Trajectory:
        """Return a trajectory with these calls, itself if there are none."""
        if not self._names:
            return trajectory
        text = self.text
        if not trajectory.tokens:
            return replace(trajectory, text=trajectory.text + text)
        return replace(
            trajectory,
            text=trajectory.text + text,
            tokens=(*trajectory.tokens, text),
            top_logprobs=np.vstack(
                (trajectory.top_logprobs, np.full((1, trajectory.top_logprobs.shape[1]), np.nan))
            ),
            logprobs=np.append(trajectory.logprobs, np.nan),
            entropies=_longer(trajectory.entropies),
            self_certainties=_longer(trajectory.self_certainties),
        )


def _longer(values: Floats | None) -> Floats | None:
    return None if values is None else np.append(values, np.nan)
