"""What servers say when they refuse, and what is made of it."""

from __future__ import annotations

import json

import pytest

from distrivote.engines.openai.faults import Scope, fault_of_event, fault_of_reply, unreachable

CASES = [
    # From servers in the field: status, their body, how far it reaches, what the sentence must say.
    (401, {"error": {"message": "Incorrect API key provided: sk-123."}}, "server", "`api_key`"),
    (401, {"error": "Unauthorized"}, "server", "`api_key`"),
    (403, {"detail": "Forbidden"}, "server", "`api_key`"),
    (404, {"error": {"message": "The model `x` does not exist.", "code": 404}}, "server", "`model`"),
    (404, {"error": {"message": "The model 'x' does not exist or is not for you"}}, "server", "`model`"),
    (400, {"object": "error", "message": "Unknown model: x"}, "server", "`model`"),
    (404, {"detail": "Not Found"}, "server", "/v1"),
    (404, "<html><h1>Not Found</h1></html>", "server", "/v1"),
    (405, {"detail": "Method Not Allowed"}, "server", "`base_urls`"),
    (301, "", "server", "`base_urls`"),
    (400, {"error": {"message": "This model's maximum context length is 4096 tokens. However, you requested"
                     " 5000 tokens"}}, "request", "`max_tokens`"),
    (400, {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing"
                     " it"}}, "request", "`max_tokens`"),
    (400, {"error": {"message": "max_tokens=5000 cannot be greater than max_model_len=2048."}}, "request",
     "`max_tokens`"),
    (400, {"error": {"message": "default chat template is no longer allowed"}}, "request", "completions"),
    (413, "too large", "request", "`max_tokens`"),
    (400, {"error": {"message": "Unrecognized request argument supplied: min_p"}}, "request", "min_p"),
    (422, {"detail": [{"loc": ["body", "top_k"], "msg": "extra fields not permitted"}]}, "request", "top_k"),
    (429, {"error": {"message": "Rate limit reached"}}, "passing", "`n_parallel`"),
    (429, {"error": {"message": "You exceeded your current quota"}}, "server", "credit"),
    (429, {"error": {"message": "Rate limit reached for tokens per minute. Please try again in 1.5s. Need"
                     " more tokens? Upgrade at https://h/settings/billing"}}, "passing", "`n_parallel`"),
    (429, {"error": {"message": "Requests have exceeded the rate limit. Please retry after 9 seconds. Go"
                     " here: https://h/quotaincrease"}}, "passing", "`n_parallel`"),
    (402, {"error": {"message": "Insufficient Balance"}}, "server", "add credit"),
    (404, {"error": {"message": "No endpoints found for x."}}, "server", "`model`"),
    (400, {"error": {"message": "Unsupported value: 'temperature' does not support 0.6 with this model."}},
     "request", ": give `temperature=1`"),
    (400, {"error": {"message": "Unsupported parameter: 'top_p'"}}, "request", ": give `top_p=1`"),
    (400, {"error": {"message": "`temperature` and `top_p` are fixed"}}, "request",
     ": give `temperature=1` and `top_p=1`"),
    (500, "", "passing", "log"),
    (503, {"error": {"message": "Loading model"}}, "passing", "Loading model"),
    (529, {"error": {"message": "Overloaded"}}, "passing", "Overloaded"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "scope", "says"), CASES)
def test_a_refusal_is_one_sentence_that_says_what_to_change(
    status: int, body: object, scope: str, says: str
) -> None:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    fault = fault_of_reply("http://h/v1", "chat/completions", status, {}, raw, model="x", key="sk-123")
    assert fault.scope is Scope(scope)
    assert says in str(fault)
    assert "http://h/v1" in str(fault)
    assert "\n" not in str(fault)
    assert "sk-123" not in str(fault)
    assert len(str(fault)) < 600


def test_a_limit_that_says_when_to_come_back_is_not_the_end_of_the_credit() -> None:
    headers, body = {"retry-after": "3"}, b"You are out of quota"
    fault = fault_of_reply("http://h/v1", "x", 429, headers, body, model="m", key=None)
    assert (fault.scope, fault.retry_after) == (Scope.PASSING, 3.0)


def test_a_server_that_has_answered_forbids_one_request_and_not_all() -> None:
    body = b'{"error": {"message": "your input was flagged"}}'
    fault = fault_of_reply("http://h/v1", "x", 403, {}, body, model="m", key="k", has_answered=True)
    assert fault.scope is Scope.REQUEST
    assert "your input was flagged" in fault.sentence
    assert "`api_key`" not in str(fault)


def test_without_a_key_the_sentence_says_that_one_is_wanted() -> None:
    fault = fault_of_reply("http://h/v1", "models", 401, {}, b"", model="", key=None)
    assert "wants an API key" in fault.sentence


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        (
            {"retry-after": "Wed, 21 Oct 2026 07:28:09 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            9.0,
        ),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    fault = fault_of_reply("http://h/v1", "models", 503, headers, b"", model="", key=None)
    assert fault.retry_after == seconds


def test_a_limit_that_names_no_time_is_still_no_failure() -> None:
    assert fault_of_reply("http://h/v1", "x", 429, {}, b"", model="", key=None).retry_after == 1.0


@pytest.mark.parametrize(
    "error",
    [{"message": "out of memory", "code": 500}, "out of memory", {"message": "out of memory", "code": None}],
)
def test_an_error_inside_a_stream_passes(error: object) -> None:
    fault = fault_of_event("http://h/v1", error, model="m", key=None)
    assert fault.scope is Scope.PASSING
    assert "out of memory" in fault.sentence


@pytest.mark.parametrize(
    ("error", "scope", "status"),
    [
        ({"message": "too long", "code": "400"}, "request", 400),
        ({"message": "too long", "code": "context_length_exceeded"}, "request", 400),
        ({"message": "no", "code": None, "type": "invalid_request_error"}, "request", 400),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, "passing", 429),
        ({"message": "check your billing", "code": "insufficient_quota"}, "server", 429),
        ({"message": "oops", "code": "server_error"}, "passing", 500),
        ({"message": "No endpoints found that support this", "code": 404}, "request", 404),
        ({"message": "flagged", "code": 403}, "request", 403),
    ],
)
def test_an_error_inside_a_reply_has_a_code_that_is_a_number_or_a_name(
    error: object, scope: str, status: int
) -> None:
    fault = fault_of_event("http://h/v1", error, model="m", key="k")
    assert (fault.scope, fault.status) == (Scope(scope), status)


def test_a_server_that_is_not_there_is_named() -> None:
    fault = unreachable("http://h/v1", "connection refused")
    assert fault.sentence.startswith("http://h/v1 can't be reached (connection refused)")
