"""How fast are the engines for real models? Prints JSON.

    python bench/engines.py [--section client|processes|plugin] [--tokens 400] [--repeats 3] [--before SRC]

`client`: the OpenAI client at 64 concurrent streams from a scripted server in another process, which answers
at once, one event per token with 20 log-probabilities each, written one by one. What counts is the processor
time of the client's process: on one core it could read so many tokens per second. With --before, another
version of the package is measured in the same run, in a process of its own, and the ratios are printed.

`processes`: a run sampled with `processes=2` against one process, storing included, from such a server. The
clock says what two processes gain where two cores are free, and the server has a third; where others use the
machine, the processor time says what is left: two free cores gain twice that ratio at most.

`plugin`: the vLLM plugin against the same decoding without it (bench/vllm_plugin.py, in the environment of
`make test-vllm`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distrivote import generate_run
from distrivote.benchmarks import Benchmark
from distrivote.engines.base import SamplingParams
from distrivote.engines.choice import EngineChoice
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.problem import Problem
from distrivote.steering import SelfStepConf

ROOT = Path(__file__).parents[1]
N_STREAMS = 64
N_BLOCKS = 8
"""Questions with 64 trajectories each."""

LONG = 32_768
MESSAGES = Problem("Tom has 5 apples and buys 7 more. How many has he?").messages()

_SERVER = """
import asyncio, json, sys
chunks = [bytes.fromhex(line) for line in sys.stdin.read().split()]
whole = json.dumps({"choices": [json.loads(chunks[0].split(b"data: ")[1].split(b"\\n")[0])["choices"][0]],
                    "usage": {"prompt_tokens": 5}}).replace("delta", "message").encode()
