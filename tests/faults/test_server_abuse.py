"""The server against clients that are slow, rude or curious, over raw sockets.

bench/soak_server.py is the long version of the last test.
"""

from __future__ import annotations

import hmac
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import uvicorn

from distrivote.engines.replay import ReplayEngine
from distrivote.errors import MissingPackageError
from distrivote.server import connections, guard
from distrivote.server.app import create_app
from distrivote.server.connections import PatientProtocol
from distrivote.server.settings import Settings
from engines.scripted_server import ScriptedServer, Token, ToyServer
from serving import POOL, SlowEngine

KEY = "a-key-that-nobody-may-read"
PROMPT = "a-prompt-that-nobody-may-read"
CHAT = {"model": "replay", "messages": [{"role": "user", "content": PROMPT}]}
PAGES = ["/", "/docs", "/docs.css", "/openapi.json", "/health", "/v1/models", "/metrics", "/nothing"]
SOAK = Path(__file__).parents[2] / "bench" / "soak_server.py"


class Hurried(PatientProtocol):
    header_seconds = 1.0
    read_seconds = 0.5


@contextmanager
def serving(
    engine: Any = None,
    http: type[PatientProtocol] = PatientProtocol,
    log_level: str = "critical",
    **settings: Any,
) -> Iterator[tuple[str, int]]:
    app = create_app(engine or ReplayEngine(POOL), "dis-gmm", Settings(budget=20, **settings))
    server = uvicorn.Server(uvicorn.Config(app, port=0, http=http, log_level=log_level, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}", port
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def plain() -> Iterator[tuple[str, int]]:
    with serving(http=Hurried) as place:
        yield place


def head(length: int, path: str = "/v1/chat/completions") -> bytes:
    text = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return f"{text}authorization: Bearer {KEY}\r\ncontent-length: {length}\r\n\r\n".encode()


def everything(link: socket.socket) -> bytes:
    """Return what comes until the server hangs up."""
    found = b""
    try:
        while part := link.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


# Slow clients


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nhost: loc", b"G"])
def test_a_connection_that_brings_no_request_is_closed(sent: bytes, plain: tuple[str, int]) -> None:
    url, port = plain
    with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
        link.sendall(sent)
        assert everything(link) == b""
        assert httpx.get(f"{url}/health").status_code == 200


def _is_closed_after(link: socket.socket, sent: bytes) -> bool:
    try:
        link.sendall(sent)
        return link.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_headers_that_come_byte_by_byte_do_not_hold_a_connection(plain: tuple[str, int]) -> None:
    with socket.create_connection(("127.0.0.1", plain[1]), timeout=30) as link:
        link.settimeout(0.05)
        assert any(_is_closed_after(link, b"x") for _ in range(600))


def test_neither_does_the_second_request_of_a_connection(plain: tuple[str, int]) -> None:
    with socket.create_connection(("127.0.0.1", plain[1]), timeout=30) as link:
        link.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        link.sendall(b"GET /health HTTP/1.1\r\nho")
        assert everything(link).count(b"HTTP/1.1 ") == 1


def test_requests_that_are_sent_along_are_all_answered(plain: tuple[str, int]) -> None:
    with socket.create_connection(("127.0.0.1", plain[1]), timeout=30) as link:
        link.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" * 3)
        assert everything(link).count(b"200 OK") == 3


def test_a_body_that_does_not_come_is_refused_in_time() -> None:
    with (
        serving(http=Hurried, api_key=KEY, body_seconds=1) as (url, port),
        socket.create_connection(("127.0.0.1", port), timeout=30) as link,
    ):
        link.sendall(head(1000) + b'{"model": ')
        found = everything(link)
        assert found.startswith(b"HTTP/1.1 408 ")
        assert b"did not come within 1 s: send it faster" in found
        assert httpx.get(f"{url}/health").status_code == 200


def test_a_question_may_take_longer_than_its_body() -> None:
    engine = SlowEngine(POOL)
    engine.pause = 0.1
    with serving(engine, body_seconds=1) as (url, _):
        body = CHAT | {"model": "slow"}
        assert httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).status_code == 200
        page = httpx.post(f"{url}/api/ask", json={"question": "?"}, timeout=60)
        assert "event: final" in page.text


def test_a_client_that_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "READ_BYTES", 1 << 20)
    with serving(http=Hurried) as (url, port), socket.socket() as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.settimeout(30)
        link.connect(("127.0.0.1", port))
        # Replies that nobody reads fill the socket, then the server's memory.
        asked = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 20
        with pytest.raises(ConnectionError):
            deque((link.sendall(asked) or time.sleep(0.005) for _ in range(2000)), maxlen=0)
        assert httpx.get(f"{url}/health").status_code == 200


# Large and strange requests


def test_a_length_that_is_too_large_is_refused_before_anything_is_read() -> None:
    with (
        serving(http=Hurried, api_key=KEY, max_body=1000) as (_, port),
        socket.create_connection(("127.0.0.1", port), timeout=30) as link,
    ):
        link.sendall(head(10**12))
        assert everything(link).startswith(b"HTTP/1.1 413 ")


