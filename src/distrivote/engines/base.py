"""What every engine takes and gives.

An engine turns one prompt into trajectories. `SamplingParams` says how; `Engine` is the seam. Engines
differ in how they get there, not in what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from distrivote.confidence.tokens import DEFAULT_K
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How trajectories are sampled. The defaults are the paper's for thinking models."""

    temperature: float = 0.6
    """0 takes the most probable token every time."""

    top_p: float = 0.95
    top_k: int = 0
    """0 for no limit."""

    min_p: float = 0.0
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    """A trajectory ends where one of these would begin; it is not part of the text."""

    seed: int = 0
    """Trajectory i draws from its own stream of random numbers, made from (seed, i)."""

    n_logprobs: int = 20
    """How many of the most probable tokens are recorded at each position; confidences use 20 at most."""

    thinking: bool | None = None
    """The chat template's switch for thinking models; None leaves it as the template has it."""

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
        """How many of them a token's confidence is made of, wherever it is used."""
        return min(self.n_logprobs, DEFAULT_K)


def _require(fits: bool, name: str, value: object, allowed: str) -> None:
    if not fits:
        raise InputError(f"{name} is {value}: give {allowed}")


class Progress(NamedTuple):
    """How far a call has come, for displays."""

    n_tokens: int
    """Sampled so far, in finished and unfinished trajectories."""

    n_live: int
    n_reflections: int


def _never() -> bool:
    return False


class Job(NamedTuple):
    """One prompt, and which of its trajectories to sample."""

    messages: Sequence[Message]
    params: SamplingParams
    indices: Sequence[int]
    """The trajectories' numbers; with the seed they choose the random streams."""

    over: Callable[[], bool] = _never
    """Whether no more of its trajectories are wanted. Engines ask it now and then, from any thread, and then
    begin no more of them and drop those that are under way, as far as they can."""


class Sampled(NamedTuple):
    """One finished trajectory of several jobs."""

    job: int
    """Which of the jobs it belongs to."""

    trajectory: Trajectory


class Engine(Protocol):
    """Samples trajectories."""

    @property
    def name(self) -> str:
        """What kind of engine it is: embedded, vllm, ..."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def concurrent(self) -> bool:
        """Whether calls may overlap; an engine that says no refuses a second call while one is open."""
        ...

    def sample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> Generator[Trajectory]:
        """Yield n trajectories as they finish; closing the iterator cancels the rest.

        `indices` are the trajectories' numbers, 0 to n - 1 if not given: they choose the random
        streams. `watch` is called now and then, between tokens.
        """
        ...

    def sample_all(
        self,
        jobs: Sequence[Job],
        controller: Controller | None = None,
        *,
        watch: Callable[[Progress], None] | None = None,
    ) -> Generator[Sampled]:
        """Yield the trajectories of all jobs as they finish, in any order.

        An engine that has room for more than one prompt's trajectories mixes them; the progress is that
        of all jobs together. Of a job that is `over` some may still come.
        """
        ...

    def close(self) -> None:
        """Give back what it holds. Sampling must be over: its iterator at its end, or closed."""
        ...


def in_turn(
    engine: Engine,
    jobs: Sequence[Job],
    controller: Controller | None = None,
    *,
    watch: Callable[[Progress], None] | None = None,
) -> Generator[Sampled]:
    """Do one job after the other, for engines that have room for one prompt at a time."""
    before = latest = Progress(0, 0, 0)

    def seen(progress: Progress) -> None:
        nonlocal latest
        latest = Progress(
            before.n_tokens + progress.n_tokens,
            progress.n_live,
            before.n_reflections + progress.n_reflections,
        )
        if watch is not None:
            watch(latest)

    for number, job in enumerate(jobs):
        if job.over():
            continue
        samples = engine.sample(
            job.messages, len(job.indices), job.params, controller, indices=job.indices, watch=seen
        )
        with closing(samples):
            for trajectory in samples:
                yield Sampled(number, trajectory)
                if job.over():
                    break
        before = latest
