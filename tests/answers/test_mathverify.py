"""math-verify behind its time limits: what is equal, what is given up, and that nothing is left behind.

Limits are short here to keep the tests so; none of them asserts how long anything took.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import distrivote
from distrivote.answers import mathverify
from distrivote.answers.equality import Equality
from distrivote.answers.equivalence import classify
from distrivote.answers.forms import normal_form
from distrivote.answers.mathverify import MathVerifier, NeedsWorkerError, shared_verifier
from distrivote.answers.mathworker import OUT_OF_TIME
from distrivote.answers.remarks import Remarks
from distrivote.errors import DistrivoteError, MissingPackageError
from strategies import FEW

needs_math_verify = pytest.mark.skipif(find_spec("math_verify") is None, reason="needs math-verify")
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


@pytest.fixture(scope="module")
def verifier() -> Iterator[MathVerifier]:
    with MathVerifier() as verifier:
        yield verifier


@pytest.fixture(scope="module")
def strict() -> Iterator[MathVerifier]:
    """A verifier that gives up soon. It remembers, so each test asks something else."""
    with MathVerifier(limit=0.3, budget=2.0) as verifier:
        yield verifier


SAME = [
    (r"(x+1)^2", "x^2 + 2x + 1"),
    (r"\frac{\sqrt{2}}{2}", r"1/\sqrt{2}"),
    ("sqrt(2)/2", r"\frac{1}{\sqrt 2}"),
    ("2√(3)", r"\sqrt{12}"),
    (r"2^{2024}", r"4^{1012}"),
    (r"\log_2 8", "3"),
    (r"1\frac{1}{2}", "1.5"),
    ("10^5", "100,000"),
    ("10^{999}", "1e999"),
    ("-10^{999}", "-1e999"),
    ("3.14159265", r"\pi"),
    (r"\binom{10}{3}", "120"),
    ("5!", "120"),
    ("12 cm", "12"),
    (r"12\text{ cm}", "12"),
    ("y = 2x", "2x"),
    ("-(x-1)", "1 - x"),
    ("1, 2", r"\{2, 1\}"),
    ("(1, 2)", "1, 2"),
    ("10, 100", "(10, 100)"),
    ("x = 10, 100", "100, 10"),
    (r"5 \text{ or } 6", "5, 6"),
    (r"\pm 3", "3, -3"),
    ("x = 5, y = 2", "y = 2, x = 5"),
    ("x > 2", r"(2, \infty)"),
    ("2 < x", "x > 2"),
    (r"x \in [1, 2]", "[1, 2]"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{bmatrix}1\\2\end{bmatrix}"),
    ("3 + 4i", "4i + 3"),
    (r"\infty", r"+\infty"),
    ("e", r"\exp(1)"),
    ("9^{9^9}", r"$9^{9^{9}}$"),
]

DIFFERENT = [
    ("x + 1", "x + 2"),
    ("x + 1", "y + 1"),
    ("|x|", "x"),
    (r"\sqrt{x^2}", "x"),
    (r"\sqrt{2}", "1.41"),
    ("2^{2024}", "2^{2024} - 1"),
    (r"e^{\pi\sqrt{163}}", "262537412640768744"),
    (r"50\%", "0.5"),
    ("10, 100", "10100"),
    ("(1, 2)", "(2, 1)"),
    ("(1, 2)", "[1, 2]"),
    ("x = 1, y = 2", "x = 2, y = 1"),
    ("x > 2", r"x \ge 2"),
    ("x > 2", "2"),
    (r"\frac{\pi}{2}", r"90^\circ"),
    ("east", "seat"),
    (r"\infty", r"-\infty"),
    ("9^{9^9}", "9^{9^8}"),
    ("10000!", "10001!"),
    ("10^{999}", "1e998"),
    (r"\sqrt{2}", "1e-999"),
]


DOUBTFUL = [
    ("1, 2", "(2, 1)"),
    ("10, 100", "(100, 10)"),
]
"""Equal to math-verify one way round, and different the other."""


@needs_math_verify
@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_mathematics_is_equal(a: str, b: str, verifier: MathVerifier) -> None:
    equal = verifier.equal()
    assert (equal(a, b), equal(b, a), equal.remarks()) == (True, True, Remarks())


@needs_math_verify
@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_other_mathematics_is_not(a: str, b: str, verifier: MathVerifier) -> None:
    equal = verifier.equal()
    assert (equal.verdict(a, b), equal.verdict(b, a), equal.remarks()) == (False, False, Remarks())


@needs_math_verify
@pytest.mark.parametrize(("a", "b"), DOUBTFUL)
def test_what_is_equal_one_way_round_only_is_different_and_counted(
    a: str, b: str, verifier: MathVerifier
) -> None:
    equal = verifier.equal()
    assert (equal.verdict(a, b), equal.verdict(b, a), equal(a, b)) == (None, None, False)
    assert equal.remarks() == Remarks(n_unsure=1)
    assert equal.remarks().notes == (
        "1 pair of answers is equal by one way of comparing them and not by another: it counts as different",
    )


@needs_math_verify
def test_the_answers_of_one_question_fall_into_classes(verifier: MathVerifier) -> None:
    answers = [
        r"\frac{\sqrt3}{2}",
        "7",
        r"\sin 60^\circ",
        None,
        r"\sqrt{3}/2",
        r"\sqrt{\frac34}",
        "$7$",
        "49^{1/2}",
    ]
    classes = classify(answers, Equality("math", normal_form, verifier.equal()))
    assert classes.ids == (0, 1, 2, -1, 0, 0, 1, 1)
    assert classes.labels == (r"\frac{\sqrt3}{2}", "7", r"\sin 60^\circ")


@needs_math_verify
def test_a_pool_of_512_answers_in_40_forms(verifier: MathVerifier) -> None:
    forms = [
        form
        for i in range(1, 11)
        for form in (
            rf"\frac{{{i}\sqrt3}}{{2}}",
            rf"{i}\sqrt{{3}}/2",
            rf"(x+{i})^2",
            rf"x^2+{2 * i}x+{i * i}",
        )
    ]
    answers = random.Random(3).choices(forms, k=512 - len(forms)) + forms
    classes = classify(answers, Equality("math", normal_form, verifier.equal()))
    assert len(classes.labels) == 20


atoms = st.sampled_from(["1", "2", "0.5", r"\frac{1}{3}", r"\sqrt{2}", r"\pi", "x", "y", "i"])
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", r"\cdot "]), inner).map("".join),
        inner.map(lambda a: rf"\sqrt{{{a}}}"),
        st.tuples(inner, inner).map(lambda ab: rf"\frac{{{ab[0]}}}{{{ab[1]}}}"),
        inner.map(lambda a: f"({a})^2"),
    ),
    max_leaves=4,
)
answers = st.one_of(
    expressions,
    st.tuples(expressions, expressions).map(lambda ab: f"({ab[0]}, {ab[1]})"),
    st.tuples(expressions, expressions).map(lambda ab: rf"\{{{ab[0]}, {ab[1]}\}}"),
    expressions.map(lambda a: f"x = {a}"),
    expressions.map(lambda a: f"x > {a}"),
)


@needs_math_verify
@FEW
@given(st.lists(answers, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_equal_is_symmetric_and_classes_ignore_the_order(pool: list[str], rng: random.Random) -> None:
    equal = shared_verifier().equal()
    assert all(equal(a, a) for a in pool)
    assert all(equal(a, b) == equal(b, a) for a in pool for b in pool)
    shuffled = rng.sample(pool, len(pool))
    ids = dict(zip(pool, classify(pool, Equality("math", normal_form, equal)).ids, strict=True))
    others = dict(zip(shuffled, classify(shuffled, Equality("math", normal_form, equal)).ids, strict=True))
    assert all((ids[a] == ids[b]) == (others[a] == others[b]) for a in pool for b in pool)


ATTACKS = [
    "9!!!",
    "9!!!!",
    "(9^9)!!",
    r"\sin(9!!!)",
    r"\prod_{i=1}^{9^9} i^i",
    r"\sum_{i=1}^{10^9} \frac{1}{i!}",
    "|" * 60 + "1" + "|" * 60,
    "(" * 12 + "x" + ")" * 12 + "(" * 12 + "y" + ")" * 12,
    r"\int_0^{10^9} \sin(x^x) dx",
    "x^{9^{9^9}} - 1 = y^{9^{9^9}}",
    r"\binom{10^9}{5 \cdot 10^8}",
    r"\{" + ",".join(rf"\sqrt{{x+{i}}}" for i in range(30)) + r"\}",
]
TOO_MUCH = [
    "{" * 10_000 + "1" + "}" * 10_000,
    "(" * 13 + "1" + ")" * 13 + "+1",
    "x+" * 5_000 + "x",
    "9" * 100_000,
]


@pytest.mark.slow
@needs_math_verify
@pytest.mark.parametrize(
    ("n", "attack"),
    list(enumerate(ATTACKS + TOO_MUCH, 1)),
    ids=lambda value: f"{str(value)[:16]!r}x{len(str(value))}",
)
def test_an_attack_equals_nothing_else_and_the_worker_goes_on(
    n: int, attack: str, strict: MathVerifier
) -> None:
    equal = strict.equal()
    assert not equal(attack, r"\sqrt{7}")
    assert not equal("x+3", attack)
    assert strict.equal()(f"x(x+{n})", f"x^2+{n}x")


@needs_math_verify
def test_what_was_given_up_is_noted_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier, asked = MathVerifier(), []

    def out_of_time(_patience: float, job: dict[str, str]) -> dict[str, str]:
        asked.append(job.get("latex"))
        return {"lost": OUT_OF_TIME}

    monkeypatch.setattr(verifier, "_ask", out_of_time)
    verifier._is_warm = True
    first, second = verifier.equal(), verifier.equal()
    assert first.verdict("8!!!", "2") is second.verdict("8!!!", "2") is None
    assert asked == ["8!!!"]
    assert first.remarks() == second.remarks() == Remarks(n_lost=1)
    assert first.remarks().notes == (
        "comparing answers took too long in 1 case: those answers count as different",
    )


@pytest.mark.slow
@needs_math_verify
def test_a_pool_of_100_attacks_ends_and_its_frequent_answers_are_told_apart(strict: MathVerifier) -> None:
    attacks = [f"{attack} + {i}" for i in range(9) for attack in ATTACKS][:100]
    honest = ["(x+1)^2", "x^2+2x+1", r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}"]
    equal = strict.equal()
    classes = classify(attacks + honest * 2, Equality("math", normal_form, equal))
    assert classes.ids[100:104] in ((100, 100, 101, 101), (0, 0, 1, 1))
    assert len(set(classes.ids[:100])) == 100
    assert equal.remarks().n_left_out > 0
    assert any("left out" in note for note in equal.remarks().notes)


@needs_math_verify
def test_threads_share_the_workers(strict: MathVerifier) -> None:
    def judge(i: int) -> bool:
        equal = strict.equal()
        equal(f"7!!! + {i}", r"\sqrt{7}")
        return equal(f"(x+{i})^2", f"x^2 + {2 * i}x + {i * i}")

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(judge, range(8))) >= 1  # a thread may have waited its budget away
    assert strict.equal()("(x+9)^2", "x^2+18x+81")
    assert len(strict._workers) <= strict.max_workers


@needs_math_verify
def test_it_works_off_the_main_thread_and_leaves_alarms_alone(verifier: MathVerifier) -> None:
    results: list[bool] = []
    alarm = signal.getsignal(signal.SIGALRM) if hasattr(signal, "SIGALRM") else None
    thread = threading.Thread(target=lambda: results.append(verifier.equal()("2(x+1)", "2x+2")))
    thread.start()
    thread.join()
    assert results == [True]
    assert alarm is None or signal.getsignal(signal.SIGALRM) == alarm


@needs_math_verify
def test_a_worker_that_was_killed_is_replaced(verifier: MathVerifier) -> None:
    assert verifier.equal()("3(x+1)", "3x+3")
    for worker in verifier._workers:
        worker._process.kill()
        worker._process.wait()
    assert verifier.equal()("4(x+1)", "4x+4")


@pytest.mark.slow
@posix
@needs_math_verify
def test_a_worker_that_does_not_react_is_replaced() -> None:
    with MathVerifier(limit=0.2) as verifier:
        verifier.warm()
        (worker,) = verifier._workers
        os.killpg(worker._process.pid, signal.SIGSTOP)
        equal = verifier.equal()
        assert not equal("2(x+3)", "2x+6")
        assert equal.remarks().n_lost == 1
        assert worker._process.poll() == -signal.SIGKILL
        assert verifier.equal()("2(x+3)", "2x+6")


@pytest.mark.slow
@needs_math_verify
def test_close_ends_the_workers_and_the_next_use_starts_them_again() -> None:
    verifier = MathVerifier()
    verifier.start()
    verifier.warm()
    processes = [worker._process for worker in verifier._workers]
    verifier.close()
    assert [process.poll() for process in processes] == [0]
    assert verifier.equal()("5(x+1)", "5x+5")
    verifier.close()
    assert not verifier._workers


@needs_math_verify
def test_a_verifier_that_is_forgotten_ends_its_workers() -> None:
    verifier = MathVerifier()
    verifier.warm()
    (process,) = [worker._process for worker in verifier._workers]
    del verifier
    assert process.poll() == 0


def run(script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script that comes in on standard input: it has no main module to import again."""
    source = str(Path(distrivote.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-W", "error", *options, "-"],
        input=script,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )


def is_running(pid: int) -> bool:
    """Say whether a process runs; one that has ended and that nobody waited for does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


USE = """
from distrivote.answers.mathverify import math_equal, shared_verifier
print(math_equal("6(x+1)", "6x+6"), *[w._process.pid for w in shared_verifier()._workers], flush=True)
"""


@pytest.mark.slow
@posix
@needs_math_verify
def test_nothing_is_left_when_the_program_ends() -> None:
    result = run(USE)
    verdict, pid = result.stdout.split()
    assert (verdict, result.stderr, result.returncode) == ("True", "", 0)
    assert not is_running(int(pid))


@posix
@needs_math_verify
def test_nothing_is_left_when_the_program_is_killed() -> None:
    result = run(USE + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    pid = int(result.stdout.split()[1])
    for _ in range(300):  # it notices at once, but nobody waits for it
        if not is_running(pid):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the worker outlived its owner")


@pytest.mark.slow
@posix
@needs_math_verify
def test_a_fork_has_a_verifier_of_its_own() -> None:
    script = """
import os
mine = shared_verifier()
if os.fork() == 0:
    assert math_equal("7(x+1)", "7x+7") and shared_verifier() is not mine
    try:
        mine.equal()("8(x+1)", "8x+8")
    except RuntimeError:
        print("refused", flush=True)
else:
    os.wait()
    print(math_equal("9(x+1)", "9x+9"))
"""
    result = run(USE + script, "-W", "ignore::DeprecationWarning")
    assert result.stdout.split()[2:] == ["refused", "True"]
    assert result.stderr == ""


def test_importing_it_loads_and_starts_nothing() -> None:
    script = """
import sys
from distrivote.answers.mathworker import OUT_OF_TIME
from distrivote.answers.mathverify import MathVerifier, NeedsWorkerError, shared_verifier
print(shared_verifier()._workers, {"math_verify", "sympy", "antlr4", "multiprocessing"} & set(sys.modules))
"""
    assert run(script).stdout == "set() set()\n"


@needs_math_verify
def test_one_that_may_not_ask_says_so_and_knows_what_was_found_before(verifier: MathVerifier) -> None:
    hasty = verifier.equal()
    hasty.may_ask = False
    assert hasty("0.5", "1/2")
    with pytest.raises(NeedsWorkerError):
        hasty(r"(y+3)^2", "y^2 + 6y + 9")
    assert verifier.equal()(r"(y+3)^2", "y^2 + 6y + 9")
    assert hasty(r"(y+3)^2", "y^2 + 6y + 9")


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mathverify, "find_spec", lambda _name: None)
    with MathVerifier() as verifier, pytest.raises(MissingPackageError, match=r"'\.\[math\]'"):
        verifier.equal()


def test_a_broken_package_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "math_verify.py").write_text("raise ImportError('antlr4 is too old')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with MathVerifier() as verifier, pytest.raises(DistrivoteError, match="antlr4 is too old"):
        verifier.equal()("x+1", "1+x")


@pytest.mark.slow
def test_a_missing_interpreter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setattr(mathverify, "find_spec", lambda _name: object())
    with MathVerifier() as verifier, pytest.raises(DistrivoteError, match="'/nowhere/python'"):
        verifier.equal()("x+1", "1+x")
