"""The options that name a model: an engine, its server and its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.defaults import N_PARALLEL, N_SLOTS

if TYPE_CHECKING:
    from distrivote.engines.choice import EngineChoice

_MODEL = "Model"

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
