"""Checks what one OpenAI-compatible server supports, with a few requests of one to four tokens.

For `distrivote doctor`: the same probes that a call makes before its first trajectory, without a call.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from distrivote.confidence.tokens import DEFAULT_K
from distrivote.engines.openai.capabilities import continuation_of, dialect_of, models_of, n_with_plugin
from distrivote.engines.openai.client import Server, address_of
from distrivote.engines.openai.extras import Extras
from distrivote.engines.openai.facts import ServerFacts
from distrivote.engines.openai.faults import Fault
from distrivote.engines.openai.patience import Patience
from distrivote.engines.openai.protocol import Body

_PATIENCE = Patience(timeout=30.0)
"""A large model may have to be loaded first."""


@dataclass(frozen=True, slots=True)
class Checkup:
    """The findings about a server."""

    url: str
    model: str | None = None
    n_logprobs: int = 0
    """Log-probabilities per token, of those requested; 0: none."""

    streams: bool = True
    """Whether streams have them; if not, only complete replies do."""

    left_out: tuple[str, ...] = ()
    """Fields that it refuses."""

    ssc_by: str | None = None
    """How SelfStepConf works with it: `plugin`, `continuation`, or None."""

    plugin_in: str | None = None
    """How many of the probes found the plugin, if only some did: some replicas behind the address lack it."""

    failure: str | None = None
    """One sentence about what is wrong, if anything is; arguments in backticks, as in hints."""


def check_server(
    url: str, model: str | None = None, api_key: str | None = None, extras: Extras | None = None
) -> Checkup:
    """Return the capabilities of a server; a failure is reported in the result and not raised."""
    address, extras = address_of(url), extras or Extras()
    key = api_key or os.environ.get("OPENAI_API_KEY") or None

    async def ask() -> Checkup:
        server = Server(address, ServerFacts(model or ""), key, _PATIENCE, headers=extras.headers)
        try:
            return await _checked(server, extras.fields)
        except Fault as fault:
            return Checkup(address.shown, server.facts.model or None, failure=str(fault))
        finally:
            await server.close()

    return asyncio.run(ask())


async def _checked(server: Server, extra: Body) -> Checkup:
    if not server.facts.model:
        names = await models_of(server)
        if len(names) != 1:
            listed = ", ".join(names[:8]) or "none"
            failure = f"{server.url} has these models: {listed}; name one with `model`"
            return Checkup(server.url, failure=failure)
        server.facts.model = names[0]
    dialect = await dialect_of(server, "chat", DEFAULT_K, extra)
    ssc_by, n_with = None, 0
    if dialect.n_logprobs:
        n_with = await n_with_plugin(server, "chat", dialect)
        if n_with == server.patience.n_replicas:
            ssc_by = "plugin"
        elif await continuation_of(server, dialect) is not None:
            ssc_by = "continuation"
    left_out = tuple(sorted(dialect.left_out))
    part = f"{n_with} of {server.patience.n_replicas}" if n_with and ssc_by != "plugin" else None
    return Checkup(
        server.url, server.facts.model, dialect.n_logprobs, dialect.streams, left_out, ssc_by, plugin_in=part
    )
