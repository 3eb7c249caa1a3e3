"""EDGE: runs programs that a model wrote in a sandbox: a confined process for each.

No program has access to: other processes and threads, connections, signals to others, writing files, the
environment, the other programs, more than its time, memory and output. Which files it can read depends on the
system:

    namespace   it sees the libraries of Python, read-only, and no other file, process or network
    user        run by root without namespaces: another user's rights, so it reads what everybody may read
    limits      neither: it reads what this user may read; only if the caller asks for it

It does not stop exploits of kernel bugs, or programs that use all of their time. `worker` documents how it
works.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from distrivote.answers.code import worker
from distrivote.answers.code.systemcalls import ARCHITECTURES, rules_for
from distrivote.errors import InputError

Confinement: TypeAlias = Literal["namespace", "user", "limits"]
Outcome: TypeAlias = tuple[str, ...]
"""("value", text), ("error",) or ("timeout",)."""

_WORKER = Path(worker.__file__)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Limits of one program on one input."""

    seconds: float = 2.0
    memory: int = 512 << 20
    n_workers: int = 2
    confinement: Confinement | None = None
    """None: the strongest that the system has; an error if it has neither namespaces nor another user."""

    def run(
        self, programs: Sequence[str], entry: str, inputs: Sequence[tuple[Any, ...]]
    ) -> list[list[Outcome]]:
        """Return the outcome of each program on each input, (n_programs, n_inputs)."""
        if not programs or not inputs:
            return [[] for _ in programs]
        confine = self.confinement or best_confinement()
        limits = {
            "seconds": self.seconds,
            "memory": self.memory,
            "confine": confine,
            "calls": rules_for(os.uname().machine),
        }
        task = {
            "programs": list(programs),
            "entry": entry,
            "inputs": [repr(arguments) for arguments in inputs],
            "n_workers": self.n_workers,
        }
        document = _run_worker(limits, task, self._longest(len(programs), len(inputs)))
        outcomes = document["outcomes"]
        return [[tuple(outcome) for outcome in row] for row in outcomes]

    def _longest(self, n_programs: int, n_inputs: int) -> float:
        """Return the timeout of the worker itself in seconds: every program may time out three times."""
        each = self.seconds * min(n_inputs, 4) + 0.1 * n_inputs
        return 10.0 + n_programs * each / self.n_workers


def _run_worker(limits: dict[str, Any], task: dict[str, Any], seconds: float) -> dict[str, Any]:
    # As isolated as with -I, which would prevent a fixed order of sets in every run.
    command = [sys.executable, "-s", "-S", "-P", str(_WORKER), json.dumps(limits)]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task).encode(),
            capture_output=True,
            env={"PYTHONHASHSEED": "0"},
            cwd="/",
            timeout=seconds,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"outcomes": [[["timeout"] for _ in task["inputs"]] for _ in task["programs"]]}
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise InputError(
            f"the sandbox for programs could not be set up: {''.join(last) or 'it ended'}"
        ) from None
    return found


@cache
def best_confinement() -> Confinement:
    """Return the strongest confinement that this system has; InputError if it has none."""
    if sys.platform == "linux" and os.uname().machine in ARCHITECTURES:
        order: tuple[Confinement, ...] = ("namespace", "user") if os.getuid() == 0 else ("namespace",)
        for confine in order:
            probe = Sandbox(confinement=confine)
            try:
                if probe.run(["def f(): return 1"], "f", [()]) == [[("value", "1")]]:
                    return confine
            except InputError:
                continue
    raise InputError(
        "this system has neither namespaces nor another user to run programs as, so they are not run:"
        " use Linux with user namespaces, or name the confinement 'limits' yourself"
    )
