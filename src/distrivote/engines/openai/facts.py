"""What is known about one server: shared by all event loops in which an engine is used.

Plain values without locks: two loops that probe the same thing at once write the same value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from distrivote.engines.openai.protocol import Continuation, Dialect, Prompt


@dataclass(slots=True)
class ServerFacts:
    """A server's dialect and capabilities."""

    model: str
    dialect: Dialect | None = None
    """None before the first probe."""

    n_asked: int = 0
    """How many log-probabilities were requested then."""

    takes_n: bool = True
    takes_stream_options: bool = True
    streams_tools: bool = True
    """Whether it streams replies with tools and log-probabilities; llama.cpp's server does not."""

    measures_tools: bool = True
    """Whether it gives log-probabilities with tools at all."""

    plugin_rules: dict[str, bool] = field(default_factory=dict)
    """Whether a rule, by its name, runs inside it; empty before the probe."""

    continuation: Continuation | None = None
    knows_continuation: bool = False
    prompts: dict[tuple[Any, ...], Prompt] = field(default_factory=dict)
    """Conversations as the model reads them, by what they are made of."""

    n_good: int = 0
    """Replies without a flaw."""

    n_retried: int = 0
    """Replies with a flaw that were retried before there was any without."""

    n_retries_over: int = 0
    """Retried replies that have arrived."""

    token_texts: dict[int, str] = field(default_factory=dict)
