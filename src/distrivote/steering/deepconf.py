"""DeepConf's online rule (Fu et al., 2025): a trajectory whose confidence drops is ended early.

The first trajectories of a question, the warm-up, run to their end. The lowest mean confidence of each of
them over any group of consecutive tokens gives a threshold; later trajectories end where the mean of a full
group falls below it. Votes and their weights are not decided here.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from distrivote.defaults import N_WARMUP
from distrivote.errors import InputError, UnknownNameError
from distrivote.steering.controller import Controller, ControllerStream, End, Injection, told_ends
from distrivote.trajectory import Floats, Interventions, Trajectory

ONLINE = {"low": 10.0, "high": 90.0}
"""The names of DeepConf's online rule, with the percentage of the warm-up that would have been kept."""

ROUNDING = 1e-9
"""The threshold is the mean of a group, summed in another order: a rounding difference must not end one."""

SENT = 1e-5
"""The relative tolerance between two means of the same confidences if one was sent as text."""


@dataclass(frozen=True, slots=True)
class DeepConfOnline(Controller):
    """End trajectories whose group confidence falls below that of the best ones of a warm-up.

    Without a threshold, as in the warm-up, it ends none.

    >>> DeepConfOnline(eta=50).after([7.0, 9.0, 8.0]).threshold
    8.0
    """

    eta: float = 10.0
    """The percentage of the warm-up that would have been kept: 10 is DeepConf-low, 90 DeepConf-high."""

    window: int = 2048
    """The number of tokens in a group."""

    n_warmup: int = N_WARMUP
    """The number of trajectories that run to their end."""

    threshold: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.eta <= 100:
            raise InputError(f"eta is {self.eta}: give a percentage, such as 10 (low) or 90 (high)")
        if self.window < 1 or self.n_warmup < 1:
            raise InputError(
                f"a window of {self.window} tokens and a warm-up of {self.n_warmup} trajectories: give 1 or"
                " more of each"
            )

    @classmethod
    def low(cls) -> Self:
        """Return the setting that ends most trajectories: all below the best tenth of the warm-up."""
        return cls(eta=ONLINE["low"])

    @classmethod
    def high(cls) -> Self:
        """Return the setting that ends few trajectories: those below nine tenths of the warm-up."""
        return cls(eta=ONLINE["high"])

    @property
    def name(self) -> str:
        return "DeepConf online"

    @property
    def ends_trajectories(self) -> bool:
        return True

    @property
    def measure(self) -> str:
        """The measure of trajectories that gives the threshold."""
        return f"lowest-group:{self.window}"

    def after(
        self,
        confidences: Iterable[float],
        records: Sequence[Interventions | None] = (),  # noqa: ARG002
        cut: float = math.nan,  # noqa: ARG002
    ) -> Self:
        """Return the rule after a warm-up with these lowest group confidences, NaN where unknown."""
        known = [value for value in confidences if not math.isnan(value)]
        if not known:
            return self
        return replace(self, threshold=float(np.percentile(known, 100 - self.eta)))

    def ended_at(self, record: Interventions, confidences: Floats) -> int | None:  # noqa: ARG002
        known = np.flatnonzero(~np.isnan(confidences))
        if self.threshold is None or len(known) < self.window:
            return None
        sums = np.concatenate(([0.0], np.cumsum(confidences[known])))
        means = (sums[self.window :] - sums[: -self.window]) / self.window
        below = np.flatnonzero(means < self.threshold * (1 - ROUNDING))
        return int(known[below[0] + self.window - 1]) + 1 if len(below) else None

    def told(self, trajectories: Sequence[Trajectory]) -> str:
        return told_ends(trajectories)

    @property
    def limit(self) -> float | None:
        """The mean of a group below which a trajectory ends; None: it ends none."""
        return None if self.threshold is None else self.threshold * (1 - ROUNDING)

    def plugin_settings(self) -> DeepConfOnline:
        return self

    def ended(self, confidences: Sequence[float], record: Interventions) -> bool:  # noqa: ARG002
        known = [value for value in confidences if not math.isnan(value)]
        if self.threshold is None or len(known) < self.window:
            return False
        # The engine that ended it may have had more digits.
        return sum(known[-self.window :]) / self.window < self.threshold * (1 + SENT)

    def start(self) -> ControllerStream:
        return _Stream(self.window, self.limit)


def online_rule(name: str | None) -> DeepConfOnline | None:
    """Return DeepConf's online rule by name: low or high, optionally with a window after a colon.

    >>> online_rule("high:64")
    DeepConfOnline(eta=90.0, window=64, n_warmup=16, threshold=None)
    """
    if name is None:
        return None
    kind, colon, window = name.strip().partition(":")
    if kind not in ONLINE:
        raise UnknownNameError("rule that ends trajectories", name, tuple(ONLINE), argument="deepconf")
    if not colon:
        return DeepConfOnline(ONLINE[kind])
    if not (window.isascii() and window.isdecimal() and len(window) <= 9):
        raise InputError(
            f"the rule {name!r} has a window that is not a number of tokens",
            hint=f"write {kind}:2048",
            argument="deepconf",
        )
    return DeepConfOnline(ONLINE[kind], int(window))


class _Stream(ControllerStream):
    __slots__ = ("_group", "_limit", "_total", "_window")

    def __init__(self, window: int, limit: float | None) -> None:
        self._window = window
        self._limit = limit
        self._group: deque[float] = deque()
        self._total = 0.0

    def push(
        self,
        text: str,  # noqa: ARG002
        confidence: float,
        entropy: float = math.nan,  # noqa: ARG002
    ) -> Injection | End | None:
        if self._limit is None or math.isnan(confidence):
            return None
        self._group.append(confidence)
        self._total += confidence
        if len(self._group) < self._window:
            return None
        if len(self._group) > self._window:
            self._total -= self._group.popleft()
        return End() if self._total / self._window < self._limit else None
