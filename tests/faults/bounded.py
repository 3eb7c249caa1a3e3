"""Commands of distrivote in one process whose memory is limited and watched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ADDRESS_SPACE = 8 << 30
"""Bytes: a guard for the machine. What counts is the memory that was really used."""

PATIENCE = 120
"""Seconds until a process is ended that does not come back."""

_CHILD = """
import contextlib, io, json, resource, sys
from distrivote.cli.main import main
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
import pyarrow.parquet, distrivote.store.results.votes
def most():
    # Not ru_maxrss, which a process inherits from whoever started it.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
def reset():
    # What Arrow holds for later is given back, and the mark of the most memory begins anew (proc(5)).
    pyarrow.default_memory_pool().release_unused()
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
before = most()
for argv in json.load(sys.stdin):
    reset()
    out, err, code = (*(io.TextIOWrapper(io.BytesIO(), 'utf-8', write_through=True) for _ in 'oe'), 0)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(argv)
        except SystemExit as error:
            code = error.code or 0
        except BaseException as error:
            code = f"{{type(error).__name__}}: {{error}}"
    texts = [each.buffer.getvalue().decode('utf-8', 'replace')[-2000:] for each in (out, err)]
    print(json.dumps([code, *texts, most() - before]), flush=True)
"""


class Outcome(NamedTuple):
    """What came of one command."""

    code: int | str
    """Its exit code, or the exception that nobody caught."""

    out: str
    err: str
    megabytes: float
    """The most memory of the process while the command ran, beyond what it began with."""


def run(commands: Sequence[Sequence[str | Path]], cwd: Path | None = None) -> list[Outcome]:
    """Run commands one after the other in one process; a process that dies or hangs fails the test."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(limit=ADDRESS_SPACE)],
        input=json.dumps([[str(word) for word in command] for command in commands]),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]


def refused(outcome: Outcome) -> str:
    """Return the sentence with which a command was refused."""
    assert outcome.code == 2, outcome
    sentence = outcome.err.removeprefix("distrivote: error: ").removesuffix("\n")
    assert "\n" not in sentence, outcome
    assert "Traceback" not in sentence, outcome
    return sentence
