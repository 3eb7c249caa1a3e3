"""A real OpenAI-compatible server for tests: llama.cpp's own in a process, with the built-in model."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx2 as httpx
import pytest

_SERVER = """
import os, sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_parallel = 4
params.n_ctx = 4 * 2048
params.warmup = False
params.endpoint_slots = True
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.port = int(sys.argv[2])
server = xllamacpp.Server(params)
sys.stdin.read()
os._exit(0)
"""


@contextlib.contextmanager
def llamacpp_server() -> Iterator[str]:
    """Run a server of four slots while the block runs; gives its address, without /v1."""
    pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
    from distrivote.engines.llamacpp.files import BUILT_IN, model_file

    path, port = str(model_file(BUILT_IN)), _free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, path, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{url}/health").status_code == 200:
                    break
            time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def n_busy(url: str) -> int:
    """Return how many of its slots are sampling."""
    return sum(slot["is_processing"] for slot in httpx.get(f"{url}/slots").json())


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
