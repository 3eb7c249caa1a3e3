"""Clients that leave at any moment: of what was opened and made for them nothing stays."""

from __future__ import annotations

import gc
import json
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.patience import Backoff, Patience
from distrivote.server.settings import Settings
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer
from serving import serving

BODY = {
    "model": "toy",
    "stream": True,
    "messages": [{"role": "user", "content": "How many are there?"}],
    "distrivote": {"budget": 4, "ssc": False, "method": "sc"},
}
N_CLIENTS = 120


def leave(url: str, seconds: float) -> None:
    """Ask for a vote, and be gone after a while, whatever has come."""
    parts, content = urlsplit(url), json.dumps(BODY).encode()
    with suppress(OSError), socket.create_connection((parts.hostname, parts.port), timeout=10) as client:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {parts.netloc}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        client.sendall(head.encode() + content)
        time.sleep(seconds)


def is_so(condition: Callable[[], bool]) -> bool:
    """Wait until something holds; say whether it ever did."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def n_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if os.path.isdir("/proc/self/fd") else 0


def objects() -> Counter[str]:
    """Count what Python's collector follows, by type."""
    gc.collect()
    return Counter(f"{type(each).__module__}.{type(each).__name__}" for each in gc.get_objects())


def objects_at_rest() -> Counter[str]:
    """Count them once they are no longer getting fewer."""
    held = objects()
    while True:
        time.sleep(0.5)
        now = objects()
        if now.total() >= held.total():
            return now
        held = now


def test_the_sockets_of_clients_that_leave_are_closed_and_nothing_of_them_is_kept() -> None:
    """Some leave before a stream has begun, others in its middle; one stream in five fails by itself."""
    draw = random.Random(0)
    toy = ToyServer(lambda _: [Token("word ")] * 30, pause=0.005)
    cut = Reply(events=[{"choices": [{"index": 0, "delta": {"content": "w"}}]}], end="reset")

    def answer(request: Request) -> Reply:
        streams = (request.body or {}).get("stream")
        return cut if streams and draw.random() < 0.2 else toy(request)

    patience = Patience(retry=Backoff(0.01, 0.05), aside=Backoff(0.01, 0.05), usage=0.05, drain=0.05)
    with (
        ScriptedServer(answer) as upstream,
        OpenAIEngine(upstream.url, patience=patience) as engine,
        serving(engine, Settings(budget=4, ssc=False, max_concurrency=64)) as url,
    ):
        leave(url, 1.0)
        before = n_descriptors()
        clients = [
            threading.Thread(target=leave, args=(url, draw.uniform(0.01, 0.4))) for _ in range(N_CLIENTS)
        ]
        n_sampled, held = 0, Counter[str]()
        for start in range(0, N_CLIENTS, 10):
            for client in clients[start : start + 10]:
                client.start()
            for client in clients[start : start + 10]:
                client.join()
            if start + 10 in (N_CLIENTS // 2, N_CLIENTS):
                # Those that ended well are kept for the next request for some seconds, and then closed too.
                assert is_so(lambda: upstream.n_connections == 0)
                n_sampled += len(upstream.sampled())
                upstream.requests.clear()
                if start + 10 < N_CLIENTS:
                    held = objects_at_rest()
        assert n_sampled > N_CLIENTS / 2

        def grown() -> dict[str, int]:
            # One object for each client of the second half would be twice as many.
            return {name: n for name, n in (objects() - held).items() if n > N_CLIENTS / 4}

        # The server needs a moment to see that the last ones have left.
        assert is_so(lambda: not grown()), grown()
        assert is_so(lambda: n_descriptors() <= before)
