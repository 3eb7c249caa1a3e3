"""EDGE: one worker process for math-verify, from its owner's side.

It is a plain subprocess because `multiprocessing` would run the caller's main module again and does not work
in daemonic processes. After the timeout for a reply, the child that does the work is terminated, and if that
does not help the whole process is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from distrivote.answers import mathworker
from distrivote.errors import DistrivoteError

_GRACE = 1.0


class MathProcess:
    """One worker process, used by one thread at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", mathworker.__file__, json.dumps(sys.path)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"},
                start_new_session=True,
            )
        except OSError as error:
            raise DistrivoteError(
                f"a process for math-verify could not be started with {sys.executable!r} ({error}):"
                " compare answers without it"
            ) from error
        self._is_loaded = False
        self._n_asked = 0

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def load(self, patience: float) -> bool:
        """Wait until math-verify has been loaded, and say whether that succeeded."""
        if not self._is_loaded:
            hello = self._reply(patience)
            if hello and "failed" in hello:
                raise DistrivoteError(
                    f"math-verify is installed but does not load ({hello['failed']})",
                    hint="install it again with pip install --force-reinstall math-verify",
                )
            self._is_loaded = hello is not None
        return self._is_loaded

    def ask(self, job: dict[str, Any], patience: float) -> dict[str, Any] | None:
        """Return the reply to a job: a reply with "lost" if it took too long, None if the worker exited."""
        assert self._process.stdin is not None
        self._n_asked += 1
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps({**job, "id": self._n_asked}).encode() + b"\n")
            self._process.stdin.flush()
        return self._reply(patience)

    def end(self) -> None:
        """End the process and wait for it."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._send(signal.SIGKILL)
            self._process.wait()

    def forget(self) -> None:
        """Release a process without ending it: in a fork it belongs to the parent."""
        for stream in (self._process.stdin, self._process.stdout):
            stream.close()  # type: ignore[union-attr]
        self._process.returncode = 0

    def _reply(self, patience: float) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        answered = threading.Event()
        threading.Thread(target=self._hurry, args=(answered, patience), daemon=True).start()
        try:
            while line := self._process.stdout.readline():
                reply: dict[str, Any] = json.loads(line)
                # A child that was lost between two jobs leaves an extra reply: the job number identifies it.
                if reply.get("id", self._n_asked) == self._n_asked:
                    return reply
        except (OSError, ValueError):
            pass  # closed by another thread
        finally:
            answered.set()
        self.end()
        return None

    def _hurry(self, answered: threading.Event, patience: float) -> None:
        if not answered.wait(max(0.0, patience)):
            self._send(signal.SIGTERM)
            if not answered.wait(_GRACE):
                self._send(signal.SIGKILL)

    def _send(self, signal_number: signal.Signals) -> None:
        """Signal the process and its child; SIGTERM ends only the child."""
        if self.is_alive():
            with contextlib.suppress(OSError):
                if sys.platform == "win32":
                    self._process.kill()
                else:
                    os.killpg(self._process.pid, signal_number)
