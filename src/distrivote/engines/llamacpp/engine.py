"""The embedded engine: any GGUF model in this process, through llama.cpp.

The prompt is decoded once and its cache copied to every trajectory. What it has in common with the prompt
before, such as few-shot examples, is not decoded again. All live trajectories advance in one batch per step;
when one finishes, the next one takes its slot, so any number of them runs in a few slots.
Every trajectory draws from its own random stream, derived from (seed, index): it is the same in every batch,
as far as the logits are. Their last bits depend on the batch's size, so two runs with different numbers of
slots may diverge where two tokens are almost equally likely.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from distrivote.defaults import N_SLOTS
from distrivote.engines.abilities import NextTokens
from distrivote.engines.base import BaseEngine, Job, Progress, Sampled, SamplingParams, Watch
from distrivote.engines.llamacpp.files import BUILT_IN, model_file
from distrivote.engines.llamacpp.model import LlamaContext, LlamaModel
from distrivote.engines.llamacpp.threads import ThreadTuner
from distrivote.engines.tokens.drive import Drive, Next
from distrivote.engines.tokens.long_prompts import not_sampled, too_long
from distrivote.engines.tokens.sampling import Logits, TokenSampler
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.prompts import AUTO_WORKED
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory

_PROMPT = 0
"""The sequence that keeps the prompt; slots are the ones after it."""

_N_NEXT = 100
"""How many of the most probable first tokens are told."""


class LlamaCppEngine(BaseEngine):
    """Samples from a GGUF model in this process."""

    name = "embedded"

    def __init__(
        self,
        model: str = BUILT_IN,
        *,
        n_slots: int = N_SLOTS,
        n_threads: int | None = None,
        n_gpu_layers: int = -1,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Load a model: a path, `hf:ORG/REPO/FILE`, or the built-in `smollm2-135m`.

        Args:
            model: The model.
            n_slots: How many trajectories are decoded together.
            n_threads: For decoding; if not given, all processors or half of them, whichever is faster.
            n_gpu_layers: How many layers run on a GPU, if there is one; all by default.
            say: Called with a sentence before every slow operation.
        """
        if n_slots < 1:
            raise InputError(f"n_slots is {n_slots}: give 1 or more")
        if n_threads is not None and n_threads < 1:
            raise InputError(f"n_threads is {n_threads}: give 1 or more")
        path: Path = model_file(model, say)
        self.model = model if model == BUILT_IN or model.startswith("hf:") else path.name
        if model == BUILT_IN:
            self.template = AUTO_WORKED
        self._n_slots = n_slots
        self._n_threads = n_threads or _processors()
        self._tuner = None if n_threads else ThreadTuner(self._n_threads)
        self._llama = LlamaModel(path, n_gpu_layers)
        self._context: LlamaContext | None = None
        self._context_size = (0, 0)

    def release(self) -> None:
        """Free the model's memory."""
        if self._context is not None:
            self._context.close()
            self._context = None
        self._llama.close()

    def sample_all(
        self,
        jobs: Sequence[Job],
        controller: Controller | None = None,
        *,
        watch: Watch | None = None,
    ) -> Generator[Sampled]:
        """Yield the trajectories of one job after the other; then an error if prompts were too long."""
        with self._call():
            refusals = [self._refusal(job.messages, self._prompt(job.messages, job.params)) for job in jobs]
        fitting = [
            job if refusal is None else job._replace(over=lambda: True)
            for job, refusal in zip(jobs, refusals, strict=True)
        ]
        yield from super().sample_all(fitting, controller, watch=watch)
        refused = [refusal for refusal in refusals if refusal is not None]
        if refused:
            raise not_sampled(refused, len(jobs))

    def _refusal(self, messages: Sequence[Message], prompt: list[int]) -> str | None:
        """Return what is wrong with a prompt, None if it fits."""
        limit = self._llama.n_ctx_train
        return too_long(messages, len(prompt), limit, self.model) if len(prompt) >= limit else None

    def _prompt(self, messages: Sequence[Message], params: SamplingParams) -> list[int]:
        return self._llama.tokenize(self._llama.chat_prompt(messages, params.thinking), special=True)

    def sample_job(
        self, job: Job, controller: Controller | None, watch: Watch | None
    ) -> Iterator[Trajectory]:
        """Yield the trajectories of one prompt as they finish."""
        params = job.params
        prompt = self._prompt(job.messages, params)
        refusal = self._refusal(job.messages, prompt)
        if refusal is not None:
            raise InputError(refusal)
        params = replace(params, max_tokens=min(params.max_tokens, self._llama.n_ctx_train - len(prompt)))
        n_slots = min(len(job.indices), self._n_slots)
        context = self._sized_context(n_slots + 1, len(prompt) + params.max_tokens)
        sampler = TokenSampler(self._llama.n_vocab, params)
        waiting = list(job.indices)[::-1]
        live: dict[int, _Slot] = {}
        free = list(range(n_slots, 0, -1))
        n_tokens = n_reflections = 0
        try:
            first = context.prefill(prompt, _PROMPT)
            while waiting or live:
                finished: list[Drive] = []
                while waiting and free:
                    drive = Drive(waiting.pop(), params, self._llama, sampler, controller)
                    slot = free.pop()
                    context.copy(_PROMPT, slot)
                    live[slot] = _Slot(drive, drive.advance(first))
                    finished += _freed(live, free)
                if live:
                    _close_gaps(context, live, free)
                    self._step(context, live, prompt)
                    finished += _freed(live, free)
                n_tokens += sum(len(drive.tokens) for drive in finished)
                n_reflections += sum(drive.n_reflections for drive in finished)
                if watch is not None:
                    drives = [state.drive for state in live.values()]
                    watch(
                        Progress(
                            n_tokens + sum(len(drive.tokens) for drive in drives),
                            len(live),
                            n_reflections + sum(drive.n_reflections for drive in drives),
                            min(drives, key=lambda drive: drive.index).partial if drives else None,
                        )
                    )
                for drive in finished:
                    yield drive.trajectory(len(prompt))
        finally:
            for slot in live:
                context.clear(slot)

    def next_tokens(self, prompts: Sequence[Sequence[Message]]) -> Generator[tuple[int, NextTokens]]:
        """Yield the most probable first tokens of the reply to each prompt."""
        for number, messages in enumerate(prompts):
            with self._call():
                prompt = self._prompt(messages, SamplingParams(thinking=False))
                refusal = self._refusal(messages, prompt)
                if refusal is not None:
                    raise InputError(refusal)
                context = self._sized_context(1, len(prompt) + 1)
                logits = context.prefill(prompt, _PROMPT).astype(np.float64)
            logprobs = logits - np.logaddexp.reduce(logits)
            top = np.argsort(-logprobs)[:_N_NEXT].tolist()
            pieces = self._llama.pieces
            entries = tuple((pieces[token].decode(errors="replace"), float(logprobs[token])) for token in top)
            yield number, NextTokens(entries, len(prompt) + 1)

    def _step(self, context: LlamaContext, live: dict[int, _Slot], prompt: list[int]) -> None:
        """Decode one token of every live trajectory and let it choose the next."""
        tokens, positions = [], []
        slots = sorted(live)
        for slot in slots:
            state = live[slot]
            assert state.next is not None
            end = len(prompt) + len(state.drive.tokens)
            if state.next.take_back:
                # The last remaining token is decoded again, to get the logits after it.
                context.truncate(slot, end - 1)
                tokens.append(state.drive.tokens[-1] if state.drive.tokens else prompt[-1])
            else:
                tokens.append(state.next.token)
            positions.append(end - 1)
        begun = time.perf_counter()
        if self._tuner is not None:
            context.use_threads(self._tuner.n_threads)
        logits: Logits = context.decode(tokens, positions, slots)
        if self._tuner is not None:
            self._tuner.observe(time.perf_counter() - begun)
        for row, slot in zip(logits, slots, strict=True):
            live[slot].next = live[slot].drive.advance(row)

    def _sized_context(self, n_sequences: int, n_tokens: int) -> LlamaContext:
        """Return a context that is large enough, the present one if possible."""
        n_tokens = -(-n_tokens // 256) * 256
        if self._context is not None:
            if n_sequences <= self._context_size[0] and n_tokens <= self._context_size[1]:
                return self._context
            self._context.close()
        self._context = LlamaContext(self._llama, n_sequences, n_tokens, self._n_threads)
        self._context_size = (n_sequences, n_tokens)
        return self._context


class _Slot:
    __slots__ = ("drive", "next")

    def __init__(self, drive: Drive, next: Next | None) -> None:
        self.drive = drive
        self.next = next


def _close_gaps(context: LlamaContext, live: dict[int, _Slot], free: list[int]) -> None:
    """Move trajectories down so that the slots in use are contiguous.

    llama.cpp decodes a run of neighbouring sequences at once and reads all weights for each run.
    """
    for slot in [slot for slot in live if slot > len(live)]:
        free.sort(reverse=True)
        lower = free.pop()
        context.copy(slot, lower)
        context.clear(slot)
        live[lower] = live.pop(slot)
        free.append(slot)


def _freed(live: dict[int, _Slot], free: list[int]) -> list[Drive]:
    """Take the trajectories that have ended out of their slots."""
    ended = [slot for slot, state in live.items() if state.next is None]
    free += ended
    return [live.pop(slot).drive for slot in ended]


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
