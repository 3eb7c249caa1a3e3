"""Clients that leave at any moment, in front of a server that fails: does anything stay open?

A quarter of the clients wait for their reply; the others are gone after a while, in a stream or before it.
One stream in five of the upstream, a real HTTP server, breaks off or ends by a reset. Ten times in all,
when no client is there, the connections of the upstream are counted, and the open files, threads,
unfinished tasks, objects and memory of the process, in which all of them are: the clients, the server, its
engine and the upstream. What the upstream keeps of each request is removed before.

    PYTHONPATH=tests python -P bench/soak_vanishing.py [--requests 5000] [--seconds S]

Prints JSON, with the cause for each client that waited and was not served, and fails if there is one or if
one of the numbers has grown in the second half: objects and memory by more than a tenth, the others at all.
`--seconds` ends it in time.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import random
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import httpx2 as httpx

from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.patience import Backoff, Patience
from distrivote.server.settings import Settings
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer
from faults.test_vanishing import BODY, is_so, leave, n_descriptors
from serving import serving

TOGETHER = 10
MAX_GROWTH = 1.10
TIMEOUT = 120.0
"""Seconds without a byte after which a client that waits gives up."""


class Seen(NamedTuple):
    """What the process holds while no client is there."""

    n_requests: int
    n_sockets: int
    """Of the upstream."""

    n_files: int
    n_threads: int
    n_tasks: int
    n_objects: int
    """Of those that Python's collector follows."""

    megabytes: float


def megabytes() -> float:
    """Return the memory of the process without what the C library keeps for later."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) / 1024


def n_tasks() -> int:
    return sum(isinstance(each, asyncio.Task) and not each.done() for each in gc.get_objects())


def stay(url: str) -> str | None:
    """Ask for a vote and read the whole reply; return why there is no answer, None if there is one."""
    begun = time.monotonic()
    try:
        reply = httpx.post(f"{url}/v1/chat/completions", json=BODY, timeout=TIMEOUT)
    except httpx.HTTPError as error:
        return f"{error!r} after {time.monotonic() - begun:.1f} s"
    if reply.status_code == 200 and b"[DONE]" in reply.content and b'"error"' not in reply.content:
        return None
    return f"{reply.status_code} after {time.monotonic() - begun:.1f} s: {reply.text[-1000:]}"


def soak(n_requests: int, seconds: float) -> dict[str, object]:
    """Let clients come and go, and return what was seen."""
    draw = random.Random(0)
    toy = ToyServer(lambda _: [Token("word ")] * 30, pause=0.005)
    chunk = {"choices": [{"index": 0, "delta": {"content": "w"}}]}
    faults = [Reply(events=[chunk], end="reset"), Reply(events=[chunk, chunk], end="cut")]

    def answer(request: Request) -> Reply:
        streams = (request.body or {}).get("stream")
        return draw.choice(faults) if streams and draw.random() < 0.2 else toy(request)

    # A process that is not run for 3 s takes that for a server which does not accept a connection.
    patience = Patience(
        connect=60.0,
        without_server=TIMEOUT,
        without_known_server=TIMEOUT,
        retry=Backoff(0.01, 0.05),
        aside=Backoff(0.01, 0.05),
        usage=0.05,
        drain=0.05,
    )
    seen: list[Seen] = []
    ended: list[str | None] = []
    n_done = 0
    end = time.monotonic() + seconds
    with (
        ScriptedServer(answer) as upstream,
        OpenAIEngine(upstream.url, patience=patience) as engine,
        serving(engine, Settings(budget=4, ssc=False, max_concurrency=64)) as url,
    ):

        def one(waits: float | None) -> None:
            if waits is None:
                ended.append(stay(url))
            else:
                leave(url, waits)

        every = max(1, n_requests // 10 // TOGETHER) * TOGETHER
        while n_done < n_requests and time.monotonic() < end:
            waits = [None if draw.random() < 0.25 else draw.uniform(0.01, 0.4) for _ in range(TOGETHER)]
            clients = [threading.Thread(target=one, args=(each,)) for each in waits]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            n_done += TOGETHER
            if n_done % every == 0:
                is_so(lambda: upstream.n_connections == 0 and upstream.n_open == 0)
                is_so(lambda: n_tasks() == 0)  # the server may still be at the end of a request
                upstream.requests.clear()
                gc.collect()
                held = (upstream.n_connections, n_descriptors(), threading.active_count(), n_tasks())
                seen.append(Seen(n_done, *held, len(gc.get_objects()), round(megabytes(), 1)))
                print(seen[-1], file=sys.stderr)
    return {
        "n_requests": n_done,
        "n_stayed": len(ended),
        "n_served": ended.count(None),
        "n_left": n_done - len(ended),
        "not_served": [each for each in ended if each is not None],
        "seen": [each._asdict() for each in seen],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing new after this")
    asked = parser.parse_args()
    result = soak(asked.requests, asked.seconds)
    print(json.dumps(result, indent=2))
    seen = [Seen(**each) for each in result["seen"]]  # type: ignore[attr-defined]
    assert not result["not_served"], "a client that waited was not served"
    first, last = seen[: len(seen) // 2], seen[-1]
    for name in ("n_sockets", "n_files", "n_threads", "n_tasks"):
        assert getattr(last, name) <= max(getattr(each, name) for each in first), f"{name} has grown"
    for name in ("n_objects", "megabytes"):
        most = MAX_GROWTH * max(getattr(each, name) for each in first)
        assert getattr(last, name) <= most, f"{name} has grown"


if __name__ == "__main__":
    main()
