"""How much structure a request may have."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.replay import ReplayEngine
from distrivote.server import bounds
from distrivote.server.app import create_app
from distrivote.server.bounds import TooMuchError, check_structure
from distrivote.server.schemas import MAX_STOPS
from distrivote.server.settings import Settings
from faults.bodies import ASK, Body, answered, bodies
from serving import POOL

MESSAGE = {"role": "user", "content": "hi"}
CHAT = {"model": "replay", "messages": [MESSAGE]}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a"\\{}[],:é\u2028\n'), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('a"\\{,', max_size=3), inner, max_size=4)
    ),
    max_leaves=30,
)


@pytest.fixture(scope="module")
def app() -> Any:
    return create_app(ReplayEngine(POOL), "dis-gmm", Settings(budget=4))


def ask(app: Any, value: Any) -> tuple[int, dict[str, Any]]:
    reply = answered(app, Body("", json.dumps(value).encode()))
    return reply.status, json.loads(reply.body)


@pytest.mark.slow
@pytest.mark.parametrize("body", list(bodies()), ids=lambda body: body.name)
def test_no_request_costs_more_than_50_mb(body: Body, app: Any) -> None:
    assert len(body.content) <= 4_000_000
    reply = answered(app, body, counted=True)
    fine = body.name.startswith("text ") or body.name in ("one wide letter", "fraction")
    assert reply.status == 200 if fine else reply.status in (400, 404)
    assert reply.peak < 50_000_000
    assert len(reply.body) < 10_000


@pytest.mark.slow
def test_what_is_left_to_validation_has_few_errors(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from distrivote.server import app as module

    seen: list[int] = []
    real = module.failure_of_validation
    monkeypatch.setattr(
        module, "failure_of_validation", lambda errors, known: seen.append(len(errors)) or real(errors, known)
    )
    for body in bodies():
        if body.path != ASK:
            answered(app, body)
    assert len(seen) > 5
    assert max(seen) <= bounds.MAX_KEYS + 10


def _twin(value: Any, depth: int = 0) -> tuple[int, int, int, int]:
    """Return values, depth, longest array and largest object, by walking over parsed JSON."""
    if not isinstance(value, dict | list):
        return 0, depth, 0, 0
    below = [_twin(entry, depth + 1) for entry in (value.values() if isinstance(value, dict) else value)]
    n_values = 1 + max(len(value) - 1, 0) + sum(one[0] for one in below)
    deepest = max([depth + 1, *(one[1] for one in below)])
    arrays = max([0 if isinstance(value, dict) else len(value), *(one[2] for one in below)])
    objects = max([len(value) if isinstance(value, dict) else 0, *(one[3] for one in below)])
    return n_values, deepest, arrays, objects


@given(
    VALUES,
    st.booleans(),
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 9),
)
def test_bytes_are_counted_as_parsed_values_are(
    value: Any, ascii_only: bool, n_values: int, depth: int, entries: int, keys: int, chunk: int
) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    limits = (n_values, depth, entries, keys)
    with pytest.MonkeyPatch.context() as patch:
        names = ("MAX_VALUES", "MAX_DEPTH", "MAX_ENTRIES", "MAX_KEYS")
        for name, limit in zip(names, limits, strict=True):
            patch.setattr(bounds, name, limit)
        patch.setattr(bounds, "_CHUNK", chunk)
        if any(found > limit for found, limit in zip(_twin(value), limits, strict=True)):
            with pytest.raises(TooMuchError):
                check_structure(body)
        else:
            check_structure(body)


@given(st.binary(max_size=60) | st.text('"\\[]{},a', max_size=40).map(str.encode))
def test_any_bytes_are_taken_or_refused(body: bytes) -> None:
    with pytest.raises(TooMuchError, match="UTF-8") if b"\0" in body else nullcontext():
        check_structure(body)


def test_a_refusal_names_the_field(app: Any) -> None:
    status, reply = ask(app, CHAT | {"messages": [MESSAGE] * (bounds.MAX_ENTRIES + 1)})
    assert status == 400
    assert reply["error"]["message"] == "messages has more than 2,048 entries: shorten it"
    assert reply["error"]["param"] == "messages"


def test_a_long_conversation_is_taken(app: Any) -> None:
    turns = [MESSAGE, {"role": "assistant", "content": "{[,"}] * (bounds.MAX_ENTRIES // 2 - 1)
    assert ask(app, CHAT | {"messages": [*turns, MESSAGE]})[0] == 200


def test_stops_have_a_bound_of_their_own(app: Any) -> None:
    assert ask(app, CHAT | {"stop": ["x"] * MAX_STOPS})[0] == 200
    status, reply = ask(app, CHAT | {"stop": ["x"] * (MAX_STOPS + 1)})
    assert (status, reply["error"]["param"]) == (400, "stop")


def test_the_first_unknown_fields_are_named(app: Any) -> None:
    status, reply = ask(app, CHAT | {f"field{i}": 1 for i in range(100)})
    assert status == 400
    assert "'field0', 'field1'" in reply["error"]["message"]
    assert "'field7' and 92 more: leave them out" in reply["error"]["message"]


def test_a_template_does_not_multiply_a_question(app: Any) -> None:
    body = json.dumps({"question": "a", "template": "{question}" * 9}).encode()
    reply = answered(app, Body("", body, ASK))
    assert reply.status == 400
    assert b"more than 8 times" in reply.body
