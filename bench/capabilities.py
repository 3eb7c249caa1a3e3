"""Check what docs/comparison.md says about other packages: `python bench/capabilities.py [--check]`.

It installs the packages from PyPI into build/capabilities (those that need torch or vLLM without their
dependencies), runs `bench/capability_claims.py` there, and prints a table in Markdown. With `--check` it
fails if a claim does not hold, or if docs/comparison.md has another table.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRATCH = ROOT / "build" / "capabilities"
CLAIMS = ROOT / "bench" / "capability_claims.py"
PAGE = ROOT / "docs" / "comparison.md"
WHOLE = {"scorio": "0.2.3", "its_hub": "1.2.0", "inspect-ai": "0.3.285"}
"""Installed with what they need."""

SOURCES = {
    "deepconf": "0.1.0",
    "optillm": "0.4.0",
    "thinkbooster": "0.1.1",
    "uqlm": "0.6.7",
    "lm-polygraph": "0.7.0",
}
"""Need torch or vLLM: only their own files are unpacked."""

HOW = {"run": "run", "code": "seen in its code"}


def main() -> None:
    """Print the table, and check it."""
    python = prepared()
    lines = ["| package | what it has | how it was checked |", "|---|---|---|"]
    failures = []
    for name, version in {"distrivote": "", **WHOLE, **SOURCES}.items():
        interpreter = Path(sys.executable) if name == "distrivote" else python
        folder = SCRATCH / "sources" if name in SOURCES else python.parents[1] / "lib"
        for found in claims_of(interpreter, name, folder):
            lines.append(f"| {name} {version}".rstrip() + f" | {found['claim']} | {HOW[found['how']]} |")
            if not found["is_so"]:
                failures.append(f"{name}: {found['claim']}: not so {found['why']}".rstrip())
    table = "\n".join(lines)
    print(table)
    if "--check" in sys.argv and table not in PAGE.read_text():
        failures.append("docs/comparison.md has another table")
    if failures:
        sys.exit("\n".join(failures))


def prepared() -> Path:
    """Return the Python in which the packages are installed."""
    python = SCRATCH / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    if not (SCRATCH / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", SCRATCH / "venv"], check=True)
        subprocess.run([*pip, *(f"{name}=={version}" for name, version in WHOLE.items())], check=True)
        pinned = [f"{name}=={version}" for name, version in SOURCES.items()]
        subprocess.run([*pip, "--no-deps", "--target", SCRATCH / "sources", *pinned], check=True)
        (SCRATCH / "ready").touch()
    return python


def claims_of(python: Path, name: str, folder: Path) -> list[dict[str, str]]:
    """Return how each claim about a package fared."""
    sites = [folder] if name in SOURCES else sorted(folder.glob("python*/site-packages")) or [folder]
    command = [python, "-W", "ignore", CLAIMS, name, sites[0]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
