"""Requests made up from the OpenAPI document: whatever they hold, the server does not fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distrivote import Problem
from distrivote.engines.base import SamplingParams
from distrivote.engines.replay import ReplayEngine
from distrivote.server.app import create_app
from distrivote.server.settings import Settings
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import row_of
from distrivote.store.runs.writer import RunWriter
from serving import POOL

schemathesis = pytest.importorskip("schemathesis")
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi import checks  # noqa: E402

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
QUESTION = "a/1"


def _operations(run: Path | None) -> list[Any]:
    app = create_app(ReplayEngine(POOL, "replay"), "dis-gmm", Settings(budget=20, run=run))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    return [result.ok() for result in schema.get_all_operations()]


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Those of a server that shows a stored run, by their names."""
    path = tmp_path_factory.mktemp("run")
    with RunWriter(
        path, Manifest.of("replay", "m", "math", "made-up", SamplingParams(), budget=20)
    ) as writer:
        for index, trajectory in enumerate(POOL):
            problem = Problem("How many?", id=QUESTION, answer="12")
            writer.add(row_of(problem, replace(trajectory, index=index)))
    return {operation.label: operation for operation in _operations(path)}


OPERATIONS = _operations(None)


@pytest.mark.slow
@pytest.mark.parametrize("label", [operation.label for operation in OPERATIONS])
def test_made_up_requests_never_fail_the_server(operations: dict[str, Any], label: str) -> None:
    ask(operations[label], GenerationMode.POSITIVE)


@pytest.mark.slow
@pytest.mark.parametrize("label", [operation.label for operation in OPERATIONS if operation.body])
def test_requests_against_the_document_are_refused(operations: dict[str, Any], label: str) -> None:
    assert set(ask(operations[label], GenerationMode.NEGATIVE)) == {400}


def ask(operation: Any, mode: GenerationMode) -> list[int]:
    """Make up requests, check the replies against the document, and return their statuses."""
    statuses: list[int] = []

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        # A made-up name is hardly ever one that is there.
        if isinstance(case.body, dict) and isinstance(case.body.get("model"), str):
            case.body["model"] = data.draw(st.sampled_from([case.body["model"], "replay"]))
        if "question_id" in (case.path_parameters or {}):
            case.path_parameters["question_id"] = data.draw(
                st.sampled_from([case.path_parameters["question_id"], QUESTION])
            )
        reply = case.call()
        case.validate_response(reply, checks=CHECKS)
        statuses.append(reply.status_code)

    run()
    return statuses


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("label", "asked"),
    [
        ("POST /v1/chat/completions", {"messages": [{"role": "user", "content": "How many?"}]}),
        ("POST /v1/completions", {"prompt": "How many?"}),
    ],
)
def test_replies_are_documented_whole_and_streamed(
    operations: dict[str, Any], label: str, asked: dict[str, Any], stream: bool
) -> None:
    body = asked | {"model": "replay", "stream": stream}
    case = operations[label].Case(body=body, media_type="application/json")
    reply = case.call()
    assert reply.status_code == 200
    case.validate_response(reply, checks=CHECKS)
