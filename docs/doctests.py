"""Examples stand at the end of docstrings without a heading; the reference wants one to show them as code."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

_EXAMPLE = re.compile(r"\n\n(?=>>> )")


class Doctests(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put the examples of a docstring under a heading."""
        if obj.docstring is not None:
            text, *examples = _EXAMPLE.split(obj.docstring.value, maxsplit=1)
            if examples:
                obj.docstring.value = f"{text}\n\nExamples:\n{textwrap.indent(examples[0], '    ')}"
