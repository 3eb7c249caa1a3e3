"""SelfStepConf and the online rules inside a vLLM server: a logits processor for the whole batch.

    vllm serve MODEL --logits-processors distrivote.engines.vllm.plugin:SelfStepConf

A request switches it on by `vllm_xargs` (see `args`); other requests are left alone and cost nothing. vLLM
has two interfaces for processors; this class implements both, and its constructor's arguments show which one
is used. vLLM imports this file in the process that accepts requests and in those that run the model.
"""

from __future__ import annotations

import logging
import sys
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch
from vllm.tokenizers import cached_tokenizer_from_config
from vllm.v1.sample.logits_processor import LogitsProcessor
from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as LogitsProcessorV2

from distrivote.engines.tokens.tables import cutter, end_tokens_of, table_of
from distrivote.engines.vllm.args import controller_of, xargs_of
from distrivote.engines.vllm.batch import SteeredBatch
from distrivote.engines.vllm.logits import Transfer, exchanged, forced, top_logprobs, with_likeliest
from distrivote.engines.vllm.rows import BatchRows
from distrivote.engines.vllm.slots import SlottedSteering
from distrivote.errors import InputError

_NEUTRAL: dict[str, tuple[object, ...]] = {
    "logit_bias": (None, {}),
    "bad_words": (None, []),
    "allowed_token_ids": (None,),
    "structured_outputs": (None,),
    "thinking_token_budget": (None,),
    "min_tokens": (0,),
    "presence_penalty": (0.0,),
    "frequency_penalty": (0.0,),
    "repetition_penalty": (1.0,),
}
"""The parameters that change a model's logits before a processor sees them, with their neutral values."""

_MADE: WeakValueDictionary[int, SelfStepConf] = WeakValueDictionary()
"""The processor of each engine, by the identity of its configuration."""


class SelfStepConf(LogitsProcessor, LogitsProcessorV2):  # type: ignore[misc]
    """Watches the requests that ask for it: injects a reflection, or ends them, where confidence drops."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Raise InputError, a ValueError, for a request that can't be served: HTTP 400."""
        controller = controller_of(sampling_params.extra_args)
        if controller is None:
            return
        if controller.ends_trajectories and getattr(sampling_params, "ignore_eos", False):
            raise InputError(
                f"ignore_eos is true: {controller.name} forces the end token, which this ignores"
            )
        if controller.reflecting is not None and controller.reflecting.guard:
            raise InputError("ssc_guard is 1: a vLLM server can't prevent the end of the text; leave it at 0")
        for name, neutral in _NEUTRAL.items():
            value = getattr(sampling_params, name, neutral[0])
            if value not in neutral:
                switch = next(iter(xargs_of(controller)))
                raise InputError(
                    f"{name} is {value}: {controller.name} needs the model's own probabilities, and this"
                    f" changes them; leave it at {neutral[0]}, or leave {switch} out"
                )

    def __init__(self, vllm_config: Any, states: Any, is_pin_memory: bool | None = None) -> None:
        """Called by vLLM: in V1 with a device and whether memory is pinned, in V2 with its requests."""
        self._rows: BatchRows | None = None
        self._slotted: SlottedSteering | None = None
        if not self._is_needed(vllm_config):
            return
        self._config = vllm_config
        _MADE[id(vllm_config)] = self
        model = vllm_config.model_config
        self._is_named = bool(model.logits_processors)
        self._batch = _batch(model, vllm_config.scheduler_config.max_num_seqs)
        if is_pin_memory is None:
            self._slotted = SlottedSteering(self._batch, states)
            return
        self._rows = BatchRows(self._batch, vllm_config.scheduler_config.max_num_seqs)
        self._transfer = Transfer()
        self._has_likeliest = False
        self._device_rows: torch.Tensor | None = None

    @staticmethod
    def _is_needed(vllm_config: Any) -> bool:
        # If it is named on the command line and also found by its entry point, it is created twice.
        if id(vllm_config) in _MADE:
            return False
        hindrance = None
        if vllm_config.speculative_config is not None:
            hindrance = "with speculative decoding"
        elif vllm_config.model_config.skip_tokenizer_init:
            hindrance = "without a tokenizer"
        if hindrance is not None:
            logging.getLogger(__name__).warning(
                "SelfStepConf does not work %s: ssc in a request has no effect", hindrance
            )
        return hindrance is None

    def is_argmax_invariant(self) -> bool:
        return False

    # Model Runner V1

    def update_state(self, batch_update: Any) -> None:
        """Follow requests as they come, go and change rows."""
        rows = self._rows
        if batch_update is None or rows is None:
            return
        self._observe()
        rows.update(batch_update)
        self._device_rows = None
        if len(rows.rows) and not self._is_named:
            _ask_for_tokens(sys._getframe(1).f_locals.get("self"))

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """Steer one decoding step."""
        if self._slotted is not None:
            return self._slotted.apply(logits, ctx)
        rows = self._rows
        if rows is None or not len(rows.rows):
            return logits
        self._observe()
        rows.advance()
        due, swaps = self._batch.due(rows.slots), self._batch.exchanged(rows.slots)
        k = min(self._batch.largest_k(rows.slots), logits.shape[1])
        watched = self._watched(logits, rows)
        top = top_logprobs(watched, k)
        self._has_likeliest = self._batch.wants_likeliest
        self._transfer.start(with_likeliest(top, watched) if self._has_likeliest else top)
        exchanged(logits, [(int(rows.rows[place]), token) for place, token in swaps])
        return forced(logits, [(int(rows.rows[place]), token) for place, token in due])

    def _watched(self, logits: torch.Tensor, rows: BatchRows) -> torch.Tensor:
        if len(rows.rows) == logits.shape[0]:
            return logits
        if self._device_rows is None:
            self._device_rows = torch.from_numpy(rows.rows).to(logits.device)
        return logits[self._device_rows]

    def _observe(self) -> None:
        """Record the log-probabilities of the previous step."""
        arrived = self._transfer.finish()
        if arrived is None or self._rows is None:
            return
        if self._has_likeliest:
            self._batch.observe(self._rows.slots, arrived[:, :-1], arrived[:, -1].astype(np.int64))
        else:
            self._batch.observe(self._rows.slots, arrived)

    # Model Runner V2

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """Put a request into a slot and return whether it is steered."""
        return self._slotted is not None and self._slotted.add_request(req_idx, sampling_params)


def _batch(model_config: Any, n_slots: int) -> SteeredBatch:
    tokenizer = cached_tokenizer_from_config(model_config)
    table = table_of(tokenizer, model_config.get_vocab_size())
    return SteeredBatch(n_slots, table, cutter(tokenizer), end_tokens_of(tokenizer))


def _ask_for_tokens(input_batch: Any) -> None:
    """Make vLLM provide the sampled tokens although it schedules ahead.

    It does so for processors that its command line names, but not for those that it found by their entry
    point. The switch is in the object that calls `update_state`.
    """
    if hasattr(input_batch, "logitsprocs_need_output_token_ids"):
        input_batch.logitsprocs_need_output_token_ids = True