HEAD = b"HTTP/1.1 200 OK\\r\\ncontent-type: %s\\r\\n%s\\r\\n\\r\\n"
async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            length = int(head.lower().split(b"content-length:")[1].split()[0])
            body = json.loads(await reader.readexactly(length))
            if not body.get("stream"):
                writer.write(HEAD % (b"application/json", b"content-length: %d" % len(whole)) + whole)
                continue
            writer.write(HEAD % (b"text/event-stream", b"transfer-encoding: chunked"))
            for i in range(body["max_tokens"]):
                writer.write(chunks[i % (len(chunks) - 2)])
                await asyncio.sleep(0)
                await writer.drain()
            writer.write(chunks[-2] + chunks[-1] + b"0\\r\\n\\r\\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


def events(n_tokens: int) -> list[bytes]:
    """Return a reply as vLLM streams it, as HTTP chunks."""
    draw = random.Random(0)
    words = [" the", " of", "\n\n", " number", " 12", ".", " so", " answer", " apples", " x", "=", " thus"]
    found = []
    for _ in range(n_tokens):
        weights = sorted((draw.uniform(-16, -0.01) for _ in range(20)), reverse=True)
        total = math.log(sum(map(math.exp, weights)))
        logprobs = [weight - total - 0.001 for weight in weights]
        top = [
            {"token": word, "logprob": value, "bytes": list(word.encode())}
            for word, value in ((draw.choice(words), value) for value in logprobs)
        ]
        choice = {
            "index": 0,
            "delta": {"content": top[0]["token"]},
            "logprobs": {"content": [top[0] | {"top_logprobs": top}]},
            "finish_reason": None,
            "token_ids": None,
        }
        found.append(_event([choice]))
    found.append(
        _event([{"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": "length"}])
    )
    return [*found, _chunk(b"data: [DONE]\n\n")]


def _event(choices: list[dict[str, Any]]) -> bytes:
    about = {"id": "chatcmpl-0123456789abcdef", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return _chunk(b"data: " + json.dumps(about | {"choices": choices}).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def client_rate(url: str, n: int, n_tokens: int, ssc: SelfStepConf | None) -> dict[str, float]:
    """Return how many tokens per second the client reads, by its processor time and by the clock."""
    endpoint = "chat" if ssc is None else "completions"  # where a continuation needs no probes
    engine = OpenAIEngine(url, "m", endpoint=endpoint, ssc_by="continuation", n_parallel=N_STREAMS)
    params = SamplingParams(max_tokens=n_tokens)
    list(engine.sample(MESSAGES, 1, SamplingParams(max_tokens=4), ssc))
    begun, used = time.perf_counter(), time.process_time()
    total = sum(t.n_tokens for t in engine.sample(MESSAGES, n, params, ssc))
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    engine.close()
    return {"cpu": total / cpu, "wall": total / wall}


@contextmanager
def scripted_server(chunks: list[bytes]) -> Iterator[str]:
    """Start a server that sends these events to everybody, and yield its address."""
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("\n".join(chunk.hex() for chunk in chunks))
        server.stdin.close()
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def run_rate(url: str, n_tokens: int, n_processes: int) -> dict[str, float]:
    """Return how many tokens per second a run of many trajectories takes in, without its start."""

    def sampled(n: int) -> tuple[int, float, float]:
        problems = tuple(Problem(f"{i} + 1?", str(i)) for i in range(n))
        choice = EngineChoice("openai", "m", (url,), options={"n_parallel": 64})
        begun, used = time.perf_counter(), _processor_time()
        with tempfile.TemporaryDirectory() as folder:
            made = generate_run(
                *(choice, Benchmark("sums", problems, "made up"), f"{folder}/run", 64),
                params=SamplingParams(max_tokens=n_tokens),
                steering=None,
                processes=n_processes,
            )
        return made.n_tokens, _processor_time() - used, time.perf_counter() - begun

    few, many = sampled(2), sampled(2 + N_BLOCKS)
    tokens, cpu, wall = (more - less for more, less in zip(many, few, strict=True))
    return {"cpu": tokens / cpu, "wall": tokens / wall}


def _processor_time() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def processes_section(n_tokens: int, repeats: int) -> dict[str, Any]:
    """Compare one client process with two that share the streams, in turn, the writer included."""
    runs: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    with scripted_server(events(n_tokens)) as one, scripted_server(events(n_tokens)) as other:
        for _ in range(repeats):
            for n, found in runs.items():
                found.append(run_rate(one if n == 1 else other, n_tokens, n))
    rates = {
        n: {name: [round(run[name]) for run in found] for name in ("cpu", "wall")}
        for n, found in runs.items()
    }
    cpu, wall = (
        statistics.median(two[name] / one[name] for one, two in zip(runs[1], runs[2], strict=True))
        for name in ("cpu", "wall")
    )
    return {
        "tokens_per_second": rates,
        "two_processes_to_one_per_second_of_processor_time": round(cpu, 2),
        "two_processes_to_one_by_the_clock": round(wall, 2),
        "load": os.getloadavg()[0],
        "expected_at_least": {"two_processes_to_one_by_the_clock": 1.8},
    }


def client_section(n_tokens: int, repeats: int) -> dict[str, Any]:
    chunks = events(n_tokens)
    with scripted_server(chunks) as url:
        watched = SelfStepConf(delta=0.0)
        plain = [client_rate(url, N_STREAMS, n_tokens, None) for _ in range(repeats)]
        steered = [client_rate(url, N_STREAMS, n_tokens, watched) for _ in range(repeats)]
        long = client_rate(url, 1, LONG, watched)

    def median(runs: list[dict[str, float]], name: str) -> int:
        return round(statistics.median(run[name] for run in runs))

    return {
        "streams": N_STREAMS,
        "tokens_each": n_tokens,
        "bytes_per_token": round(sum(map(len, chunks)) / n_tokens),
        "tokens_per_second_of_one_core": median(plain, "cpu"),
        "with_selfstepconf_by_continuation": median(steered, "cpu"),
        f"with_selfstepconf_in_one_stream_of_{LONG}": round(long["cpu"]),
        "tokens_per_second_by_the_clock": median(plain, "wall"),
        "expected_at_least": {
            "tokens_per_second_of_one_core": 35_000,
            "with_selfstepconf_by_continuation": 35_000,
        },
    }


def compared(report: dict[str, Any], before: str, n_tokens: int, repeats: int) -> dict[str, Any]:
    """Return the client's figures with those of another version, and how many times as fast this one is."""
    command = [
        sys.executable,
        __file__,
        "--section",
        "client",
        f"--tokens={n_tokens}",
        f"--repeats={repeats}",
    ]
    environment = os.environ | {"PYTHONPATH": before}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    then = json.loads(done.stdout)["client"]
    rates = [name for name in then if name.startswith(("tokens_per_second_of", "with_selfstepconf"))]
    return report | {
        "before": {name: then[name] for name in rates},
        "times_before": {name: round(report[name] / then[name], 2) for name in rates},
    }


def plugin_section() -> dict[str, Any]:
    """Measure the vLLM plugin in its own environment, where `make test-vllm` has made it."""
    python, model = ROOT / "build/vllm/bin/python", ROOT / "build/models/smollm2"
    if not (python.exists() and model.exists()):
        return {"skipped": "make test-vllm sets up what this needs"}
    command = [str(python), str(ROOT / "bench/vllm_plugin.py"), "--model", str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout[done.stdout.index("{\n") :]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--section", choices=["client", "processes", "plugin"], action="append")
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--before", help="the src folder of another version, for the section client")
    args = parser.parse_args()

    def client() -> dict[str, Any]:
        found = client_section(args.tokens, args.repeats)
        return found if args.before is None else compared(found, args.before, args.tokens, args.repeats)

    sections = {
        "client": client,
        "processes": lambda: processes_section(args.tokens, args.repeats),
        "plugin": plugin_section,
    }
    report = {name: sections[name]() for name in args.section or sections}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
