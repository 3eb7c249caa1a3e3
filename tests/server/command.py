"""`distrivote serve` as a person starts it: a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(*options: str, budget: int = 4) -> Iterator[str]:
    """Run the command; gives its address, without /v1."""
    command = [sys.executable, "-m", "distrivote", "serve", "--port", "0", "--budget", str(budget), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "point clients to" in line
        yield line.rpartition(" ")[2].strip().removesuffix("/v1")
    finally:
        process.terminate()
        process.communicate(timeout=30)
