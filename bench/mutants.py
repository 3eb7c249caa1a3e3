"""Do the tests notice when the core is wrong? Faults put into it on purpose; prints JSON.

    python bench/mutants.py [--sample 300] [--seed 0] [--under PATH ...] [--only NUMBER ...] [--keep FILE]

Not part of CI: 300 mutants take most of an hour of one core, and some are no faults at all. A mutant is a
file of voting or SelfStepConf with one small change: another operator, a bound or a constant moved by one, a
condition turned round, a statement or an argument left out. It is killed if a test fails, and survives if all
pass. A first run without any change finds which tests run which lines; a mutant then meets the tests that
run its statement, cheapest first. Every mutant gets a process of its own, forked from one that has the
libraries loaded, with a limit of processor time. Nothing is written to the tree. `--under` takes the sample
from files whose path holds one of these words, `--only` runs some again by their numbers. `--keep` records
each fate in a file, and does not run again what is recorded there for the same source and tests.

Left out, since nobody's result depends on them: annotations, docstrings, decorators, protocols, `__slots__`,
`strict=` (a check of our own), whatever stands inside a `raise`, the words of f-strings, and texts with a
space in them, which are meant for people.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
TARGETS = ("distrivote/voting", "distrivote/steering")
TESTS = ("tests/voting", "tests/steering", "tests/test_docs.py")

LIBRARIES = ("numpy", "sklearn.cluster", "sklearn.mixture", "hypothesis.strategies")
"""What is loaded once for all mutants; nothing of ours."""

CHEAP = 3.0
"""Seconds of tests that a mutant meets first; the others only if it gets through."""

FATES: dict[object, str] = {0: "survived", 1: "killed", 2: "killed", "timed out": "timed out"}
"""By pytest's exit code: all passed, a test failed, a test file could not be imported."""

_ADDRESS_SPACE = 6 << 30

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_TWINS = [("min", "max"), ("any", "all"), ("argmin", "argmax"), ("minimum", "maximum"), ("floor", "ceil")]
TWINS = dict(_TWINS) | {second: first for first, second in _TWINS}

SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "format_spec"}


class Mutant(NamedTuple):
    """One change of one file."""

    number: int
    path: str
    line: int
    before: str
    after: str
    site: int
    """Its place among the changes of its file."""

    lines: tuple[int, ...]
    """Where its statement stands; empty if that runs when the module is imported."""


class Change(NamedTuple):
    """A change that has not been made yet."""

    statement: ast.stmt
    function: ast.FunctionDef | None
    before: ast.AST
    after: ast.AST
    make: Callable[[], None]


