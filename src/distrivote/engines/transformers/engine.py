"""Hugging Face models in this process, through transformers' batched `generate`.

A batch of trajectories, of one prompt or of several, is decoded together; each of them is a `Drive`, which
sees the model's own logits and chooses the token. A finished trajectory is yielded at once; its row idles
until the batch ends and the next one begins. Every trajectory draws from its own random stream, derived from
(seed, index): it is the same in every batch, as far as the logits are. Their last bits depend on the batch.

`generate` can't go back. A trajectory that removes tokens which the model has already read leaves its batch,
and a later batch reads the remaining ones again.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from distrivote.engines.base import BatchEngine, Job, Progress, Refused, Sampled, SamplingParams, Watch
from distrivote.engines.feed import Feed
from distrivote.engines.shared import fed_in_groups
from distrivote.engines.tokens.drive import Drive
from distrivote.engines.tokens.long_prompts import not_sampled, too_long
from distrivote.engines.tokens.sampling import Logits, TokenSampler
from distrivote.engines.transformers.model import TransformersModel
from distrivote.errors import InputError
from distrivote.steering import Controller

_Event: TypeAlias = Progress | Sampled | BaseException | None
"""What the decoding thread reports; None: it is done."""

_GROUP = 4
"""Batches that are begun together where jobs are added meanwhile: rows idle at the end of the last one."""


class TransformersEngine(BatchEngine):
    """Samples from a Hugging Face model in this process."""

    name = "transformers"

    def __init__(
        self,
        model: str,
        *,
        device: str | None = None,
        dtype: str | None = None,
        batch_size: int = 8,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Load a model: a folder, or ORG/NAME on the Hugging Face hub.

        Args:
            model: The model.
            device: cpu, cuda, cuda:1, mps, ...; a GPU where there is one, if not given.
            dtype: float32, bfloat16 or float16; as the weights are stored, if not given.
            batch_size: How many trajectories are decoded together.
            say: Called with a sentence before every slow operation.
        """
        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}: give 1 or more")
        say(f"loading {model} with transformers")
        self._transformer = TransformersModel(model, device, dtype)
        self.model = self._transformer.name
        self._batch_size = batch_size

    def release(self) -> None:
        """Free the model's memory."""
        self._transformer.close()

    def sample_jobs(
        self, jobs: Sequence[Job], controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish; then an error if prompts were too long."""
        prompts = [self._transformer.chat_prompt(job.messages, job.params.thinking) for job in jobs]
        refusals = [self._refusal(job, prompt) for job, prompt in zip(jobs, prompts, strict=True)]
        wanted = [
            (number, job, prompt)
            for number, (job, prompt) in enumerate(zip(jobs, prompts, strict=True))
            if refusals[number] is None
        ]
        decoding = _Decoding(self._transformer, self._batch_size, self._rows(wanted, controller))
        with closing(decoding.events()) as events:
            for event in events:
                if isinstance(event, Sampled):
                    yield event
                elif watch is not None:
                    watch(event)
        if refused := [refusal for refusal in refusals if refusal is not None]:
            raise not_sampled(refused, len(jobs))

    def sample_fed(
        self, feed: Feed, controller: Controller | None = None, *, watch: Watch | None = None
    ) -> Generator[Sampled | Refused]:
        """Yield the trajectories of jobs that may be added meanwhile; those that wait begin together."""
        return fed_in_groups(self, feed, controller, watch, most=_GROUP * self._batch_size)

    def _rows(
        self, wanted: Sequence[tuple[int, Job, list[int]]], controller: Controller | None
    ) -> Iterator[_Row]:
        """Return the rows of all trajectories of numbered jobs and prompts, each created on its turn."""
        samplers: dict[SamplingParams, TokenSampler] = {}

        def row(number: int, index: int, job: Job, prompt: list[int]) -> _Row:
            params = job.params
            if params not in samplers:
                samplers[params] = TokenSampler(self._transformer.n_vocab, params)
            sampler = samplers[params]
            if self._transformer.n_ctx is not None:
                room = self._transformer.n_ctx - len(prompt)
                params = replace(params, max_tokens=min(params.max_tokens, room))
            drive = Drive(index, params, self._transformer, sampler, job.steered_by(controller))
            return _Row(number, prompt, params.max_tokens, drive)

        return (
            row(number, index, job, prompt)
            for number, job, prompt in wanted
            if not job.over() and job.take()
            for index in job.indices
            if not job.over()
        )

    def _refusal(self, job: Job, prompt: list[int]) -> str | None:
        """Return what is wrong with a prompt, None if it fits."""
        limit = self._transformer.n_ctx
        if limit is None or len(prompt) < limit:
            return None
        return too_long(job.messages, len(prompt), limit, self.model)


class _Row:
    """One trajectory, in a batch or waiting for one."""

    __slots__ = ("drive", "ended", "job", "max_tokens", "prompt", "token")

    def __init__(self, job: int, prompt: list[int], max_tokens: int, drive: Drive) -> None:
        self.job = job
        self.prompt = prompt
        self.max_tokens = max_tokens
        self.drive = drive
        self.token = 0
        self.ended = False
        """Whether it has left its batch: it is finished, or its tokens must be read again."""

    @property
    def finished(self) -> bool:
        return self.drive.finish_reason is not None

    @property
    def n_left(self) -> int:
        return self.max_tokens - len(self.drive.tokens)

    def advance(self, logits: Logits) -> None:
        following = self.drive.advance(logits)
        if following is None or following.take_back:
            self.ended = True
        else:
            self.token = following.token


class _Decoding:
    """One call: its trajectories, and the thread that decodes them batch by batch."""

    def __init__(self, model: TransformersModel, batch_size: int, rows: Iterator[_Row]) -> None:
        self._model = model
        self._batch_size = batch_size
        self._rows = rows
        self._again: deque[_Row] = deque()
        """Rows that left their batch and must be read again."""
        self._open: list[_Row] = []
        """Rows that were started and have not finished."""
        self._batch: list[_Row] = []
        self._cancelled = False
        self._said: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._n_tokens = 0
        self._n_reflections = 0

    def events(self) -> Generator[Progress | Sampled]:
        """Yield progress and results as they come; closing the iterator ends the decoding."""
        thread = threading.Thread(target=self._decode, name="distrivote-transformers", daemon=True)
        thread.start()
        try:
            while (event := self._said.get()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            self._cancelled = True
            thread.join()

    def _decode(self) -> None:
        try:
            while not self._cancelled and self._fill():
                self._model.generate(
                    [row.prompt + row.drive.tokens for row in self._batch],
                    max(row.n_left for row in self._batch),
                    self._choose,
                    lambda: [row.ended or self._cancelled for row in self._batch],
                )
            self._said.put(None)
        except BaseException as error:  # raised again in the thread that asked
            self._said.put(error)

    def _fill(self) -> bool:
        """Make the next batch; false if nothing is left."""
        self._batch = []
        while len(self._batch) < self._batch_size:
            if self._again:
                row = self._again.popleft()
                row.ended = False
            elif (begun := next(self._rows, None)) is not None:
                row = begun
                self._open.append(row)
            else:
                break
            self._batch.append(row)
        return bool(self._batch)

    def _choose(self, logits: npt.NDArray[np.float32]) -> list[int]:
        """Let every live row take its next token; report those that have finished."""
        finished: list[_Row] = []
        for row, its_logits in zip(self._batch, logits, strict=True):
            if not row.ended:
                row.advance(its_logits)
                if row.finished:
                    finished.append(row)
                elif row.ended:
                    self._again.append(row)
        for row in finished:
            self._open.remove(row)
            self._n_tokens += len(row.drive.tokens)
            self._n_reflections += row.drive.n_reflections
        self._said.put(
            Progress(
                self._n_tokens + sum(len(row.drive.tokens) for row in self._open),
                len(self._open),
                self._n_reflections + sum(row.drive.n_reflections for row in self._open),
                self._open[0].drive.partial if self._open else None,
            )
        )
        for row in finished:
            self._said.put(Sampled(row.job, row.drive.trajectory(len(row.prompt))))
        return [row.token for row in self._batch]
