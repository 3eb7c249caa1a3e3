"""One request of the OpenAI engine, streamed into trajectories: plain, or steered by continuation.

A server that does not give n replies at once is noticed here, and so is one that does not know stop strings.
Who is asked, and what happens when that fails, is decided in `openai_call`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from distrivote.answers.extract import auto
from distrivote.confidence.tokens import token_confidence, token_entropy
from distrivote.engines.base import Job
from distrivote.engines.openai_continue import SteeredReply
from distrivote.engines.openai_faults import Fault, Scope, broken_off
from distrivote.engines.openai_meeting import Meeting, Steering
from distrivote.engines.openai_probe import continued_prompt, prompt_text
from distrivote.engines.openai_reply import Reply
from distrivote.engines.openai_server import Server
from distrivote.engines.openai_token_ids import named
from distrivote.engines.openai_wire import Body, Dialect, Prompt, plain_prompt, request_body, seed_of
from distrivote.engines.vllm_args import xargs_of
from distrivote.errors import InputError
from distrivote.selfstepconf import Controller, SelfStepConf, replay
from distrivote.trajectory import Trajectory


class Item:
    """Trajectories of one job that are asked for together."""

    __slots__ = ("indices", "job", "n_reflections", "n_tokens", "number")

    def __init__(self, number: int, job: Job, indices: Sequence[int]) -> None:
        self.number = number
        """Which of the jobs it is."""

        self.job = job
        self.indices = list(indices)
        """Those that are still missing."""

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
        return [Item(self.number, self.job, [index]) for index in self.indices]


Deliver = Callable[[Server, Item, int, Trajectory], None]


@dataclass(frozen=True, slots=True)
class Sampler:
    """Streams the trajectories of one call."""

    endpoint: str
    controller: Controller | None
    meeting: Meeting
    note: Callable[[str], None]
    deliver: Deliver
    """Takes a trajectory that has finished, off its item."""

    async def sample(self, server: Server, item: Item) -> list[Item]:
        """Ask a server for an item's trajectories; returns those that have to be asked for one by one."""
        steering = await self.meeting.steering(server)
        if len(item.indices) > 1 and (steering.continues or not server.takes_n):
            return item.one_by_one()
        if steering.continues:
            await self._steered(server, item, steering)
            return []
        return await self._plain(server, item, steering)

    async def _plain(self, server: Server, item: Item, steering: Steering) -> list[Item]:
        """Ask for trajectories that the server samples to their end, steered by its plugin or not at all."""
        job = item.job
        indices = list(item.indices)
        xargs = None if self.controller is None else xargs_of(self.controller)
        prompt = await self._continued(server, job, steering, "")
        if steering.plugin:
            # The model's own settings may have one, and the plugin judges the distribution before it.
            prompt = replace(prompt, extra={**prompt.extra, "repetition_penalty": 1.0})
        body = request_body(
            server.model,
            prompt,
            job.params,
            self._dialect(server, job),
            seed=seed_of(job.params.seed, indices[0]),
            n=len(indices),
            xargs=xargs,
        )
        replies = {index: Reply(job.params.stop) for index in indices}
        try:
            await self._stream(server, item, prompt, body, replies)
        except Fault as fault:
            refused = fault.scope is Scope.REQUEST and len(indices) > 1
            if not refused or not re.search(r"\bn\b|choice|best_of", fault.words):
                raise
        if not item.indices:
            return []
        if len(indices) == 1:
            raise broken_off(server.url, "it is empty")
        server.takes_n = False
        self.note(f"{server.url} does not give n replies at once: they are asked for one by one")
        return item.one_by_one()

    async def _stream(
        self, server: Server, item: Item, prompt: Prompt, body: Body, replies: dict[int, Reply]
    ) -> None:
        """Stream replies, and deliver each at its end."""
        indices = list(replies)
        async with aclosing(server.stream(prompt, body)) as chunks:
            async for choices in chunks:
                if item.drop():
                    return
                for choice in choices:
                    at = choice.get("index") or 0
                    if at >= len(indices) or indices[at] not in item.indices:
                        continue
                    reply = replies[indices[at]]
                    before = reply.n_tokens
                    _add(server, reply.add, await named(server, choice))
                    item.n_tokens += reply.n_tokens - before
                    if reply.is_over:
                        self.deliver(server, item, indices[at], self._finished(server, reply, item.job))
                if not item.indices and any(reply.stopped for reply in replies.values()):
                    return  # the server does not know that this is the end
        for index in list(item.indices):
            if replies[index].has_text or replies[index].n_tokens:
                self.deliver(server, item, index, self._finished(server, replies[index], item.job))

    def _finished(self, server: Server, reply: Reply, job: Job) -> Trajectory:
        try:
            trajectory = reply.trajectory(f"a reply of {server.url}")
        except InputError as error:
            self.note(f"{error}; such replies are kept without their log-probabilities")
            trajectory = reply.bare()
        if trajectory.text and not trajectory.tokens and self.meeting.k:
            self.note(
                f"{server.url} gave a reply without log-probabilities: it counts in majority voting only"
            )
        controller = self.controller
        if not isinstance(controller, SelfStepConf):
            return trajectory
        k = max(2, min(self.meeting.k, job.params.n_logprobs))
        confidences = token_confidence(trajectory.top_logprobs, k).values.tolist()
        entropies = (
            token_entropy(trajectory.top_logprobs, k).values.tolist() if controller.uses_entropy else None
        )
        record = replay(controller, trajectory.tokens, confidences, entropies)
        return replace(trajectory, interventions=record)

    async def _steered(self, server: Server, item: Item, steering: Steering) -> None:
        """Ask for one trajectory and continue it wherever the controller says so."""
        assert self.controller is not None
        job = item.job
        dialect = self._dialect(server, job)
        reply = SteeredReply(
            self.controller, job.params, dialect.n_logprobs, lambda text: auto(text) is not None
        )
        prefix = ""
        while reply.finish_reason is None:
            prompt = await self._continued(server, job, steering, prefix)
            body = request_body(
                server.model,
                prompt,
                replace(job.params, max_tokens=reply.n_left, stop=()),
                dialect,
                seed=seed_of(job.params.seed, item.indices[0], reply.n_parts - 1),
            )
            await self._part(server, item, reply, prompt, body)
            if not item.indices:
                return
            if reply.finish_reason is None:
                if steering.way is not None and not steering.by_text and reply.has_thinking:
                    raise Fault(
                        f"{server.url} splits off the thinking and can't continue inside it, so SelfStepConf"
                        " can't be used: take --no-thinking, --no-ssc, or vLLM with the plugin",
                        Scope.CALL,
                    )
                prefix = reply.prefix
                reply.begin(echo=prefix)
        self.deliver(server, item, item.indices[0], reply.trajectory(f"a reply of {server.url}"))

    async def _part(
        self, server: Server, item: Item, reply: SteeredReply, prompt: Prompt, body: Body
    ) -> None:
        """Stream one reply into a trajectory, up to where it is cut or its end."""
        async with aclosing(server.stream(prompt, body)) as chunks:
            async for choices in chunks:
                if item.drop():
                    return
                for choice in choices[:1]:
                    is_cut = _add(server, reply.add, await named(server, choice))
                    item.n_tokens, item.n_reflections = reply.n_tokens, reply.n_reflections
                    if is_cut:
                        return
        if reply.lacks_tokens:
            raise Fault(
                f"{server.url} gave no log-probabilities, which SelfStepConf needs: use --no-ssc",
                Scope.CALL,
            )
        reply.end()

    async def _continued(self, server: Server, job: Job, steering: Steering, prefix: str) -> Prompt:
        messages = tuple(job.messages)
        if self.endpoint == "completions":
            return Prompt(text=plain_prompt(messages) + prefix)
        if steering.way is None:
            return Prompt(messages)
        if steering.by_text:
            prompt = await prompt_text(server, steering.way, messages, job.params.thinking)
            return replace(prompt, text=f"{prompt.text}{prefix}")
        return continued_prompt(steering.way, messages, prefix) if prefix else Prompt(messages)

    def _dialect(self, server: Server, job: Job) -> Dialect:
        assert server.dialect is not None
        return replace(server.dialect, n_logprobs=min(self.meeting.k, job.params.n_logprobs))


def _add(server: Server, add: Callable[[dict[str, Any]], Any], choice: dict[str, Any]) -> Any:
    """Hand a choice over; one that can't be read is a fault of the server."""
    try:
        return add(choice)
    except (InputError, TypeError, AttributeError, KeyError) as error:
        raise broken_off(server.url, f"a chunk can't be read: {error}") from error
