"""The capabilities of the servers of a call, probed before the first trajectory or when a server recovers.

All of them must give the same number of log-probabilities, since confidences from different numbers do not
compare: that of the server that gives the fewest among those that answer at first, or that of the first to
answer later. One that appears later with fewer is left out. What is missing is reported at once, with
what still works.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from distrivote.engines.openai.capabilities import continuation_of, dialect_of, n_with_plugin, prompt_shown_by
from distrivote.engines.openai.client import Server
from distrivote.engines.openai.faults import Fault, Scope, broken_off
from distrivote.engines.openai.protocol import Body, Continuation
from distrivote.engines.vllm.args import Probe, probe_of, xargs_of
from distrivote.errors import InputError
from distrivote.steering import Controller


@dataclass(frozen=True, slots=True)
class SteeringPlan:
    """How the trajectories of a server are steered."""

    continues: bool = False
    """Whether by continuation; if not, by the server's plugin or not at all."""

    way: Continuation | None = None
    """How the chat template's prompt is had or a prefix continued. None where neither is needed: on the
    completions endpoint, and without a controller."""

    plugin: bool = False
    """Whether by the server's plugin."""

    @property
    def steers(self) -> bool:
        return self.continues or self.plugin

    @property
    def by_text(self) -> bool:
        return self.way in (None, Continuation.TEMPLATE, Continuation.TOKENS)


class _Settings(Protocol):
    @property
    def endpoint(self) -> str: ...
    @property
    def ssc_by(self) -> str: ...
    @property
    def extra(self) -> Body: ...


