"""SelfStepConf and the online rules for all requests of a batch, in arrays: the state of a logits processor.

Each rule is that of `steering`, bit for bit; here it is vectorized over slots, since a server decodes many
requests in one step and has microseconds for each. It knows tokens, log-probabilities and slots, but
neither vLLM nor any tensor library.

At each decoding step the server calls

    advance(slots, tokens, lengths, ...)   the tokens sampled at the previous positions
    due(slots), exchanged(slots)           which slots get which token forced or exchanged now
    observe(slots, top_logprobs, ...)      the model's log-probabilities at these positions

A token is processed at the decoding step after it, with the log-probabilities of the position where it was
sampled. A request may leave its slot and come back later (see `absent`); if it is not recognized, the tokens
that it already has count as tokens without a confidence.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from distrivote.confidence import token_confidence, token_entropy
from distrivote.confidence.tokens import DEFAULT_K, SENTINEL
from distrivote.engines.tokens.tables import (
    BLANK,
    CONTEXT,
    ENDED,
    NO_DELIMITER,
    TEXT,
    TokenTable,
    table_number,
)
from distrivote.engines.vllm.absent import PRIME, Absent, Request, Seen, seen_before
from distrivote.engines.vllm.args import Watched
from distrivote.engines.vllm.courses import CourseSlots, Judged
from distrivote.engines.vllm.groups import Group, GroupSlots
from distrivote.engines.vllm.released import Released, ReleasedSlots, Slots
from distrivote.splitting import EntropySplitter, WindowSplitter

_NO_WINDOW = np.iinfo(np.int64).max

_SLOT = np.dtype(
    [
        # The rule's parameters.
        ("alpha", np.float64),
        ("delta", np.float64),
        ("table", np.intp),
        ("window", np.int64),  # tokens per step, _NO_WINDOW if another rule ends steps
        ("limit", np.float64),  # of the entropy, NaN if another rule ends steps
        ("n_least", np.int64),  # the fewest tokens of a step that the entropy ends
        ("k", np.int64),  # log-probabilities in a confidence
        # The current step.
        ("state", np.uint8),
        ("n_pending", np.int64),
        ("total", np.float64),
        ("n_known", np.int64),
        # The threshold, and the step before.
        ("tau", np.float64),
        ("previous", np.float64),
        # The position that is being sampled.
        ("confidence", np.float64),
        ("entropy", np.float64),
        ("forced", np.bool_),
        # The tokens so far: how many, a digest of all, and the last ones in a ring.
        ("n_seen", np.int64),
        ("digest", np.uint64),
        ("recent", np.int64, (CONTEXT,)),
    ]
)


class _State(NamedTuple):
    """The whole state of one request."""

    values: Any
    due: deque[int] | None
    released: Released | None
    group: Group | None
    judged: Judged | None


class SteeredBatch:
    """The requests that are watched."""

    def __init__(
        self,
        n_slots: int,
        table: TokenTable,
        cut: Callable[[str, str], Sequence[int]],
        end_tokens: Collection[int] = (),
    ) -> None:
        """Allocate the slots.

        Args:
            n_slots: The largest number of requests at a time.
            table: The vocabulary.
            cut: Takes the text so far and a text to inject, and returns the tokens of the latter as they
                would be at that place.
            end_tokens: The tokens that end a text; the first of them is forced.
        """
        self._end = tuple(end_tokens)[:1]
        self._groups = GroupSlots(n_slots)
        self._courses = CourseSlots()
        self._vocabulary = table
        self._transitions = table.transitions
        self._cut = cut
        self._requests: dict[int, Request] = {}
        self._due: dict[int, deque[int]] = {}
        self._released = ReleasedSlots(table, cut, end_tokens)
        self._absent: Absent[_State] = Absent()
        self._n_entropy = 0
        self._slots = np.zeros(n_slots, dtype=_SLOT)
        for name in _SLOT.names or ():
            setattr(self, f"_{name}", self._slots[name])

    # The columns of the array, one entry per slot.
    _alpha: npt.NDArray[np.float64]
    _delta: npt.NDArray[np.float64]
    _table: npt.NDArray[np.intp]
    _window: npt.NDArray[np.int64]
    _limit: npt.NDArray[np.float64]
    _n_least: npt.NDArray[np.int64]
    _k: npt.NDArray[np.int64]
    _state: npt.NDArray[np.uint8]
    _n_pending: npt.NDArray[np.int64]
    _total: npt.NDArray[np.float64]
    _n_known: npt.NDArray[np.int64]
    _tau: npt.NDArray[np.float64]
    _previous: npt.NDArray[np.float64]
    _confidence: npt.NDArray[np.float64]
    _entropy: npt.NDArray[np.float64]
    _forced: npt.NDArray[np.bool_]
    _n_seen: npt.NDArray[np.int64]
    _digest: npt.NDArray[np.uint64]
    _recent: npt.NDArray[np.int64]

    def add(
        self,
        slot: int,
        controller: Watched,
        k: int = DEFAULT_K,
        origin: Hashable = None,
        history: Sequence[int] = (),
    ) -> None:
        """Put a request into a slot, replacing the one that is there.

        Args:
            slot: The slot.
            controller: The controller of the request.
            k: The number of log-probabilities in a confidence.
            origin: Its prompt, or something else that distinguishes it from others.
            history: The tokens that it already has, if it comes back.
        """
        self.drop(slot)
        request = Request(controller, k, origin)
        state = self._find(request, history) if history else None
        self._requests[slot] = request
        self._n_entropy += controller.uses_entropy
        if state is None:
            self._restart(slot)
            return
        self._slots[slot] = state.values
        self._released.put(slot, state.released)
        self._groups.put(slot, state.group)
        self._courses.put(slot, state.judged)
        if state.due:
            self._due[slot] = state.due

    def drop(self, slot: int) -> None:
        """Remove the request from a slot, if there is one; it may come back."""
        request = self._requests.pop(slot, None)
        if request is None:
            return
        self._n_entropy -= request.controller.uses_entropy
        self._absent.keep(request, self._seen(slot), self._state_of(slot))
        self._due.pop(slot, None)
        self._released.drop(slot)
        self._groups.drop(slot)
        self._courses.drop(slot)

    def advance(
        self,
        slots: Slots,
        tokens: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        history: Callable[[int], Sequence[int]],
    ) -> None:
        """Process the tokens that were sampled.

        Args:
            slots: Of the requests that are decoded now, each once.
            tokens: The last token of each.
            lengths: How many tokens each has.
            history: Returns all tokens of the request at an index of `slots`; called if more or fewer than
                one token came.
        """
        n_new = lengths - self._n_seen[slots]
        one = n_new == 1
        if one.all():
            self._push(slots, tokens)
            return
        if one.any():
            self._push(slots[one], tokens[one])
        for place in np.flatnonzero((n_new != 0) & ~one):
            self._catch_up(int(slots[place]), history(int(place)))

    def due(self, slots: Slots) -> list[tuple[int, int]]:
        """Return the indices of `slots` where a token is to be forced now, with the token."""
        if not self._due:
            return []
        places = [place for place, slot in enumerate(slots.tolist()) if slot in self._due]
        self._forced[slots[places]] = True
        return [(place, self._due[int(slots[place])][0]) for place in places]

    def exchanged(self, slots: Slots) -> list[tuple[int, int]]:
        """Return the indices of `slots` where a token and the most likely one exchange their logits now."""
        return self._released.exchanged(slots)

    @property
    def wants_likeliest(self) -> bool:
        """Whether any request depends on the most likely tokens."""
        return bool(self._released)

    def observe(
        self,
        slots: Slots,
        top_logprobs: npt.NDArray[np.float64],
        likeliest: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Record the model's log-probabilities at the positions that are being sampled.

        Args:
            slots: Of the requests.
            top_logprobs: (n_slots, n) The largest log-probabilities, largest first; n is the largest k of
                the slots.
            likeliest: (n_slots,) The most likely tokens, if a request depends on them.
        """
        if likeliest is not None:
            self._released.observe(slots, likeliest)
        wanted = self._k[slots]
        for k in set(wanted.tolist()):
            these = slots if (wanted == k).all() else slots[wanted == k]
            top = top_logprobs[wanted == k, :k] if len(these) < len(slots) else top_logprobs[:, :k]
            if top[:, -1].min() > SENTINEL:
                self._confidence[these] = -top.sum(axis=1) / top.shape[1]
            else:
                self._confidence[these] = token_confidence(top, max(k, 2)).values
            if self._n_entropy:
                self._entropy[these] = token_entropy(top, max(k, 2)).values

    def largest_k(self, slots: Slots) -> int:
        """Return the largest k of the slots."""
        return int(self._k[slots].max())

    def _restart(self, slot: int) -> None:
        controller, k, _ = self._requests[slot]
        self._due.pop(slot, None)
        self._slots[slot] = np.zeros((), dtype=_SLOT)
        self._k[slot] = k
        for column in (self._tau, self._previous, self._confidence, self._entropy):
            column[slot] = math.nan
        steps = controller.reflecting
        if steps is None:
            self._table[slot], self._window[slot], self._limit[slot] = NO_DELIMITER, _NO_WINDOW, math.nan
            self._groups.begin(slot, controller)
            return
        self._courses.begin(slot, controller)
        split = steps.split
        self._alpha[slot] = steps.alpha
        self._delta[slot] = steps.delta
        self._table[slot] = table_number(split)
        self._window[slot] = split.n_tokens if isinstance(split, WindowSplitter) else _NO_WINDOW
        entropy = split if isinstance(split, EntropySplitter) else None
        self._limit[slot] = math.nan if entropy is None else entropy.threshold
        self._n_least[slot] = 0 if entropy is None else entropy.min_tokens
        self._released.begin(slot, steps)
        if steps.released:
            # Its steps are ended by its own stream, not by the arrays.
            self._table[slot], self._window[slot], self._limit[slot] = NO_DELIMITER, _NO_WINDOW, math.nan

    def _find(self, request: Request, history: Sequence[int]) -> _State | None:
        for seen in seen_before(history):
            state = self._absent.take(request, seen)
            if state is not None:
                return state
            # A server that does not report who leaves may have moved it to another slot.
            for slot, other in self._requests.items():
                if other == request and self._seen(slot) == seen:
                    return self._state_of(slot)
        return None

    def _seen(self, slot: int) -> Seen:
        return Seen(int(self._n_seen[slot]), int(self._digest[slot]))

    def _state_of(self, slot: int) -> _State:
        due = self._due.get(slot)
        return _State(
            self._slots[slot].copy(),
            None if due is None else deque(due),
            self._released.copy_of(slot),
            self._groups.copy_of(slot),
            self._courses.copy_of(slot),
        )

    def _catch_up(self, slot: int, history: Sequence[int]) -> None:
        n_seen = int(self._n_seen[slot])
        if len(history) < n_seen:
            self._restart(slot)
            n_seen = 0
        one = np.array([slot], dtype=np.intp)
        for token in history[n_seen:]:
            if not self._forced[slot]:
                self._due.pop(slot, None)
            self._push(one, np.array([token], dtype=np.int64))
            self._confidence[slot] = self._entropy[slot] = math.nan

    def _push(self, slots: Slots, tokens: npt.NDArray[np.int64]) -> None:
        """Process one token of each of the slots."""
        n_seen = self._n_seen[slots]
        self._recent[slots, n_seen % CONTEXT] = tokens
        self._digest[slots] = self._digest[slots] * np.uint64(PRIME) + tokens.astype(np.uint64)
        self._n_seen[slots] = n_seen + 1
        confidences = self._confidence[slots]
        if self._released:
            self._released.push(slots, confidences, self._entropy[slots])
        if self._groups:
            for slot in self._groups.push(slots, confidences) if self._end else ():
                self._due[slot] = deque(self._end)
        known = confidences == confidences
        self._total[slots] += np.where(known, confidences, 0.0)
        self._n_known[slots] += known
        state = self._transitions[self._table[slots], self._state[slots], tokens]
        n_pending = self._n_pending[slots] + 1
        ended = (state == ENDED) | ((state == TEXT) & (n_pending >= self._window[slots]))
        if self._n_entropy:
            high = (self._entropy[slots] > self._limit[slots]) & ~self._forced[slots]
            ended |= high & (state == TEXT) & (n_pending >= self._n_least[slots])
        if ended.any():
            state[ended] = BLANK
            n_pending[ended] = 0
        self._state[slots] = state
        self._n_pending[slots] = n_pending
        if self._due:
            ended &= ~self._taken(slots)
        if ended.any():
            self._judge(slots[ended])

    def _taken(self, slots: Slots) -> npt.NDArray[np.bool_]:
        """Return which of the slots just took a forced token."""
        forced = self._forced[slots]
        for slot in slots[forced].tolist():
            self._forced[slot] = False
            self._due[slot].popleft()
            if not self._due[slot]:
                del self._due[slot]
        return forced

    def _judge(self, slots: Slots) -> None:
        """End the current step in each of the slots."""
        n_known = self._n_known[slots]
        confidences = np.where(n_known > 0, self._total[slots] / np.maximum(n_known, 1), math.nan)
        self._total[slots] = 0.0
        self._n_known[slots] = 0
        if self._courses and self._end:
            for slot, confidence in zip(slots.tolist(), confidences.tolist(), strict=True):
                if self._courses.step(slot, int(self._n_seen[slot]), confidence):
                    self._due[slot] = deque(self._end)
        known = confidences == confidences
        slots, confidences = slots[known], confidences[known]
        tau, alpha = self._tau[slots], self._alpha[slots]
        first = np.isnan(tau)
        divisors = np.where(tau > 0, tau, math.nan)
        dropped = (confidences / divisors < self._delta[slots]) & (confidences < self._previous[slots])
        mixed = alpha * tau + (1 - alpha) * confidences
        self._tau[slots] = np.where(first, confidences, np.where(dropped, tau, mixed))
        self._previous[slots] = confidences
        for slot in slots[dropped].tolist():
            self._begin(slot)  # it reflects rather than end

    def _begin(self, slot: int) -> None:
        """Start to inject the reflection here."""
        n_seen = int(self._n_seen[slot])
        places = np.arange(max(0, n_seen - CONTEXT), n_seen) % CONTEXT
        before = self._vocabulary.context(self._recent[slot, places].tolist())
        steps = self._requests[slot].controller.reflecting
        assert steps is not None
        tokens = self._cut(before, steps.reflection)
        if tokens:
            self._due[slot] = deque(tokens)
