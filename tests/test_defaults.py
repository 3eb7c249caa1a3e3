"""Every default is written once: no signature, field or option has a number or a name of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from distrivote import defaults

PACKAGE = Path(defaults.__file__).parent
DEFAULTED = {
    "alpha": "ALPHA", "budget": "BUDGET", "delta": "DELTA", "host": "HOST", "intervals": "N_INTERVALS",
    "k": "K", "max_concurrency": "MAX_CONCURRENCY", "max_tokens": "MAX_TOKENS", "measure": "MEASURE",
    "method": "METHOD", "min_p": "MIN_P", "min_probability": "MIN_PROBABILITY",
    "n_parallel": "N_PARALLEL", "n_repeats": "N_REPEATS",
    "n_slots": "N_SLOTS", "n_warmup": "N_WARMUP", "port": "PORT", "reflection": "REFLECTION",
    "repeats": "N_REPEATS", "same": "SAME", "share": "STOP_SHARE", "split": "SPLIT", "template": "TEMPLATE",
    "temperature": "TEMPERATURE", "top_k": "TOP_K", "top_p": "TOP_P",
}  # fmt: skip
OF_OTHER_MEANING = {
    "answers/mathverify.py: budget",  # seconds
    "benchmarks/hub.py: split",  # of a dataset
    "cli/batch.py: host",  # of a batch file
    "evaluation/experiments/settings.py: method",  # none
    "generation/batch.py: host",  # of a batch file
    "voting/probability.py: share",  # of votes
}


def literal_defaults(path: Path) -> Iterator[str]:
    """Yield the arguments and fields of a file whose default is a number or a text that is written there."""
    for node in ast.walk(ast.parse(path.read_text())):
        pairs: list[tuple[str, ast.expr | None]] = []
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            pairs = [(node.target.id, node.value)]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = [*node.args.posonlyargs, *node.args.args]
            given = arguments[len(arguments) - len(node.args.defaults) :]
            pairs = [(a.arg, value) for a, value in zip(given, node.args.defaults, strict=True)]
            pairs += [
                (a.arg, value) for a, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            ]
        for name, value in pairs:
            if isinstance(value, ast.Call):  # pydantic's Field(default=...)
                value = next((each.value for each in value.keywords if each.arg == "default"), None)
            if name in DEFAULTED and isinstance(value, ast.Constant) and value.value is not None:
                yield name


def test_every_default_comes_from_the_one_table() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in literal_defaults(path)
        if not path.is_relative_to(PACKAGE / "evaluation" / "paper")
    }
    assert found == OF_OTHER_MEANING
    assert all(hasattr(defaults, name) for name in DEFAULTED.values())


def test_the_table_of_defaults_imports_nothing() -> None:
    tree = ast.parse((PACKAGE / "defaults.py").read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
