"""The options of sampling that commands share: how trajectories are sampled, and on which machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.defaults import (
    MAX_TOKENS,
    MAX_TOKENS_BUILT_IN,
    MAX_TOKENS_LARGE,
    MIN_P,
    SEED,
    TEMPERATURE,
    TOP_K,
    TOP_P,
)

if TYPE_CHECKING:
    from distrivote.benchmarks.shard import Shard
    from distrivote.engines.base import SamplingParams
    from distrivote.engines.choice import EngineChoice
    from distrivote.generation.cluster import Cluster

_SAMPLING = "Sampling"

Seed = Annotated[
    int,
    typer.Option(
        metavar="N", help="Random seed; the same seed gives the same trajectories.", rich_help_panel=_SAMPLING
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help=f"The longest trajectory; {MAX_TOKENS_BUILT_IN} for the built-in model, {MAX_TOKENS} for other"
        f" GGUF files, else {MAX_TOKENS_LARGE}.",
        show_default=False,
    ),
]
Thinking = Annotated[
    bool | None,
    typer.Option(
        "--thinking/--no-thinking",
        help="Switch a thinking model's thinking on or off.",
        show_default=False,
        rich_help_panel=_SAMPLING,
    ),
]
StopWhen = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Stop sampling once the vote is settled: gain, sure, anytime, ... (see docs/stopping.md), or"
        " package.module:function.",
        show_default=False,
        rich_help_panel=_SAMPLING,
    ),
]


@dataclass(frozen=True, slots=True)
class SamplingOptions(OptionGroup):
    """How trajectories are sampled."""

    panel: ClassVar[str] = _SAMPLING

    temperature: Annotated[float, typer.Option(metavar="X", help="Sampling temperature.")] = TEMPERATURE
    top_p: Annotated[
        float, typer.Option(metavar="X", help="Sample from the most likely tokens of this total probability.")
    ] = TOP_P
    top_k: Annotated[int, typer.Option(metavar="N", help="Sample from the N most likely tokens; 0: all.")] = (
        TOP_K
    )
    min_p: Annotated[
        float, typer.Option(metavar="X", help="Leave out tokens below this share of the highest probability.")
    ] = MIN_P
    max_tokens: MaxTokens = None
    thinking: Thinking = None
    seed: Seed = SEED

    def params(self, choice: EngineChoice) -> SamplingParams:
        """Return the settings; the default length limit is the engine's."""
        return self.params_for(choice.default_max_tokens)

    def params_for(self, max_tokens: int) -> SamplingParams:
        """Return the settings, with this default length limit."""
        from distrivote.engines.base import SamplingParams

        return SamplingParams(
            *(self.temperature, self.top_p, self.top_k, self.min_p),
            max_tokens=max_tokens if self.max_tokens is None else self.max_tokens,
            seed=self.seed,
            thinking=self.thinking,
        )


@dataclass(frozen=True, slots=True)
class MachineOptions(OptionGroup):
    """How several processes or machines share the sampling of a run."""

    panel: ClassVar[str] = "Machines"

    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Sample only shard I of N: every N-th question; other processes sample the others.",
            show_default=False,
        ),
    ] = None
    processes: Annotated[
        int, typer.Option(metavar="N", help="Processes that read from the servers, with one that writes.")
    ] = 1
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS]",
            help="Sample on a Ray cluster; without an address one is started on this machine.",
            show_default=False,
        ),
    ] = None
    workers: Annotated[int, typer.Option(metavar="N", help="Ray: maximum number of engines.")] = 1
    worker_cpus: Annotated[float, typer.Option(metavar="X", help="Ray: processors per engine.")] = 1.0
    worker_gpus: Annotated[float, typer.Option(metavar="X", help="Ray: GPUs per engine.")] = 0.0

    def share(self) -> Shard:
        from distrivote.benchmarks.shard import Shard

        return Shard.parse(self.shard)

    def cluster(self) -> Cluster | None:
        from distrivote.generation.cluster import Cluster

        if self.ray is None:
            return None
        return Cluster(self.ray, self.workers, self.worker_cpus, self.worker_gpus)
