"""EDGE: math-verify says whether two answers are the same mathematics, within hard time limits.

math-verify's own limits are alarm signals, which fail outside the main thread, and its `verify` is not
symmetric. So it runs in a worker process, started on first use, with its limits off, and two answers are
equal if it says so either way round. Nothing here relies on the worker to come back:

    one comparison   `limit` seconds of processor time, or three times that on the clock
    one pool         `budget` seconds on the clock, the first start not counted
    memory           2 GB of address space, where the system can limit it

What is given up or left out counts as different, and a note says so. What the plain rules of
answers.equivalence can tell never comes here, and before two answers are verified their values are
compared, found once per answer with an arbitrary number for each variable: of the 780 pairs of 40 answers
hardly any is left for the slow way.

On POSIX the worker loads math-verify and then forks a child that does the work: when a child is lost, the
next one is there in milliseconds. A worker ends when its standard input does, so it outlives its owner by
one comparison at most. It is a plain subprocess because `multiprocessing` would run the caller's main
module again and does not work in daemonic processes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
import zlib
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, Self

from distrivote.answers.equivalence import Form, compare, form_of
from distrivote.errors import DistrivoteError, MissingPackageError


def math_equal() -> MathEqual:
    """Return an `equal(a, b)` for one pool of answers, on the verifier that this process shares.

    >>> from distrivote.answers.equivalence import classify, normal_form
    >>> answers = [r"(x+1)^2", r"x^2 + 2x + 1", r"\\frac{\\sqrt{2}}{2}", r"1/\\sqrt{2}"]
    >>> classify(answers, key=normal_form, equal=math_equal()).ids
    (0, 0, 1, 1)
    """
    return shared_verifier().equal()


def shared_verifier() -> MathVerifier:
    """Return the verifier that everything in this process shares; nothing is started yet."""
    pid = os.getpid()
    if pid not in _SHARED:
        _SHARED.setdefault(pid, MathVerifier())
    return _SHARED[pid]


class MathVerifier:
    """The worker processes and what they have found out; threads may share it.

    A further worker is started only where the others have been busy for a quarter of a second. `close`
    ends them, as does the end of the program; the next use starts new ones.
    """

    def __init__(self, *, limit: float = 1.0, budget: float = 5.0, max_workers: int = 2) -> None:
        self.limit = limit
        self.budget = budget
        self.max_workers = max_workers
        self._pid = os.getpid()
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._changed = threading.Condition()
        self._warming = threading.Lock()
        self._is_warm = False
        self._meanings: dict[str, _Meaning] = {}
        self._verdicts: dict[tuple[str, str], bool] = {}
        weakref.finalize(self, _end_all, self._workers, self._pid)

    def equal(self) -> MathEqual:
        """Return an `equal(a, b)` with a budget and notes of its own, for one pool of answers."""
        if find_spec("math_verify") is None:
            raise MissingPackageError("math-verify", "math", "comparing answers as mathematics")
        return MathEqual(self)

    def start(self) -> None:
        """Start a worker if there is none, without waiting until it has loaded."""
        with self._changed:
            if not self._workers:
                self._idle.append(self._new_worker())

    def warm(self) -> None:
        """Start a worker if there is none and wait until it has loaded, a second or two."""
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
        """Return a worker's reply, None if there is none within seconds of patience, or thereabouts."""
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

    def _take(self, deadline: float) -> _Worker | None:
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

    def _new_worker(self) -> _Worker:
        worker = _Worker()
        self._workers.add(worker)
        return worker


