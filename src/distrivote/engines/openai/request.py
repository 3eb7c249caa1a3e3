"""One request of the OpenAI engine, streamed into trajectories: plain, or steered by continuation.

Servers that do not give n replies at once, or do not support stop strings, are detected here.
Which server is used, and what happens on a failure, is decided in `scheduler`.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

import numpy as np

from distrivote.confidence.tokens import entries_given, token_confidence, token_entropy
from distrivote.engines.base import Job
from distrivote.engines.openai.asking import chunks_of
from distrivote.engines.openai.capabilities import continued_prompt, prompt_text
from distrivote.engines.openai.client import Server
from distrivote.engines.openai.continuation import SteeredReply
from distrivote.engines.openai.discovery import Discovery, SteeringPlan
from distrivote.engines.openai.faults import Fault, Scope, broken_off
from distrivote.engines.openai.flaws import ENDLESS, Flaw, flaw_of
from distrivote.engines.openai.item import Begun, Finished, Item
from distrivote.engines.openai.length import Length, cut_to
from distrivote.engines.openai.protocol import Body, Dialect, Prompt, request_body, seed_of
from distrivote.engines.openai.received import (
    add_choice,
    check_tokens,
    check_whole,
    flaw_at,
    numbered,
    usage_after,
    with_cost,
)
from distrivote.engines.openai.reply import StreamedReply
from distrivote.engines.responses import ReplyError
from distrivote.engines.vllm.args import xargs_of
from distrivote.engines.wire import Usage
from distrivote.problem import plain_prompt
from distrivote.steering import ENDED, Controller, replay
from distrivote.trajectory import Interventions, Trajectory

_VERDICT_SECONDS = 0.02


class _ThoughtApartError(Fault):
    """A reply would have to continue inside thinking that its server has split off."""


Deliver = Callable[[Server, Item, int, Trajectory], None]


@dataclass(frozen=True, slots=True)
class Sampler:
    """Streams the trajectories of one call."""

    endpoint: str
    discovery: Discovery
    note: Callable[[str], None]
    deliver: Deliver
    """Called with a finished trajectory, which is removed from its item."""

    @property
    def controller(self) -> Controller | None:
        return self.discovery.controller

    async def sample(self, server: Server, item: Item) -> list[Item]:
        """Request an item's trajectories from a server; return those to be requested one by one."""
        plan = await self.discovery.plan(server)
        if len(item.indices) > 1 and (plan.continues or not server.facts.takes_n):
            return item.one_by_one()
        if not plan.continues:
            return await self._plain(server, item, plan)
        controller = item.job.steered_by(self.controller)
        assert controller is not None
        try:
            await self._steered(server, item, plan, controller)
        except _ThoughtApartError as fault:
            if self.controller is not None and not self.controller.optional:
                raise
            self.discovery.sample_plainly(fault.sentence)
            item.begun = None
            return await self._plain(server, item, SteeringPlan())
        return []

    async def _plain(self, server: Server, item: Item, plan: SteeringPlan) -> list[Item]:
        """Request trajectories that the server samples to their end, steered by its plugin or not at all."""
        job = item.job
        indices, n_again = list(item.indices), item.n_again
        controller = job.steered_by(self.controller)
        xargs = None if controller is None else xargs_of(controller)
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
        replies = {index: StreamedReply(job.params.stop, at) for at, index in enumerate(indices)}
        item.text = replies[indices[0]].so_far
        try:
            await self._stream(server, item, prompt, body, replies)
        except Fault as fault:
            refused = fault.scope is Scope.REQUEST and len(indices) > 1
            if not refused or not re.search(r"\bn\b|choice|best_of", fault.words):
                raise
        server.facts.n_retries_over += n_again > 0
        if not item.indices:
            return []
        if item.n_again > n_again:
            if not await self._is_worth(server, item):
                for index, finished in item.flawed.items():
                    self._keep(server, item, index, finished)
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
        said: str | None = None
        length = Length(item.job.params.longest, len(indices), server.url)
        async with aclosing(chunks_of(server, prompt, body)) as batches:
            async for chunks in batches:
                if item.drop():
                    return
                for place, chunk in enumerate(chunks):
                    length.count_chunk()
                    usage = usage.then(chunk.usage)
                    said = said or chunk.model
                    for at, choice in numbered(server, chunk.choices, len(indices)):
                        if at in over:
                            continue
                        reply = replies[indices[at]]
                        before = reply.n_tokens
                        await add_choice(server, reply.add, choice)
                        item.n_tokens += reply.n_tokens - before
                        is_endless = length.is_passed(reply)
                        if not reply.is_over and not is_endless:
                            continue
                        over.add(at)
                        seconds = time.monotonic() - begun
                        is_last = len(over) == len(indices) and not is_endless
                        if is_last and not any(each.stopped for each in replies.values()):
                            rest = usage_after(chunks[place + 1 :], batches, server.patience.usage)
                            usage = usage.then(await rest)
                        counted = usage if is_last and len(indices) == 1 else Usage()
                        found = self._finished(server, reply, item.job, said, counted, is_endless)
                        whole = with_cost(found.trajectory, usage, is_last, seconds)
                        self._take(server, item, indices[at], whole, found.flaw, n_again)
                    if len(over) == len(indices):
                        return  # a server that ignores stop strings would continue
        left = [index for at, index in enumerate(indices) if at not in over]
        left = [index for index in left if replies[index].has_text or replies[index].n_tokens]
        for index in left:
            found = self._finished(server, replies[index], item.job, said, Usage())
            seconds = time.monotonic() - begun
            whole = with_cost(found.trajectory, usage, index == left[-1], seconds)
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
        """Deliver a trajectory; one with a flaw is left for a retry, as long as that may help."""
        if flaw is None or not flaw.asks_again:
            server.facts.n_good += flaw is None
            if n_again:
                server.n_flaws_kept = 0
            self.deliver(server, item, index, trajectory)
            return
        patience = server.patience
        if n_again < patience.n_flaw_retries and server.n_flaws_kept < patience.n_flaws_kept:
            item.n_again = n_again + 1  # once, however many of a request have flaws
            item.flawed[index] = Finished(trajectory, flaw)
            return
        server.n_flaws_kept += 1
        self._keep(server, item, index, Finished(trajectory, flaw))

    def _keep(self, server: Server, item: Item, index: int, finished: Finished) -> None:
        """Deliver a trajectory that has a flaw."""
        assert finished.flaw is not None
        self.note(f"{server.url} gave a reply with a flaw, which is kept: {finished.flaw.words}")
        self.deliver(server, item, index, finished.trajectory)

    async def _is_worth(self, server: Server, item: Item) -> bool:
        """Return whether to retry replies with a flaw.

        Before a server has given any without, a few are retried, and the others wait for these. Their
        slots are released meanwhile: the retries may need one.
        """
        facts, seconds = server.facts, 0.0
        if not facts.n_good and facts.n_retried < server.patience.n_first_flawed:
            facts.n_retried += 1
            return True
        assert item.place is not None
        async with item.place.lent():
            while not facts.n_good and facts.n_retries_over < facts.n_retried:
                if item.job.over() or seconds > server.patience.discovery:
                    break
                await asyncio.sleep(_VERDICT_SECONDS)
                seconds += _VERDICT_SECONDS
        return facts.n_good > 0

    def _finished(
        self,
        server: Server,
        reply: StreamedReply,
        job: Job,
        said: str | None,
        usage: Usage,
        is_endless: bool = False,
    ) -> Finished:
        """Return a reply as a trajectory, with what is wrong with it; `said` is the model that it names."""
        flaw = Flaw(reply.flaw) if reply.flaw else None
        try:
            trajectory = reply.whole(f"a reply of {server.url}")
        except ReplyError as error:
            self.note(f"{error}; such replies are kept without their log-probabilities")
            trajectory = reply.bare()
            flaw = flaw or Flaw(error.flaw)
        if trajectory.text and not trajectory.tokens and self.discovery.k:
            self.note(
                f"{server.url} gave a reply without log-probabilities: it counts in majority voting only"
            )
        unsaid = reply.unsaid(trajectory)
        flaw = flaw or (Flaw(unsaid) if unsaid else None)
        if is_endless:
            trajectory = cut_to(trajectory, job.params.longest)
        k = min(self.discovery.k, job.params.n_logprobs)
        flaw = flaw or flaw_at(server, trajectory, k) or (ENDLESS if is_endless else None)
        flaw = flaw or server.model_flaw(said)
        is_counted = not (reply.has_gaps or job.params.stop or usage.has_thinking)
        if flaw is None and is_counted and trajectory.tokens:
            flaw = server.count_flaw(
                usage, trajectory.n_tokens, reply.n_tokens, trajectory.finish_reason == "length"
            )
        if flaw is not None and flaw.spoils_logprobs:
            self.note(
                f"a reply of {server.url}: {flaw.words}; such replies are kept without their"
                " log-probabilities"
            )
            trajectory = reply.bare()
        if entries_given(trajectory.top_logprobs) == 1:
            # A single entry has no spread, so no confidence can be computed from it.
            trajectory = replace(trajectory, top_logprobs=np.empty((trajectory.n_tokens, 0)))
        trajectory = replace(trajectory, flaw=None if flaw is None else flaw.words)
        return Finished(self._recorded(trajectory, job), flaw)

    def _recorded(self, trajectory: Trajectory, job: Job) -> Trajectory:
        """Return a trajectory with the record of what the server's plugin did, as far as it can be seen."""
        steered = job.steered_by(self.controller)
        controller = None if steered is None else steered.plugin_settings()
        if controller is None:
            return trajectory
        k = max(2, min(self.discovery.k, job.params.k))
        confidences = token_confidence(trajectory.top_logprobs, k).values.tolist()
        entropies = (
            token_entropy(trajectory.top_logprobs, k).values.tolist() if controller.uses_entropy else None
        )
        record = Interventions()
        if controller.reflecting is not None:
            record = replay(controller.reflecting, trajectory.tokens, confidences, entropies)
        is_ended = trajectory.finish_reason == "stop" and controller.ended(confidences, record)
        reason = ENDED if is_ended else trajectory.finish_reason
        return replace(trajectory, interventions=record, finish_reason=reason)

    async def _steered(self, server: Server, item: Item, plan: SteeringPlan, controller: Controller) -> None:
        """Request one trajectory and continue it wherever the controller says so."""
        job = item.job
        dialect = self._dialect(server, job)
        reply = SteeredReply(controller, job.params, min(dialect.n_logprobs, job.params.k))
        prefix = ""
        begun = time.monotonic()
        n_prompt: int | None = None
        if item.begun is not None and item.begun.server is server:
            reply, n_prompt = item.begun.reply.fork(), item.begun.n_prompt
            prefix = reply.prefix
            reply.begin(echo=prefix)
        item.text = reply.so_far
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
                    raise _ThoughtApartError(
                        f"{server.url} splits off the thinking and can't continue inside it",
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
        usage = Usage()
        said: str | None = None
        length = Length(item.job.params.longest, 1, server.url)
        async with aclosing(chunks_of(server, prompt, body)) as batches:
            async for chunks in batches:
                if item.drop():
                    return usage.prompt_tokens
                for chunk in chunks:
                    length.count_chunk()
                    usage = usage.then(chunk.usage)
                    said = said or chunk.model
                    for _, choice in numbered(server, chunk.choices, 1):
                        is_cut = await add_choice(server, reply.add, choice)
                        if is_cut:
                            item.n_tokens, item.n_reflections = reply.n_tokens, reply.n_reflections
                            check_tokens(server, reply)
                            return usage.prompt_tokens
                item.n_tokens, item.n_reflections = reply.n_tokens, reply.n_reflections
        if reply.is_empty:
            raise broken_off(server.url, "it is empty")
        if reply.lacks_tokens:
            # It has given them before, or SelfStepConf would have been refused.
            raise broken_off(server.url, "it has no log-probabilities, which SelfStepConf needs")
        check_tokens(server, reply)
        check_whole(server, reply, usage, said)
        reply.end()
        return usage.prompt_tokens

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