# Which changes there are


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Give what a node may become."""
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                for other in COMPARISONS[type(operator)]:
                    yield _with(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])
        case ast.BinOp() | ast.AugAssign() if type(node.op) in OPERATORS:
            yield _with(node, op=OPERATORS[type(node.op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int(number) | float(number)):
            yield ast.Constant(number + 1)
        case ast.Constant(value=str(text)) if text and " " not in text:
            yield ast.Constant(f"XX{text}XX")
        case ast.Name(id=name) if name in TWINS:
            yield _with(node, id=TWINS[name])
        case ast.Attribute(attr=name) if name in TWINS:
            yield _with(node, attr=TWINS[name])
        case ast.Call(keywords=keywords):
            for place, keyword in enumerate(keywords):
                if keyword.arg not in (None, "strict"):
                    yield _with(node, keywords=[*keywords[:place], *keywords[place + 1 :]])
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.For():
            yield _with(node, iter=ast.Tuple([], ast.Load()))
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if _is_plain(test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()


def _with(node: ast.AST, **changed: Any) -> ast.AST:
    other = copy.copy(node)
    for name, value in changed.items():
        setattr(other, name, value)
    return other


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_plain(test: ast.expr) -> bool:
    """Whether nothing inside the condition turns it round."""
    return not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp)


def changes(tree: ast.Module) -> Iterator[Change]:
    """Give every change of a file, in the same order each time."""
    yield from _inside(tree, tree.body[0], None)


def _inside(node: ast.AST, statement: ast.stmt, function: ast.FunctionDef | None) -> Iterator[Change]:
    for name, value in ast.iter_fields(node):
        if name in SKIPPED_FIELDS or (name == "keywords" and isinstance(node, ast.ClassDef)):
            continue
        children = value if isinstance(value, list) else [value]
        for place, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_left_out(child, node):
                continue
            here = child if isinstance(child, ast.stmt) else statement
            for other in variants(child):
                yield Change(here, function, child, other, _setter(node, name, value, place, other))
            if not isinstance(child, ast.Raise):
                within = child if isinstance(child, ast.FunctionDef) else function
                yield from _inside(child, here, within)


def _setter(node: ast.AST, name: str, value: object, place: int, other: ast.AST) -> Callable[[], None]:
    def make() -> None:
        ast.copy_location(other, value[place] if isinstance(value, list) else value)  # type: ignore[arg-type]
        if isinstance(value, list):
            value[place] = other
        else:
            setattr(node, name, other)

    return make


def _is_left_out(child: ast.AST, parent: ast.AST) -> bool:
    match child:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Constant(value=str()):
            return isinstance(parent, ast.JoinedStr)
        case ast.ClassDef(bases=bases):
            return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in bases)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in ("__slots__", "__all__")
        case ast.keyword(arg="strict"):
            return True
    return False


def all_mutants() -> list[Mutant]:
    found: list[Mutant] = []
    for target in TARGETS:
        for path in sorted((SOURCE / target).rglob("*.py")):
            for site, change in enumerate(changes(ast.parse(path.read_text()))):
                lines = _lines(change)
                name = path.relative_to(SOURCE).as_posix()
                line = getattr(change.before, "lineno", change.statement.lineno)
                texts = (_first_line(change.before), _first_line(change.after))
                found.append(Mutant(len(found), name, line, *texts, site, lines))
    return found


def _first_line(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


def _lines(change: Change) -> tuple[int, ...]:
    statement, function = change.statement, change.function
    if function is None or isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return ()
    # A cached function runs in the first test that calls it, and matters to all.
    if any("cache" in ast.unparse(decorator) for decorator in function.decorator_list):
        return ()
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno
    return tuple(range(statement.lineno, max(last or 0, statement.lineno) + 1))


# The tests, in a process of their own


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module with a change in it."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._path = SOURCE / mutant.path
        self._name = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=self)

    def exec_module(self, module: Any) -> None:
        tree = ast.parse(self._path.read_text())
        list(changes(tree))[self._mutant.site].make()
        exec(compile(ast.fix_missing_locations(tree), str(self._path), "exec"), module.__dict__)


class Selected:
    """Lets pytest run some of the tests, in this order, and notes how long each takes."""

    def __init__(self, wanted: list[str] | None, context: Callable[[str], object] | None = None) -> None:
        self._wanted = wanted
        self._context = context
        self.seconds: dict[str, float] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items if _belongs(item.nodeid)}
        wanted = found if self._wanted is None else self._wanted
        items[:] = [found[name] for name in wanted]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self._context is not None:
            self._context(item.nodeid)
        begun = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - begun
            if self._context is not None:
                self._context("")


def _belongs(nodeid: str) -> bool:
    """Whether a test is one of ours: of those of the docs, only the examples in the mutated modules."""
    if not nodeid.startswith("tests/test_docs.py"):
        return True
    packages = tuple(f"[{target.replace('/', '.')}" for target in TARGETS)
    return "test_examples_in_docstrings_hold" in nodeid and any(name in nodeid for name in packages)


def run_tests(selected: Selected, files: list[str]) -> int:
    # Hypothesis is loaded before pytest could rewrite it.
    options = ["-x", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *files], plugins=[selected]))


def in_child(work: Callable[[], Any], processor: float) -> Any:
    """Return what the work gives in a process of its own, "timed out" if it was ended, None if it failed."""
    with tempfile.TemporaryFile() as result:
        pid = os.fork()
        if not pid:
            _quieten()
            resource.setrlimit(resource.RLIMIT_CPU, (int(processor) + 1, int(processor) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
            with contextlib.suppress(BaseException):
                result.write(pickle.dumps(work()))
                result.flush()
            os._exit(0)
        status = _waited(pid, 10 * processor)
        result.seek(0)
        data = result.read()
    if not data:
        return "timed out" if os.WIFSIGNALED(status) else None
    return pickle.loads(data)


def _quieten() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _waited(pid: int, seconds: float) -> int:
    """Wait for a child, and end it if it only waits itself."""
    until = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            return os.waitpid(pid, 0)[1]
        time.sleep(0.02)


class Baseline(NamedTuple):
    """The tests without any change."""

    code: int
    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]
    """By file and line, the tests that run it; "" is whatever runs outside of tests."""


def baseline() -> Baseline:
    measured = coverage.Coverage(source=[str(SOURCE / t) for t in TARGETS], data_file=None, config_file=False)
    measured.start()
    selected = Selected(None, measured.switch_context)
    code = run_tests(selected, list(TESTS))
    measured.stop()
    data = measured.get_data()
    tests = {
        Path(name).relative_to(SOURCE).as_posix(): data.contexts_by_lineno(name)
        for name in data.measured_files()
    }
    return Baseline(code, selected.seconds, tests)


def tests_for(mutant: Mutant, known: Baseline) -> list[str]:
    """Return the tests that run a mutant's statement, cheapest first; all, if it runs at import."""
    by_line = known.tests.get(mutant.path, {})
    names = {name for line in mutant.lines for name in by_line.get(line, ())}
    if not mutant.lines or "" in names:
        names = set(known.seconds)
    return sorted(names & set(known.seconds), key=lambda name: (known.seconds[name], name))


