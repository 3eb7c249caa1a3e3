"""One request of the OpenAI engine, streamed into trajectories: plain, or steered by continuation.

A server that does not give n replies at once is noticed here, and so is one that does not know stop strings.
Who is asked, and what happens when that fails, is decided in `scheduler`.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from distrivote.confidence.tokens import entries_given, token_confidence, token_entropy
from distrivote.engines.base import Job
from distrivote.engines.openai.capabilities import continued_prompt, prompt_text
from distrivote.engines.openai.client import Chunk, Server, Usage
from distrivote.engines.openai.continuation import SteeredReply
from distrivote.engines.openai.discovery import Discovery, SteeringPlan
from distrivote.engines.openai.faults import Fault, Scope, broken_off
from distrivote.engines.openai.flaws import ENDLESS, Flaw, flaw_of
from distrivote.engines.openai.length import Length, cut_to
from distrivote.engines.openai.protocol import Body, Dialect, Prompt, request_body, seed_of
from distrivote.engines.openai.reply import StreamedReply
from distrivote.engines.openai.token_ids import named
from distrivote.engines.responses import ReplyError
from distrivote.engines.vllm.args import xargs_of
from distrivote.problem import plain_prompt
from distrivote.steering import Controller, replay
from distrivote.trajectory import Trajectory


class Begun(NamedTuple):
    """A trajectory of several replies up to where the next begins."""

    server: Server
    reply: SteeredReply
    n_prompt: int | None


class Item:
    """Trajectories of one job that are asked for together."""

    __slots__ = ("begun", "indices", "job", "n_again", "n_reflections", "n_tokens", "number")

    def __init__(self, number: int, job: Job, indices: Sequence[int], n_again: int = 0) -> None:
        self.number = number
        """Which of the jobs it is."""

        self.job = job
        self.indices = list(indices)
        """Those that are still missing."""

        self.begun: Begun | None = None
        """What has come of it where it was continued, so that a fault costs the last part only."""

        self.n_again = n_again
        """How often it was asked for again because a reply had a flaw."""

        self.n_tokens = 0
        self.n_reflections = 0

    def drop(self) -> bool:
        """Let go of what is missing if its job is over, and say whether it is."""
        if not self.job.over():
            return False
        self.indices = []
        self.n_tokens = self.n_reflections = 0
        return True

    def one_by_one(self) -> list[Item]:
        """Return what is missing as items of one trajectory each."""
        return [Item(self.number, self.job, [index], self.n_again) for index in self.indices]


class Finished(NamedTuple):
    """A reply that came to its end."""

    trajectory: Trajectory
    flaw: Flaw | None


Deliver = Callable[[Server, Item, int, Trajectory], None]


@dataclass(frozen=True, slots=True)
class Sampler:
    """Streams the trajectories of one call."""

    endpoint: str
    controller: Controller | None
    discovery: Discovery
    note: Callable[[str], None]
    deliver: Deliver
    """Takes a trajectory that has finished, off its item."""

    async def sample(self, server: Server, item: Item) -> list[Item]:
        """Ask a server for an item's trajectories; returns those that have to be asked for one by one."""
        plan = await self.discovery.plan(server)
        if len(item.indices) > 1 and (plan.continues or not server.facts.takes_n):
            return item.one_by_one()
        if plan.continues:
            await self._steered(server, item, plan)
            return []
        return await self._plain(server, item, plan)

    async def _plain(self, server: Server, item: Item, plan: SteeringPlan) -> list[Item]:
        """Ask for trajectories that the server samples to their end, steered by its plugin or not at all."""
        job = item.job
        indices, n_again = list(item.indices), item.n_again
        xargs = None if self.controller is None else xargs_of(self.controller)
        prompt = await self._continued(server, job, plan, "")
        body = request_body(
            server.facts.model,
            prompt,
            job.params,
            self._dialect(server, job),
            seed=seed_of(job.params.seed, indices[0]),
            n=len(indices),
            xargs=xargs,
        )
        replies = {index: StreamedReply(job.params.stop) for index in indices}
        try:
            await self._stream(server, item, prompt, body, replies)
        except Fault as fault:
            refused = fault.scope is Scope.REQUEST and len(indices) > 1
            if not refused or not re.search(r"\bn\b|choice|best_of", fault.words):
                raise
        if not item.indices:
            return []
        if item.n_again > n_again:
            return item.one_by_one()
        if len(indices) == 1:
            raise broken_off(server.url, "it is empty")
        server.facts.takes_n = False
        self.note(f"{server.url} does not give n replies at once: they are asked for one by one")
        return item.one_by_one()

    async def _stream(
        self, server: Server, item: Item, prompt: Prompt, body: Body, replies: dict[int, StreamedReply]
    ) -> None:
        """Stream replies, and deliver each at its end; the last of them with the usage that follows it."""
        indices, n_again = list(replies), item.n_again
        over: set[int] = set()
        begun = time.monotonic()
        usage = Usage()
        length = Length(item.job.params.max_tokens, len(indices), server.url)
        async with aclosing(server.stream(prompt, body)) as chunks:
            async for chunk in chunks:
                if item.drop():
                    return
                length.count_chunk()
                usage = usage.then(chunk.usage)
                for at, choice in _numbered(server, chunk.choices, len(indices)):
                    if at in over:
                        continue
                    reply = replies[indices[at]]
                    before = reply.n_tokens
                    await _add(server, reply.add, choice)
                    item.n_tokens += reply.n_tokens - before
                    is_endless = length.is_passed(reply)
                    if reply.is_over or is_endless:
                        over.add(at)
                        seconds = time.monotonic() - begun
                        is_last = len(over) == len(indices) and not is_endless
                        if is_last and not any(each.stopped for each in replies.values()):
                            usage = usage.then(await _usage_after(chunks, server.patience.usage))
                        found = self._finished(server, reply, item.job, is_endless)
                        whole = _with_cost(found.trajectory, usage, is_last, seconds)
                        self._take(server, item, indices[at], whole, found.flaw, n_again)
                if len(over) == len(indices):
                    return  # a server that does not know a stop string would go on
        left = [index for at, index in enumerate(indices) if at not in over]
        left = [index for index in left if replies[index].has_text or replies[index].n_tokens]
        for index in left:
            found = self._finished(server, replies[index], item.job)
            seconds = time.monotonic() - begun
            whole = _with_cost(found.trajectory, usage, index == left[-1], seconds)
            self._take(server, item, index, whole, found.flaw, n_again)

    def _take(
        self,
        server: Server,
        item: Item,
        index: int,
        trajectory: Trajectory,
        flaw: Flaw | None,
        n_again: int,
    ) -> None:
        """Deliver a trajectory; one with a flaw is left to be asked for again, as long as that may help."""
        if flaw is not None and flaw.asks_again:
            patience = server.patience
            if n_again < patience.n_flaw_retries and server.n_flaws_kept < patience.n_flaws_kept:
                item.n_again = n_again + 1  # once, however many of a request have flaws
                return
            server.n_flaws_kept += 1
            self.note(f"{server.url} gave a reply with a flaw, which is kept: {flaw.words}")
        elif n_again:
            server.n_flaws_kept = 0
        self.deliver(server, item, index, trajectory)

    def _finished(self, server: Server, reply: StreamedReply, job: Job, is_endless: bool = False) -> Finished:
        flaw: Flaw | None = None
        try:
            trajectory = reply.whole(f"a reply of {server.url}")
        except ReplyError as error:
            self.note(f"{error}; such replies are kept without their log-probabilities")
            trajectory = reply.bare()
            flaw = Flaw(error.flaw)
        if trajectory.text and not trajectory.tokens and self.discovery.k:
            self.note(
                f"{server.url} gave a reply without log-probabilities: it counts in majority voting only"
            )
        if is_endless:
            trajectory = cut_to(trajectory, job.params.max_tokens)
        k = min(self.discovery.k, job.params.n_logprobs)
        flaw = flaw or _flaw_at(server, trajectory, k) or (ENDLESS if is_endless else None)
        if entries_given(trajectory.top_logprobs) == 1:
            # One alone shows no spread, and nothing can be measured by it.
            trajectory = replace(trajectory, top_logprobs=np.empty((trajectory.n_tokens, 0)))
        trajectory = replace(trajectory, flaw=None if flaw is None else flaw.words)
        return Finished(self._recorded(trajectory, job), flaw)

    def _recorded(self, trajectory: Trajectory, job: Job) -> Trajectory:
        """Return a trajectory with what the server's plugin did, as far as it can be seen."""
        controller = None if self.controller is None else self.controller.plugin_settings()
        if controller is None:
            return trajectory
        k = max(2, min(self.discovery.k, job.params.k))
        confidences = token_confidence(trajectory.top_logprobs, k).values.tolist()
        entropies = (
            token_entropy(trajectory.top_logprobs, k).values.tolist() if controller.uses_entropy else None
        )
        record = replay(controller, trajectory.tokens, confidences, entropies)
        return replace(trajectory, interventions=record)

    async def _steered(self, server: Server, item: Item, plan: SteeringPlan) -> None:
        """Ask for one trajectory and continue it wherever the controller says so."""
        assert self.controller is not None
        job = item.job
        dialect = self._dialect(server, job)
        reply = SteeredReply(self.controller, job.params, min(dialect.n_logprobs, job.params.k))
        prefix = ""
        begun = time.monotonic()
        n_prompt: int | None = None
        if item.begun is not None and item.begun.server is server:
            reply, n_prompt = item.begun.reply.fork(), item.begun.n_prompt
            prefix = reply.prefix
            reply.begin(echo=prefix)
        while reply.finish_reason is None:
            prompt = await self._continued(server, job, plan, prefix)
            body = request_body(
                server.facts.model,
                prompt,
                replace(job.params, max_tokens=reply.n_left, stop=()),
                dialect,
                seed=seed_of(job.params.seed, item.indices[0], reply.n_parts - 1),
            )
            n_read = await self._part(server, item, reply, prompt, body)
            # Later parts have what came before in their prompts.
            n_prompt = n_prompt if prefix else n_read
            if not item.indices:
                return
            if reply.finish_reason is None:
                if plan.way is not None and not plan.by_text and reply.has_thinking:
                    raise Fault(
                        f"{server.url} splits off the thinking and can't continue inside it, so SelfStepConf"
                        " can't be used",
                        Scope.CALL,
                        hint="take `thinking=False`, `steering=None`, or vLLM with the plugin",
                        argument="steering",
                    )
                item.begun = Begun(server, reply.fork(), n_prompt)
                prefix = reply.prefix
                reply.begin(echo=prefix)
        whole = reply.trajectory(f"a reply of {server.url}")
        flaw = flaw_of(whole, dialect.n_logprobs)
        words = None if flaw is None else flaw.words
        seconds = time.monotonic() - begun
        whole = replace(whole, n_prompt_tokens=n_prompt, seconds=seconds, flaw=words)
        self.deliver(server, item, item.indices[0], whole)

    async def _part(
        self, server: Server, item: Item, reply: SteeredReply, prompt: Prompt, body: Body
    ) -> int | None:
        """Stream one reply into a trajectory, up to where it is cut or its end.

        Returns the tokens of its prompt, if the server told them.
        """
        n_prompt: int | None = None
        length = Length(item.job.params.max_tokens, 1, server.url)
        async with aclosing(server.stream(prompt, body)) as chunks:
            async for chunk in chunks:
                length.count_chunk()
                n_prompt = chunk.usage.n_prompt or n_prompt
                if item.drop():
                    return n_prompt
                for _, choice in _numbered(server, chunk.choices, 1):
                    is_cut = await _add(server, reply.add, choice)
                    item.n_tokens, item.n_reflections = reply.n_tokens, reply.n_reflections
                    if is_cut:
                        _check(server, reply)
                        return n_prompt
        if reply.is_empty:
            raise broken_off(server.url, "it is empty")
        if reply.lacks_tokens:
            # It has given them before, or SelfStepConf would have been refused.
            raise broken_off(server.url, "it has no log-probabilities, which SelfStepConf needs")
        _check(server, reply)
        reply.end()
        return n_prompt

    async def _continued(self, server: Server, job: Job, plan: SteeringPlan, prefix: str) -> Prompt:
        messages = tuple(job.messages)
        if self.endpoint == "completions":
            return Prompt(text=plain_prompt(messages) + prefix)
        if plan.way is None:
            return Prompt(messages)
        if plan.by_text:
            prompt = await prompt_text(server, plan.way, messages, job.params.thinking)
            return replace(prompt, text=f"{prompt.text}{prefix}")
        return continued_prompt(plan.way, messages, prefix) if prefix else Prompt(messages)

    def _dialect(self, server: Server, job: Job) -> Dialect:
        assert server.facts.dialect is not None
        return replace(server.facts.dialect, n_logprobs=min(self.discovery.k, job.params.n_logprobs))