def test_a_body_without_a_length_is_refused_as_soon_as_it_is_too_large() -> None:
    chunk = b"400\r\n" + b" " * 0x400 + b"\r\n"
    chunked = head(0).replace(b"content-length: 0", b"transfer-encoding: chunked")
    with (
        serving(http=Hurried, api_key=KEY, max_body=10_000) as (_, port),
        socket.create_connection(("127.0.0.1", port), timeout=30) as link,
    ):
        link.sendall(chunked + chunk * 20)
        assert everything(link).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 200_000 + b"\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1e3\r\n\r\n",
        head(5) + b"hello" + bytes(range(256)) * 20,
        b"\n" * 5000,
        bytes(range(256)) * 100,
    ],
)
def test_what_is_no_request_ends_the_connection_and_nothing_else(sent: bytes, plain: tuple[str, int]) -> None:
    url, port = plain
    with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
        with suppress(ConnectionError):
            link.sendall(sent)
        found = everything(link)
        assert b"200 OK" not in found
        assert b"Traceback" not in found
    assert httpx.get(f"{url}/health").status_code == 200


def test_two_lengths_of_one_body_are_refused(plain: tuple[str, int]) -> None:
    both = head(4).replace(b"content-length", b"transfer-encoding: chunked\r\ncontent-length")
    with socket.create_connection(("127.0.0.1", plain[1]), timeout=30) as link:
        link.sendall(both + b"0\r\n\r\nGET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        found = everything(link)
    assert found.startswith(b"HTTP/1.1 400 ")
    assert b"send one of them" in found
    assert found.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("sent", [b"no HTTP at all\r\n\r\n", b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"])
def test_what_is_no_http_is_answered_with_safe_headers_too(sent: bytes, plain: tuple[str, int]) -> None:
    with socket.create_connection(("127.0.0.1", plain[1]), timeout=30) as link:
        link.sendall(sent)
        found = everything(link).lower()
    assert found.startswith(b"http/1.1 400 ")
    for name, value in guard.HEADERS.items():
        assert f"\r\n{name}: {value}\r\n".lower().encode() in found


def test_names_of_hosts_are_the_same_in_any_case() -> None:
    with serving(hosts=("LocalHost", "127.0.0.1")) as (url, _):
        for name in ("LOCALHOST", "localhost:99", "127.0.0.1"):
            assert httpx.get(f"{url}/health", headers={"host": name}).status_code == 200
        assert httpx.get(f"{url}/health", headers={"host": "evil.example"}).status_code == 403


class Unequipped(ReplayEngine):
    """Lacks a package for what it is asked."""

    def sample(self, *_args: Any, **_options: Any) -> Any:
        raise MissingPackageError("scikit-learn", "cluster", "this method")


def test_what_takes_a_package_that_is_missing_is_the_clients_to_change() -> None:
    with serving(Unequipped(POOL)) as (url, _):
        reply = httpx.post(f"{url}/v1/chat/completions", json=CHAT)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"].startswith(
        "this method needs scikit-learn, which is not installed"
    )


OUTSIDE = ["/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2fsettings.py", "//etc/passwd"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_do_not_lead_out_of_the_page(path: str, plain: tuple[str, int]) -> None:
    with socket.create_connection(("127.0.0.1", plain[1]), timeout=30) as link:
        link.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
        assert everything(link).startswith(b"HTTP/1.1 404 ")


def test_clients_that_break_off_leave_nothing_behind() -> None:
    engine = SlowEngine(POOL)
    engine.pause = 0.02
    body = json.dumps(CHAT | {"model": "slow", "stream": True}).encode()
    with serving(engine, api_key=KEY, max_concurrency=4) as (url, port):
        for number in range(24):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
                link.sendall((head(len(body)) + body)[: 100 * (number + 1)])
                if number % 2:
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        headers = {"authorization": f"Bearer {KEY}"}
        while "under_way 0" not in httpx.get(f"{url}/metrics", headers=headers).text:
            time.sleep(0.02)
        assert engine.n_live == 0
        reply = httpx.post(f"{url}/v1/chat/completions", json=CHAT | {"model": "slow"}, headers=headers)
        assert reply.status_code == 200


# Headers and secrets


class Broken(ReplayEngine):
    """Fails in a way that nobody thought of."""

    def sample(self, *_args: Any, **_options: Any) -> Any:
        raise RuntimeError(f"a mistake about {PROMPT}")


@pytest.mark.parametrize("key", [None, KEY])
def test_every_reply_has_the_headers_that_a_page_with_model_output_needs(key: str | None) -> None:
    sent = {"authorization": f"Bearer {KEY}"}
    with (
        serving(Broken(POOL), api_key=key, max_body=10_000) as (url, _),
        httpx.Client(base_url=url) as client,
    ):
        replies = [client.get(path, headers=sent) for path in PAGES]
        replies += [client.get(path, headers={"authorization": "Bearer no"}) for path in PAGES]
        replies.append(client.post("/v1/chat/completions", content=b"x" * 20_000, headers=sent))
        replies.append(client.post("/v1/chat/completions", content=b"{", headers=sent))
        # The server ends a connection on which something unforeseen happened: it can't be used again.
        last = sent | {"connection": "close"}
        replies.append(client.post("/v1/chat/completions", json=CHAT, headers=last))
        replies.append(client.put("/v1/chat/completions", json=CHAT, headers=sent))
        with client.stream("POST", "/api/ask", json={"question": "?"}, headers=sent) as streamed:
            replies.append(streamed)
            assert '"type":"server_error"' in next(line for line in streamed.iter_lines() if "type" in line)
    assert {200, 400, 404, 405, 413, 500} <= {reply.status_code for reply in replies}
    for reply in replies:
        policy = dict(part.split(" ", 1) for part in reply.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply is streamed or "a mistake about" not in reply.text


def test_other_pages_get_no_permission(plain: tuple[str, int]) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    asked["access-control-request-headers"] = "authorization, content-type"
    for path in ("/v1/chat/completions", "/api/ask", "/v1/models"):
        place = plain[0] + path
        for reply in (httpx.options(place, headers=asked), httpx.get(place, headers=asked)):
            assert not [name for name in reply.headers if name.startswith("access-control")]


def test_keys_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    class Watched:
        @staticmethod
        def compare_digest(a: bytes, b: bytes) -> bool:
            compared.append((a, b))
            return hmac.compare_digest(a, b)

    monkeypatch.setattr(guard, "hmac", Watched)
    with serving(api_key=KEY) as (url, _):
        for key in ("", "Bearer x", f"bearer {KEY}"):  # a scheme has no case
            httpx.get(f"{url}/v1/models", headers={"authorization": key})
    assert compared == [(b"x", KEY.encode()), (KEY.encode(), KEY.encode())]


def _asked_in_many_ways(url: str, upstream: ScriptedServer) -> list[int]:
    """Ask rightly, wrongly, with a wrong key, no HTTP, and with nobody behind; return the statuses."""
    sent, body = {"authorization": f"Bearer {KEY}"}, CHAT | {"model": "toy"}
    # It listens a moment after it has said where.
    transport = httpx.HTTPTransport(retries=8)
    with httpx.Client(base_url=url, timeout=60, headers=sent, transport=transport) as client:
        replies = [
            client.post("/v1/chat/completions", json=body | more).status_code
            for more in ({}, {"stream": True}, {"n": 0}, {"model": PROMPT})
        ]
        replies.append(client.get(f"/v1/models?key={KEY}", headers={"authorization": KEY}).status_code)
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as link:
            link.sendall(f"{KEY} {PROMPT}\r\n\r\n".encode())
        upstream.stop()
        return [*replies, client.post("/v1/chat/completions", json=body).status_code]


def test_neither_keys_nor_questions_are_logged() -> None:
    toy = ToyServer(lambda _: [Token("It is \\boxed{4}.")], key=f"upstream-{KEY}", prefill="always")
    with ScriptedServer(toy) as upstream:
        command = [sys.executable, "-m", "distrivote", "serve", "--port", "0", "--base-url", upstream.url]
        command += ["--model", "toy", "--upstream-key", f"upstream-{KEY}", "--api-key", KEY, "--budget", "3"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                first = process.stderr.readline()
                replies = _asked_in_many_ways(re.findall(r"http://[\d.:]+", first)[0], upstream)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=60)
            finally:
                process.kill()
    assert replies == [200, 200, 400, 404, 401, 502]
    written = first + out + err
    assert KEY not in written
    assert PROMPT not in written


class Quoting(ReplayEngine):
    """Fails with what the model said in the error."""

    def sample(self, *_args: Any, **_options: Any) -> Any:
        try:
            raise ValueError(f"no number in {PROMPT}")
        except ValueError as error:
            raise RuntimeError(f"a reply that nobody may read: {PROMPT}") from error


def test_no_text_of_a_reply_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Quoting(POOL), log_level="info") as (url, _):
        for more in ({}, {"stream": True}):
            with suppress(httpx.HTTPError):
                httpx.post(f"{url}/v1/chat/completions", json=CHAT | more)
        with suppress(httpx.HTTPError):
            httpx.post(f"{url}/api/ask", json={"question": "?"})
    assert "RuntimeError" in caplog.text
    assert "in sample" in caplog.text
    assert PROMPT not in caplog.text


# Load


def test_sixteen_clients_with_broken_connections_leak_nothing() -> None:
    command = [sys.executable, str(SOAK), "--seconds", "8", "--clients", "16"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    seen = json.loads(result.stdout)
    assert seen["n_answered"] > 16
    assert seen["n_left"] > 8
