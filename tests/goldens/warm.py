"""Runs the command as a user does, without paying for its start each time.

A process loads the command's modules once. Every command runs in a fork of it: a process of its own, with
its own folder, environment and streams, which are pipes or terminals of 80 columns. Standard output and
standard error are told apart, also on a terminal.

    with Warm() as warm:
        ran = warm.run(["vote", "answers.jsonl"], folder, terminal=True)
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

COLUMNS, LINES = 80, 40
_SECONDS = 120.0
"""How long a command may take on the busiest machine."""

_TESTS = Path(__file__).parents[1]
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_SET = {
    "HF_HUB_OFFLINE": "1",
    "LANG": "C.UTF-8",
    "NO_PROXY": "*",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TERM": "xterm-256color",
}
_KEPT = ("PATH", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV")
"""What a command sees of the environment; the rest would be this machine's."""


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


class Warm:
    """The process that commands are forked from."""

    def __enter__(self) -> Warm:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        paths = [str(_TESTS.parent / "src"), str(_TESTS), *filter(None, [kept.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=kept | _THREADS | _SET | {"PYTHONPATH": os.pathsep.join(paths)},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(
        self,
        argv: list[str],
        folder: Path,
        *,
        terminal: bool = False,
        typed: str | None = None,
        variables: dict[str, str] | None = None,
        serves: bool = False,
    ) -> Ran:
        """Run a command to its end.

        Args:
            argv: The words after `distrivote`.
            folder: Where it runs, and its home.
            terminal: Whether its streams are terminals.
            typed: What standard input holds; nothing can be read from it if not given.
            variables: Of the environment.
            serves: Whether it is a server: it is interrupted, as by Ctrl-C, once it answers where it says.
        """
        request = {"argv": argv, "folder": str(folder), "terminal": terminal, "typed": typed}
        request |= {"variables": {"HOME": str(folder)} | (variables or {}), "serves": serves}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply = self._process.stdout.readline()
        if not reply:
            raise RuntimeError("the process that commands are forked from has ended")
        return Ran(**json.loads(reply))


# What follows runs in that process.


def _load() -> None:
    """Import all that commands use. Whatever starts threads is left out: they would not be in a fork."""
    import importlib
    import pkgutil

    import distrivote

    for module in pkgutil.walk_packages(distrivote.__path__, "distrivote.", onerror=lambda _: None):
        if re.search(r"__main__|integrations|llama|transformers|vllm|_ray", module.name):
            continue
        importlib.import_module(module.name)
    for name in ("rich.live", "rich.table", "uvicorn"):
        importlib.import_module(name)
    assert threading.active_count() == 1
    gc.freeze()  # a collection in a fork would copy every page


def _serve() -> list[str] | None:
    """Fork for each request; returns in a fork, with the command to run, and at the end with None."""
    while line := sys.stdin.readline():
        request = json.loads(line)
        ours, theirs = zip(*(_stream(request["terminal"]) for _ in range(2)), strict=True)
        pid = os.fork()
        if not pid:
            for end in ours:
                os.close(end)
            _become(request, *theirs)
            return list(request["argv"])
        for end in theirs:
            os.close(end)
        out, err = _gathered(pid, ours, request["serves"])
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(json.dumps({"code": code, "out": out, "err": err}), flush=True)
    return None


def _stream(terminal: bool) -> tuple[int, int]:
    """Return the two ends of a pipe or of a terminal, ours first."""
    if not terminal:
        return os.pipe()
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    modes: list[Any] = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST  # a line ends as the program ended it
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    return ours, theirs


def _become(request: dict[str, Any], out: int, err: int) -> None:
    """Make this process the command's."""
    import tempfile

    if request["typed"] is not None:
        with tempfile.TemporaryFile() as file:
            file.write(request["typed"].encode())
            file.seek(0)
            os.dup2(file.fileno(), 0)
    else:
        os.dup2(out if request["terminal"] else os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.update(request["variables"])
    by_line = 1 if request["terminal"] else -1
    streams = [
        os.fdopen(0, encoding="utf-8", closefd=False),
        os.fdopen(1, "w", by_line, encoding="utf-8", closefd=False),
        os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False),
    ]
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams  # type: ignore[misc]
    sys.argv = ["distrivote", *request["argv"]]


def _gathered(pid: int, streams: tuple[int, ...], serves: bool) -> list[str]:
    """Return what came out of each stream until both were closed."""
    texts = dict.fromkeys(streams, b"")
    still, deadline = set(streams), time.monotonic() + _SECONDS
    while still:
        ready, _, _ = select.select(list(still), [], [], max(deadline - time.monotonic(), 0.0))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            deadline = time.monotonic() + _SECONDS
        for stream in ready:
            try:
                data = os.read(stream, 1 << 16)
            except OSError:  # a terminal whose other end is closed
                data = b""
            texts[stream] += data
            if not data:
                still.discard(stream)
                os.close(stream)
        address = re.search(rb"open http://127\.0\.0\.1:(\d+)", texts[streams[1]])
        if serves and address is not None:
            _answered(int(address[1]))
            os.kill(pid, signal.SIGINT)
            serves = False
    return [text.decode() for text in texts.values()]


def _answered(port: int) -> None:
    """Wait until a server answers: it takes connections before."""
    import socket

    with socket.create_connection(("127.0.0.1", port), _SECONDS) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        while connection.recv(1 << 16):
            pass


def _ended(argv: list[str]) -> NoReturn:
    """Run a command and end as Python would, but for taking apart all modules, which takes half a second."""
    from distrivote.cli.main import main

    code: object = 0
    try:
        main(argv)
    except SystemExit as left:
        code = left.code
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    _load()
    command = _serve()
    if command is not None:
        _ended(command)
