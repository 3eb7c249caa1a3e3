"""Messages on standard error: errors that end a command, and notes on its result.

On a terminal, lines are wrapped between words. Otherwise a sentence is one line, so that
scripts can search for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from distrivote.cli.console import open_console
from distrivote.cli.words import worded
from distrivote.errors import DistrivoteError


def say(sentence: str) -> None:
    """Print a sentence."""
    from distrivote.report.text import visible

    text = visible(sentence)
    if sys.stderr.isatty():
        import textwrap

        # Paths and options stay whole, so that they can be copied.
        text = textwrap.fill(
            text, width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    print(text, file=sys.stderr, flush=True)


def note(*sentences: str | DistrivoteError) -> None:
    """Print notes on the result, one per line."""
    for sentence in sentences:
        say(f"note: {worded(sentence)}")


def say_facts(facts: Sequence[str]) -> None:
    """Print facts on one line; on a narrow terminal it is wrapped between them."""
    from distrivote.report.text import visible

    lines = [""]
    for fact in map(visible, facts):
        longer = f"{lines[-1]} · {fact}" if lines[-1] else fact
        if lines[-1] and len(longer) > width():
            lines.append(f"  {fact}")
        else:
            lines[-1] = longer
    print("\n".join(lines), file=sys.stderr, flush=True)


def width() -> int:
    return open_console(sys.stderr).width
