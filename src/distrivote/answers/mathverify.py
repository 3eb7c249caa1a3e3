"""EDGE: math-verify says whether two answers are the same mathematics, within hard time limits.

math-verify's own limits are alarm signals, which fail outside the main thread, and its `verify` is not
symmetric. So it runs in a worker process, started on first use, with its limits off. Two answers are equal if
it says so in both orders and for every way to pass them to its parser; if these disagree the verdict is
doubtful: it counts as different, and the doubtful verdicts are counted. Nothing here relies on a reply of the
worker:

    one comparison   `limit` seconds of processor time, or three times that in wall-clock time
    one pool         `budget` seconds of wall-clock time, without the first start
    memory           2 GB of address space, where the system can limit it

Comparisons that timed out or were left out are doubtful too, and a note says so. Pairs that the plain rules
of answers.forms can decide are not compared here. Before two answers are verified their values are compared,
which are computed once per answer with an arbitrary number for each variable: of the 780 pairs of 40 answers
hardly any needs the slow verification.
"""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from fractions import Fraction
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from typing import Any, NamedTuple, Self

from distrivote.answers.forms import Form, compare, form_of
from distrivote.answers.mathprocess import MathProcess
from distrivote.answers.mathworker import OUT_OF_TIME
from distrivote.answers.remarks import Remarks
from distrivote.errors import MissingPackageError


def math_equal(a: str, b: str) -> bool:
    """Say whether two answers are equal as mathematics, by the shared verifier of this process.

    >>> math_equal(r"(x+1)^2", r"x^2 + 2x + 1"), math_equal(r"\\frac{\\sqrt{2}}{2}", r"\\sqrt{2}")
    (True, False)
    """
    return shared_verifier().equal()(a, b)


def shared_verifier() -> MathVerifier:
    """Return the shared verifier of this process; this starts no worker."""
    pid = os.getpid()
    if pid not in _SHARED:
        _SHARED.setdefault(pid, MathVerifier())
    return _SHARED[pid]


class MathVerifier:
    """The worker processes and their cached results; it is thread-safe.

    Another worker is started only if the others have been busy for a quarter of a second. `close`
    ends them, as does the end of the program; the next use starts new ones.
    """

    def __init__(self, *, limit: float = 1.0, budget: float = 5.0, max_workers: int = 2) -> None:
        self.limit = limit
        self.budget = budget
        self.max_workers = max_workers
        self._pid = os.getpid()
        self._workers: set[MathProcess] = set()
        self._idle: list[MathProcess] = []
        self._changed = threading.Condition()
        self._warming = threading.Lock()
        self._is_warm = False
        self._meanings: dict[str, _Meaning] = {}
        self._verdicts: dict[tuple[str, str], bool | None] = {}
        weakref.finalize(self, _end_all, self._workers, self._pid)

    def equal(self, budget: float | None = None) -> MathEqual:
        """Return an `equal(a, b)` for one pool of answers, with its own time budget and count of doubts."""
        if not self.is_installed:
            raise MissingPackageError("math-verify", "math", "comparing answers as mathematics")
        return MathEqual(self, self.budget if budget is None else budget)

    @cached_property
    def is_installed(self) -> bool:
        """Whether math-verify is installed; the check reads folders, which takes 0.3 ms."""
        return find_spec("math_verify") is not None

    @cached_property
    def version(self) -> str | None:
        """The version of math-verify; None if it is not installed."""
        try:
            return metadata.version("math-verify") if self.is_installed else None
        except metadata.PackageNotFoundError:
            return "unknown"

    def start(self) -> None:
        """Start a worker if there is none, without waiting until it has loaded."""
        with self._changed:
            if not self._workers:
                self._idle.append(self._new_worker())

    def warm(self) -> None:
        """Start a worker if there is none and wait until it has loaded, which takes a second or two."""
        with self._warming:
            if not self._is_warm:
                self._ask(_LOADING, {"do": "nothing"})
                self._is_warm = True

    def close(self) -> None:
        """End the workers."""
        with self._changed:
            self._is_warm = False
            self._idle.clear()
            _end_all(self._workers, self._pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, patience: float, job: dict[str, Any]) -> dict[str, Any] | None:
        """Return a worker's reply, None if there is none within about this number of seconds."""
        deadline = time.monotonic() + patience
        worker = self._take(deadline)
        if worker is None:
            return None
        try:
            if not worker.load(deadline - time.monotonic()):
                return None
            return worker.ask({**job, "limit": self.limit}, 3 * self.limit)
        except BaseException:
            worker.end()
            raise
        finally:
            with self._changed:
                if worker.is_alive():
                    self._idle.append(worker)
                else:
                    self._workers.discard(worker)
                self._changed.notify()

    def _take(self, deadline: float) -> MathProcess | None:
        if os.getpid() != self._pid:
            raise RuntimeError("a MathVerifier belongs to the process that made it: make one in each")
        crowded = time.monotonic() + _CROWDED
        with self._changed:
            while True:
                while self._idle:
                    worker = self._idle.pop()
                    if worker.is_alive():
                        return worker
                    worker.end()
                    self._workers.discard(worker)
                now, n_workers = time.monotonic(), len(self._workers)
                if not n_workers or (now >= crowded and n_workers < self.max_workers):
                    return self._new_worker()
                if now >= deadline:
                    return None
                self._changed.wait(min(deadline, crowded if now < crowded else deadline) - now)

    def _new_worker(self) -> MathProcess:
        worker = MathProcess()
        self._workers.add(worker)
        return worker