def _flaw_at(server: Server, trajectory: Trajectory, k: int) -> Flaw | None:
    """Return what is wrong with a reply; a server that never showed log-probabilities is not asked again."""
    assert server.facts.dialect is not None
    flaw = flaw_of(trajectory, k)
    if flaw is not None and not server.facts.dialect.shows_logprobs:
        return flaw._replace(asks_again=False)
    return flaw


async def _usage_after(chunks: AsyncGenerator[Chunk], seconds: float) -> Usage:
    """Return the token counts that follow the last reply, if they come; the stream ends with them."""
    found = Usage()
    with suppress(TimeoutError, Fault):
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                found = found.then(chunk.usage)
    return found


def _with_cost(trajectory: Trajectory, usage: Usage, is_last: bool, seconds: float) -> Trajectory:
    """Return a reply with what it cost; the last to a request has the tokens of all."""
    n_reply = usage.n_reply if is_last else None
    return replace(trajectory, n_prompt_tokens=usage.n_prompt, n_reply_tokens=n_reply, seconds=seconds)


def _numbered(
    server: Server, choices: Sequence[dict[str, Any]], n: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the choices of a chunk with their numbers, below n; each once, or two replies would mix."""
    seen: set[int] = set()
    for choice in choices:
        at = choice.get("index") or 0
        if not isinstance(at, int) or not 0 <= at < n:
            continue
        if at in seen and "message" not in choice:
            raise broken_off(server.url, f"choice {at} comes twice in one chunk")
        if at not in seen:
            yield at, choice
        seen.add(at)


async def _add(server: Server, add: Callable[[dict[str, Any]], Any], choice: dict[str, Any]) -> Any:
    """Hand a choice over; one that can't be read is a fault of the server."""
    try:
        return add(await named(server, choice))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise broken_off(server.url, f"a chunk can't be read: {error}") from error


def _check(server: Server, reply: SteeredReply) -> None:
    """Raise a Fault if SelfStepConf judged by tokens that are not those of the text."""
    try:
        reply.check()
    except ReplyError as error:
        raise broken_off(server.url, error.flaw) from error
