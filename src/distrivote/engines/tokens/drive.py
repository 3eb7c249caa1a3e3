"""One unfinished trajectory, for engines that do their own sampling: token, text, controller, action.

An engine passes in the logits of the next position; the drive chooses the token (or takes the one that is
to be injected), reports it to the controller, and returns what to decode next. It knows tokens and texts,
but no cache and no batch.

At the positions of a reflection, the probabilities of the most likely token and of the reflection's token
are exchanged and the position is decoded greedily. So exactly the reflection appears, and since an exchange
only permutes the distribution, the confidence there is the model's own. For a `ReleasedStream` the
exchanged position is sampled like any other.
"""

from __future__ import annotations

import codecs
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from distrivote.engines.base import Partial, SamplingParams
from distrivote.engines.tokens.sampling import Logits, Position, TokenSampler, with_exchanged
from distrivote.engines.tokens.spelling import cut
from distrivote.engines.tokens.tables import CONTEXT, tokens_after
from distrivote.steering import ENDED, Controller, End, Injection, ReleasedStream
from distrivote.steering.controller import gives_answer
from distrivote.trajectory import Trajectory

_UNIFORMS = 256
"""Random numbers drawn at a time; a trajectory's stream does not depend on it."""


class Vocabulary(Protocol):
    """What a drive needs to know of a model's tokens."""

    @property
    def pieces(self) -> Sequence[bytes]: ...

    @property
    def end_tokens(self) -> frozenset[int]: ...

    def tokenize(self, text: str, special: bool = False) -> list[int]: ...


class Next(NamedTuple):
    """What the engine is to decode next."""

    token: int
    take_back: int = 0
    """The number of tokens to remove from the sequence first; the last remaining one is decoded again."""


class _Said(NamedTuple):
    """The model's probabilities for one token of the text."""

    logprob: float
    top: npt.NDArray[np.float64]
    entropy: float
    self_certainty: float


