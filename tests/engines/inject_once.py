"""A controller that injects a text after the third token, whatever the confidence."""

from __future__ import annotations

import math

from distrivote.steering import Controller, ControllerStream, Injection


class InjectOnce(Controller):
    """Injects a text once."""

    def __init__(self, text: str, take_back: int = 0) -> None:
        self.text, self.take_back = text, take_back

    def start(self) -> ControllerStream:
        return _InjectOnceStream(self.text, self.take_back)


class _InjectOnceStream(ControllerStream):
    def __init__(self, text: str, take_back: int) -> None:
        self.injection = Injection(text, take_back)
        self.n = 0

    def push(self, text: str, confidence: float, entropy: float = math.nan) -> Injection | None:  # noqa: ARG002
        self.n += 1
        return self.injection if self.n == 3 else None
