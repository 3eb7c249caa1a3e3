"""Which HTTP library and which JSON parser read streams fastest? Prints JSON.

    pip install httpx httpx2 orjson && python bench/wire.py [--tokens 400] [--repeats 3]

`http`: 64 streams from the server of bench/engines.py, one event per token with 20 log-probabilities, read
and thrown away; microseconds of the processor per token. `json`: one such event, parsed; microseconds each.
Libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from distrivote.engines.wire import decode_response
from engines import _SERVER, N_STREAMS, events


async def read_httpx(name: str, url: str, n_tokens: int) -> None:
    library = import_module(name)
    limits = library.Limits(max_connections=None)
    async with library.AsyncClient(timeout=60, limits=limits) as client:

        async def one() -> None:
            body = {"stream": True, "max_tokens": n_tokens}
            async with client.stream("POST", url, json=body) as reply:
                async for _ in reply.aiter_bytes():
                    pass

        await asyncio.gather(*(one() for _ in range(N_STREAMS)))


async def read_aiohttp(_name: str, url: str, n_tokens: int) -> None:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one() -> None:
            async with session.post(url, json={"stream": True, "max_tokens": n_tokens}) as reply:
                async for _ in reply.content.iter_any():
                    pass

        await asyncio.gather(*(one() for _ in range(N_STREAMS)))


LIBRARIES: dict[str, Callable[[str, str, int], Coroutine[Any, Any, None]]] = {
    "httpx": read_httpx,
    "httpx2": read_httpx,
    "aiohttp": read_aiohttp,
}


def http_section(chunks: list[bytes], n_tokens: int, repeats: int) -> dict[str, float]:
    command = [sys.executable, "-c", _SERVER]
    times: dict[str, list[float]] = {name: [] for name in LIBRARIES if find_spec(name)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("\n".join(chunk.hex() for chunk in chunks))
        server.stdin.close()
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1/chat/completions"
        for _ in range(repeats + 1):
            for name, found in times.items():
                begun = time.process_time()
                asyncio.run(LIBRARIES[name](name, url, n_tokens))
                found.append((time.process_time() - begun) / N_STREAMS / n_tokens * 1e6)
        server.kill()
    return {name: round(statistics.median(found[1:]), 1) for name, found in times.items()}


def json_section(chunks: list[bytes], repeats: int) -> dict[str, float]:
    texts = [chunk.split(b"data: ", 1)[1].split(b"\n", 1)[0] for chunk in chunks[:-2]]
    parsers: dict[str, Callable[[bytes], Any]] = {"json": json.loads, "msgspec typed": decode_response}
    if find_spec("orjson"):
        parsers["orjson"] = import_module("orjson").loads
    found = {}
    for name, parse in parsers.items():
        times = []
        for _ in range(repeats + 2):
            begun = time.process_time()
            for text in texts:
                parse(text)
            times.append((time.process_time() - begun) / len(texts) * 1e6)
        found[name] = round(min(times), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    chunks = events(args.tokens)
    http = http_section(chunks, args.tokens, args.repeats)
    print(json.dumps({"http": http, "json": json_section(chunks, args.repeats)}, indent=2))


if __name__ == "__main__":
    main()
