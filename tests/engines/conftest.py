"""The embedded model, loaded once for all tests that need it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from distrivote.engines.llamacpp.engine import LlamaCppEngine

pytest.register_assert_rewrite("engines.contract")


@pytest.fixture(scope="session")
def engine() -> Iterator[LlamaCppEngine]:
    pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
    engine = LlamaCppEngine(n_slots=8)
    yield engine
    engine.close()
