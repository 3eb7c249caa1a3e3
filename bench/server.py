"""How fast the server is: requests per second, waiting times, memory, and what it adds to an engine's time.

The engine plays stored trajectories back, so what is measured is the server: parsing, sampling threads,
measuring 32 trajectories, the vote and the reply. Server and clients are two processes on one machine.

    python bench/server.py [--requests 2000] [--clients 16] [--embedded N] [--upstream N] [--forward N]

With `--upstream` the server stands in front of an OpenAI-compatible one, a third process that plays short
replies; once as it is and once with the client's event loop in a thread, in turn, as a ratio. With
`--forward` it passes requests on to that one, each sent to both in turn: what passing on adds, to whole
replies and to every event of a stream.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

from distrivote import Trajectory
from distrivote.engines import Engine, OpenAIEngine
from distrivote.engines.base import BatchEngine, Job, Sampled, Watch
from distrivote.server.settings import Settings
from distrivote.steering import Controller

BUDGET, STEPS, STEP_TOKENS = 32, 4, 16
QUESTION = "Tom has 5 apples and buys 7 more. How many has he?"
N_STAMPS, STAMP_SECONDS = 5, 0.02
"""Of a stream whose events say when they were sent."""


def stored(n: int) -> list[Trajectory]:
    """Return trajectories of 64 tokens with 20 log-probabilities each, of four answers."""
    rng = np.random.default_rng(0)
    pool = []
    for _ in range(n):
        answer = str(rng.choice([12, 35, 7, 13], p=[0.5, 0.3, 0.1, 0.1]))
        tokens = [" word"] * (STEPS * STEP_TOKENS)
        for end in range(STEP_TOKENS, len(tokens), STEP_TOKENS):
            tokens[end - 1] = ".\n\n"
        tokens[-1] = f" \\boxed{{{answer}}}"
        level = rng.normal(14 if answer == "12" else 11, 1)
        top = -np.abs(rng.normal(level, 2, (len(tokens), 20)))
        pool.append(Trajectory("".join(tokens), tuple(tokens), top, top[:, 0].copy(), "stop"))
    return pool


class InThread(BatchEngine):
    """An engine without its asynchronous side, so that it is driven in a thread."""

    concurrent = True

    def __init__(self, engine: OpenAIEngine) -> None:
        self._engine = engine
        self.name, self.model = engine.name, engine.model

    def sample_jobs(
        self, jobs: Sequence[Job], controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled]:
        return self._engine.sample_all(jobs, controller, watch=watch)

    def release(self) -> None:
        self._engine.close()


def upstream_app() -> object:
    """Return a server of short replies: one token per chunk, with 20 log-probabilities."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    # Probabilities that add up to more than 1 would be a flaw, for which replies are asked for again.
    top = [{"token": f" {i}", "logprob": -1.0 - i} for i in range(20)]

    def choice(text: str, finish: str | None) -> dict[str, object]:
        first = {"token": text, "logprob": -1.0}
        content = [{**first, "top_logprobs": [first, *top[1:]]}]
        return {"index": 0, "finish_reason": finish, "logprobs": {"content": content}}

    words = ["Well", ".\n\n", "\\boxed{12}"]
    ends: list[str | None] = [None, None, "stop"]
    chunks = [choice(text, end) | {"delta": {"content": text}} for text, end in zip(words, ends, strict=True)]
    events = [f"data: {json.dumps({'choices': [chunk]})}\n\n".encode() for chunk in chunks]
    whole = {
        "choices": [choice("Well", "stop") | {"message": {"content": "Well"}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1},
    }

    async def streamed() -> AsyncGenerator[bytes]:
        for event in events:
            yield event
            await asyncio.sleep(0)
        yield b"data: [DONE]\n\n"

    async def stamped() -> AsyncGenerator[bytes]:
        for _ in range(N_STAMPS):
            yield f"data: {time.monotonic()}\n\n".encode()
            await asyncio.sleep(STAMP_SECONDS)

    async def models(_: Request) -> Response:
        return JSONResponse({"data": [{"id": "toy"}]})

    async def chat(request: Request) -> Response:
        asked = await request.json()
        if asked.get("stamps"):
            return StreamingResponse(stamped(), media_type="text/event-stream")
        if asked.get("stream"):
            return StreamingResponse(streamed(), media_type="text/event-stream")
        return JSONResponse(whole)

    return Starlette(
        routes=[Route("/v1/models", models), Route("/v1/chat/completions", chat, methods=["POST"])]
    )


def run_upstream(_: str, pipe: Connection) -> None:
    """Serve short replies until the other end of the pipe says so."""
    serve(upstream_app(), pipe)


def run_server(engine_name: str, pipe: Connection) -> None:
    """Serve until the other end of the pipe says so."""
    from distrivote.server.app import create_app

    engine: Engine
    kind, _, url = engine_name.partition(" ")
    if kind == "upstream":
        engine = OpenAIEngine(url)
    elif kind == "in-thread":
        engine = InThread(OpenAIEngine(url))
    elif engine_name == "embedded":
        from distrivote.engines.llamacpp.engine import LlamaCppEngine

        engine = LlamaCppEngine()
    else:
        from distrivote.engines.replay import ReplayEngine

        engine = ReplayEngine(stored(BUDGET))
    settings = Settings(budget=BUDGET, max_concurrency=64, max_tokens=64, template="worked", ssc=not url)
    with closing(engine):
        serve(create_app(engine, "dis-gmm", settings), pipe)


def serve(app: Any, pipe: Connection) -> None:
    """Serve an application, tell its port, and end at the next message."""
    import threading

    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))

    def wait() -> None:
        while not server.started:
            time.sleep(0.01)
        pipe.send(server.servers[0].sockets[0].getsockname()[1])
        pipe.recv()
        server.should_exit = True

    threading.Thread(target=wait, daemon=True).start()
    server.run()


