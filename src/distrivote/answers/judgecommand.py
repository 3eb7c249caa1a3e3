"""EDGE: a command that judges whether two answers are the same.

It reads one JSON object per line from its standard input, {"question": ..., "a": ..., "b": ...}, and writes
one line for each: yes, no, true, false, 1 or 0. Anything else counts as unclear. It may keep running for the
next line, or exit and be started again.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType

from distrivote.errors import EngineError
from distrivote.programs import Program, end

SECONDS = 60.0
"""The timeout for one verdict of a command, in seconds."""

_VERDICTS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


class CommandJudge:
    """A judge (answers/judge.py) that runs a user's command; close it, or use it in a `with` statement."""

    def __init__(self, program: Program, question: str, seconds: float) -> None:
        self.program = program
        self.question = question
        self.seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._has_answered = False
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def __call__(self, a: str, b: str, /) -> bool | None:
        line = json.dumps({"question": self.question, "a": a, "b": b}, ensure_ascii=False) + "\n"
        said = self._answer(line)
        if said is None and self._has_answered:  # it exits after each answer
            self.close()
            said = self._answer(line)
        if said is None:
            code = None if self._process is None else self._process.wait()
            self.close()
            raise EngineError(f"the judge {self.program.shown} ended without an answer (exit code {code})")
        self._has_answered = True
        return _VERDICTS.get(said.strip().strip('."').lower())

    def _answer(self, line: str) -> str | None:
        """Return the line that the command writes, None if it exits."""
        process = self._running()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has exited, which its output shows
            process.stdin.write(line)
            process.stdin.flush()
        try:
            return self._lines.get(timeout=self.seconds)
        except queue.Empty:
            self.close()
            raise EngineError(
                f"the judge {self.program.shown} gave no answer within {self.seconds:g} s",
                hint="it must write a line, and flush it, for every line that it reads",
            ) from None

    def close(self) -> None:
        """Stop the command if it is running."""
        process, self._process = self._process, None
        self._has_answered = False
        if process is None:
            return
        end(process)

    def __enter__(self) -> CommandJudge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._lines.empty() and self._process.poll() is None:
            return self._process
        self.close()
        process = self.program.start()
        self._process, self._lines = process, queue.SimpleQueue()
        threading.Thread(target=_read, args=(process, self._lines), daemon=True).start()
        return process


def command_judge(command: str | Sequence[str], question: str = "", seconds: float = SECONDS) -> CommandJudge:
    """Return a judge that asks a command; a string is split as a shell does, but no shell is used."""
    return CommandJudge(_program(command), question, seconds)


def checked_command(command: str) -> tuple[str, ...]:
    """Return the words of a command; raises InputError before any sampling if there is no such program."""
    return _program(command).check().words


def _program(command: str | Sequence[str]) -> Program:
    return Program.of(command, "judge", "same")


def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError):  # closed while it was being read
        for line in process.stdout:
            lines.put(line)
    lines.put(None)
