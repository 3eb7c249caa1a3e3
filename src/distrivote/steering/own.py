"""A controller made from a function: it is called at the end of every step.

    (text, confidences) -> text to inject, End() to end the trajectory there, or None to continue

`text` is all that was sampled and injected so far, `confidences` has one value per finished step, the mean
over its tokens, NaN if none was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import getattr_static
from typing import Any, TypeAlias

from distrivote.names import STEERING, Own, called, check_call, is_ours, misgiven
from distrivote.splitting import DelimiterSplitter, Splitter
from distrivote.steering.controller import Controller, ControllerStream, End, Injection, InsertionLog
from distrivote.trajectory import Interventions

Decide: TypeAlias = Callable[[str, Sequence[float]], str | End | None]


@dataclass(frozen=True, slots=True)
class OwnController(Controller):
    """A user's function as a controller; steps are paragraphs."""

    label: str
    """The name of the function."""

    decide: Decide = field(compare=False)
    split: Splitter = field(default_factory=DelimiterSplitter)

    @property
    def name(self) -> str:
        return self.label

    def start(self) -> ControllerStream:
        return _Stream(self)


def own_controller(own: Own) -> Controller:
    """Return the controller of a user's object: a controller, a controller class, or a function."""
    value: Any = called(STEERING, own.name, own.value) if isinstance(own.value, type) else own.value
    if hasattr(value, "start"):
        return whole_controller(own.name, value)
    check_call(STEERING, own, 2)
    return OwnController(own.name, value)


def whole_controller(label: str, rule: Any) -> Controller:
    """Return a user's controller as one whose errors are OwnCodeErrors.

    One that derives from a controller of the library stays as it is: engines go by its type.
    """
    if any(is_ours(each) for each in type(rule).__mro__ if each is not Controller):
        return rule  # type: ignore[no-any-return]
    return WholeController(label, rule)


def rule_of(controller: Controller) -> Any:
    """Return the user's object in a guarded controller, and any other controller itself."""
    return controller.rule if isinstance(controller, WholeController) else controller


@dataclass(frozen=True, slots=True)
class WholeController:
    """A user's object as a controller; what it lacks is as `Controller` has it."""

    label: str
    rule: Any

    def __getattr__(self, name: str) -> Any:
        found = _part(self, self.rule, name, Controller)
        if name in ("after", "answering", "required"):
            return lambda *given: whole_controller(self.label, found(*given))
        return found

    @property
    def name(self) -> str:
        is_named = getattr_static(self.rule, "name", None) is not None
        return str(_part(self, self.rule, "name", Controller)) if is_named else self.label

    def start(self) -> ControllerStream:
        stream = called(STEERING, self.label, self.rule.start)
        if not hasattr(stream, "push"):
            raise misgiven(STEERING, Own(self.label, self.rule), f"started {str(stream)[:60]}")
        return _WholeStream(self.label, stream)


@dataclass(frozen=True, slots=True)
class _WholeStream:
    """A user's stream; what it lacks is as `ControllerStream` has it."""

    label: str
    stream: Any

    def __getattr__(self, name: str) -> Any:
        return _part(self, self.stream, name, ControllerStream)

    def push(self, text: str, confidence: float, entropy: float = math.nan) -> Injection | End | None:
        found = called(STEERING, self.label, self.stream.push, text, confidence, entropy)
        if found is None or isinstance(found, Injection | End):
            return found
        raise misgiven(STEERING, Own(self.label, self.stream), f"returned {str(found)[:60]}")


def _part(whole: Any, own: Any, name: str, protocol: type) -> Any:
    """Return an attribute of a user's object, a method guarded; without one, that of the protocol."""
    if name.startswith("__"):
        raise AttributeError(name)
    if getattr_static(own, name, None) is None and name in vars(protocol):
        return vars(protocol)[name].__get__(whole)
    found = called(STEERING, whole.label, getattr, own, name)
    return partial(called, STEERING, whole.label, found) if callable(found) else found


class _Stream(ControllerStream):
    __slots__ = ("_confidences", "_log", "_n_tokens", "_rule", "_step", "_steps", "_text")

    def __init__(self, rule: OwnController) -> None:
        self._rule, self._steps = rule, rule.split.start()
        self._text = ""
        self._step: list[float] = []
        self._confidences: list[float] = []
        self._log = InsertionLog()
        self._n_tokens = 0

    def push(self, text: str, confidence: float, entropy: float = math.nan) -> Injection | End | None:
        self._text += text
        self._n_tokens += 1
        if not math.isnan(confidence):
            self._step.append(confidence)
        if not self._steps.push(text, entropy):
            return None
        self._confidences.append(sum(self._step) / len(self._step) if self._step else math.nan)
        self._step = []
        found = called(STEERING, self._rule.label, self._rule.decide, self._text, tuple(self._confidences))
        if found is None:
            return None
        if isinstance(found, End):
            return found
        if not isinstance(found, str):
            own = Own(self._rule.label, self._rule.decide)
            raise misgiven(STEERING, own, f"returned {str(found)[:60]}")
        self._log.announce()
        return Injection(found)

    def push_injected(self, text: str, confidence: float = math.nan) -> None:  # noqa: ARG002
        self._log.add(self._n_tokens)
        self._text += text
        self._n_tokens += 1

    def record(self) -> Interventions:
        return Interventions(self._log.insertions())
