"""A command of the user that is started, fed with lines and read; no shell is used."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from typing import NamedTuple, Self

from distrivote.errors import InputError


class Program(NamedTuple):
    """A command, and the words for it in errors."""

    words: tuple[str, ...]
    noun: str
    argument: str

    @classmethod
    def of(cls, command: str | Sequence[str], noun: str, argument: str) -> Self:
        """Return the program of a command; a string is split as a shell does."""
        try:
            words = shlex.split(command) if isinstance(command, str) else command
        except ValueError as error:
            raise InputError(
                f"the {noun} {command!r} can't be read as a command ({error})", argument=argument
            ) from None
        if not words:
            raise InputError(f"the {noun} has no command", hint="name a program", argument=argument)
        return cls(tuple(words), noun, argument)

    @property
    def shown(self) -> str:
        return repr(shlex.join(self.words))

    def check(self) -> Self:
        """Return it; raise if there is no such program."""
        if shutil.which(self.words[0]) is None:
            raise self._unstarted(f": there is no program {self.words[0]!r}")
        return self

    def start(self) -> subprocess.Popen[str]:
        """Start it, with pipes to its input and from its output."""
        try:
            return subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise self._unstarted(f" ({error.strerror})") from None

    def _unstarted(self, why: str) -> InputError:
        return InputError(f"the {self.noun} {self.shown} can't be started{why}", argument=self.argument)


def end(process: subprocess.Popen[str]) -> None:
    """End a program and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()
