"""What can go wrong with a server, as one sentence each that says what to change.

A fault is passing (try again, here or elsewhere), of the server (it is of no use, for whatever request), of
the request (no server will take it), or of the call (what was asked for can't be had). How often to try is
not decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any

_LONGEST = 240
"""Characters of a server's own words that are repeated."""

_CONTEXT = re.compile(
    r"context|too long|too many tokens|maximum.{0,20}length|exceeds? the|input length|max_model_len", re.I
)
_MODEL = re.compile(
    r"model\b.*(not exist|not found|unknown|not available|no such|invalid)|(unknown|invalid|no such) model",
    re.I | re.S,
)


class Scope(Enum):
    """How far a fault reaches."""

    PASSING = "passing"
    SERVER = "server"
    REQUEST = "request"
    CALL = "call"


class Fault(Exception):
    """A request that failed."""

    def __init__(
        self,
        sentence: str,
        scope: Scope,
        *,
        retry_after: float | None = None,
        status: int | None = None,
        words: str = "",
        reached: bool = True,
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.scope = scope
        self.retry_after = retry_after
        """Seconds that the server wants to be left alone for."""

        self.status = status
        self.words = words
        """What the server said itself."""

        self.reached = reached
        """Whether there was a server at all."""


def fault_of_reply(
    url: str, path: str, status: int, headers: Mapping[str, str], body: bytes, *, model: str, key: str | None
) -> Fault:
    """Return the fault that an HTTP status and what came with it stand for; the key is never repeated."""
    words = _words(body)
    if key:
        words = words.replace(key, "***")
    said = f"HTTP {status}: {words[:_LONGEST]}" if words else f"HTTP {status}"
    scope = Scope.REQUEST
    if status in (401, 403):
        scope = Scope.SERVER
        what = "refused the API key" if key else "wants an API key"
        sentence = f"{url} {what} ({said}): give the right one by --api-key or OPENAI_API_KEY"
    elif status in (400, 404, 422) and _MODEL.search(words):
        scope = Scope.SERVER
        sentence = f"{url} does not have the model {model!r} ({said}): give one that it has by --model"
    elif status in (404, 405) or 300 <= status < 400:
        scope = Scope.SERVER
        to = f" and points to {headers['location']}" if 300 <= status < 400 and "location" in headers else ""
        sentence = (
            f"{url} has no {path} ({said}){to}: check --base-url, which usually ends in /v1, and what the"
            " server offers"
        )
    elif status == 429 and re.search("quota|billing|credit", words, re.I):
        scope = Scope.SERVER
        sentence = f"{url} has nothing left for this key ({said}): add credit, or take another server"
    elif status in (408, 409, 425, 429) or status >= 500:
        scope = Scope.PASSING
        advice = (
            "lower --parallel, or try again later" if status == 429 else "look at its log, or try again later"
        )
        sentence = f"{url} failed ({said}): {advice}"
    elif "chat template" in words:
        sentence = f"{model} at {url} has no chat template ({said}): use the completions endpoint"
    elif status == 413 or _CONTEXT.search(words):
        sentence = (
            f"the prompt and --max-tokens do not fit the context of {model} at {url} ({said}): lower"
            " --max-tokens, shorten the question, or serve the model with a longer context"
        )
    else:
        sentence = f"{url} refused the request ({said}): leave out or change what it names"
    wait = _seconds(headers)
    if status == 429 and wait is None:
        wait = 1.0  # it is there, and says "later"
    return Fault(sentence, scope, retry_after=wait, status=status, words=words)


def fault_of_event(url: str, error: Any, *, model: str, key: str | None) -> Fault:
    """Return the fault that an error inside a stream stands for."""
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return fault_of_reply(
        url, "stream", status, {}, json.dumps({"error": error}).encode(), model=model, key=key
    )


def unreachable(url: str, reason: str) -> Fault:
    """Return the fault of a server that can't be reached."""
    sentence = f"{url} can't be reached ({reason}): check --base-url, and whether the server runs"
    return Fault(sentence, Scope.PASSING, reached=False)


def broken_off(url: str, reason: str) -> Fault:
    """Return the fault of a reply that ended too early."""
    return Fault(f"{url} broke off a reply ({reason}): look at its log, or try again later", Scope.PASSING)


def _words(body: bytes) -> str:
    """Return what a server says about a failure, in one line."""
    text = body[:100_000].decode("utf-8", "replace")
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = re.sub(r"<[^>]*>", " ", text)
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(name):
            found = found[name]
    return " ".join((found if isinstance(found, str) else json.dumps(found)).split())


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Return how long to wait by a Retry-After header: a number of seconds, or a date."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        then, now = parsedate_to_datetime(value), headers.get("date")
        return max(0.0, (then - parsedate_to_datetime(now)).total_seconds()) if now else None
    except (ValueError, TypeError, OverflowError):  # TypeError: only one of the dates knows its time zone
        return None
