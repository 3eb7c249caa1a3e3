"""What every engine takes, gives and shares.

An engine turns prompts into trajectories. `SamplingParams` says how, and `Engine` is the interface; its
optional parts are in `abilities`. `BaseEngine` has what engines share, so a custom engine is one method:

    class Mine(BaseEngine):
        name, model = "mine", "my-model"

        def sample_job(self, job, controller, watch):
            for index in job.indices:
                text = my_model(job.messages, seed=(job.params.seed, index))
                yield Trajectory(text, index=index)
"""

from __future__ import annotations

import threading
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

from distrivote.confidence.tokens import DEFAULT_K
from distrivote.defaults import (
    MAX_TOKENS,
    MAX_TOKENS_LIMIT,
    MIN_P,
    SEED,
    TEMPERATURE,
    TEMPLATE,
    TOP_K,
    TOP_P,
    K,
)
from distrivote.engines.feed import Feed, Taken
from distrivote.errors import DistrivoteError, InputError
from distrivote.problem import Message
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How trajectories are sampled. The defaults are the paper's for thinking models."""

    temperature: float = TEMPERATURE
    """0 always selects the most probable token."""

    top_p: float = TOP_P
    top_k: int = TOP_K
    """0 for no limit."""

    min_p: float = MIN_P
    max_tokens: int = MAX_TOKENS
    stop: tuple[str, ...] = ()
    """A trajectory ends where one of these would begin; it is not part of the text."""

    seed: int = SEED
    """Trajectory i draws from its own stream of random numbers, made from (seed, i)."""

    n_logprobs: int = K
    """How many of the most probable tokens are recorded at each position; confidences use 20 at most."""

    thinking: bool | None = None
    """The chat template's switch for thinking models; None leaves it as the template has it."""

    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Additional fields of the requests to an OpenAI-compatible server; other engines ignore them."""

    left_out: tuple[str, ...] = ()
    """Fields that an OpenAI-compatible server is not sent, so that its own defaults hold: of those above, and
    repetition_penalty. Without `max_tokens` a reply may have `MAX_TOKENS_LIMIT` tokens; steering still uses
    `max_tokens`. Other engines ignore it."""

    def __post_init__(self) -> None:
        _require(0 <= self.temperature <= 100, "temperature", self.temperature, "from 0 to 100")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "above 0 and up to 1")
        _require(self.top_k >= 0, "top_k", self.top_k, "0 (no limit) or more")
        _require(0 <= self.min_p <= 1, "min_p", self.min_p, "from 0 to 1")
        _require(self.max_tokens >= 1, "max_tokens", self.max_tokens, "1 or more")
        _require(self.seed >= 0, "seed", self.seed, "0 or more")
        _require(2 <= self.n_logprobs <= 1000, "n_logprobs", self.n_logprobs, "from 2 to 1000")
        _require(all(self.stop), "stop", self.stop, "strings that are not empty")

    @property
    def k(self) -> int:
        """The number of log-probabilities that a token's confidence is computed from."""
        return min(self.n_logprobs, DEFAULT_K)

    @property
    def longest(self) -> int:
        """The tokens after which a server's reply is cut."""
        return max(self.max_tokens, MAX_TOKENS_LIMIT) if "max_tokens" in self.left_out else self.max_tokens


def _require(fits: bool, name: str, value: object, allowed: str) -> None:
    if not fits:
        raise InputError(f"{name} is {value}", hint=f"give {allowed}", argument=name)


@dataclass(frozen=True, slots=True)
class Partial:
    """The current state of a trajectory in progress."""

    index: int
    text: str


class Progress(NamedTuple):
    """The progress of a call, for displays."""

    n_tokens: int
    """Sampled so far, in finished and unfinished trajectories."""

    n_live: int
    n_reflections: int
    partial: Callable[[], Partial | None] | None = None
    """Returns one of those in progress, the same one until it has finished; None if the engine has no texts
    before the end. It may be called from any thread."""


Watch: TypeAlias = Callable[[Progress], None]
"""Called regularly while sampling; an exception that it raises ends the call."""


def _never() -> bool:
    return False


def always() -> bool:
    return True


class Job(NamedTuple):
    """One prompt, and which of its trajectories to sample."""

    messages: Sequence[Message]
    params: SamplingParams
    indices: Sequence[int]
    """The trajectories' numbers; together with the seed they determine the random streams."""

    over: Callable[[], bool] = _never
    """Returns true when no more of its trajectories are wanted. Engines call it regularly, from any thread;
    they then start no more of them and drop those that are in progress, as far as they can."""

    controller: Controller | None = None
    """The controller of its trajectories, if not that of the call; of the same type."""

    take: Callable[[], bool] = always
    """Called once, from any thread, before the first of its trajectories is started; false: another process
    samples them, so none is started. It may take long. An engine that does not call it does work twice."""

    def steered_by(self, usual: Controller | None) -> Controller | None:
        """Return the controller of its trajectories, given that of the call; None if there is none."""
        return usual if usual is None or self.controller is None else self.controller


class Sampled(NamedTuple):
    """One finished trajectory of several jobs."""

    job: int
    """Which of the jobs it belongs to."""

    trajectory: Trajectory


class Refused(NamedTuple):
    """A job that can't be sampled, in place of its trajectories."""

    job: int
    error: InputError