class NeedsWorkerError(Exception):
    """Two answers can't be compared without asking a worker process, which may take seconds."""


class MathEqual:
    """Says whether two answers are equal, for one pool of answers; not thread-safe."""

    def __init__(self, verifier: MathVerifier, budget: float) -> None:
        self.may_ask = True
        """Whether a worker may be asked; if not, NeedsWorkerError is raised where one is needed."""

        self._verifier = verifier
        self._left = budget
        self._lost: set[tuple[str, ...]] = set()
        self._left_out: set[tuple[str, ...]] = set()
        self._disputed: set[tuple[str, str]] = set()
        self._needed: set[tuple[str, ...]] = set()

    def remarks(self) -> Remarks:
        """Return the counts of doubtful, timed-out and left-out comparisons so far."""
        return Remarks(len(self._disputed), n_lost=len(self._lost), n_left_out=len(self._left_out))

    @property
    def n_needed(self) -> int:
        """How many parses and comparisons of math-verify the verdicts are based on, cached or not."""
        return len(self._needed)

    def __call__(self, a: str, b: str) -> bool:
        """Say whether two answers are equal without a doubt; their order does not matter."""
        return bool(self.verdict(a, b))

    def verdict(self, a: str, b: str) -> bool | None:
        """Say whether two answers are equal, None if it is doubtful; their order does not matter."""
        one, other = form_of(a), form_of(b)
        equal = compare(one, other)
        if equal is not None:
            return equal
        meanings = {form.latex: self._meaning(form) for form in (one, other)}
        unknown = [latex for latex, meaning in meanings.items() if not meaning.is_known]
        if unknown:
            self._lost.update((latex,) for latex in unknown if (latex,) not in self._left_out)
            return None
        equal = meanings[one.latex].compare(meanings[other.latex])
        if equal is not None:
            return equal
        first, second = sorted((one.latex, other.latex))
        return self._verify(first, second)

    def _meaning(self, form: Form) -> _Meaning:
        if form.numbers:
            return _Meaning(points=tuple((_asinh(number), 0.0) for number in form.numbers))
        known = self._verifier._meanings
        self._needed.add((form.latex,))
        if form.latex not in known:
            reply = self._ask({"do": "read", "latex": form.latex}, form.latex)
            if reply is None:
                return _Meaning(is_known=False)
            _remember(known, form.latex, _Meaning.of(reply))
        return known[form.latex]

    def _verify(self, a: str, b: str) -> bool | None:
        known = self._verifier._verdicts
        self._needed.add((a, b))
        if (a, b) not in known:
            reply = self._ask({"do": "verify", "pair": (a, b)}, a, b)
            if reply is None:
                return None
            _remember(known, (a, b), reply.get("equal"))
        if known[a, b] is None:
            self._disputed.add((a, b))
        return known[a, b]

    def _ask(self, job: dict[str, Any], *subject: str) -> dict[str, Any] | None:
        """Return a reply that can be cached, None if there is none."""
        if not self.may_ask:
            raise NeedsWorkerError
        self._verifier.warm()
        reply = None
        if self._left > 0:
            start = time.monotonic()
            reply = self._verifier._ask(self._left, job)
            self._left -= time.monotonic() - start
        if reply is None and self._left <= 0:
            self._left_out.add(subject)
        elif reply is None or "lost" in reply:
            self._lost.add(subject)
        return reply if reply and reply.get("lost") in (None, OUT_OF_TIME) else None


