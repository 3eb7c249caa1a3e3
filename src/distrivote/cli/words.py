"""Translates argument names in hints and notes (in backticks) to options.

`budget` becomes --budget, `same="math"` --same math, `steering=None` --no-ssc, `new=True` --new.
"""

from __future__ import annotations

from distrivote.errors import DistrivoteError, reworded

_OPTIONS = {
    "answer_column": "--answer-column",
    "base_urls": "--base-url",
    "confidence": "--confidence-column",
    "headers": "--header",
    "length": "--length-column",
    "measure": "--signal",
    "n_parallel": "--parallel",
    "question": "--question-column",
    "steering": "--ssc",
    "text": "--text-column",
    "truth": "--truth-column",
} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("answer", "api_key", "as_published", "budget", "by", "confidence_scale", "deepconf", "engine"),
        *("benchmark", "extra_body", "max_cost", "online", "price", "processes", "reasoning_effort", "seed"),
        *(
            "extract",
            "format",
            "host",
            "inputs",
            "max_budget",
            "max_concurrency",
            "max_spool",
            "max_tokens",
            "method",
            "name",
        ),
        *("model", "new", "ray", "same", "signal", "ssc", "temperature", "template", "thinking", "top_p"),
        *("calibration", "max_error", "min_probability", "partial", "run", "run_code", "shard", "stop_when"),
        *("data", "strict", "texts", "token_confidences", "upstream_key"),
    )
}
_OFF = ("None", "False")


def option(name: str, value: str | None = None) -> str | None:
    """Return the option for an argument, None if there is none.

    >>> option("base_urls"), option("same", '"math"'), option("steering", "None"), option("new", "True")
    ('--base-url', '--same math', '--no-ssc', '--new')
    """
    known = _OPTIONS.get(name)
    if known is None or value is None or value == "True":
        return known
    return f"--no-{known[2:]}" if value in _OFF else f"{known} {value.strip(chr(34))}"


def worded(said: str | DistrivoteError) -> str:
    """Return an error or a note with options instead of argument names."""
    return said.in_words(option) if isinstance(said, DistrivoteError) else reworded(said, option)