class MathEqual:
    """Says whether two answers are equal, for one pool of answers; not to be shared by threads."""

    def __init__(self, verifier: MathVerifier) -> None:
        self._verifier = verifier
        self._left = verifier.budget
        self._lost: set[tuple[str, ...]] = set()
        self._left_out: set[tuple[str, ...]] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be compared, a sentence each."""
        notes = []
        different = "those answers count as different"
        if self._lost:
            cases, limit = _cases(self._lost), self._verifier.limit
            notes.append(f"comparing answers was given up in {cases} after {limit:g} s: {different}")
        if self._left_out:
            cases, budget = _cases(self._left_out), self._verifier.budget
            notes.append(
                f"comparing answers was stopped after {budget:g} s with {cases} left out: {different}"
            )
        return tuple(notes)

    def __call__(self, a: str, b: str) -> bool:
        """Say whether two answers are equal; their order does not matter."""
        one, other = form_of(a), form_of(b)
        equal = compare(one, other)
        if equal is None:
            equal = self._meaning(one).compare(self._meaning(other))
        if equal is None:
            first, second = sorted((one.latex, other.latex))
            equal = self._verify(first, second)
        return equal

    def _meaning(self, form: Form) -> _Meaning:
        if form.numbers:
            return _Meaning(points=tuple((_asinh(number), 0.0) for number in form.numbers))
        known = self._verifier._meanings
        if form.latex not in known:
            reply = self._ask({"do": "read", "latex": form.latex}, form.latex)
            if reply is None:
                return _Meaning(is_known=False)
            _remember(known, form.latex, _Meaning.of(reply))
        return known[form.latex]

    def _verify(self, a: str, b: str) -> bool:
        known = self._verifier._verdicts
        if (a, b) not in known:
            reply = self._ask({"do": "verify", "pair": (a, b)}, a, b)
            if reply is None:
                return False
            _remember(known, (a, b), reply.get("equal", False))
        return known[a, b]

    def _ask(self, job: dict[str, Any], *subject: str) -> dict[str, Any] | None:
        """Return a reply that can be remembered, None if there is none."""
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
        return reply if reply and reply.get("lost") in (None, _OUT_OF_TIME) else None


class _Meaning(NamedTuple):
    """What is known of one answer alone."""

    text: str | None = None
    """Set if it is no mathematics: equal to the same text only."""

    digits: str | None = None
    """25 digits of a constant of common size, or of a rational function at a point: same means equal."""

    points: tuple[tuple[float, float], ...] | None = None
    """The inverse hyperbolic sines of the real and imaginary parts of all numbers in it, for an equation
    of those on its right side. It is one scale on which close means close, near zero and at 10^1000."""

    is_equation: bool = False
    """Its right side is not all of it, unless it is in a list of values: x = 1, y = 2."""

    is_known: bool = True
    """Otherwise it equals nothing."""

    @classmethod
    def of(cls, reply: dict[str, Any]) -> Self:
        points = reply.get("points")
        return cls(
            reply.get("text"),
            reply.get("digits"),
            None if points is None else tuple((re, im) for re, im in points),
            reply.get("is_equation", False),
            "lost" not in reply,
        )

    def compare(self, other: _Meaning) -> bool | None:
        """Say whether the two are equal, None if it takes math-verify to know."""
        if not (self.is_known and other.is_known):
            return False
        if self.text is not None or other.text is not None:
            return self.text == other.text
        if self.digits is not None and self.digits == other.digits:
            return True
        if self.points is None or other.points is None or (self.is_equation and other.is_equation):
            return None
        unmatched = list(other.points)
        for re, im in self.points:
            for i, (x, y) in enumerate(unmatched):
                if abs(re - x) <= _NEAR and abs(im - y) <= _NEAR:
                    del unmatched[i]
                    break
            else:
                return False
        return False if unmatched else None


def _cases(subjects: set[tuple[str, ...]]) -> str:
    return "1 case" if len(subjects) == 1 else f"{len(subjects)} cases"


def _asinh(value: Fraction) -> float:
    if abs(value) < _BIG:
        return math.asinh(value)
    size = math.log(2 * abs(value.numerator)) - math.log(value.denominator)
    return size if value > 0 else -size


def _remember(cache: dict[Any, Any], key: object, value: object) -> None:
    if len(cache) >= _MOST_REMEMBERED:
        cache.clear()
    cache[key] = value


class _Worker:
    """One worker process, asked by one thread at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", _BOOT, json.dumps(sys.path)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"},
                start_new_session=True,
            )
        except OSError as error:
            raise DistrivoteError(
                f"a process for math-verify could not be started with {sys.executable!r} ({error}):"
                " compare answers without it"
            ) from error
        self._is_loaded = False
        self._n_asked = 0

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def load(self, patience: float) -> bool:
        """Wait until math-verify is loaded and say whether it is."""
        if not self._is_loaded:
            hello = self._reply(patience)
            if hello and "failed" in hello:
                raise DistrivoteError(
                    f"math-verify is installed but does not load ({hello['failed']}): install it again"
                    " with pip install --force-reinstall 'distrivote[math]'"
                )
            self._is_loaded = hello is not None
        return self._is_loaded

    def ask(self, job: dict[str, Any], patience: float) -> dict[str, Any] | None:
        """Return the reply to a job: one with "lost" if it took too long, None if the worker ended."""
        assert self._process.stdin is not None
        self._n_asked += 1
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps({**job, "id": self._n_asked}).encode() + b"\n")
            self._process.stdin.flush()
        return self._reply(patience)

    def end(self) -> None:
        """End the process and wait for it."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._send(signal.SIGKILL)
            self._process.wait()

    def forget(self) -> None:
        """Let go of a process that is another one's to end: what a fork has."""
        for stream in (self._process.stdin, self._process.stdout):
            stream.close()  # type: ignore[union-attr]
        self._process.returncode = 0

    def _reply(self, patience: float) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        answered = threading.Event()
        threading.Thread(target=self._hurry, args=(answered, patience), daemon=True).start()
        try:
            while line := self._process.stdout.readline():
                reply: dict[str, Any] = json.loads(line)
                # A child that was lost between two jobs leaves a reply too many: numbers tell.
                if reply.get("id", self._n_asked) == self._n_asked:
                    return reply
        except (OSError, ValueError):
            pass  # closed by another thread
        finally:
            answered.set()
        self.end()
        return None

    def _hurry(self, answered: threading.Event, patience: float) -> None:
        if not answered.wait(max(0.0, patience)):
            self._send(signal.SIGTERM)
            if not answered.wait(_GRACE):
                self._send(signal.SIGKILL)

    def _send(self, signal_number: signal.Signals) -> None:
        """Signal the process and its child; SIGTERM ends the child alone."""
        if self.is_alive():
            with contextlib.suppress(OSError):
                if sys.platform == "win32":
                    self._process.kill()
                else:
                    os.killpg(self._process.pid, signal_number)


