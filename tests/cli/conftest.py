"""What tests of several commands share."""

from __future__ import annotations

import pytest

from cli.command import Command, command_with


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return command_with(capsys)
