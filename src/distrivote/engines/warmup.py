"""Trajectories in two phases: a warm-up that runs whole, then the rest under a rule made from it.

The rest is begun when the whole warm-up is there. The numbers of the trajectories, and so their random
streams, are those of one call.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from distrivote.confidence import measure_named
from distrivote.engines.base import Engine, Progress, SamplingParams
from distrivote.problem import Message
from distrivote.steering import DeepConfOnline
from distrivote.trajectory import Trajectory


def sample_after_warmup(
    engine: Engine,
    messages: Sequence[Message],
    n: int,
    params: SamplingParams,
    controller: DeepConfOnline,
    *,
    watch: Callable[[Progress], None] | None = None,
) -> Generator[Trajectory]:
    """Yield n trajectories as they finish; closing the iterator cancels the rest."""
    before = latest = Progress(0, 0, 0)

    def seen(progress: Progress) -> None:
        nonlocal latest
        latest = Progress(before.n_tokens + progress.n_tokens, progress.n_live, 0)
        if watch is not None:
            watch(latest)

    measure = measure_named(controller.measure)
    lowest: list[float] = []
    n_first = min(controller.n_warmup, n)
    with closing(engine.sample(messages, n_first, params, controller, watch=seen)) as samples:
        for trajectory in samples:
            lowest.append(measure.of(trajectory, k=params.k).value)
            yield trajectory
    if n_first == n:
        return
    before, rest = latest, range(n_first, n)
    ending = controller.after(lowest)
    with closing(engine.sample(messages, len(rest), params, ending, indices=rest, watch=seen)) as samples:
        yield from samples
