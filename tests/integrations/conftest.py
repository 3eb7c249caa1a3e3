"""Where the tests that need other people's programs are not wanted, their files are not even loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

FOREIGN = {
    "test_dspy.py",
    "test_inspect_ai.py",
    "test_inspect_stopping.py",
    "test_lm_eval.py",
    "test_lm_eval_chat.py",
    "test_mcp.py",
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    unwanted = "not integrations" in config.getoption("markexpr", "")
    return True if unwanted and collection_path.name in FOREIGN else None
