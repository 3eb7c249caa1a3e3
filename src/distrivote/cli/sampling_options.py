"""The shared options of sampling, in groups: which model, and how its trajectories are sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.defaults import (
    ALPHA,
    DELTA,
    MAX_TOKENS,
    MAX_TOKENS_BUILT_IN,
    MAX_TOKENS_LARGE,
    MIN_P,
    N_PARALLEL,
    N_SLOTS,
    REFLECTION,
    SEED,
    SPLIT,
    TEMPERATURE,
    TOP_K,
    TOP_P,
)

if TYPE_CHECKING:
    from distrivote.benchmarks.shard import Shard
    from distrivote.engines.base import SamplingParams
    from distrivote.engines.choice import EngineChoice
    from distrivote.generation.cluster import Cluster
    from distrivote.steering import Controller, SelfStepConf

_MODEL, _SAMPLING = "Model", "Sampling"

Model = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="A GGUF file, hf:ORG/REPO/FILE or the built-in smollm2-135m; for a server the name of its"
        " model, for vllm and transformers a folder or ORG/NAME. A,B: models of servers that vote together,"
        " one for each --base-url.",
        show_default=False,
    ),
]
BaseUrl = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URL",
        help="An OpenAI-compatible server; repeat it for several.",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="The server's key; OPENAI_API_KEY by default.",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where steps end: paragraph (the default), line, exact, window:N, entropy, or"
        " package.module:function.",
        show_default=False,
    ),
]
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
ExtraBody = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        help='openai: fields added to every request, as in \'{"provider": {"require_parameters": true}}\'.',
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        metavar="'NAME: VALUE'",
        help="openai: a header added to every request; repeat it for several.",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
ReasoningEffort = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="openai: how much a model thinks, in its host's words: none, low, medium, high, ...",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
Ssc = Annotated[
    bool | None,
    typer.Option(
        "--ssc/--no-ssc",
        help="Reflect where confidence drops (SelfStepConf). On by default if the engine supports it; with"
        " --ssc an engine that does not is an error.",
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
Guard = Annotated[
    bool, typer.Option("--guard/--no-guard", help="Reflect once instead of ending with low confidence.")
]
AsPublished = Annotated[
    bool,
    typer.Option(
        "--as-published",
        help="As the authors' released code does it (see docs/method.md), to compare with their numbers:"
        " by default with --split exact; not with servers.",
    ),
]
SteeringName = Annotated[
    str | None,
    typer.Option(
        "--steering",
        metavar="NAME",
        help="A custom controller instead of SelfStepConf: package.module:object.",
        show_default=False,
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
class ModelOptions(OptionGroup):
    """Which engine with which model."""

    panel: ClassVar[str] = _MODEL

    model: Model = None
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="embedded, openai (any compatible server; OPENAI_BASE_URL without --base-url), vllm or"
            " transformers, or package.module:object; by default openai with --base-url, else embedded.",
            show_default=False,
        ),
    ] = None
    base_url: BaseUrl = None
    api_key: ApiKey = None
    slots: Annotated[
        int | None,
        typer.Option(metavar="N", help=f"embedded: trajectories decoded together, {N_SLOTS} by default."),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="embedded: threads for decoding; by default all or half of the processors."
        ),
    ] = None
    parallel: Annotated[
        int | None,
        typer.Option(
            metavar="N", help=f"openai: maximum number of trajectories in progress, {N_PARALLEL} by default."
        ),
    ] = None
    extra_body: ExtraBody = None
    header: Header = None
    reasoning_effort: ReasoningEffort = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="An argument of the engine, such as tensor_parallel_size=2, device=cuda or n_parallel=256.",
            show_default=False,
        ),
    ] = None

    def choice_of_one(self) -> EngineChoice:
        """Return the engine for a run, whose rows do not say which model they are of."""
        from distrivote.errors import InputError

        choice = self.choice()
        if choice.models:
            raise InputError(
                f"a run is of one model, and these are {choice.model}",
                hint="sample a run with each, and merge them",
            )
        return choice

    def choice(self) -> EngineChoice:
        """Return the engine that the options describe."""
        from distrivote.engines.choice import EngineChoice, parse_options
        from distrivote.engines.openai.extras import header_of, parse_body
        from distrivote.errors import InputError

        urls = self.base_url or ()
        name = EngineChoice.of(self.engine, self.model, urls, self.api_key, {}).engine
        own = {
            "n_slots": ("--slots", "embedded", self.slots),
            "n_threads": ("--threads", "embedded", self.threads),
            "n_parallel": ("--parallel", "openai", self.parallel),
            "extra_body": ("--extra-body", "openai", parse_body(self.extra_body)),
            "headers": ("--header", "openai", dict(map(header_of, self.header)) if self.header else None),
            "reasoning_effort": ("--reasoning-effort", "openai", self.reasoning_effort),
        }
        given = parse_options(self.option or ())
        for argument, (option, needed, value) in own.items():
            if value is not None and name != needed:
                raise InputError(f"{option} is for the {needed} engine, and this is {name}: leave it out")
            if value is not None:
                given[argument] = value
        return EngineChoice.of(self.engine, self.model, urls, self.api_key, given)


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
class SteeringOptions(OptionGroup):
    """How SelfStepConf reflects."""

    panel: ClassVar[str] = "SelfStepConf"

    ssc: Ssc = None
    alpha: Annotated[
        float, typer.Option(metavar="X", help="The share of the threshold kept at each step.")
    ] = ALPHA
    delta: Annotated[float, typer.Option(metavar="X", help="Reflect below this share of the threshold.")] = (
        DELTA
    )
    reflection: Annotated[str, typer.Option(metavar="TEXT", help="The text to inject.")] = REFLECTION
    split: Split = None
    guard: Guard = False
    as_published: AsPublished = False
    steering: SteeringName = None

    def controller(self) -> Controller | None:
        """Return the controller that the options describe; None without --ssc."""
        from distrivote.errors import InputError
        from distrivote.steering import steering_of

        if self.steering is not None:
            if self.ssc or self.as_published:
                raise InputError(
                    "--steering takes the place of SelfStepConf: leave out --ssc and --as-published, or"
                    " --steering"
                )
            return steering_of(self.steering)
        return self.reflecting(self.ssc)

    def reflecting(self, ssc: bool | None) -> SelfStepConf | None:
        """Return SelfStepConf with these options; None if it is off."""
        from distrivote.errors import InputError
        from distrivote.splitting import splitter
        from distrivote.steering import SelfStepConf

        if self.as_published and ssc is False:
            raise InputError(
                "--as-published says how SelfStepConf reflects, and SelfStepConf is off: leave it or --no-ssc"
                " and --deepconf out"
            )
        steps = splitter(self.split or ("exact" if self.as_published else SPLIT))
        if ssc is False:
            return None
        settings = (self.alpha, self.delta, self.reflection, self.split, self.guard, self.as_published)
        is_usual = settings == (ALPHA, DELTA, REFLECTION, None, False, False)
        return SelfStepConf(
            *(self.alpha, self.delta, self.reflection, steps, self.guard, self.as_published),
            optional=ssc is None and is_usual,
        )


@dataclass(frozen=True, slots=True)
class OnlineOptions(SteeringOptions):
    """How trajectories are steered: by SelfStepConf, DeepConf or online DistriVoting."""

    panel: ClassVar[str] = "SelfStepConf, and ending trajectories"

    deepconf: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="End trajectories that are less confident than those of a warm-up: low or high, low:512 for"
            " windows of 512 tokens. It replaces SelfStepConf (see docs/stopping.md).",
            show_default=False,
        ),
    ] = None

    online: Annotated[
        bool,
        typer.Option(
            "--online",
            help="End trajectories that fall below the likely right ones of a warm-up (online DistriVoting);"
            " with --ssc they reflect first.",
        ),
    ] = False

    def chosen(self) -> Controller | None:
        """Return the controller of the trajectories; None for plain sampling."""
        from distrivote.errors import InputError
        from distrivote.splitting import splitter
        from distrivote.steering import DistriVotingOnline, SelfStepConf
        from distrivote.steering.deepconf import online_rule

        deepconf = online_rule(self.deepconf)
        if deepconf is not None and self.online:
            raise InputError(
                "online DistriVoting and DeepConf both end trajectories",
                hint="leave out `online` or `deepconf`",
                argument="online",
            )
        ends = deepconf is not None or self.online
        if ends and self.steering is not None:
            other = "deepconf" if self.online is False else "online"
            raise InputError(
                f"`steering` and `{other}` both steer trajectories",
                hint="leave out one of them",
                argument="steering",
            )
        if not ends:
            return self.controller()
        reflecting = self.reflecting(bool(self.ssc) and deepconf is None)
        if deepconf is not None:
            return deepconf
        plain = SelfStepConf(delta=0.0, split=splitter(self.split or SPLIT))
        return DistriVotingOnline(steps=reflecting or plain)


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