def _end_all(workers: set[_Worker], pid: int) -> None:
    while workers:
        worker = workers.pop()
        if os.getpid() == pid:
            worker.end()
        else:
            worker.forget()


_SHARED: dict[int, MathVerifier] = {}
"""By process id: what a fork inherits is its parent's."""

_LOADING = 60.0
_CROWDED = 0.25
_GRACE = 1.0
_MOST_REMEMBERED = 20_000
_OUT_OF_TIME = "processor time"

_BIG = 10**9
_NEAR = 2e-6
"""Twice the place to which math-verify rounds decimals."""

# The command's name keeps NumPy out: the package loads its names on use there.
_BOOT = """
import json, sys
sys.path[:], sys.argv[0] = json.loads(sys.argv[1]), "/distrivote"
from distrivote.answers.mathverify import _serve
_serve()
"""


# From here on the worker's side.

_JOBS = 5_000
"""After so many a child makes room for the next: the parser's tables grow with every new formula."""

_FINISHED, _TIRED = 0, 3
_ADDRESS_SPACE = 2 << 30
_WARM_UP = (
    r"\frac{\sqrt{3}}{2}+x^{2}", "(1,2]", r"\{1,\pi\}", "x=5", "x>2", r"\log_2 3", r"\binom{n}{k}", "5!",
    r"\begin{pmatrix}1\\2\end{pmatrix}", "|x|", r"\sin x", r"\sum_{i=1}^{3} i", r"2\cdot 3^{n-1}",
)  # fmt: skip


def _serve() -> None:
    """Load math-verify, say so, and let children do the jobs that come in on standard input."""
    replies = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def reply(**content: Any) -> None:
        os.write(replies, json.dumps(content).encode() + b"\n")

    try:
        algebra = _Algebra()
    except Exception as error:
        reply(failed=f"{type(error).__name__}: {error}")
        return
    with contextlib.suppress(ImportError, OSError, ValueError):
        resource = import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    reply(ready=True)
    if sys.platform == "win32":
        while _work(algebra, reply) != _FINISHED:
            pass
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        child = os.fork()
        if not child:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                os._exit(_work(algebra, reply))
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == _FINISHED:
            os._exit(0)
        if code != _TIRED:
            reply(lost=_OUT_OF_TIME if code == -signal.SIGPROF else f"exit code {code}")


def _work(algebra: _Algebra, reply: Any) -> int:
    for _ in range(_JOBS):
        line = sys.stdin.buffer.readline()
        if not line:
            return _FINISHED
        job = json.loads(line)
        _processor_timer(job["limit"])
        try:
            content = algebra.do(job)
        except Exception:
            content = {"equal": False}
        _processor_timer(0)
        reply(id=job["id"], **content)
    return _TIRED


