"""Untrusted text, made safe to show: a model's answers, ids and names from a file.

Control characters could move the cursor or change colours, and direction marks could reverse a line, so they
are shown as symbols. Formulas and other scripts are unchanged.
"""

from __future__ import annotations

from collections.abc import Callable

from distrivote.voting.tally import Tally


def visible(text: str) -> str:
    """Return the text with every unprintable character replaced by a symbol.

    >>> visible("a\\x1b[31mb\\n"), visible("x\\u202ey")
    ('a␛[31mb␊', 'x\\\\u202ey')
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _sign(c) for c in text)


def visible_lines(text: str) -> str:
    """Return the text made visible line by line, its line breaks kept."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _sign(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def shortened(text: str, longest: int = 80) -> str:
    """Return at most `longest` visible characters, the last one an ellipsis if some are missing."""
    text = visible(text[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def told(tally: Tally, line: Callable[[str], str] | None = None) -> str:
    """Return the tally's explanation, with answers shortened and made safe to show.

    `line` makes one line of an answer, by the kind of answer it is.
    """
    text = tally.explain()
    for answer in sorted((a for a in tally.votes if isinstance(a, str)), key=len, reverse=True):
        short = shortened(answer if line is None else line(answer), 40)
        text = text.replace(answer, short) if short != answer else text
    return text
