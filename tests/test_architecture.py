"""The shape of the program: who may import whom, what stays unloaded, what is public."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import distrivote

PACKAGE = Path(distrivote.__file__).parent

# Data flows one way: a module imports only from its own line and the lines above it.
LAYERS = [
    {"defaults", "errors", "faces", "names", "nouns", "programs", "version"},
    {"prompts"},
    {"problem"},
    {"trajectory"},
    {"splitting"},
    {"confidence"},
    {"answers"},
    {"steering"},
    {"engines"},
    {"reading"},
    {"voting"},
    {"solution"},
    {"poll"},
    {"rounds"},
    {"flow"},
    {"flow_many"},
    {"flow_async"},
    {"integrations"},
    {"store"},
    {"benchmarks"},
    {"pools"},
    {"scorers"},
    {"generation"},
    {"evaluation"},
    {"simulation"},
    {"report"},
    {"server"},
    {"cli", "__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Only the edge touches the world. The rest takes values and gives values.
EDGE = {
    "engines", "integrations", "flow_async", "store", "benchmarks", "pools", "scorers", "report", "server",
    "cli", "__main__",
}  # fmt: skip
EDGE_FILES = {
    "answers/code/sandbox.py",
    "answers/code/worker.py",
    "answers/judgecommand.py",
    "answers/mathverify.py",
    "answers/mathprocess.py",
    "answers/mathworker.py",
    "evaluation/published.py",
    "evaluation/run_pools.py",
    "evaluation/table_pools.py",
    "generation/batch.py",
    "generation/cluster.py",
    "generation/collector.py",
    "generation/processes.py",
    "generation/run.py",
    "generation/settings.py",
    "generation/sharing.py",
    "generation/worker.py",
    "programs.py",
}
WORLDLY = {
    "asyncio", "http", "io", "logging", "os", "pathlib", "random", "shutil", "socket", "subprocess",
    "tempfile", "threading", "time", "urllib", "pyarrow", "rich", "typer",
}  # fmt: skip

HEAVY = {
    "torch", "transformers", "vllm", "llama_cpp", "aiohttp", "ray", "numba", "pandas", "sklearn",
    "matplotlib", "altair", "vl_convert", "playwright", "fastapi", "uvicorn", "pyarrow", "polars", "duckdb",
    "rich", "typer", "sympy", "math_verify",
}  # fmt: skip


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_lines_above_it(path: Path) -> None:
    ours = layer(path)
    assert ours in RANK, f"{ours} is not in the layout: add it to LAYERS at its place"
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "distrivote" and len(parts) > 1:
            assert RANK[parts[1]] <= RANK[ours], f"{ours} imports {module}, which is below it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_edge_touches_the_world(path: Path) -> None:
    if layer(path) not in EDGE and path.relative_to(PACKAGE).as_posix() not in EDGE_FILES:
        assert not {module.split(".")[0] for module in imports(path)} & WORLDLY


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_importing_distrivote_loads_nothing_heavy() -> None:
    assert not loaded_after("import distrivote") & HEAVY


def test_a_vote_loads_nothing_more() -> None:
    assert not loaded_after("import distrivote; distrivote.vote('aab', [3, 2, 1])") & HEAVY


def test_the_command_line_is_described_without_numpy() -> None:
    code = (
        "sys.argv = ['/usr/bin/distrivote']\n"
        "import distrivote.cli.main\n"
        "assert 'numpy' not in sys.modules and 'pyarrow' not in sys.modules"
    )
    loaded_after(code)


def test_the_public_names_are_these() -> None:
    assert len(set(distrivote.__all__)) == len(distrivote.__all__)
    assert all(hasattr(distrivote, name) for name in distrivote.__all__)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = distrivote.nothing_like_it


def test_packages_need_no_import_of_their_own() -> None:
    loaded_after(
        "import distrivote\n"
        "assert not {'distrivote.store', 'distrivote.evaluation'} & set(sys.modules)\n"
        "assert distrivote.store.open_table and distrivote.evaluation.evaluate\n"
    )


def test_the_version_is_that_of_the_package() -> None:
    assert distrivote.__version__ == metadata.version("distrivote")


def test_public_names_load_on_use_in_the_command() -> None:
    loaded_after("sys.argv = ['/usr/bin/distrivote']\nimport distrivote; distrivote.vote('aab', [3, 2, 1])")
