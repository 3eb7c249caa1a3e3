"""What has been found out about one server: shared by all event loops in which an engine is used.

Plain values without locks: two loops that find out the same thing at once write the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from distrivote.engines.openai.protocol import Continuation, Dialect, Prompt


@dataclass(slots=True)
class ServerFacts:
    """How a server wants to be asked, and what it can do."""

    model: str
    dialect: Dialect | None = None
    """None until it was asked for the first time."""

    n_asked: int = 0
    """For how many log-probabilities it was asked then."""

    takes_n: bool = True
    takes_stream_options: bool = True
    streams_tools: bool = True
    """Whether it streams replies with tools and log-probabilities; llama.cpp's server does not."""

    measures_tools: bool = True
    """Whether it gives log-probabilities with tools at all."""

    plugin_rules: dict[str, bool] = field(default_factory=dict)
    """Whether a rule, by its name, runs inside it; empty until that was tried."""

    continuation: Continuation | None = None
    knows_continuation: bool = False
    prompts: dict[tuple[Any, ...], Prompt] = field(default_factory=dict)
    """Conversations as the model reads them, by what they are made of."""

    n_good: int = 0
    """Replies without a flaw."""

    n_retried: int = 0
    """Replies with one that were asked for again before there was any without."""

    n_retries_over: int = 0
    """Replies asked for again that have come."""

    token_texts: dict[int, str] = field(default_factory=dict)