class Engine(Protocol):
    """Samples trajectories."""

    @property
    def name(self) -> str:
        """The kind of engine: embedded, vllm, ..."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def concurrent(self) -> bool:
        """Whether calls may overlap; if not, a second call while one is open is an error."""
        ...

    def sample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> Generator[Trajectory]:
        """Yield n trajectories as they finish; closing the iterator cancels the rest.

        `indices` are the trajectories' numbers, 0 to n - 1 if not given: they determine the random
        streams. `watch` is called regularly, between tokens.
        """
        ...

    def sample_all(
        self,
        jobs: Sequence[Job],
        controller: Controller | None = None,
        *,
        watch: Watch | None = None,
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish, in any order.

        An engine that can sample for more than one prompt at a time interleaves them; the progress covers
        all jobs together. A job that is `over` may still yield a few.
        """
        ...

    def close(self) -> None:
        """Free what the engine holds. Every iterator must be exhausted or closed before."""
        ...


class BaseEngine:
    """A base class for engines that sample for one prompt after the other.

    A subclass defines `name`, `model` and `sample_job`, and `release` if there is something to free. It
    inherits the rest of `Engine`, `with`, and errors for calls that overlap or come after `close`.
    """

    name: str
    model: str
    template: str = TEMPLATE
    """How a plain question is put to the model."""

    concurrent: ClassVar[bool] = False
    _is_busy = False
    _is_closed = False

    def sample_job(
        self, job: Job, controller: Controller | None, watch: Watch | None
    ) -> Iterator[Trajectory]:
        """Yield the trajectories of one prompt, numbered by `job.indices`, as they finish."""
        raise NotImplementedError

    def release(self) -> None:
        """Free what the engine holds; called once, by `close`."""

    def sample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Watch | None = None,
    ) -> Generator[Trajectory]:
        """Yield n trajectories as they finish; closing the iterator cancels the rest."""
        with self._call():
            yield from self.sample_job(job_of(messages, n, params, indices), controller, watch)

    def sample_all(
        self,
        jobs: Sequence[Job],
        controller: Controller | None = None,
        *,
        watch: Watch | None = None,
    ) -> Generator[Sampled]:
        """Yield the trajectories of one job after the other."""
        return in_turn(self, jobs, controller, watch=watch)

    def sample_fed(
        self, feed: Feed, controller: Controller | None = None, *, watch: Watch | None = None
    ) -> Generator[Sampled | Refused]:
        """Yield the trajectories of jobs that may be added meanwhile, until the feed is closed.

        Here one job is sampled after the other; an engine that can do better takes the next job when it has
        room for it.
        """
        return _each(self, feed, controller, watch)

    def close(self) -> None:
        """Free what the engine holds. Every iterator must be exhausted or closed before."""
        with _LOCK:
            if self._is_closed:
                return
            self._refuse_if_busy()
            self._is_closed = True
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Hold the engine for one call; an error if it is closed, or busy and not `concurrent`."""
        with _LOCK:
            if self._is_closed:
                raise DistrivoteError("the engine is closed: make a new one")
            self._refuse_if_busy()
            self._is_busy = not self.concurrent
        try:
            yield
        finally:
            # Without the lock: a generator that is garbage-collected ends its call in any thread.
            self._is_busy = False

    def _refuse_if_busy(self) -> None:
        if self._is_busy:
            raise DistrivoteError(
                "the engine is already sampling: finish that call, or close its iterator, before the next one"
            )


_LOCK = threading.Lock()
"""Guards the two flags, held briefly; shared by all engines, so a subclass needs no `super().__init__()`."""


class BatchEngine(BaseEngine):
    """A base class for engines that sample for several prompts together: a subclass defines `sample_jobs`."""

    def sample_jobs(
        self, jobs: Sequence[Job], controller: Controller | None, watch: Watch | None
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish, in any order."""
        raise NotImplementedError

    def sample_job(
        self, job: Job, controller: Controller | None, watch: Watch | None
    ) -> Generator[Trajectory]:
        with closing(self.sample_jobs([job], controller, watch)) as samples:
            for sampled in samples:
                yield sampled.trajectory

    def sample_all(
        self,
        jobs: Sequence[Job],
        controller: Controller | None = None,
        *,
        watch: Watch | None = None,
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish, in any order."""
        with self._call():
            yield from self.sample_jobs(jobs, controller, watch)


def job_of(messages: Sequence[Message], n: int, params: SamplingParams, indices: Sequence[int] | None) -> Job:
    """Return the job for one call: n trajectories, numbered from 0 if no numbers are given."""
    return Job(messages, params, range(n) if indices is None else indices)


def in_turn(
    engine: Engine,
    jobs: Sequence[Job],
    controller: Controller | None = None,
    *,
    watch: Watch | None = None,
) -> Generator[Sampled]:
    """Run one job after the other, for engines that sample for one prompt at a time."""
    with closing(_each(engine, map(Taken, range(len(jobs)), jobs), controller, watch)) as samples:
        for sampled in samples:
            if isinstance(sampled, Refused):
                raise sampled.error
            yield sampled


def _each(
    engine: Engine, jobs: Iterable[Taken], controller: Controller | None, watch: Watch | None
) -> Generator[Sampled | Refused]:
    before = latest = Progress(0, 0, 0)

    def seen(progress: Progress) -> None:
        nonlocal latest
        latest = Progress(
            before.n_tokens + progress.n_tokens,
            progress.n_live,
            before.n_reflections + progress.n_reflections,
            progress.partial,
        )
        if watch is not None:
            watch(latest)

    for number, job in jobs:
        if job.over() or not job.take():
            continue
        samples = engine.sample(
            *(job.messages, len(job.indices), job.params, job.steered_by(controller)),
            indices=job.indices,
            watch=seen,
        )
        try:
            with closing(samples):
                for trajectory in samples:
                    yield Sampled(number, trajectory)
                    if job.over():
                        break
        except InputError as error:
            yield Refused(number, error)
        before = latest
