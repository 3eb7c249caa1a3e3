"""Errors as OpenAI's clients know them: a status, and {"error": {message, type, param, code}}.

401 authentication_error     404 model_not_found, not_found       413 request_too_large
402 insufficient_quota       422 no_answer                        429 rate_limit_error
400 invalid_request_error    424 engine_error (configuration)     500 server_error
502 engine_error (retryable)

Clients retry 408, 409, 429 and 5xx, so no error has such a status if a retry can't succeed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from distrivote.errors import (
    DistrivoteError,
    EngineError,
    InputError,
    MissingPackageError,
    RefusedError,
    SetupError,
    SpentError,
    UnknownNameError,
)
from distrivote.server.words import API, PAGE, Fields

RETRY_SECONDS = 2
"""When a client that got 429 should retry."""

_LONGEST_MESSAGE = 2_000
"""Characters of an error that quotes what a client has sent."""

_LONGEST_NAME = 200
_MOST_UNKNOWN = 8


class NoAnswerError(DistrivoteError):
    """Trajectories were sampled, and none of them gave an answer."""


class BusyError(DistrivoteError):
    """More requests than the limit allows."""


class UnknownModelError(InputError):
    """A model that this server does not have."""


class Failure(NamedTuple):
    """An error as it is reported to a client."""

    status: int
    kind: str
    message: str
    param: str | None = None
    code: str | None = None

    @property
    def body(self) -> dict[str, Any]:
        message = self.message
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[:_LONGEST_MESSAGE]}..."
        return {"error": {"message": message, "type": self.kind, "param": self.param, "code": self.code}}

    @property
    def headers(self) -> dict[str, str]:
        if self.status == 429:
            return {"retry-after": str(RETRY_SECONDS)}
        return {"www-authenticate": "Bearer"} if self.status == 401 else {}


def failure_of(error: BaseException, fields: Fields = API) -> Failure:
    """Return the reply for an error; for a bug of ours it says only that there was one.

    `fields` are those of its request: hints use their names.
    """
    if isinstance(error, DistrivoteError):
        return _of_error(error, error.in_words(fields.spell), fields.param(error.argument))
    if isinstance(error, HTTPException):
        return _of_status(error.status_code, str(error.detail))
    return Failure(500, "server_error", "the server made a mistake: its log says more")


def _of_error(error: DistrivoteError, message: str, param: str | None) -> Failure:
    if isinstance(error, UnknownModelError):
        return Failure(404, "invalid_request_error", message, "model", "model_not_found")
    if isinstance(error, InputError | MissingPackageError):
        return Failure(400, "invalid_request_error", message, param)
    if isinstance(error, NoAnswerError):
        return Failure(422, "no_answer", message, code="no_answer")
    if isinstance(error, BusyError):
        return Failure(429, "rate_limit_error", message, code="rate_limit_exceeded")
    if isinstance(error, SpentError):
        return Failure(402, "insufficient_quota", message, code="insufficient_quota")
    if isinstance(error, RefusedError):
        return Failure(400, "invalid_request_error", message, param)
    if isinstance(error, SetupError) and error.argument == "model":
        return Failure(404, "invalid_request_error", message, "model", "model_not_found")
    if isinstance(error, SetupError):
        return Failure(424, "engine_error", message, param, "configuration")
    if isinstance(error, EngineError):
        return Failure(502, "engine_error", message, param, "retryable" if error.retryable else None)
    return Failure(500, "server_error", message, param)


def _of_status(status: int, detail: str) -> Failure:
    if status == 413:
        return Failure(413, "request_too_large", detail, code="request_too_large")
    if status == 401:
        return Failure(401, "authentication_error", detail, code="invalid_api_key")
    return Failure(status, "invalid_request_error", detail, code="not_found" if status == 404 else None)


def failure_of_validation(errors: Sequence[Mapping[str, Any]], known: Sequence[str]) -> Failure:
    """Return the reply for invalid fields; `known` are the fields that exist.

    Unknown fields are named first.
    """
    unknown = [_path(error["loc"]) for error in errors if error["type"] == "extra_forbidden"]
    if len(unknown) == 1:
        error = UnknownNameError("field", unknown[0], known)
        return Failure(400, "invalid_request_error", str(error), unknown[0][:_LONGEST_NAME], "unknown_field")
    if unknown:
        names = ", ".join(repr(name[:_LONGEST_NAME]) for name in unknown[:_MOST_UNKNOWN])
        if len(unknown) > _MOST_UNKNOWN:
            names += f" and {len(unknown) - _MOST_UNKNOWN} more"
        message = f"unknown fields {names}: leave them out (settings of the vote go into 'distrivote')"
        return Failure(400, "invalid_request_error", message, unknown[0][:_LONGEST_NAME], "unknown_field")
    first = errors[0]
    if first["type"] == "json_invalid":
        where = f"{first['ctx']['error']} at character {first['loc'][-1] + 1}"
        message = f"the request is not valid JSON ({where}): send one JSON object"
        return Failure(400, "invalid_request_error", message)
    path, reason = _path(first["loc"]), str(first["msg"])
    reason = (reason[:1].lower() + reason[1:]).removeprefix("input ").removeprefix("list ")
    reason = reason.replace(" after validation", "")
    message = f"{path} {reason}" if reason.startswith("should ") else f"{path}: {reason}"
    if first["type"] == "missing":
        message = f"{path} is missing" if path else "the request is empty: send a JSON object"
    elif not path and "unicode" in reason:
        message = f"the request can't be read: {reason}"
    elif not path:
        message = "the request is not a JSON object: send one, with content-type: application/json"
    return Failure(400, "invalid_request_error", message, path or None)


def _path(loc: Sequence[str | int]) -> str:
    """Return the path of a field in a request, as in distrivote.ssc.alpha.

    >>> _path(("body", "distrivote", "ssc", "SscFields", "alpha"))
    'distrivote.ssc.alpha'
    """
    parts = [str(part) for part in loc if part not in ("body", "query", "path", "header")]
    return ".".join(part for part in parts if part not in _UNION_TAGS)


_UNION_TAGS = {"SscFields", "TextPart", "bool", "str", "list[str]", "list[TextPart]"}
"""What pydantic adds to the path of a field that may have several types."""


def to_json(value: object) -> bytes:
    """Return compact JSON; half a surrogate pair, which has no UTF-8, becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def json_reply(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(value), status, dict(headers or {}), "application/json")


def failure_reply(failure: Failure) -> Response:
    return json_reply(failure.body, failure.status, failure.headers)


async def on_error(request: Request, error: Exception) -> Response:
    """Answer a request that failed; called by Starlette."""
    fields = PAGE if request.url.path.startswith("/api/") else API
    return failure_reply(failure_of(error, fields))
