"""From vLLM's output, token by token, to trajectories with the record of their steering.

The record repeats what the plugin did: the same controller stream, the same log-probabilities, reflections
tokenized in the same way. SelfStepConf as published also needs the most likely tokens, which vLLM sends first
among the top ones. vLLM's text is not used: the text of a trajectory is that of its tokens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from distrivote.confidence import token_confidence, token_entropy
from distrivote.engines.base import Job
from distrivote.engines.tokens.spelling import cut
from distrivote.engines.tokens.tables import CONTEXT, TokenTable
from distrivote.engines.vllm.args import Watched
from distrivote.steering import ENDED, ReleasedStream, SelfStepConf
from distrivote.trajectory import Floats, Interventions, Trajectory


class VllmReply:
    """One unfinished reply."""

    def __init__(self, number: int, index: int, job: Job, n_prompt_tokens: int | None = None) -> None:
        self.job = number
        self.index = index
        self.finish_reason: str | None = None
        self.n_reflections = 0
        self.steering: Watched | None = None
        """What the plugin steered it by."""
        self.tokens: list[int] = []
        self.seconds: float | None = None
        self._begun = time.perf_counter()
        self._params = job.params
        self._over = job.over
        self._n_prompt_tokens = n_prompt_tokens
        self._rows: list[list[float]] = []
        """For each token its own log-probability, then the largest ones."""
        self._likeliest: list[int] = []

    @property
    def is_unwanted(self) -> bool:
        return self._over()

    def add(self, sample: Any) -> int:
        """Add what is new in a `CompletionOutput`, with flat log-probabilities; return how many tokens."""
        flat, n_before = sample.logprobs, len(self.tokens)
        self.tokens += sample.token_ids
        for start, end in zip(flat.start_indices, flat.end_indices, strict=True):
            self._rows.append(flat.logprobs[start:end])
            self._likeliest.append(flat.token_ids[start + 1] if end > start + 1 else -1)
        if sample.finish_reason is None:
            return len(self.tokens) - n_before
        self.finish_reason = sample.finish_reason
        self.seconds = time.perf_counter() - self._begun
        if sample.finish_reason == "stop" and not isinstance(sample.stop_reason, str):
            # The token that ends a text is not part of it.
            del self.tokens[-1:], self._rows[-1:]
        return len(self.tokens) - n_before

    def trajectory(
        self,
        table: TokenTable,
        tokens_of: Callable[[str, str], Sequence[int]],
        controller: Watched | None = None,
        end_tokens: Collection[int] = (),
    ) -> Trajectory:
        """Return the finished reply, with the record of the controller that steered it.

        Args:
            table: The vocabulary.
            tokens_of: Tokenizes a reflection, as the plugin does.
            controller: None if nothing steered it.
            end_tokens: The tokens that end a text.
        """
        k = self._params.n_logprobs
        n = len(self.tokens)
        texts = table.spelled(self.tokens)
        values = np.array(self._rows, dtype=np.float64).reshape(n, -1 if n else k + 1)
        own, top = values[:, 0], values[:, 1 : k + 1]
        record = None
        if controller is not None:
            record = Interventions()
            if controller.reflecting is not None:
                record = self._record(controller.reflecting, texts, top, table, tokens_of, end_tokens)
                self.n_reflections = record.n_reflections
            if self.finish_reason == "stop" and controller.ended(
                token_confidence(top).values.tolist(), record
            ):
                self.finish_reason = ENDED
        text = "".join(texts)
        ends = [at for stop in self._params.stop if (at := text.find(stop)) >= 0]
        if ends:
            texts = cut(texts, min(ends))
            n = len(texts)
        return Trajectory(
            "".join(texts),
            tuple(texts),
            top[:n],
            own[:n],
            self.finish_reason,
            index=self.index,
            interventions=None if record is None else record.up_to(n),
            n_prompt_tokens=self._n_prompt_tokens,
            seconds=self.seconds,
        )

    def _record(
        self,
        controller: SelfStepConf,
        texts: Sequence[str],
        top: Floats,
        table: TokenTable,
        tokens_of: Callable[[str, str], Sequence[int]],
        end_tokens: Collection[int],
    ) -> Interventions:
        stream = controller.start()
        if not len(texts):
            return stream.record()
        confidences = token_confidence(top).values.tolist()
        entropies = [math.nan] * len(texts)
        if controller.uses_entropy:
            entropies = token_entropy(top).values.tolist()
        if isinstance(stream, ReleasedStream):
            first = tokens_of("", controller.reflection)[0]
            for i, (text, confidence, entropy) in enumerate(zip(texts, confidences, entropies, strict=True)):
                came = stream.exchanges and self.tokens[i] == first
                best = self._likeliest[i]
                likeliest = None if best in end_tokens else table.pieces[best].decode("utf-8", "replace")
                stream.look(likeliest, confidence, entropy)
                (stream.push_injected if came else stream.push)(text, confidence)
            return stream.record()
        n_left = 0
        for i, values in enumerate(zip(texts, confidences, entropies, strict=True)):
            if n_left:
                n_left -= 1
                stream.push_injected(*values[:2])
            elif stream.push(*values) is not None:
                before = table.context(self.tokens[max(0, i + 1 - CONTEXT) : i + 1])
                n_left = len(tokens_of(before, controller.reflection))
        return stream.record()