def _processor_timer(seconds: float) -> None:
    """End this process after so much processor time, also in the middle of a multiplication; 0 for never."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


class _Algebra:
    """math-verify, with what it has parsed."""

    def __init__(self) -> None:
        import_module("logging").disable()
        self._math_verify = import_module("math_verify")
        self._sympy = import_module("sympy")
        self._targets = [self._math_verify.LatexExtractionConfig()]
        self._parsed: dict[str, list[Any]] = {}
        for latex in _WARM_UP:
            self._read(latex)

    def do(self, job: dict[str, Any]) -> dict[str, Any]:
        if job["do"] == "read":
            return self._read(job["latex"])
        if job["do"] == "verify":
            return {"equal": self._verify(*(self._parse(latex) for latex in job["pair"]))}
        return {}

    def _parse(self, latex: str) -> list[Any]:
        if latex not in self._parsed:
            self._parsed[latex] = self._math_verify.parse(f"${latex}$", self._targets, parsing_timeout=None)
        return self._parsed[latex]

    def _verify(self, a: list[Any], b: list[Any]) -> bool:
        unordered, ordered = self._sympy.FiniteSet, (self._sympy.Tuple, self._sympy.Interval)
        ways = [(a, b), (b, a)]
        # A pair equals a list in its order; sorting both would make (1,2), "1,2" and (2,1) one answer.
        if isinstance(a[0], unordered) and isinstance(b[0], ordered):
            ways = [(b, a)]
        elif isinstance(b[0], unordered) and isinstance(a[0], ordered):
            ways = [(a, b)]
        return any(self._math_verify.verify(*way, timeout_seconds=None) for way in ways)

    def _read(self, latex: str) -> dict[str, Any]:
        parsed = self._parse(latex)
        expression = parsed[0] if parsed else latex
        if isinstance(expression, str):
            return {"text": expression}
        equations = expression.atoms(self._sympy.Eq)
        is_alone = isinstance(expression, self._sympy.logic.boolalg.Boolean)
        is_equation = any(is_alone or not isinstance(e.lhs, self._sympy.Symbol) for e in equations)
        try:
            values = [self._value(part) for part in self._parts(expression)]
        except Exception:
            return {"is_equation": is_equation}
        digits = None
        if len(values) == 1 and all(abs(x) < 1e6 for x in values[0]) and self._is_exact(expression):
            digits = " ".join(str(x.evalf(25)) for x in values[0])
        points = [[_clipped(float(self._sympy.asinh(x))) for x in value] for value in values]
        return {"is_equation": is_equation, "digits": digits, "points": points}

    def _parts(self, expression: Any) -> list[Any]:
        """Return the numbers that a set, tuple, matrix, equation or inequality is made of."""
        sympy = self._sympy
        if isinstance(expression, sympy.Eq):
            return self._parts(expression.rhs)
        if isinstance(expression, sympy.logic.boolalg.Boolean):
            expression = expression.as_set()
        if isinstance(expression, sympy.Interval):
            return [expression.start, expression.end]
        if isinstance(expression, sympy.FiniteSet | sympy.Tuple | sympy.Union):
            return [part for arg in expression.args for part in self._parts(arg)]
        return list(expression.flat()) if isinstance(expression, sympy.MatrixBase) else [expression]

    def _value(self, part: Any) -> Any:
        """Return the real and imaginary part with each variable a number of its own."""
        sympy = self._sympy
        letters = (isinstance(f, sympy.Symbol) or f == sympy.E for f in sympy.Mul.make_args(part))
        if all(letters):
            raise ValueError("a product of letters may be a word to math-verify: east is e*a*s*t")
        numbers = {s: 1 + sympy.Rational(zlib.crc32(s.name.encode()), 2**32) for s in part.free_symbols}
        value = part.evalf(30, subs=numbers).as_real_imag()
        if not all(x.is_Number and x is not sympy.nan for x in value):
            raise ValueError("no number")
        return value

    def _is_exact(self, expression: Any) -> bool:
        """Say whether agreeing at one point means agreeing everywhere."""
        if not isinstance(expression, self._sympy.Expr):
            return False
        variables = expression.free_symbols
        return not variables or expression.is_rational_function(*variables)


def _clipped(value: float) -> float:
    return max(-1e300, min(1e300, value))
