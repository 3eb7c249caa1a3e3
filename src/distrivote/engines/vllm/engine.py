"""vLLM in this process: offline batches, with the plugin that its servers use.

Each trajectory is one request. vLLM decides how many run together and holds a few more, so that it is never
short of work; the others wait here and cost nothing until there is room. The seed of a trajectory is derived
from (seed, index), so a trajectory is the same whatever runs beside it, as far as the logits are: their last
bits depend on the batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from distrivote.engines.base import BatchEngine, Job, Progress, Refused, Sampled, SamplingParams, Watch
from distrivote.engines.feed import Feed
from distrivote.engines.tokens.long_prompts import not_sampled, too_long
from distrivote.engines.tokens.tables import chat_text, cutter, end_tokens_of, table_of
from distrivote.engines.vllm.args import Xargs, xargs_of
from distrivote.engines.vllm.replies import VllmReply
from distrivote.errors import EngineError, InputError, MissingPackageError, UnknownNameError
from distrivote.problem import Message
from distrivote.steering import Controller

PLUGIN = "distrivote.engines.vllm.plugin:SelfStepConf"

_N_MORE = 8
"""vLLM holds this number of requests, and a quarter, more than it can run at the same time."""


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
        self._n_window = self._engine.vllm_config.scheduler_config.max_num_seqs * 5 // 4 + _N_MORE
        self._n_calls = 0

    def release(self) -> None:
        """Shut vLLM down."""
        self._engine.engine_core.shutdown()
        del self._engine, self._llm

    def sample_jobs(
        self, jobs: Sequence[Job], controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish; then an error if prompts were too long."""
        refusals = []
        with closing(self._fed(Feed.of(jobs), controller, watch)) as samples:
            for sampled in samples:
                if isinstance(sampled, Refused):
                    refusals.append(sampled.error.message)
                else:
                    yield sampled
        if refusals:
            raise not_sampled(refusals, len(jobs))

    def sample_fed(
        self, feed: Feed, controller: Controller | None = None, *, watch: Watch | None = None
    ) -> Generator[Sampled | Refused]:
        """Yield the trajectories of jobs that may be added meanwhile, in any order."""
        with self._call():
            yield from self._fed(feed, controller, watch)

    def _fed(
        self, feed: Feed, controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled | Refused]:
        live: dict[str, VllmReply] = {}
        requests = self._requests(feed, controller, live)
        n_tokens = n_reflections = 0
        try:
            self._n_calls += 1
            while True:
                while len(live) < self._n_window:
                    request = next(requests)
                    if isinstance(request, Refused):
                        yield request
                    elif request is None:
                        break
                    else:
                        self._submit(request, live)
                if not live:
                    return
                n_new, finished = self._step(live)
                n_tokens += n_new
                trajectories = [
                    Sampled(reply.job, reply.trajectory(self._table, self._cut, reply.steering, self._ends))
                    for reply in finished
                ]
                n_reflections += sum(reply.n_reflections for reply in finished)
                if watch is not None:
                    watch(Progress(n_tokens, len(live), n_reflections))
                yield from trajectories
                if trajectories:
                    self._drop_unwanted(live)
        finally:
            if live:
                self._engine.abort_request(list(live))

    def _requests(
        self, feed: Feed, controller: Controller | None, live: Mapping[str, VllmReply]
    ) -> Iterator[_Request | Refused | None]:
        """Return what to submit, one after the other; None where there is nothing at present."""
        while True:
            # With nothing to decode there is time to wait.
            taken = feed.take(wait=not live)
            if taken is None:
                yield None
                continue
            number, job = taken
            if job.over() or not job.take():
                continue
            prompt = self._prompt(job.messages, job.params.thinking)
            if len(prompt) >= self._n_context:
                advice = "shorten it, or raise vLLM's option max_model_len"
                sentence = too_long(job.messages, len(prompt), self._n_context, self.model, advice)
                yield Refused(number, InputError(sentence))
                continue
            self._check(job.params)
            max_tokens = min(job.params.max_tokens, self._n_context - len(prompt))
            steered = job.steered_by(controller)
            xargs = None if steered is None else self._xargs(steered) or None
            rendered = self._engine.renderer.render_cmpl([{"prompt_token_ids": prompt}])[0]
            for index in job.indices:
                if job.over():
                    break
                reply = VllmReply(number, index, job, len(prompt))
                reply.steering = None if steered is None else steered.plugin_settings()
                sampling = partial(_sampling, job.params, index, max_tokens, xargs)
                yield _Request(f"{self._n_calls}-{number}-{index}", rendered, sampling, reply)

    def _submit(self, request: _Request, live: dict[str, VllmReply]) -> None:
        from vllm.exceptions import VLLMClientError

        try:
            self._engine.add_request(request.name, request.prompt, request.sampling())
        except (VLLMClientError, ValueError) as error:
            raise InputError(f"vLLM rejects the request: {_line(error)}") from error
        live[request.name] = request.reply

    def _drop_unwanted(self, live: dict[str, VllmReply]) -> None:
        unwanted = [name for name, reply in live.items() if reply.is_unwanted]
        if unwanted:
            self._engine.abort_request(unwanted)
            for name in unwanted:
                del live[name]

    def _xargs(self, controller: Controller) -> Xargs:
        xargs = xargs_of(controller)
        reflection = str(xargs.get("ssc_reflection", ""))
        if "".join(self._table.spelled(self._cut("", reflection))) != reflection:
            raise InputError(
                f"the tokenizer of {self.model} has no tokens for {reflection!r}: give another reflection"
            )
        return xargs

    def _check(self, params: SamplingParams) -> None:
        if params.n_logprobs > self._max_logprobs >= 0:
            raise InputError(
                f"n_logprobs is {params.n_logprobs}, and vLLM gives {self._max_logprobs} at most: use a"
                " smaller number, or raise its option max_logprobs"
            )

    def _prompt(self, messages: Sequence[Message], thinking: bool | None) -> list[int]:
        text = chat_text(self._tokenizer, messages, thinking, self.model)
        tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return tokens

    def _step(self, live: dict[str, VllmReply]) -> tuple[int, list[VllmReply]]:
        """Run one decoding step of vLLM; return how many tokens came, and the replies that have ended."""
        from vllm.exceptions import VLLMServerError

        try:
            outputs = self._engine.step()
        except (VLLMServerError, RuntimeError) as error:
            raise EngineError(f"vLLM failed while sampling: {_line(error)}") from error
        n_new, finished = 0, []
        for output in outputs:
            reply = live.get(output.request_id)
            if reply is None:
                continue
            n_new += reply.add(output.outputs[0])
            if output.finished:
                finished.append(live.pop(output.request_id))
        return n_new, finished


class _Request(NamedTuple):
    """One trajectory that can be submitted."""

    name: str
    prompt: Any
    sampling: Callable[[], Any]
    """Makes vLLM's parameters, or raises its error about them."""

    reply: VllmReply


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