class _Meaning(NamedTuple):
    """What is known about a single answer."""

    text: str | None = None
    """Set if it is not mathematics: equal to the same text only."""

    digits: str | None = None
    """25 digits of a constant of ordinary size, or of a rational function at a point: the same digits mean
    equal."""

    points: tuple[tuple[float, float], ...] | None = None
    """The inverse hyperbolic sines of the real and imaginary parts of all numbers in it; for an equation,
    of those on its right side. On this scale a small difference means close, near zero and at 10^1000."""

    is_equation: bool = False
    """The right side alone does not represent it, unless it is in a list of values: x = 1, y = 2."""

    name: str | None = None
    """The left side of an equation that gives a value: R for R = 5, f(3) for f(3) = 1."""

    is_known: bool = True
    """If not, every verdict about it is doubtful."""

    is_doubtful: bool = False
    """Its meaning depends on how it is passed to the parser: every way has to be verified."""

    @classmethod
    def of(cls, reply: dict[str, Any]) -> Self:
        points = reply.get("points")
        return cls(
            reply.get("text"),
            reply.get("digits"),
            None if points is None else tuple((re, im) for re, im in points),
            reply.get("is_equation", False),
            reply.get("name"),
            "lost" not in reply,
            reply.get("is_doubtful", False),
        )

    def compare(self, other: _Meaning) -> bool | None:
        """Say whether the two are equal, None if that needs math-verify."""
        if self.is_doubtful or other.is_doubtful:
            return None
        if self.text is not None or other.text is not None:
            return self.text == other.text
        if self.digits is not None and self.digits == other.digits:
            return True
        if self.points is None or other.points is None:
            return None
        if self.is_equation and other.is_equation and (self.name is None or self.name != other.name):
            return None  # x = y + 1 and y = x - 1
        unmatched = list(other.points)
        for re, im in self.points:
            for i, (x, y) in enumerate(unmatched):
                if abs(re - x) <= _NEAR and abs(im - y) <= _NEAR:
                    del unmatched[i]
                    break
            else:
                return False
        return False if unmatched else None


def _asinh(value: Fraction) -> float:
    if abs(value) < _BIG:
        return math.asinh(value)
    size = math.log(2 * abs(value.numerator)) - math.log(value.denominator)
    return size if value > 0 else -size


def _remember(cache: dict[Any, Any], key: object, value: object) -> None:
    if len(cache) >= _MOST_REMEMBERED:
        cache.clear()
    cache[key] = value


def _end_all(workers: set[MathProcess], pid: int) -> None:
    while workers:
        worker = workers.pop()
        if os.getpid() == pid:
            worker.end()
        else:
            worker.forget()


_SHARED: dict[int, MathVerifier] = {}
"""By process id: a verifier that a fork inherits belongs to its parent."""

_LOADING = 60.0
_CROWDED = 0.25
_MOST_REMEMBERED = 100_000

_BIG = 10**9
_NEAR = 2e-6
"""Twice the place to which math-verify rounds decimals."""
