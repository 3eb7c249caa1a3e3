"""What is said on standard error: sentences that end a command or go beside its result.

People get lines that break between words. Where standard error is no terminal a sentence is one line, as
scripts look for it.
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
    """Print what should be known beside the result, a line each."""
    for sentence in sentences:
        say(f"note: {worded(sentence)}")


def say_facts(facts: Sequence[str]) -> None:
    """Print facts in a line; on a narrow terminal it breaks between them."""
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
