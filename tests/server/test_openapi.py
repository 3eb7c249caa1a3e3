"""Requests made up from the OpenAPI document: whatever they hold, the server does not fail."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distrivote.engines.replay import ReplayEngine
from distrivote.server.app import create_app
from distrivote.server.settings import Settings
from serving import POOL

schemathesis = pytest.importorskip("schemathesis")
from schemathesis.checks import not_a_server_error  # noqa: E402

APP = create_app(ReplayEngine(POOL, "replay"), "dis-gmm", Settings(budget=20))
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP)
OPERATIONS = [result.ok() for result in SCHEMA.get_all_operations()]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_made_up_requests_never_fail_the_server(operation: Any) -> None:
    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy())
        if isinstance(case.body, dict) and "model" in case.body and data.draw(st.booleans()):
            case.body["model"] = "replay"  # or hardly any gets past the name
        case.call_and_validate(checks=[not_a_server_error])

    run()
