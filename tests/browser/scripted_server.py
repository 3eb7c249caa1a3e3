"""A server that knows one script: it serves the page and plays events of docs/server-events.md.

What it plays depends on the question, so that a test asks for what it wants to see.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from browser.scripted_votes import HOSTILE, Json, final, made, tally, trajectories

KEY = "sesame"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self';"
    " connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
TYPES["woff2"] = "font/woff2"
MEGABYTE = "All work and no play. " * 50_000

SETTINGS: Json = {
    "model": "smollm2-135m", "engine": "embedded",
    "methods": [
        {"name": "sc", "meaning": "majority voting (self-consistency)"},
        {"name": "dis-gmm", "meaning": "DistriVoting: two Gaussians, rejection, hierarchical vote"},
    ],
    "templates": ["math", "plain"], "stop_rules": ["consensus", "beta", "vote"], "max_budget": 256,
    "max_tokens_limit": None,
    "defaults": {
        "budget": 32, "method": "dis-gmm", "template": "math", "max_tokens": 256, "temperature": 0.6,
        "top_p": 0.95, "seed": 0,
        "ssc": {"alpha": 0.8, "delta": 0.8, "reflection": "wait", "split": "paragraph"},
    },
    "has_run": True,
}  # fmt: skip


REPLY = """## Plan

1. Take **five**, that is $\\frac{10}{2}$.
2. Add `7`.

```python
print(5 + 7)
```

| n | sum |
|---|---|
| 2 | 12 |

