"""The errors of a server, each as one sentence that says what to change.

A fault is transient (retry, here or elsewhere), of the server (it can't be used for any request), of
the request (no server will accept it), or of the call (it can't be carried out). The number of retries is
not decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any

from distrivote.errors import EngineError, RefusedError, SetupError

_LONGEST = 240
"""Characters of a server's own message that are quoted."""

_CONTEXT = re.compile(
    r"context|too long|too many tokens|maximum.{0,20}length|exceeds? the|input length|max_model_len", re.I
)
_MODEL = re.compile(
    r"model\b.*(not exist|not found|unknown|not available|no such|invalid)|(unknown|invalid|no such) model",
    re.I | re.S,
)
_CREDIT = re.compile(r"quota|billing|credit", re.I)
_LATER = re.compile(r"(try again|retry) (in|after)", re.I)


class Scope(Enum):
    """The scope of a fault."""

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
        hint: str | None = None,
        argument: str | None = None,
        retry_after: float | None = None,
        status: int | None = None,
        words: str = "",
        reached: bool = True,
    ) -> None:
        super().__init__(sentence if hint is None else f"{sentence}: {hint}")
        self.sentence = sentence
        self.hint = hint
        """What to do; it and `argument` as in `DistrivoteError`."""

        self.argument = argument
        self.scope = scope
        self.retry_after = retry_after
        """Seconds after which the server allows a retry."""

        self.status = status
        self.words = words
        """The server's own message."""

        self.reached = reached
        """Whether the server was reached at all."""

    def error(self, before: str = "") -> EngineError:
        """Return the error to raise to the caller; its message begins with `before`."""
        kind = {Scope.PASSING: EngineError, Scope.SERVER: SetupError}.get(self.scope, RefusedError)
        return kind(
            before + self.sentence,
            retryable=self.scope is Scope.PASSING,
            hint=self.hint,
            argument=self.argument,
        )


def fault_of_reply(
    url: str,
    path: str | None,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    model: str,
    key: str | None,
    has_answered: bool = False,
    secrets: Iterable[str] = (),
) -> Fault:
    """Return the fault for an HTTP status and its body.

    The key and the other `secrets` are never quoted. `path` is None if it can't be the cause. A
    server that `has_answered` with this key refuses one request, and not all.
    """
    words = _words(body)
    for secret in filter(None, (key, *secrets)):
        words = words.replace(secret, "***")
    said = f"HTTP {status}: {words[:_LONGEST]}" if words else f"HTTP {status}"
    scope, argument = Scope.REQUEST, None
    if status == 401 or (status == 403 and not has_answered):
        scope = Scope.SERVER
        what = "refused the API key" if key else "wants an API key"
        sentence, argument = f"{url} {what} ({said})", "api_key"
        hint = "give the right one as `api_key`, or set OPENAI_API_KEY"
    elif (status in (400, 404, 422) and _MODEL.search(words)) or (status == 404 and names(words, model)):
        scope = Scope.SERVER
        sentence, argument = f"{url} does not have the model {model!r} ({said})", "model"
        hint = "give one that it has as `model`"
    elif path is not None and (status in (404, 405) or 300 <= status < 400):
        scope = Scope.SERVER
        to = f" and points to {headers['location']}" if 300 <= status < 400 and "location" in headers else ""
        sentence, argument = f"{url} has no {path} ({said}){to}", "base_urls"
        hint = "check `base_urls`, which usually ends in /v1, and what the server offers"
    elif status == 402 or (status == 429 and "retry-after" not in headers and _is_out_of_credit(words)):
        scope = Scope.SERVER
        sentence = f"{url} has nothing left for this key ({said})"
        hint = "add credit, or take another server"
    elif status in (408, 409, 425, 429) or status >= 500:
        scope = Scope.PASSING
        sentence = f"{url} failed ({said})"
        hint = f"{'lower `n_parallel`' if status == 429 else 'look at its log'}, or try again later"
    elif "chat template" in words:
        sentence = f"{model} at {url} has no chat template ({said})"
        hint = "use the completions endpoint"
    elif status == 413 or _CONTEXT.search(words):
        sentence = f"the prompt and the longest reply do not fit the context of {model} at {url} ({said})"
        hint = "lower `max_tokens`, shorten the question, or serve the model with a longer context"
        argument = "max_tokens"
    else:
        ones = [name for name in ("temperature", "top_p") if names(words, name)]
        sentence, argument = f"{url} refused the request ({said})", ones[0] if ones else None
        hint = "leave out or change what it names"
        if ones:
            hint = f"give {' and '.join(f'`{name}=1`' for name in ones)}"
    wait = _seconds(headers)
    if status == 429 and wait is None:
        wait = 1.0  # it is reachable, and asks for a later retry
    return Fault(sentence, scope, hint=hint, argument=argument, retry_after=wait, status=status, words=words)


def fault_of_event(
    url: str, error: Any, *, model: str, key: str | None, secrets: Iterable[str] = ()
) -> Fault:
    """Return the fault for an error inside a reply."""
    body = json.dumps({"error": error}).encode()
    return fault_of_reply(
        *(url, None, _status_of(error), {}, body), model=model, key=key, has_answered=True, secrets=secrets
    )


def _status_of(error: Any) -> int:
    """Return the HTTP status of an error: its code, or the one that its code and type imply; else 500."""
    named = [error.get(name) for name in ("code", "type")] if isinstance(error, Mapping) else []
    for value in named:
        if re.fullmatch(r"[45]\d\d", str(value)):
            return int(str(value))
    words = " ".join(value for value in named if isinstance(value, str))
    if re.search(r"rate.?limit|quota", words, re.I):
        return 429
    return 400 if re.search(r"invalid|bad.?request|context.?length", words, re.I) else 500


def _is_out_of_credit(words: str) -> bool:
    """Return whether a limit is permanent: a limit per minute, which is not, may mention billing too."""
    return bool(_CREDIT.search(words)) and not _LATER.search(words)


def names(words: str, name: str) -> bool:
    """Return whether a server's message contains a name as a separate word."""
    return bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) is not None


def unreachable(url: str, reason: str) -> Fault:
    """Return the fault of a server that can't be reached."""
    hint = "check `base_urls`, and whether the server runs"
    sentence = f"{url} can't be reached ({reason})"
    return Fault(sentence, Scope.PASSING, hint=hint, argument="base_urls", reached=False)


def broken_off(url: str, reason: str) -> Fault:
    """Return the fault of a reply that ended too early."""
    hint = "look at its log, or try again later"
    return Fault(f"{url} broke off a reply ({reason})", Scope.PASSING, hint=hint)


def _words(body: bytes) -> str:
    """Return a server's message about a failure, on one line."""
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
    except (ValueError, TypeError, OverflowError):  # TypeError: only one of the dates has a time zone
        return None