class Drive:
    """The state of one trajectory."""

    def __init__(
        self,
        index: int,
        params: SamplingParams,
        vocabulary: Vocabulary,
        sampler: TokenSampler,
        controller: Controller | None,
    ) -> None:
        self.index = index
        self.finish_reason: str | None = None
        self.n_reflections = 0
        self.seconds: float | None = None
        """From the creation of the drive to the end of the trajectory."""

        self._begun = time.perf_counter()
        self._params = params
        self._vocabulary = vocabulary
        self._sampler = sampler
        self._controller = None if controller is None else controller.start()
        self._has_answer = gives_answer if controller is None else controller.has_answer
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([params.seed, index])))
        self._uniforms = self._random.random(_UNIFORMS)
        self._n_drawn = 0
        self._due: deque[int] = deque()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.tokens: list[int] = []
        self._texts: list[str] = []
        self._said: list[_Said] = []
        self._tail = ""
        self._n_tail = max((len(stop) for stop in params.stop), default=0)

    def advance(self, logits: Logits) -> Next | None:
        """Choose the next token; None when the trajectory has ended."""
        following = self._advanced(logits)
        if following is None:
            self.seconds = time.perf_counter() - self._begun
        return following

    def _advanced(self, logits: Logits) -> Next | None:
        position = self._sampler.read(logits)
        top = position.top_logits[: self._params.n_logprobs] - position.log_total
        confidence = self._confidence(top)
        injected = bool(self._due)
        if injected:
            token = self._due.popleft()
        else:
            exchanged = self._looked(position, confidence)
            token = self._chosen(logits, position, exchanged)
            injected = token == exchanged
            self.n_reflections += injected
            if token in self._vocabulary.end_tokens:
                injection = self._at_end()
                if injection is None:
                    self.finish_reason = "stop"
                    return None
                self._inject(injection)
                token, injected = self._due.popleft(), True
        self._append(token, logits, position, top)
        action = self._report(confidence, position, injected)
        if isinstance(action, End):
            self.finish_reason = ENDED
            return None
        if action is not None:
            return self._apply(action, logits, position, top)
        return self._go_on(token)

    def _confidence(self, top: npt.NDArray[np.float64]) -> float:
        return float(-top[: self._params.k].mean())

    def _looked(self, position: Position, confidence: float) -> int | None:
        """Show the position to a stream that looks ahead, and return the token that it exchanges here."""
        stream = self._controller
        if not isinstance(stream, ReleasedStream):
            return None
        token = self._vocabulary.tokenize(stream.reflection)[0] if stream.exchanges else None
        best = int(position.top_ids[0])
        ends = best in self._vocabulary.end_tokens
        likeliest = None if ends else self._vocabulary.pieces[best].decode("utf-8", "replace")
        stream.look(likeliest, confidence, position.entropy)
        return token

    def _chosen(self, logits: Logits, position: Position, exchanged: int | None) -> int:
        if exchanged is not None:
            logits = with_exchanged(logits, int(position.top_ids[0]), exchanged)
            position = self._sampler.read(logits)
        return self._sampler.choose(logits, position, self._uniform())

    def _uniform(self) -> float:
        if self._n_drawn == _UNIFORMS:
            self._uniforms = self._random.random(_UNIFORMS)
            self._n_drawn = 0
        self._n_drawn += 1
        return float(self._uniforms[self._n_drawn - 1])

    def _at_end(self) -> Injection | None:
        if self._controller is None:
            return None
        return self._controller.at_end(lambda: self._has_answer("".join(self._texts)))

    def _append(self, token: int, logits: Logits, position: Position, top: npt.NDArray[np.float64]) -> None:
        text = self._decoder.decode(self._vocabulary.pieces[token])
        self.tokens.append(token)
        self._texts.append(text)
        logprob = float(logits[token]) - position.log_total
        self._said.append(_Said(logprob, top, position.entropy, position.self_certainty))
        if self._n_tail:
            self._tail += text

    def _report(self, confidence: float, position: Position, injected: bool) -> Injection | End | None:
        if self._controller is None:
            return None
        text = self._texts[-1]
        if injected:
            self._controller.push_injected(text, confidence)
            return None
        return self._controller.push(text, confidence, position.entropy)

    def _inject(self, injection: Injection) -> None:
        self.n_reflections += 1
        self._due.extend(self._tokens_of(injection.text))

    def _tokens_of(self, text: str) -> list[int]:
        """Return the tokens of a text as they would be at this place."""
        before = "".join(self._texts[-CONTEXT:])[-CONTEXT:]
        return tokens_after(self._vocabulary.tokenize, before, text)

    def _apply(
        self, injection: Injection, logits: Logits, position: Position, top: npt.NDArray[np.float64]
    ) -> Next | None:
        """Begin an injection: after the token just sampled, or replacing it and some before it."""
        token = self.tokens[-1]
        if injection.take_back:
            gone = slice(len(self.tokens) - injection.take_back, None)
            del self.tokens[gone], self._texts[gone], self._said[gone]
            self._decoder.reset()
            self._tail = "".join(self._texts[-self._n_tail :])[-self._n_tail :] if self._n_tail else ""
        self._inject(injection)
        if injection.take_back == 0:
            return self._go_on(token)
        if injection.take_back > 1:
            return Next(-1, injection.take_back - 1)
        # The logits of this position are known: the injected text begins right here.
        token = self._due.popleft()
        self._append(token, logits, position, top)
        self._report(self._confidence(top), position, injected=True)
        return self._go_on(token)

    def _go_on(self, token: int) -> Next | None:
        if self._n_tail:
            if any(stop in self._tail for stop in self._params.stop):
                self.finish_reason = "stop"
                return None
            self._tail = self._tail[-self._n_tail :]
        if len(self.tokens) >= self._params.max_tokens:
            self.finish_reason = "length"
            return None
        return Next(token)

    def partial(self) -> Partial:
        """Return the text so far."""
        return Partial(self.index, "".join(self._texts))

    def trajectory(self, n_prompt_tokens: int | None = None) -> Trajectory:
        """Return the trajectory so far, after a prompt of `n_prompt_tokens` tokens."""
        texts = list(self._texts)
        if texts:
            texts[-1] += self._decoder.decode(b"", final=True)
        if self._n_tail:
            text = "".join(texts)
            ends = [at for stop in self._params.stop if (at := text.find(stop)) >= 0]
            if ends:
                texts = cut(texts, min(ends))
        n = len(texts)
        said = self._said[:n]
        k = len(said[0].top) if n else 0
        return Trajectory(
            "".join(texts),
            tuple(texts),
            np.array([each.top for each in said], dtype=np.float64).reshape(n, k),
            np.array([each.logprob for each in said], dtype=np.float64),
            self.finish_reason,
            index=self.index,
            interventions=None if self._controller is None else self._controller.record().up_to(n),
            n_prompt_tokens=n_prompt_tokens,
            seconds=self.seconds,
            entropies=np.array([each.entropy for each in said], dtype=np.float64),
            self_certainties=np.array([each.self_certainty for each in said], dtype=np.float64),
        )
