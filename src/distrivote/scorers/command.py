"""A command that scores.

It reads one JSON object per line, {"question_id", "trajectory", "question", "text", "answer"}, and writes a
number per line, in the same order; a blank line or nan is no score. It may answer line by line or at its end,
and may exit with code 0 before the end: then it is started again with the rest.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from distrivote.errors import EngineError, InputError
from distrivote.scorers.scorer import ANSWER, QUESTION, TEXT, Reply, Scored, number_of

PREFIX = "command:"

_LONGEST_LINE = 1000


class CommandScorer:
    """Scores by a command of the user; no shell is used."""

    column = "score"
    reads = (QUESTION, TEXT, ANSWER)
    needs = (TEXT,)
    settings: Mapping[str, Any] = {}

    def __init__(self, command: str) -> None:
        self.name = f"{PREFIX}{command}"
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise InputError(
                f"the scorer {command!r} can't be read as a command ({error})", argument="scorer"
            ) from None
        if not self._words:
            raise InputError("the scorer has no command", hint="write command:PROGRAM", argument="scorer")
        if shutil.which(self._words[0]) is None:
            raise InputError(
                f"the scorer {command!r} can't be started: there is no program {self._words[0]!r}",
                argument="scorer",
            )

    def score(self, replies: Sequence[Reply]) -> Iterator[Scored]:
        """Yield the scores in the order of the replies."""
        done = 0
        while done < len(replies):
            before = done
            code: int | None = None
            process = self._started()
            try:
                for line in self._lines(process, replies[done:]):
                    if done == len(replies):
                        raise EngineError(f"the scorer {self.name} wrote more lines than it was given")
                    text = line.strip()
                    yield Scored(done, number_of(text or None, self.name, replies[done]))
                    done += 1
                code = process.wait()
            finally:
                _end(process)
            if done < len(replies) and (code or done == before):
                raise EngineError(
                    f"the scorer {self.name} ended with exit code {code} after {done:,} of {len(replies):,}"
                    " lines",
                    hint="it must write one number for every line that it reads",
                )

    def _started(self) -> subprocess.Popen[str]:
        try:
            return subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise InputError(
                f"the scorer {self.name} can't be started ({error.strerror})", argument="scorer"
            ) from None

    def _lines(self, process: subprocess.Popen[str], replies: Sequence[Reply]) -> Iterator[str]:
        assert process.stdout is not None
        # In a thread: a command that writes while it reads would block on a full pipe.
        threading.Thread(target=_feed, args=(process.stdin, replies), daemon=True).start()
        while line := process.stdout.readline(_LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE:
                raise EngineError(
                    f"the scorer {self.name} wrote a line of more than {_LONGEST_LINE:,} characters",
                    hint="it must write one number for every line that it reads",
                )
            yield line


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):
                pipe.close()


def _feed(pipe: Any, replies: Sequence[Reply]) -> None:
    with contextlib.suppress(OSError, ValueError):  # the command has ended, which its output shows
        for reply in replies:
            pipe.write(json.dumps(reply.document(), ensure_ascii=False) + "\n")
        pipe.close()
