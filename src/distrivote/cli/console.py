"""A Rich console that takes text as it is: no markup, no emoji, no guessing of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def open_console(file: TextIO) -> Console:
    from rich.console import Console

    return Console(file=file, highlight=False, markup=False, emoji=False)
