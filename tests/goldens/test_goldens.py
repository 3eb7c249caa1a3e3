"""Behaviour stays: commands, HTTP exchanges and stored runs are what was recorded.

A difference that is meant is recorded by `make goldens`, and read in the commit.
"""

from __future__ import annotations

import difflib
import sys

import pytest

from goldens.cases import NAMES, RECORDED, path_of, text_of
from goldens.warm import Warm

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs terminals and forks of POSIX")


@pytest.mark.parametrize("name", NAMES)
def test_behaviour_is_as_recorded(name: str, warm: Warm) -> None:
    recorded, made = path_of(name).read_text(), text_of(name, warm)
    if made != recorded:
        lines = difflib.unified_diff(
            recorded.splitlines(), made.splitlines(), f"recorded/{name}.txt", "now", lineterm="", n=2
        )
        pytest.fail(
            "\n".join(["behaviour has changed; if it was meant to, `make goldens`", *lines]), pytrace=False
        )


def test_nothing_is_recorded_that_is_not_compared() -> None:
    found = {path.relative_to(RECORDED).with_suffix("").as_posix() for path in RECORDED.rglob("*.txt")}
    assert found == set(NAMES)
