"""EDGE: the worker process itself: math-verify parses and compares the jobs from standard input.

Jobs and replies are lines of JSON. On POSIX this process loads math-verify and then forks a child that does
the work: when a child is ended by its own timer or by a signal, the reply says so, and the next child starts
within milliseconds. The process exits when its standard input is closed, so it outlives its owner by one job
at most. It is run as a script and imports nothing else of distrivote.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import zlib
from importlib import import_module
from typing import Any

OUT_OF_TIME = "processor time"

_JOBS = 5_000
"""After this number of jobs a child is replaced: the parser's tables grow with every new formula."""

_FINISHED, _TIRED = 0, 3
_ADDRESS_SPACE = 2 << 30
_WARM_UP = (
    r"\frac{\sqrt{3}}{2}+x^{2}", "(1,2]", r"\{1,\pi\}", "x=5", "x>2", r"\log_2 3", r"\binom{n}{k}", "5!",
    r"\begin{pmatrix}1\\2\end{pmatrix}", "|x|", r"\sin x", r"\sum_{i=1}^{3} i", r"2\cdot 3^{n-1}",
)  # fmt: skip


def _serve() -> None:
    """Load math-verify, report that, and let children do the jobs from standard input."""
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
            reply(lost=OUT_OF_TIME if code == -signal.SIGPROF else f"exit code {code}")


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
            content = {"equal": None}
        _processor_timer(0)
        reply(id=job["id"], **content)
    return _TIRED


def _processor_timer(seconds: float) -> None:
    """End this process after this much processor time, even within a multiplication; 0 for no limit."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


class _Algebra:
    """math-verify, with a cache of parsed formulas."""

    def __init__(self) -> None:
        import_module("logging").disable()
        self._math_verify = import_module("math_verify")
        self._sympy = import_module("sympy")
        self._targets = [self._math_verify.LatexExtractionConfig()]
        self._parsed: dict[str, tuple[list[Any], ...]] = {}
        for latex in _WARM_UP:
            self._read(latex)

    def do(self, job: dict[str, Any]) -> dict[str, Any]:
        if job["do"] == "read":
            return self._read(job["latex"])
        if job["do"] == "verify":
            return {"equal": self._verify(*(self._parse(latex) for latex in job["pair"]))}
        return {}

    def _parse(self, latex: str) -> tuple[list[Any], ...]:
        """Return the parsed formula: one result, or one for each way of parsing if these differ."""
        if latex not in self._parsed:
            ways = [
                self._math_verify.parse(text, self._targets, parsing_timeout=None)
                for text in (f"${latex}$", f"\\boxed{{{latex}}}")
            ]
            self._parsed[latex] = tuple(ways[:1] if _alike(*ways) else ways)
        return self._parsed[latex]

    def _verify(self, a: tuple[list[Any], ...], b: tuple[list[Any], ...]) -> bool | None:
        """Say whether two are equal, None if that depends on their order or the way of parsing."""
        said = None
        for way in range(max(len(a), len(b))):
            one, other = a[way % len(a)], b[way % len(b)]
            for gold, target in ((one, other), (other, one)):
                equal = self._equal(gold, target)
                if said is not None and equal != said:
                    return None
                said = equal
        return said

    def _equal(self, gold: list[Any], target: list[Any]) -> bool:
        if not all(parsed and not isinstance(parsed[0], str) for parsed in (gold, target)):
            return gold[:1] == target[:1]
        # x > 2 is the interval from 2 on, whichever of the two is the right answer.
        return bool(
            self._math_verify.verify(gold, target, timeout_seconds=None, allow_set_relation_comp=True)
        )

    def _read(self, latex: str) -> dict[str, Any]:
        ways = self._parse(latex)
        if len(ways) > 1:
            return {"is_doubtful": True}
        (parsed,) = ways
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
        is_named = isinstance(expression, self._sympy.Eq) and self._is_name(expression.lhs)
        name = str(expression.lhs) if is_named else None
        digits = None
        if len(values) == 1 and all(abs(x) < 1e6 for x in values[0]) and self._is_exact(expression):
            digits = " ".join(str(x.evalf(25)) for x in values[0])
        points = [[_clipped(float(self._sympy.asinh(x))) for x in value] for value in values]
        return {"is_equation": is_equation, "name": name, "digits": digits, "points": points}

    def _is_name(self, expression: Any) -> bool:
        sympy = self._sympy
        return isinstance(expression, sympy.Symbol | sympy.core.function.AppliedUndef)

    def _parts(self, expression: Any) -> list[Any]:
        """Return the numbers in a set, tuple, matrix, equation or inequality."""
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
        """Return the real and imaginary part, with an own number for each variable and each f(3)."""
        sympy = self._sympy
        letters = (isinstance(f, sympy.Symbol) or f == sympy.E for f in sympy.Mul.make_args(part))
        if all(letters):
            raise ValueError("a product of letters may be a word to math-verify: east is e*a*s*t")
        unknowns = part.atoms(sympy.core.function.AppliedUndef)
        part = part.xreplace({unknown: sympy.Symbol(str(unknown)) for unknown in unknowns})
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


def _alike(one: list[Any], other: list[Any]) -> bool:
    if not one or not other or isinstance(one[0], str) or isinstance(other[0], str):
        return one[:1] == other[:1]
    return bool(type(one[0]) is type(other[0]) and one[0] == other[0])


def _clipped(value: float) -> float:
    return max(-1e300, min(1e300, value))


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.argv[1])
    _serve()
