"""vLLM in this process: offline batches, with the plugin that its servers use.

All trajectories of all jobs are submitted to vLLM at once, one request each, and come back as they finish;
vLLM decides how many run together. The seed of a trajectory is derived from (seed, index), so a trajectory is
the same whatever runs beside it, as far as the logits are: their last bits depend on the batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np

from distrivote.engines.base import BatchEngine, Job, Progress, Sampled, SamplingParams, Watch
from distrivote.engines.tokens.long_prompts import not_sampled, too_long
from distrivote.engines.tokens.tables import chat_text, cutter, end_tokens_of, table_of
from distrivote.engines.vllm.args import Xargs, xargs_of
from distrivote.engines.vllm.replies import VllmReply
from distrivote.errors import EngineError, InputError, MissingPackageError, UnknownNameError
from distrivote.problem import Message
from distrivote.steering import Controller

PLUGIN = "distrivote.engines.vllm.plugin:SelfStepConf"


class VllmEngine(BatchEngine):
    """Samples from a model that vLLM runs in this process."""

    name = "vllm"

    def __init__(
        self,
        model: str,
        *,
        options: Mapping[str, Any] | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Load a model: a folder, or ORG/NAME on the Hugging Face hub.

        Args:
            model: The model.
            options: vLLM's own, by the names of its engine arguments: tensor_parallel_size,
                gpu_memory_utilization, max_model_len, dtype, enforce_eager, ...
            say: Called with a sentence before every slow operation.
        """
        self.model = model
        arguments = _arguments(options or {})
        say(f"vLLM loads {model} ...")
        self._llm = _loaded(model, arguments)
        self._engine = self._llm.llm_engine
        config = self._engine.model_config
        self._tokenizer = self._llm.get_tokenizer()
        self._table = table_of(self._tokenizer, config.get_vocab_size())
        self._cut = cutter(self._tokenizer)
        self._ends = end_tokens_of(self._tokenizer)
        self._n_context: int = config.max_model_len
        self._max_logprobs: int = config.max_logprobs
        self._n_calls = 0

    def release(self) -> None:
        """Shut vLLM down."""
        self._engine.engine_core.shutdown()
        del self._engine, self._llm

    def sample_jobs(
        self, jobs: Sequence[Job], controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish; then an error if prompts were too long."""
        xargs = None if controller is None else self._xargs(controller)
        steering = None if controller is None else controller.plugin_settings()
        live: dict[str, VllmReply] = {}
        try:
            self._n_calls += 1
            added = [self._add(number, job, xargs, live) for number, job in enumerate(jobs)]
            n_tokens = n_reflections = 0
            while live:
                finished = self._step(live)
                trajectories = [
                    Sampled(reply.job, reply.trajectory(self._table, self._cut, steering, self._ends))
                    for reply in finished
                ]
                n_tokens += sum(sampled.trajectory.n_tokens for sampled in trajectories)
                n_reflections += sum(reply.n_reflections for reply in finished)
                if watch is not None:
                    n_live = sum(len(reply.tokens) for reply in live.values())
                    watch(Progress(n_tokens + n_live, len(live), n_reflections))
                yield from trajectories
                if trajectories:
                    self._drop_unwanted(jobs, live)
            refusals = [refusal for refusal in added if refusal is not None]
            if refusals:
                raise not_sampled(refusals, len(jobs))
        finally:
            if live:
                self._engine.abort_request(list(live))

    def _drop_unwanted(self, jobs: Sequence[Job], live: dict[str, VllmReply]) -> None:
        over = {number for number, job in enumerate(jobs) if job.over()}
        unwanted = [name for name, reply in live.items() if reply.job in over]
        if unwanted:
            self._engine.abort_request(unwanted)
            for name in unwanted:
                del live[name]

    def _xargs(self, controller: Controller) -> Xargs:
        xargs = xargs_of(controller)
        reflection = str(xargs["ssc_reflection"])
        if "".join(self._table.spelled(self._cut("", reflection))) != reflection:
            raise InputError(
                f"the tokenizer of {self.model} has no tokens for {reflection!r}: give another reflection"
            )
        return xargs

    def _add(self, number: int, job: Job, xargs: Xargs | None, live: dict[str, VllmReply]) -> str | None:
        """Submit the trajectories of one job to vLLM, or return why its prompt does not fit."""
        params = job.params
        if params.n_logprobs > self._max_logprobs >= 0:
            raise InputError(
                f"n_logprobs is {params.n_logprobs}, and vLLM gives {self._max_logprobs} at most: use a"
                " smaller number, or raise its option max_logprobs"
            )
        prompt = self._prompt(job.messages, params.thinking)
        if len(prompt) >= self._n_context:
            advice = "shorten it, or raise vLLM's option max_model_len"
            return too_long(job.messages, len(prompt), self._n_context, self.model, advice)
        max_tokens = min(params.max_tokens, self._n_context - len(prompt))
        rendered = self._engine.renderer.render_cmpl([{"prompt_token_ids": prompt}])[0]
        from vllm.exceptions import VLLMClientError

        for index in job.indices:
            name = f"{self._n_calls}-{number}-{index}"
            try:
                self._engine.add_request(name, rendered, _sampling(params, index, max_tokens, xargs))
            except (VLLMClientError, ValueError) as error:
                raise InputError(f"vLLM rejects the request: {_line(error)}") from error
            live[name] = VllmReply(number, index, params, len(prompt))
        return None

    def _prompt(self, messages: Sequence[Message], thinking: bool | None) -> list[int]:
        text = chat_text(self._tokenizer, messages, thinking, self.model)
        tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return tokens

    def _step(self, live: dict[str, VllmReply]) -> list[VllmReply]:
        """Run one decoding step of vLLM, and return the replies that have ended."""
        from vllm.exceptions import VLLMServerError

        try:
            outputs = self._engine.step()
        except (VLLMServerError, RuntimeError) as error:
            raise EngineError(f"vLLM failed while sampling: {_line(error)}") from error
        finished = []
        for output in outputs:
            reply = live.get(output.request_id)
            if reply is None:
                continue
            reply.add(output.outputs[0])
            if output.finished:
                finished.append(live.pop(output.request_id))
        return finished


def _arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for vLLM, with the plugin."""
    try:
        from vllm.engine.arg_utils import EngineArgs
        from vllm.platforms import current_platform
    except ImportError as error:
        raise MissingPackageError("vllm", "vllm", "the vllm engine") from error
    known = {field.name for field in dataclasses.fields(EngineArgs)}
    for name in options:
        if name not in known or name == "model":
            raise UnknownNameError("option of vLLM", name, sorted(known - {"model"}))
    mode = options.get("logprobs_mode", "raw_logprobs")
    if mode != "raw_logprobs":
        raise InputError(f"logprobs_mode is {mode!r}: confidences need raw_logprobs; leave it out")
    named = list(options.get("logits_processors") or ())
    arguments = {**options, "logits_processors": named if PLUGIN in named else [*named, PLUGIN]}
    if current_platform.is_cpu():
        # With a logits processor, vLLM 0.32 fails when it reads a request with a seed in chunks.
        arguments.setdefault("enable_chunked_prefill", False)
    return arguments


def _loaded(model: str, arguments: dict[str, Any]) -> Any:
    from vllm import LLM

    try:
        return LLM(model, **arguments)
    except (OSError, ValueError, RuntimeError) as error:
        raise EngineError(f"vLLM can't load {model}: {_line(error)}") from error


def _sampling(params: SamplingParams, index: int, max_tokens: int, xargs: Xargs | None) -> Any:
    """Return vLLM's own parameters for one trajectory."""
    from vllm import SamplingParams as VllmParams
    from vllm.sampling_params import RequestOutputKind

    seed = np.random.SeedSequence([params.seed, index]).generate_state(1, np.uint64)[0]
    return VllmParams(
        temperature=params.temperature,
        top_p=params.top_p,
        top_k=params.top_k,
        min_p=params.min_p,
        max_tokens=max_tokens,
        stop=list(params.stop),
        seed=int(seed >> np.uint64(1)),
        logprobs=params.n_logprobs,
        flat_logprobs=True,
        detokenize=bool(params.stop),
        output_kind=RequestOutputKind.DELTA,
        extra_args=None if xargs is None else dict(xargs),
    )


def _line(error: BaseException) -> str:
    """Return the message of an error as one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
