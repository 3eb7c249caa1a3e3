"""Add the heading `Examples:` to docstrings, so that the reference shows their examples as code."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

_EXAMPLE = re.compile(r"\n\n(?=>>> )")


class Doctests(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put the examples at the end of a docstring under a heading."""
        if obj.docstring is not None:
            text, *examples = _EXAMPLE.split(obj.docstring.value, maxsplit=1)
            if examples:
                obj.docstring.value = f"{text}\n\nExamples:\n{textwrap.indent(examples[0], '    ')}"
