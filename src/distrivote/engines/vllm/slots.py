"""The plugin in vLLM's Model Runner V2, where requests keep their slots and tokens stay on the device.

What a decoding step needs (the token that was fed, the largest log-probabilities) comes to the host in one
transfer. A request that comes back after a preemption may get another slot; only then are its tokens read
from the device. Only the names of vLLM's fields are used, so nothing of it is imported.

A step with several rows per request (speculative decoding) is not steered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from distrivote.engines.vllm.args import Watched, controller_of
from distrivote.engines.vllm.batch import SteeredBatch
from distrivote.engines.vllm.logits import exchanged, forced, top_logprobs, with_likeliest
from distrivote.engines.vllm.rows import wanted_k


class SlottedSteering:
    """The implementation of the V2 interface."""

    def __init__(self, batch: SteeredBatch, states: Any) -> None:
        """Take vLLM's `LogitsProcRequestState`."""
        self._batch = batch
        self._states = states
        self._watched = np.zeros(states.max_num_reqs, dtype=np.bool_)
        self._returning: dict[int, tuple[Watched, int, Any]] = {}

    def add_request(self, slot: int, params: Any) -> bool:
        """Put a request into a slot and return whether it is steered."""
        controller = controller_of(params.extra_args)
        self._batch.drop(slot)
        self._returning.pop(slot, None)
        self._watched[slot] = controller is not None
        if controller is None:
            return False
        n_prompt = int(self._states.prompt_len.np[slot])
        origin = (params.seed, n_prompt)
        if int(self._states.prefill_len.np[slot]) > n_prompt:
            # Its tokens are not on the device yet: they are read when it is decoded.
            self._returning[slot] = (controller, wanted_k(params), origin)
        else:
            self._batch.add(slot, controller, wanted_k(params), origin)
        return True

    def apply(self, logits: torch.Tensor, context: Any) -> torch.Tensor:
        """Steer one decoding step."""
        slots = context.idx_mapping_np
        if not self._watched[slots].any() or logits.shape[0] != len(slots):
            return logits
        lengths = context.seq_lens_upper_bound_np[: len(slots)]
        # No token was sampled after a prompt that is read only in part.
        rows = np.flatnonzero(self._watched[slots] & (lengths >= self._states.prefill_len.np[slots]))
        if not len(rows):
            return logits
        slots = slots[rows].astype(np.intp)
        lengths = (lengths[rows] - self._states.prompt_len.np[slots]).astype(np.int64)
        for slot in slots.tolist():
            if slot in self._returning:
                self._batch.add(slot, *self._returning.pop(slot), self._reply(slot))
        everything = len(rows) == logits.shape[0]
        device_rows = None if everything else torch.from_numpy(rows).to(logits.device)
        watched = logits if device_rows is None else logits[device_rows]
        fed = context.input_ids if device_rows is None else context.input_ids[device_rows]
        top = top_logprobs(watched, min(self._batch.largest_k(slots), logits.shape[1]))
        has_likeliest = self._batch.wants_likeliest
        said = with_likeliest(top, watched) if has_likeliest else top
        arrived = torch.cat((said, fed[: len(rows), None].double()), dim=1).cpu().numpy()
        self._batch.advance(
            slots, arrived[:, -1].astype(np.int64), lengths, lambda place: self._reply(int(slots[place]))
        )
        due, swaps = self._batch.due(slots), self._batch.exchanged(slots)
        n = top.shape[1]
        self._batch.observe(slots, arrived[:, :n], arrived[:, n].astype(np.int64) if has_likeliest else None)
        exchanged(logits, [(int(rows[place]), token) for place, token in swaps])
        return forced(logits, [(int(rows[place]), token) for place, token in due])

    def _reply(self, slot: int) -> Sequence[int]:
        start = int(self._states.prompt_len.np[slot])
        end = int(self._states.total_len.gpu[slot])
        tokens: list[int] = self._states.all_token_ids.gpu[slot, start:end].tolist()
        return tokens