See [this](https://example.org/) and [that](javascript:alert(1)).
"""
FIELD: Json = {"path": "name", "value": "Tom", "votes": 9, "n": 10, "share": 0.9, "probability": 0.9}
MORE: dict[str, Json] = {
    "markdown": {"reply": REPLY, "answer_kind": "math", "template": "math"},
    "sure": {"probability": 0.99999},
    "text": {"calibrated": False},
    "no confidences": {"fallback": True},
    "fields": {
        "answer_kind": "json:fields", "template": "plain", "reply": '{"name": "Tom", "age": 7}',
        "fields": [
            FIELD | {"confidence": 12.0, "runner_up": {"value": "Tim", "votes": 1}},
            FIELD | {"path": "age", "value": 7, "confidence": None, "runner_up": None},
        ],
    },
}  # fmt: skip


class Script:
    """What the server does between events, and what it saw."""

    def __init__(self, pause: float = 0.0, key: str | None = None) -> None:
        self.pause = pause
        self.key = key
        self.gone = threading.Event()
        """Set when a client left in the middle of an answer."""

        self.asked: list[Json] = []


def events(body: Json) -> Iterator[tuple[str, Any]]:
    """Yield the events of one question."""
    question, budget = body["question"], body["budget"]
    words = ("question", "budget", "method")
    yield "queued", {"n_before": 1}
    yield (
        "started",
        {"id": f"ask-{budget}-{len(question)}", "model": "smollm2-135m", "engine": "embedded"}
        | {w: body[w] for w in words},
    )
    if question == "nothing":
        message = "none of 32 trajectories gave an answer: ask for one in \\boxed{}"
        yield "error", {"error": {"message": message, "type": "no_answer", "param": None, "code": None}}
        return
    if question == "slow":
        for text, is_more in (("Let us ", False), ("see.\n", True), ("Once more", False)):
            yield "partial", {"index": 3, "text": text, "is_more": is_more}
        yield "hold", {}
        return
    pool = script_of(question, budget)
    n_tokens = 0
    for n, each in enumerate(pool, 1):
        n_tokens += each["n_tokens"]
        progress = {
            "n_done": n,
            "budget": budget,
            "n_tokens": n_tokens,
            "n_live": budget - n,
            "n_reflections": 0,
        }
        yield "progress", progress | {"seconds": 0.15 * n}
        yield "trajectory", each
        if (counted := tally(pool[:n], body["method"])) is not None:
            yield "tally", counted
    failed = "the engine failed after 5 of 32 trajectories, which the vote rests on: it ran out of memory"
    yield "final", final(pool, budget, failed if question == "dies" else None) | MORE.get(question, {})


def script_of(question: str, budget: int) -> list[Json]:
    if question == "hostile":
        pool = trajectories(3)
        return [
            each | {"answer": HOSTILE, "text": HOSTILE, "step_text_ends": [], "reflections": []}
            for each in pool
        ]
    if question == "megabyte":
        long = made(0, "12", 14.0, [14.0], 4)
        return [long | {"text": MEGABYTE, "step_text_ends": [len(MEGABYTE)]}, *trajectories(3, seed=5)[1:]]
    return trajectories(5 if question == "dies" else budget, seed=sum(map(ord, question)))


def run_pool(number: int) -> list[Json]:
    return trajectories(32, seed=number, skill=0.2 + 0.02 * number)


def run_questions() -> list[Json]:
    """The rows of a stored run of 30 questions; the id of one holds a slash."""
    rows = []
    for number in range(30):
        pool = run_pool(number)
        counted = tally(pool)
        assert counted is not None
        rows.append({
            "question_id": f"set/{number}",
            "question": f"Tom has {number} apples and buys 7 more. How many has he?",
            "ground_truth": "12", "answer": counted["answer"], "correct": counted["answer"] == "12",
            "share": counted["share"], "majority": counted["majority"],
            "majority_correct": counted["majority"] == "12", "rejected": counted["rejected"],
            "n_trajectories": 32, "n_cast": counted["n_cast"], "n_answers": len(counted["answers"]),
            "n_right": sum(each["answer"] == "12" for each in pool),
            "n_tokens": sum(t["n_tokens"] for t in pool),
        })  # fmt: skip
    return rows


def run_json(path: str, method: str) -> Json | None:
    """The reply to an address below /api/run."""
    rows = run_questions()
    if path == "/api/run":
        return {
            "name": "my-run", "engine": "embedded", "model": "smollm2-135m", "benchmark": "arithmetic",
            "template": "worked", "budget": 32, "seed": 0, "sampling": {}, "ssc": {"kind": "SelfStepConf"},
            "n_questions": 30, "n_trajectories": 960, "n_tokens": 60123, "notes": [],
        }  # fmt: skip
    if path == "/api/run/questions":
        right, majority = (sum(bool(row[key]) for row in rows) for key in ("correct", "majority_correct"))
        return {
            "method": method,
            "n_known": 30,
            "n_right": right,
            "n_majority_right": majority,
            "questions": rows,
        }
    _, _, rest = path.partition("/api/run/questions/")
    id, _, sample = rest.partition("/samples/")
    row = next((row for row in rows if row["question_id"] == unquote(id)), None)
    if row is None:
        return None
    pool = [each | {"correct": each["answer"] == "12"} for each in run_pool(rows.index(row))]
    if sample:
        return pool[int(sample)]
    bare = [each | {"text": None, "step_text_ends": []} for each in pool]
    keys = ("question_id", "question", "ground_truth", "correct", "majority_correct")
    counted = tally(pool)
    assert counted is not None
    return counted | {key: row[key] for key in keys} | {
        "method": method, "best": 4, "ssc": {"alpha": 0.8, "delta": 0.8}, "trajectories": bare,
    }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    script: Script

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path.startswith("/api/"):
            if not self._has_key():
                return
            [method] = parse_qs(address.query).get("method", ["dis-gmm"])
            known = SETTINGS if address.path == "/api/settings" else run_json(address.path, method)
            return self._json(known or _error("there is no such question"), 404 if known is None else 200)
        name = "index.html" if address.path == "/" else address.path.removeprefix("/")
        file = files("distrivote.server") / "static" / name
        if not file.is_file():
            return self._json(_error("there is no such file"), 404)
        self._send(file.read_bytes(), f"{TYPES[name.rpartition('.')[2]]}; charset=utf-8")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.script.asked.append(body)
        if not self._has_key():
            return
        if body["budget"] > 256:
            return self._json(_error(f"budget is {body['budget']}: this server takes 1 to 256"), 400)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for name, data in events(body):
                if name == "hold":
                    self.script.gone.wait(30)
                    return
                self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n: still here\n\n".encode())
                self.wfile.flush()
                if self.script.pause:
                    threading.Event().wait(self.script.pause)
        except OSError:
            self.script.gone.set()

    def _has_key(self) -> bool:
        if self.script.key is None or self.headers["Authorization"] == f"Bearer {self.script.key}":
            return True
        self._json(_error("the API key is missing or wrong"), 401)
        return False

    def _json(self, document: Json, status: int = 200) -> None:
        self._send(json.dumps(document).encode(), "application/json", status)

    def _send(self, content: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _error(message: str) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serve the script on a free port; gives the address."""
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