class Discovery:
    """What a call knows of its servers."""

    def __init__(
        self, settings: _Settings, controller: Controller | None, note: Callable[[str], None]
    ) -> None:
        self.k = 0
        """How many log-probabilities are requested."""

        self._asked = 0
        self._is_settled = False  # whether k is what a server gives
        self._is_begun = False  # whether all servers were probed once
        self._settings = settings
        self.controller = controller
        """The controller; an optional one is dropped if a server does not support it."""

        self._note = note
        self._plans: dict[Server, SteeringPlan] = {}
        self._locks: dict[Server, asyncio.Lock] = {}

    async def probe_all(self, servers: Sequence[Server], n_logprobs: int) -> None:
        """Probe all servers; a failure is recorded in the server's health."""
        self.k = self._asked = n_logprobs
        self._locks = {server: asyncio.Lock() for server in servers}
        await asyncio.gather(*map(self._first_probe, servers))
        if any(server.facts.dialect is not None for server in servers):
            for server in servers:
                if server.facts.dialect is None and server.health.fault is not None:
                    self._note(f"{server.health.fault}; the other servers go on")
        given = [server.facts.dialect.n_logprobs for server in servers if server.facts.dialect is not None]
        # Servers without any are left out if there are others, and do not take the others' away.
        self.k = min([n_logprobs, *filter(None, given)]) if any(given) or not given else 0
        self._is_settled = bool(given)
        if self.controller is not None and self.controller.optional:
            for server in servers:
                if server.facts.dialect is not None:
                    with suppress(Fault):  # it is raised again at the server's first trajectory
                        await self.plan(server)
        self._is_begun = True

    def sample_plainly(self, why: str | None) -> None:
        """Drop the controller; the reason is reported unless another note already says it."""
        self.controller = None
        self._plans.clear()
        if why is not None:
            self._note(f"{why}: replies are sampled without SelfStepConf")

    async def _first_probe(self, server: Server) -> None:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(server.patience.discovery if len(self._locks) > 1 else None):
                await self._probe(server)
        except TimeoutError:
            fault = broken_off(server.url, f"nothing within {server.patience.discovery:g} seconds")
            server.health.fail(fault, begun, time.monotonic())
        except Fault as fault:
            server.health.fail(fault, begun, time.monotonic())

    async def _probe(self, server: Server) -> None:
        if server.facts.dialect is None or server.facts.n_asked < self._asked:
            server.facts.dialect = await dialect_of(
                server, self._settings.endpoint, self._asked, self._settings.extra
            )
            server.facts.n_asked = self._asked
        if "seed" in server.facts.dialect.left_out:
            self._note(f"{server.url} takes no seed: what it samples can't be sampled again")
        n = server.facts.dialect.n_logprobs
        if not n:
            self._note(
                f"{server.url} gives no log-probabilities: majority voting decides on its replies, unless"
                ' `measure="stated"` asks them how sure they are'
            )
        if not server.facts.dialect.streams:
            what = "gives log-probabilities in whole replies only" if n else "does not stream"
            self._note(f"{server.url} {what}: replies are asked for whole")
        if 0 < n < self._asked:
            self._note(
                f"{server.url} gives {n} log-probabilities per token where {self._asked} were asked for: all"
                " methods work with these, but the confidences do not compare with those of other numbers"
            )

    async def plan(self, server: Server) -> SteeringPlan:
        """Return how a server is steered, probed before its first trajectory."""
        if server in self._plans:
            return self._plans[server]
        before = server.health.fault
        async with self._locks.setdefault(server, asyncio.Lock()):  # one that came later has none yet
            if server not in self._plans:
                fault = server.health.fault
                if fault is not None and fault is not before:
                    raise fault  # another task reported it already
                self._plans[server] = await self._planned(server)
        return self._plans[server]

    async def _planned(self, server: Server) -> SteeringPlan:
        await self._probe(server)
        assert server.facts.dialect is not None
        n = server.facts.dialect.n_logprobs
        if not self._is_settled:
            self.k, self._is_settled = min(n, self._asked), True
        if n < self.k:
            raise Fault(
                f"{server.url} gives {n} log-probabilities per token and the other servers {self.k}, so that"
                " confidences would not compare: take servers of one kind",
                Scope.SERVER,
            )
        controller = self.controller
        if controller is None:
            return SteeringPlan()
        try:
            return await self._steered(server, controller)
        except Fault as fault:
            if fault.scope is not Scope.CALL or not controller.optional:
                raise
            if self._is_begun and any(plan.steers for plan in self._plans.values()):
                # The others are steered, so this server, which answered late, is left out.
                raise Fault(fault.sentence, Scope.SERVER, hint=fault.hint, argument=fault.argument) from fault
            self.sample_plainly(fault.sentence if _shows_all(server) else None)
            return SteeringPlan()

    async def _steered(self, server: Server, controller: Controller) -> SteeringPlan:
        assert server.facts.dialect is not None
        if not server.facts.dialect.n_logprobs or (controller.optional and not _shows_all(server)):
            raise Fault(
                f"{server.url} gives no log-probabilities, which SelfStepConf needs",
                Scope.CALL,
                hint="use `steering=None` for plain sampling, which can be voted on by majority (sc)",
                argument="steering",
            )
        by = self._settings.ssc_by
        if by == "plugin" or (by == "auto" and _can_be_told(controller)):
            if by == "plugin":
                xargs_of(controller)
            probe, rules = probe_of(controller), server.facts.plugin_rules
            if probe.rule not in rules:
                rules[probe.rule] = await self._has_plugin(server, probe)
            if rules[probe.rule]:
                return SteeringPlan(way=await self._prompt_shown_by(server), plugin=True)
        if by == "plugin":
            raise Fault(
                f"{server.url} does not run the SelfStepConf plugin",
                Scope.CALL,
                hint="start vLLM with --logits-processors distrivote.engines.vllm.plugin:SelfStepConf, or use"
                " `steering=None` for plain sampling",
                argument="steering",
            )
        if self._settings.endpoint == "completions":
            return SteeringPlan(continues=True)
        if not server.facts.knows_continuation:
            server.facts.continuation = await continuation_of(server, server.facts.dialect)
            server.facts.knows_continuation = True
        if server.facts.continuation is None:
            raise Fault(
                f"{server.url} has no SelfStepConf plugin and can't continue a reply that was begun",
                Scope.CALL,
                hint="use `steering=None` for plain sampling, or vLLM with the plugin",
                argument="steering",
            )
        return SteeringPlan(continues=True, way=server.facts.continuation)

    async def _has_plugin(self, server: Server, probe: Probe) -> bool:
        """Return whether a rule runs in a server, and in all replicas that may be behind its address."""
        assert server.facts.dialect is not None
        endpoint, dialect = self._settings.endpoint, server.facts.dialect
        n_with = await n_with_plugin(server, endpoint, dialect, probe)
        if n_with in (0, server.patience.n_replicas):
            return n_with > 0
        self._note(
            f"behind {server.url} are replicas without the {probe.rule} plugin ({n_with} of"
            f" {server.patience.n_replicas} probes found it): the plugin is not used there, so that no"
            " trajectory goes without steering unnoticed"
        )
        return False

    async def _prompt_shown_by(self, server: Server) -> Continuation | None:
        """Return how to get the prompt as text, so that replies have all their entries.

        vLLM's chat cuts an entry off where the sampled token is not among the most probable, and steps
        would be judged by other numbers than in the server. Its completions give all of them.
        """
        if self._settings.endpoint == "completions":
            return None
        if not server.facts.knows_continuation:
            assert server.facts.dialect is not None
            server.facts.continuation = await prompt_shown_by(server, server.facts.dialect)
            server.facts.knows_continuation = server.facts.continuation is not None
        if server.facts.continuation is None:
            self._note(
                f"{server.url} does not show its prompts, so that the record of reflections rests on rounded"
                " confidences: a reflection may be missed in it"
            )
        return server.facts.continuation


def _shows_all(server: Server) -> bool:
    """Return whether a server has given log-probabilities in a stream, which a controller needs."""
    dialect = server.facts.dialect
    return dialect is not None and dialect.n_logprobs > 0 and dialect.shows_logprobs and dialect.streams


def _can_be_told(controller: Controller) -> bool:
    """Return whether the plugin supports a controller; it can't prevent the end of the text."""
    try:
        return not xargs_of(controller).get("ssc_guard")
    except InputError:
        return False
