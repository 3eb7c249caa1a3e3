"""A command of distrivote, run in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from distrivote.cli.main import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Result]


def command_with(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return what runs a command with these arguments."""

    def run(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Result(left.value.code, out, err)

    return run
