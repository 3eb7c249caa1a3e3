"""Every command and example in the README and the docs runs."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import distrivote
from distrivote import MissingPackageError
from goldens.warm import Warm

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LISTS = [ROOT / "bench" / "README.md", ROOT / "examples" / "README.md"]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[object]:
    return [
        pytest.param(
            page,
            text,
            id=f"{page.name}-{number}",
            marks=[pytest.mark.model] if "distrivote ask" in text else [],
        )
        for page in PAGES
        for number, (kind, text) in enumerate(FENCE.findall(page.read_text()))
        if kind == language
    ]


def asks_a_model(text: str) -> bool:
    return "distrivote.open()" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path) -> None:
    namespace: dict[str, object] = {}
    for kind, text in FENCE.findall(page.read_text()):
        if kind == "python" and not asks_a_model(text):
            exec(compile(text, str(page), "exec"), namespace)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
def test_the_readme_shows_the_votes_as_they_are() -> None:
    import pty

    texts = [text for _, text in FENCE.findall(PAGES[0].read_text())]
    (shown,) = (text for text in texts if text.startswith("$ distrivote vote examples/answers.jsonl\n"))
    command, table = shown.split("\n", 1)
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as screen, os.fdopen(theirs, "wb") as terminal:
        subprocess.run(
            [sys.executable, "-m", *command.removeprefix("$ ").split()],
            cwd=ROOT, stdout=terminal, check=True, env=os.environ | {"COLUMNS": "110", "NO_COLOR": "1"},
        )  # fmt: skip
        printed = os.read(screen.fileno(), 1 << 16).decode()
    lines = re.sub(r"\x1b\[[0-9;]*m", "", printed).splitlines()
    assert [line.rstrip() for line in lines if line.strip()] == [line for line in table.splitlines() if line]


@pytest.mark.model
def test_the_python_that_asks_a_model_runs() -> None:
    texts = [text for page in PAGES for kind, text in FENCE.findall(page.read_text()) if kind == "python"]
    asking = [text for text in texts if asks_a_model(text)]
    assert asking
    for text in asking:
        exec(compile(text, "a page", "exec"), {})


@pytest.mark.skipif(sys.platform == "win32", reason="needs forks of POSIX")
@pytest.mark.parametrize(("page", "text"), blocks("console"))
def test_the_commands_of_a_page_run(page: Path, text: str, tmp_path: Path, warm: Warm) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        program, *words = shlex.split(command, comments=True)
        if program == "make":
            assert f"\n{words[0]}:" in (ROOT / "Makefile").read_text(), f"no target {words[0]} on {page}"
        elif program == "distrivote" and words[0] != "ask" and "|" not in words:
            ran = warm.run(words, tmp_path)
            assert ran.code == 0, f"{page.name}: {command}\n{ran.err}"
        else:
            in_shell(command, tmp_path)


def in_shell(command: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    ran = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, f"{command}\n{ran.stderr}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, *LISTS]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", LISTS, ids=lambda page: page.parent.name)
def test_a_list_of_programs_names_every_file(page: Path) -> None:
    text = page.read_text()
    kept = {page.name, "LICENSE-MIT", "__pycache__"}
    missing = {path.name for path in page.parent.iterdir()} - kept
    assert not [name for name in missing if f"`{name}`" not in text and f"[{name}]" not in text]


def test_every_page_has_a_place_in_the_site() -> None:
    import yaml

    def pages_of(entries: list[dict[str, object]]) -> Iterator[str]:
        for entry in entries:
            for inside in entry.values():
                yield from [inside] if isinstance(inside, str) else pages_of(inside)  # type: ignore[arg-type]

    nav = list(pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert sorted(nav) == sorted(page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:])


def test_the_reference_of_the_command_line_is_what_the_commands_say() -> None:
    script = ROOT / "docs" / "reference" / "make_cli.py"
    made = runpy.run_path(str(script))["page"]()
    assert (ROOT / "docs" / "reference" / "cli.md").read_text() == made, "run docs/reference/make_cli.py"


def test_the_reference_of_documents_is_what_their_types_say() -> None:
    folder = ROOT / "docs" / "reference"
    made = runpy.run_path(str(folder / "make_documents.py"))
    for file, text in (("documents.md", made["page"]()), ("documents.schema.json", made["schema"]())):
        assert (folder / file).read_text() == text, "run docs/reference/make_documents.py"


def test_the_reference_of_python_has_every_public_name() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    assert sorted(re.findall(r"^::: distrivote\.(\w+)$", page, re.MULTILINE)) == sorted(distrivote.__all__)


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.walk_packages(distrivote.__path__, "distrivote.")]
)
def test_examples_in_docstrings_hold(name: str) -> None:
    if name.endswith("__main__"):
        return
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if not (isinstance(error, MissingPackageError) or error.name in ("torch", "vllm")):
            raise
        pytest.skip("its package is not installed; make test-integrations or test-vllm has it")
    assert doctest.testmod(module).failed == 0
