"""A command that scores.

It reads one JSON object per line, {"question_id", "trajectory", "question", "text", "answer"}, and writes a
number per line, in the same order; a blank line or nan is no score. It may answer line by line or at its end,
and may exit with code 0 before the end: then it is started again with the rest.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from distrivote.errors import EngineError
from distrivote.programs import Program, end
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
        self._program = Program.of(command, "scorer", "scorer").check()

    def score(self, replies: Sequence[Reply]) -> Iterator[Scored]:
        """Yield the scores in the order of the replies."""
        done = 0
        while done < len(replies):
            before = done
            code: int | None = None
            process = self._program.start()
            try:
                for line in self._lines(process, replies[done:]):
                    if done == len(replies):
                        raise EngineError(f"the scorer {self.name} wrote more lines than it was given")
                    text = line.strip()
                    yield Scored(done, number_of(text or None, self.name, replies[done]))
                    done += 1
                code = process.wait()
            finally:
                end(process)
            if done < len(replies) and (code or done == before):
                raise EngineError(
                    f"the scorer {self.name} ended with exit code {code} after {done:,} of {len(replies):,}"
                    " lines",
                    hint="it must write one number for every line that it reads",
                )

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


def _feed(pipe: Any, replies: Sequence[Reply]) -> None:
    with contextlib.suppress(OSError, ValueError):  # the command has ended, which its output shows
        for reply in replies:
            pipe.write(json.dumps(reply.document(), ensure_ascii=False) + "\n")
        pipe.close()