def halves(tests: list[str], known: Baseline) -> tuple[list[str], list[str]]:
    """Return the tests that are done in a few seconds together, and the others."""
    n_cheap, total = 0, 0.0
    for name in tests:
        total += known.seconds[name]
        n_cheap += total <= CHEAP
    return tests[:n_cheap], tests[n_cheap:]


def tried(mutant: Mutant, tests: list[str], known: Baseline) -> str:
    """Return what these tests make of a mutant; broken if pytest itself failed."""
    if not tests:
        return "survived"

    def work() -> int:
        sys.meta_path.insert(0, Changed(mutant))
        return run_tests(Selected(tests), sorted({name.partition("::")[0] for name in tests}))

    code = in_child(work, 20 + 4 * sum(known.seconds[name] for name in tests))
    return FATES.get(code, "broken")


class Record:
    """The fates that are known, also in a file if one is given, so that an interrupted run can go on."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._tree = digest()
        self.fates: dict[int, str] = {}
        if path is not None and path.exists():
            lines = (line.split("\t") for line in path.read_text().splitlines())
            self.fates = {int(number): fate for tree, number, fate in lines if tree == self._tree}

    def add(self, mutant: Mutant, fate: str) -> None:
        self.fates[mutant.number] = fate
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(f"{self._tree}\t{mutant.number}\t{fate}\n")


def digest() -> str:
    """Return what tells one state of the source and the tests from another."""
    found = hashlib.sha256()
    for path in sorted(path for folder in (SOURCE, ROOT / "tests") for path in folder.rglob("*.py")):
        found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def try_all(mutants: list[Mutant], known: Baseline, record: Record) -> None:
    """Record the fate of each mutant: under the cheap half of its tests, then under the other."""
    for half, name in enumerate(("cheap", "other")):
        fates = []
        for mutant in mutants:
            if mutant.number in record.fates:
                continue
            fates.append(tried(mutant, halves(tests_for(mutant, known), known)[half], known))
            # One that survives the cheap half has no fate yet: which tests are cheap differs from run to run.
            if half or fates[-1] != "survived":
                record.add(mutant, fates[-1])
            if fates[-1] != "killed":
                print(fates[-1], described(mutant), file=sys.stderr, flush=True)
        print(f"{name} tests: {dict(Counter(fates))}", file=sys.stderr, flush=True)


def described(mutant: Mutant) -> str:
    return f"{mutant.number}: {mutant.path}:{mutant.line}: {mutant.before}  ->  {mutant.after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--under", nargs="*", metavar="PATH")
    parser.add_argument("--only", type=int, nargs="*", metavar="NUMBER")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    args = parser.parse_args()
    record = Record(None if args.keep is None else args.keep.resolve())
    os.chdir(ROOT)
    sys.path.insert(0, str(SOURCE))
    mutants = all_mutants()
    if args.only is None:
        among = [m for m in mutants if not args.under or any(part in m.path for part in args.under)]
        chosen = random.Random(args.seed).sample(among, min(args.sample, len(among)))
    else:
        chosen = [mutants[number] for number in args.only]
    # A process that has threads is not safely forked.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.freeze()
    known = in_child(baseline, 1200)
    if not isinstance(known, Baseline) or known.code:
        sys.exit("the tests fail or do not end without any change: mend them first")
    print(f"{len(known.seconds)} tests, {sum(known.seconds.values()):.0f} s", file=sys.stderr, flush=True)
    try_all(sorted(chosen), known, record)
    by_fate: dict[str, list[str]] = {fate: [] for fate in ("killed", "survived", "timed out", "broken")}
    for mutant in sorted(chosen):
        by_fate[record.fates[mutant.number]].append(described(mutant))
    counts = {fate: len(some) for fate, some in by_fate.items()}
    which = {fate: some for fate, some in by_fate.items() if fate != "killed"}
    print(json.dumps({"mutants": len(mutants), "sample": len(chosen), **counts, "which": which}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
