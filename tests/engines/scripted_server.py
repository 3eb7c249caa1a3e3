"""An OpenAI-compatible server that says what a test tells it to, with real sockets on the loopback.

`answer` is called with every request and returns a `Reply`: a status and JSON, or events of a stream with a
way to end it. The server counts what it was asked, which streams are open, and which were left by the client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple

from distrivote.engines.wire import Choice, decode_response


class Request(NamedTuple):
    """What a client asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """What the server is to do."""

    status: int = 200
    body: Any = None
    """JSON; bytes are sent as they are. None: a stream of events."""

    events: Iterable[Any] = ()
    """Dicts are sent as JSON, bytes as they are."""

    end: str = "done"
    """`done`: [DONE]; `cut`: it ends without; `reset`: the connection breaks; `hang`: nothing more comes."""

    pause: float = 0.0
    """Seconds before each event."""

    headers: Mapping[str, str] = field(default_factory=dict)


class ScriptedServer:
    """Serves in a thread of its own, from the beginning of a `with` block to its end."""

    def __init__(self, answer: Callable[[Request], Reply], port: int = 0) -> None:
        self.requests: list[Request] = []
        self.n_open = 0
        self.max_open = 0
        self.n_left = 0
        """Streams that the client closed before their end."""

        self._answer = answer
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def n_connections(self) -> int:
        """How many connections are open, with a request or without."""
        return len(self._tasks)

    def asked(self, path: str) -> list[Any]:
        """Return the bodies of the requests to a path."""
        return [request.body for request in self.requests if request.path == path]

    def sampled(self) -> list[Any]:
        """Return the bodies of the requests for streams, but for those that only look what comes."""
        bodies = [request.body for request in self.requests if request.body and request.body.get("stream")]
        return [body for body in bodies if not is_probe(body)]

    def __enter__(self) -> ScriptedServer:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(5)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(ready))
        self._loop.close()

    async def _serve(self, ready: threading.Event) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._accepted, "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        await asyncio.sleep(0.01)  # a connection that was accepted just now gets its task
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.01)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def over(task: asyncio.Task[None]) -> None:
            # Here and not in the task, which may be cancelled before its first step.
            self._tasks.discard(task)
            writer.transport.abort()

        task = asyncio.get_running_loop().create_task(self._connected(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(over)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        request = Request(method, path, headers, json.loads(raw) if raw else None)
        self.requests.append(request)
        reply = self._answer(request)
        if reply.body is not None:
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
            writer.write(
                f"HTTP/1.1 {reply.status} Scripted\r\ncontent-type: application/json\r\n{extra}"
                f"content-length: {len(content)}\r\n\r\n".encode()
                + content
            )
            await writer.drain()
            return True
        max_open, n_left = self.max_open, self.n_left
        goes_on = await self._stream(reader, writer, reply)
        if is_probe(request.body or {}):
            self.max_open, self.n_left = max_open, n_left
        return goes_on

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        self.n_open += 1
        self.max_open = max(self.max_open, self.n_open)
        gone = asyncio.ensure_future(reader.read(1))  # a client that leaves closes its side
        try:
            for event in reply.events:
                if reply.pause:
                    await asyncio.wait([gone], timeout=reply.pause)
                if gone.done():
                    self.n_left += 1
                    return False
                writer.write(_chunk(event if isinstance(event, bytes) else sse(event)))
                await writer.drain()
            if reply.end == "reset":
                writer.transport.abort()
                return False
            if reply.end == "hang":
                await gone
                self.n_left += 1
                return False
            writer.write((_chunk(b"data: [DONE]\n\n") if reply.end == "done" else b"") + b"0\r\n\r\n")
            await writer.drain()
            return False
        except ConnectionError:
            self.n_left += 1
            return False
        finally:
            self.n_open -= 1
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)


def is_probe(body: Mapping[str, Any]) -> bool:
    """Say whether a request only looks what a server can do."""
    return body.get("prompt") == "Hello" or body.get("messages") == [{"role": "user", "content": "Hello"}]


def is_sampled(body: Mapping[str, Any]) -> bool:
    """Say whether a request is for a streamed trajectory."""
    return bool(body.get("stream")) and not is_probe(body)


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def sse(chunk: Any) -> bytes:
    """Return a chunk as the event of a stream."""
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


_FIRST_ID = 1000
"""The ids of a toy server's words; those below are bytes."""


class Token(NamedTuple):
    """A token that a scripted model says."""

    text: str
    confidence: float = 10.0
    """What the token's confidence is to be: minus the mean of its log-probabilities."""

    encoded: bytes | None = None
    """Its bytes, where they are not those of its text."""


def row_of(token: Token, k: int) -> list[float]:
    """Return k log-probabilities whose mean is minus the token's confidence.

    Below a confidence of log k their probabilities add up to more than 1, which a client notices.
    """
    low = -(token.confidence * k - 0.05) / max(k - 1, 1)
    if math.exp(-0.05) + (k - 1) * math.exp(low) > 1:
        return [-token.confidence] * k
    return [-0.05, *[low] * (k - 1)]


def chat_entry(token: Token, k: int) -> dict[str, Any]:
    """Return a token in the form of chat completions."""
    encoded = token.text.encode() if token.encoded is None else token.encoded
    row = row_of(token, k)
    own = {"token": token.text, "logprob": row[0] if k else -0.05, "bytes": list(encoded)}
    rest = enumerate(row[1:])
    others = [{"token": f"o{i}", "logprob": value, "bytes": None} for i, value in rest]
    return own | {"top_logprobs": [dict(own), *others] if k else []}


def completion_logprobs(tokens: Sequence[Token], k: int) -> dict[str, Any]:
    """Return tokens in the form of completions."""
    return {
        "tokens": [token.text for token in tokens],
        "token_logprobs": [row_of(token, k)[0] if k else -0.05 for token in tokens],
        "top_logprobs": [{f"o{i}": value for i, value in enumerate(row_of(token, k))} for token in tokens],
        "text_offset": [0 for _ in tokens],
    }


@dataclass
class ToyServer:
    """An `answer` that behaves like a real server with a small model; the fields say which one."""

    says: Callable[[str], Sequence[Token]]
    """What the model says behind a text: the reply so far."""

    models: Sequence[str] = ("toy",)
    key: str | None = None
    max_logprobs: int = 20
    """More are refused."""

    gives: int = 1000
    """More are not given, without a word."""

    takes_n: bool = True
    streams: bool = True
    tells_usage: bool | None = True
    """Whether streams end with the usage where that is asked for; None refuses to be asked."""

    knows_stop: bool = False
    plugin: bool = False
    template: bool = False
    """Whether it has /apply-template, as llama.cpp has."""

    tokenizes: bool = False
    """Whether it has /tokenize and /detokenize, as vLLM has, and names tokens by ids if asked to."""

    prefill: str = "never"
    """Whether an assistant message that comes last is continued: `never`, `asked`, `always`."""

    echoes: bool = False
    """Whether a continued message is repeated before its continuation."""

    completes: bool = True
    max_context: int = 100_000
    tokens_per_chunk: int = 1
    end_token: bool = False
    """Whether the end-of-text token comes with its log-probabilities, as from vLLM."""

    pause: float = 0.0
    vocabulary: list[str] = field(default_factory=list)
    faults: list[Reply] = field(default_factory=list)
    """What to answer to the next requests for streams, instead."""

    def __call__(self, request: Request) -> Reply:
        if self.key and request.headers.get("authorization") != f"bearer {self.key}":
            return refusal(401, "Incorrect API key provided")
        path, body = request.path, request.body
        if path == "/v1/models":
            return Reply(body={"data": [{"id": name} for name in self.models]})
        if path == "/apply-template" and self.template:
            return Reply(body={"prompt": "<s>" + _joined(body["messages"]) + "<reply>"})
        if path == "/tokenize" and self.tokenizes:
            return Reply(body={"tokens": list(("<s>" + _joined(body["messages"]) + "<reply>").encode())})
        if path == "/detokenize" and self.tokenizes:
            return Reply(body={"prompt": self._text_of(body["tokens"])})
        if path == "/v1/chat/completions":
            return self._chat(body)
        if path == "/v1/completions" and self.completes:
            return self._sampled(body, _behind(body["prompt"]), 1)
        return refusal(404, "Not Found")

    def _text_of(self, tokens: list[int]) -> str:
        if tokens[0] >= _FIRST_ID:
            return "".join(self.vocabulary[token - _FIRST_ID] for token in tokens)
        return bytes(tokens).decode()

    def _id_of(self, text: str) -> str:
        if text not in self.vocabulary:
            self.vocabulary.append(text)
        return f"token_id:{_FIRST_ID + self.vocabulary.index(text)}"

    def _chat(self, body: dict[str, Any]) -> Reply:
        last = body["messages"][-1]
        asked = body.get("continue_final_message", False)
        goes_on = last["role"] == "assistant" and (
            self.prefill == "always" or (asked and self.prefill == "asked")
        )
        if asked and self.prefill == "refused":
            return refusal(400, "Unrecognized request argument supplied: continue_final_message")
        n_words = len(_joined(body["messages"]).split())
        n_prompt = n_words + (0 if goes_on else 6)
        if body["messages"][-1]["role"] != "assistant":
            n_prompt = n_words
        begun = last["content"] if goes_on else ""
        return self._sampled(body, begun, n_prompt, _rest(body["messages"], begun))

    def _sampled(self, body: dict[str, Any], prefix: str, n_prompt: int, rest: str = "") -> Reply:
        if body["model"] not in self.models:
            return refusal(404, f"The model `{body['model']}` does not exist.")
        if self.plugin and "ssc_probe" in body.get("vllm_xargs", {}):
            return refusal(400, "unknown argument of SelfStepConf 'ssc_probe': did you mean ssc_split?")
        if self.plugin and "online_probe" in body.get("vllm_xargs", {}):
            return refusal(400, "unknown argument of DistriVoting 'online_probe'")
        if self.plugin and "deepconf_probe" in body.get("vllm_xargs", {}):
            return refusal(400, "unknown argument of DeepConf 'deepconf_probe'")
        chat = "messages" in body
        k = body.get("top_logprobs", 0) if chat else body.get("logprobs", 0)
        if k > self.max_logprobs:
            text = f"Requested sample logprobs of {k}, which is greater than max allowed: {self.max_logprobs}"
            return refusal(400, text)
        longest = body.get("max_tokens", self.max_context - n_prompt if chat else 16)
        if n_prompt + longest > self.max_context:
            return refusal(400, f"This model's maximum context length is {self.max_context} tokens")
        if body.get("stream") and self.faults and not is_probe(body):
            return self.faults.pop(0)
        if self.tells_usage is None and "stream_options" in body:
            return refusal(400, "Unrecognized request argument supplied: stream_options")
        k = min(k, self.gives)
        n = body.get("n", 1) if self.takes_n else 1
        tokens = [Token(rest)] if rest else list(self.says(prefix))
        finish = "stop" if len(tokens) <= longest else "length"
        tokens = tokens[:longest]
        if self.knows_stop:
            text = "".join(token.text for token in tokens)
            ends = [text.find(stop) for stop in body.get("stop", ()) if stop in text]
            if ends:
                tokens = [t for i, t in enumerate(tokens) if sum(len(u.text) for u in tokens[:i]) < min(ends)]
        chunks = [
            {"choices": [choice | {"index": index}]}
            for choice in choices_of(tokens, k, chat, self.tokens_per_chunk, finish, self.end_token)
            for index in range(n)
        ]
        whole = [whole_choice(tokens, k, chat, finish) | {"index": index} for index in range(n)]
        if self.tokenizes and body.get("return_tokens_as_token_ids"):
            for choice in [*whole, *(chunk["choices"][0] for chunk in chunks)]:
                if choice["logprobs"]:
                    choice["logprobs"]["tokens"] = [*map(self._id_of, choice["logprobs"]["tokens"])]
        if self.echoes and prefix and chunks:
            chunks.insert(0, {"choices": [{"index": 0, "delta": {"content": prefix}, "finish_reason": None}]})
        usage = {"prompt_tokens": n_prompt, "completion_tokens": n * len(tokens)}
        if body.get("stream_options") and self.tells_usage:
            chunks.append({"choices": [], "usage": usage})
        if body.get("stream") and self.streams:
            return Reply(events=chunks, pause=self.pause)
        return Reply(body={"choices": whole, "usage": usage})


@dataclass
class WholeOnly(ToyServer):
    """A server that gives log-probabilities in whole replies only, as mlx-lm does."""

    def __call__(self, request: Request) -> Reply:
        reply = super().__call__(request)
        if reply.body is None:
            reply.events = list(reply.events)
            for event in reply.events:
                for choice in event["choices"]:
                    choice["logprobs"] = None
        return reply


def choices_of(
    tokens: Sequence[Token], k: int, chat: bool, size: int = 1, finish: str = "stop", end_token: bool = False
) -> list[dict[str, Any]]:
    """Return tokens as the choices of a stream, so many of them in each."""
    found = []
    for start in range(0, len(tokens), size):
        part = tokens[start : start + size]
        text = "".join(token.text for token in part)
        logprobs = _logprobs(part, k, chat)
        found.append({**_text_field(text, chat), "logprobs": logprobs, "finish_reason": None})
    last = _logprobs([Token("<|im_end|>", 3.0)], k, chat) if end_token and finish == "stop" else None
    return [*found, {**_text_field("", chat), "logprobs": last, "finish_reason": finish}]


def typed(choice: dict[str, Any]) -> Choice:
    """Return a choice as the client decodes it."""
    return decode_response(json.dumps({"choices": [choice]}).encode()).choices[0]


def whole_choice(tokens: Sequence[Token], k: int, chat: bool, finish: str = "stop") -> dict[str, Any]:
    """Return tokens as the choice of a response in one piece."""
    text = "".join(token.text for token in tokens)
    fields = _text_field(text, chat)
    source = {"message": fields["delta"]} if chat else fields
    return {**source, "logprobs": _logprobs(tokens, k, chat), "finish_reason": finish}


def _text_field(text: str, chat: bool) -> dict[str, Any]:
    return {"delta": {"content": text}} if chat else {"text": text}


def _logprobs(tokens: Sequence[Token], k: int, chat: bool) -> dict[str, Any] | None:
    if not k:
        return None
    return {"content": [chat_entry(t, k) for t in tokens]} if chat else completion_logprobs(tokens, k)


def refusal(status: int, words: str, **headers: str) -> Reply:
    """Return an error as OpenAI writes it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"error": {"message": words}}, headers=named)


def _joined(messages: Sequence[Mapping[str, str]]) -> str:
    return "|".join(message["content"] for message in messages)


def _rest(messages: Sequence[Mapping[str, str]], begun: str) -> str:
    """Return how a text goes on that the question holds, "" if it holds none: any model can repeat."""
    return messages[-2]["content"].partition(begun)[2] if begun and len(messages) > 1 else ""


def _behind(prompt: str) -> str:
    """Return what stands behind the question in a prompt."""
    return prompt.partition("<reply>" if "<reply>" in prompt else "?\n\n")[2]