@contextmanager
def serving(engine: str, run: Callable[[str, Connection], None] = run_server) -> Iterator[tuple[str, int]]:
    """Start a server process; gives its address and process id."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run, args=(engine, theirs))
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}", process.pid or 0
    finally:
        ours.send("stop")
        process.join(20)
        if process.is_alive():
            process.kill()


def body(model: str) -> dict[str, object]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "distrivote": {"template": "worked"},
    }


async def load(url: str, n_requests: int, n_clients: int, model: str = "replay") -> list[float]:
    """Send requests from several clients, each waiting for its reply; return how long each took."""
    seconds: list[float] = []
    left = iter(range(n_requests))

    async def one(client: httpx.AsyncClient) -> None:
        for _ in left:
            begun = time.perf_counter()
            reply = await client.post(f"{url}/v1/chat/completions", json=body(model))
            assert reply.status_code == 200, reply.text
            seconds.append(time.perf_counter() - begun)

    # One pool of connections: making a client takes longer than a request, and would be measured with it.
    async with httpx.AsyncClient(timeout=120) as client:
        await asyncio.gather(*(one(client) for _ in range(n_clients)))
    return seconds


def memory(pid: int) -> float:
    """Return the megabytes that a process holds, shared ones included; NaN where the system has no /proc."""
    path = Path(f"/proc/{pid}/statm")
    if not path.exists():
        return float("nan")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far, which other programs hardly change."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return float("nan")
    user, system = path.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def measure_replayed(n_requests: int, n_clients: int) -> dict[str, object]:
    """Return speed and memory with the replayed engine."""
    with serving("replay") as (url, pid):
        asyncio.run(load(url, 50, n_clients))
        held, busy = [memory(pid)], processor_seconds(pid)
        seconds: list[float] = []
        begun = time.perf_counter()
        for _ in range(5):
            seconds += asyncio.run(load(url, n_requests // 5, n_clients))
            held.append(memory(pid))
        total = time.perf_counter() - begun
        busy = processor_seconds(pid) - busy
    cuts = statistics.quantiles(seconds, n=100)
    # A machine that is shared stands still now and then: the tenths of the run show when it did.
    n = len(seconds) // 10
    tenths = [statistics.quantiles(seconds[at : at + n], n=100)[98] for at in range(0, 10 * n, n)]
    return {
        "n_requests": len(seconds),
        "n_clients": n_clients,
        "requests_per_second": round(len(seconds) / total, 1),
        "p50_ms": round(1000 * cuts[49], 1),
        "p99_ms": round(1000 * cuts[98], 1),
        "p99_ms_of_each_tenth": [round(1000 * value) for value in tenths],
        "server_processor_ms": round(1000 * busy / len(seconds), 2),
        "memory_mb": [round(value, 1) for value in held],
    }


def measure_upstream(n_requests: int, n_clients: int, rounds: int = 4) -> dict[str, object]:
    """Return waiting and processor times in front of another server, in the loop and in a thread, in turn."""
    seconds: dict[str, list[float]] = {"upstream": [], "in-thread": []}
    busy = dict.fromkeys(seconds, 0.0)
    with (
        serving("", run_upstream) as (upstream, _),
        serving(f"upstream {upstream}") as one,
        serving(f"in-thread {upstream}") as other,
    ):
        places = {"upstream": one, "in-thread": other}
        for url, _ in places.values():
            asyncio.run(load(url, n_clients, n_clients, "toy"))
        for _ in range(rounds):
            for name, (url, pid) in places.items():
                before = processor_seconds(pid)
                seconds[name] += asyncio.run(load(url, n_requests // rounds, n_clients, "toy"))
                busy[name] += processor_seconds(pid) - before
    found = {}
    for name, values in seconds.items():
        cuts = statistics.quantiles(values, n=100)
        found[name] = {
            "p50_ms": round(1000 * cuts[49], 1),
            "p99_ms": round(1000 * cuts[98], 1),
            "server_processor_ms": round(1000 * busy[name] / len(values), 2),
        }
    ratios = {key: round(found["in-thread"][key] / found["upstream"][key], 2) for key in found["upstream"]}
    return {"n_requests": n_requests, "n_clients": n_clients, **found, "in_thread_over_in_loop": ratios}


def measure_forward(n_requests: int) -> dict[str, object]:
    """Return what passing a request on adds to asking the other server directly, both in turn."""
    whole: dict[str, list[float]] = {"direct": [], "forwarded": []}
    first: dict[str, list[float]] = {name: [] for name in whole}
    late: dict[str, list[float]] = {name: [] for name in whole}
    with (
        serving("", run_upstream) as (upstream, _),
        serving(f"upstream {upstream}") as (url, pid),
        httpx.Client(timeout=120) as client,
    ):
        places = {"direct": upstream, "forwarded": url}
        busy = 0.0
        for number in range(-5, n_requests):  # the first few open connections
            busy = processor_seconds(pid) if number == 0 else busy
            for name, place in places.items():
                address, asked = f"{place}/v1/chat/completions", body("toy") | {"n": 2}
                del asked["distrivote"]
                begun = time.monotonic()
                reply = client.post(address, json=asked)
                seconds = time.monotonic() - begun
                assert reply.status_code == 200, reply.text
                begun, heard, lags = time.monotonic(), 0.0, []
                with client.stream("POST", address, json=asked | {"stamps": True}) as stream:
                    for line in stream.iter_lines():
                        heard = heard or time.monotonic() - begun
                        if line:
                            lags.append(time.monotonic() - float(line.removeprefix("data: ")))
                assert len(lags) == N_STAMPS
                if number >= 0:
                    whole[name].append(seconds)
                    first[name].append(heard)
                    late[name] += lags
        busy = processor_seconds(pid) - busy
    found: dict[str, Any] = {"n_requests": n_requests}
    found["server_processor_ms"] = round(1000 * busy / (2 * n_requests), 2)
    for what, values in (("whole", whole), ("first_byte", first), ("event_delay", late)):
        found[what] = {f"{name}_p50_ms": round(1000 * statistics.median(values[name]), 2) for name in values}
        # Neighbours in time are compared, which have the same load on the machine.
        pairs = zip(values["forwarded"], values["direct"], strict=True)
        cuts = statistics.quantiles([behind - straight for behind, straight in pairs], n=100)
        found[what] |= {"added_p50_ms": round(1000 * cuts[49], 2), "added_p90_ms": round(1000 * cuts[89], 2)}
    return found


def measure_embedded(repeats: int) -> dict[str, object]:
    """Return how much longer the whole request takes than the sampling and the vote alone."""
    from distrivote import Problem, SamplingParams, solve
    from distrivote.engines.llamacpp.engine import LlamaCppEngine

    with closing(LlamaCppEngine()) as engine:
        params = SamplingParams(max_tokens=64)
        solve(engine, Problem(QUESTION, template="worked"), budget=BUDGET, params=params)
        alone = []
        for _ in range(repeats):
            begun = time.perf_counter()
            solve(engine, Problem(QUESTION, template="worked"), budget=BUDGET, params=params)
            alone.append(time.perf_counter() - begun)
    with serving("embedded") as (url, _), httpx.Client(timeout=120) as client:
        served, inside = [], []
        for number in range(repeats + 1):
            begun = time.perf_counter()
            reply = client.post(f"{url}/v1/chat/completions", json=body("smollm2-135m")).json()
            if number:
                served.append(time.perf_counter() - begun)
                inside.append(reply["distrivote"]["seconds"])
    # The engine's own time differs by more than the server costs from run to run: what the server adds is
    # taken within one request, between the sampling's clock and the client's.
    beyond = [whole - sampling for whole, sampling in zip(served, inside, strict=True)]
    return {
        "repeats": repeats,
        "solve_seconds": [round(value, 3) for value in alone],
        "request_seconds": [round(value, 3) for value in served],
        "added_ms": round(1000 * statistics.median(beyond), 1),
        "added_percent": round(100 * statistics.median(beyond) / statistics.median(inside), 2),
    }


def pace() -> float:
    """Return the seconds of ten million additions in Python, to compare machines by: 0.6 is usual."""
    begun, total = time.perf_counter(), 0
    for number in range(10_000_000):
        total += number
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--embedded", type=int, default=0, metavar="N", help="also N requests to a model")
    parser.add_argument(
        "--upstream", type=int, default=0, metavar="N", help="also N requests in front of another server"
    )
    parser.add_argument(
        "--forward", type=int, default=0, metavar="N", help="also N requests that are passed on"
    )
    asked = parser.parse_args()
    result: dict[str, object] = {}
    if asked.requests:
        result["replayed"] = measure_replayed(asked.requests, asked.clients)
    if asked.upstream:
        result["upstream"] = measure_upstream(asked.upstream, asked.clients)
    if asked.forward:
        result["forward"] = measure_forward(asked.forward)
    if asked.embedded:
        result["embedded"] = measure_embedded(asked.embedded)
    result["load_average"] = list(os.getloadavg())
    result["ten_million_additions_s"] = round(pace(), 2)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
