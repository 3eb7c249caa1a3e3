"""The server under load and abuse: many clients, mixed requests, and connections that break off at random.

A quarter of all requests is left in the middle: in the headers, in the body, before the reply, inside a
stream, with a reset; or is no HTTP at all. The others have to be answered as ever. Watched are the memory,
the open files and the tasks of the server process, which plays stored trajectories back.

    python bench/soak_server.py [--seconds 600] [--clients 16]

Prints JSON, and fails if a client was not served or something leaked. "After warm-up" is a tenth of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import socket
import statistics
import struct
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from operator import sub
from pathlib import Path
from typing import Any

import httpx2 as httpx

from server import BUDGET, QUESTION, memory, stored

KEY = "soak-key"
RUDE = 0.25
MAX_GROWTH = 1.10
CHAT = {"model": "replay", "messages": [{"role": "user", "content": QUESTION}]}
HEADERS = {"authorization": f"Bearer {KEY}"}


def run_server(pipe: Connection) -> None:
    """Serve, and tell the number of tasks whenever something comes through the pipe, until None does."""
    import uvicorn

    from distrivote.engines.replay import ReplayEngine
    from distrivote.server.app import create_app
    from distrivote.server.connections import PatientProtocol
    from distrivote.server.settings import Settings

    async def serve() -> None:
        settings = Settings(api_key=KEY, budget=BUDGET, max_concurrency=64, max_body=200_000)
        app = create_app(ReplayEngine(stored(BUDGET)), "dis-gmm", settings)
        config = uvicorn.Config(app, port=0, http=PatientProtocol, log_level="critical")
        server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        pipe.send(server.servers[0].sockets[0].getsockname()[1])
        with ThreadPoolExecutor(1) as listening:
            loop = asyncio.get_running_loop()
            while await loop.run_in_executor(listening, pipe.recv) is not None:
                pipe.send(len(asyncio.all_tasks()))
        server.should_exit = True
        await serving

    asyncio.run(serve())


# Clients that wait for their reply


async def _answer(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> str:
    reply = await client.post(path, json=body, headers=HEADERS)
    assert reply.status_code == 200, reply.text
    return str(reply.json()["distrivote"]["answer"])


async def _streamed(client: httpx.AsyncClient, path: str, body: dict[str, Any], last: bytes) -> None:
    reply = await client.post(path, json=body, headers=HEADERS)
    assert reply.status_code == 200, reply.text
    assert last in reply.content, reply.content[-200:]


async def _status(client: httpx.AsyncClient, method: str, path: str, status: int, **more: Any) -> None:
    reply = await client.request(method, path, **({"headers": HEADERS} | more))
    assert reply.status_code == status, f"{path}: {reply.status_code} {reply.text[:200]}"


async def polite(client: httpx.AsyncClient, rng: random.Random) -> str:
    """Ask something, and check the reply; returns what was asked."""
    what = rng.choice(("chat", "chat", "stream", "completions", "page", "small", "wrong"))
    if what == "chat":
        # A reply of other trajectories, or of another client's question, would have another answer.
        budget = rng.choice((1, BUDGET))
        answer = await _answer(client, "/v1/chat/completions", CHAT | {"distrivote": {"budget": budget}})
        assert answer == ANSWERS.setdefault(budget, answer)
    elif what == "stream":
        await _streamed(client, "/v1/chat/completions", CHAT | {"stream": True}, b"data: [DONE]")
    elif what == "completions":
        await _answer(client, "/v1/completions", {"model": "replay", "prompt": QUESTION})
    elif what == "page":
        await _streamed(client, "/api/ask", {"question": QUESTION}, b"event: final")
    elif what == "small":
        path = rng.choice(("/health", "/docs", "/metrics", "/v1/models", "/", "/api/settings"))
        await _status(client, "GET", path, 200)
    else:
        await _status(client, "GET", "/v1/models", 401, headers={"authorization": "Bearer no"})
        await _status(client, "POST", "/v1/chat/completions", 400, json=CHAT | {"n": 3})
        await _status(client, "POST", "/v1/chat/completions", 413, content=b"x" * 300_000)
        await _status(client, "GET", "/v1/nothing", 404)
    return what


ANSWERS: dict[int, str] = {}

# Clients that do not


async def rude(port: int, rng: random.Random) -> str:
    """Begin a request and leave it; returns in which way."""
    what = rng.choice(("headers", "body", "reply", "stream", "page", "reset", "no HTTP"))
    streams = what in ("stream", "reset")
    body = json.dumps({"question": QUESTION} if what == "page" else CHAT | {"stream": streams}).encode()
    path = "/api/ask" if what == "page" else "/v1/chat/completions"
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    head += f"authorization: Bearer {KEY}\r\ncontent-length: {len(body)}\r\n\r\n"
    sent = {
        "headers": head.encode()[: rng.randrange(len(head))],
        "body": head.encode() + body[: rng.randrange(len(body))],
        "no HTTP": rng.randbytes(rng.randrange(1, 2000)),
    }.get(what, head.encode() + body)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        await writer.drain()
        if what in ("stream", "page", "reset"):
            async with asyncio.timeout(30):
                await reader.read(rng.randrange(1, 600))
        await asyncio.sleep(rng.choice((0.0, rng.uniform(0.0, 0.1))))
        if what == "reset":
            link: socket.socket = writer.get_extra_info("socket")
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return what


async def clients(port: int, n: int, seconds: float) -> Counter[str]:
    """Let clients come and go for so long; return what they did."""
    done: Counter[str] = Counter()
    end = time.monotonic() + seconds

    async def one(number: int) -> None:
        rng = random.Random(number)
        limits = httpx.Limits(max_keepalive_connections=1)
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=120, limits=limits
        ) as client:
            while time.monotonic() < end:
                if rng.random() < RUDE:
                    with suppress(ConnectionError):
                        done[f"left: {await rude(port, rng)}"] += 1
                else:
                    done[await polite(client, rng)] += 1

    await asyncio.gather(*(one(number) for number in range(n)))
    return done


def open_files(pid: int) -> int:
    path = Path(f"/proc/{pid}/fd")
    return len(list(path.iterdir())) if path.exists() else 0


def soak(n_clients: int, seconds: float) -> dict[str, Any]:
    """Return what was done and seen."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=run_server, args=(theirs,))
    process.start()
    pid = process.pid or 0
    try:
        port = pipe.recv()

        def at_rest() -> tuple[int, int]:
            pipe.send("tasks")
            return pipe.recv(), open_files(pid)

        def settled(most: tuple[int, int] | None = None) -> tuple[int, int]:
            """Return tasks and open files when they change no more, or are as few as they were."""
            end, last = time.monotonic() + 25, (-1, -1)
            while (now := at_rest()) != last or (most is not None and max(map(sub, now, most)) > 0):
                if time.monotonic() > end:
                    break
                last = now
                time.sleep(1.0)
            return now

        done = asyncio.run(clients(port, n_clients, max(seconds / 10, 2.0)))
        begin, before = memory(pid), settled()
        held = [begin]
        pieces = max(1, min(20, int(seconds / 5)))
        for _ in range(pieces):
            done += asyncio.run(clients(port, n_clients, 0.9 * seconds / pieces))
            held.append(memory(pid))
        after = settled(before)
    finally:
        pipe.send(None)
        process.join(20)
        if process.is_alive():
            process.kill()
    return {
        "seconds": seconds,
        "n_clients": n_clients,
        "n_answered": sum(n for what, n in done.items() if not what.startswith("left")),
        "n_left": sum(n for what, n in done.items() if what.startswith("left")),
        "requests": dict(sorted(done.items())),
        "memory_mb": {"begin": round(begin, 1), "end": round(held[-1], 1), "most": round(max(held), 1)},
        "memory_growth": round(statistics.median(held[-3:]) / begin, 3),
        "tasks_at_rest": [before[0], after[0]],
        "open_files_at_rest": [before[1], after[1]],
        "answers": {str(budget): answer for budget, answer in sorted(ANSWERS.items())},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--clients", type=int, default=16)
    asked = parser.parse_args()
    result = soak(asked.clients, asked.seconds)
    print(json.dumps(result | {"load_average": list(os.getloadavg())}, indent=2))
    assert result["memory_growth"] <= MAX_GROWTH, "the server's memory grew"
    assert result["tasks_at_rest"][1] <= result["tasks_at_rest"][0], "a task is stuck"
    assert result["open_files_at_rest"][1] <= result["open_files_at_rest"][0], "files stay open"


if __name__ == "__main__":
    main()
