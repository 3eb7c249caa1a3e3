"""`distrivote serve`: an OpenAI-compatible address that answers with a vote, and a page to watch it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.answer_options import Answer, RunCode, Same
from distrivote.cli.costs import CostOptions, affordable
from distrivote.cli.groups import OptionGroup, grouped
from distrivote.cli.messages import say
from distrivote.cli.model_options import ModelOptions
from distrivote.cli.options import BeliefOptions, MethodOptions
from distrivote.cli.sampling_options import MaxTokens
from distrivote.cli.steering_options import Ssc, SteeringName
from distrivote.cli.words import worded
from distrivote.defaults import (
    ANSWER,
    BUDGET,
    HOST,
    LOG_LEVEL,
    MAX_CONCURRENCY,
    MAX_TOKENS_LIMIT,
    MAX_TOKENS_LIMIT_EMBEDDED,
    PORT,
    SERVER_MAX_BUDGET,
)
from distrivote.errors import (
    DistrivoteError,
    EngineError,
    MissingPackageError,
    UnknownNameError,
    reworded,
)

if TYPE_CHECKING:
    from distrivote.engines.base import Engine
    from distrivote.engines.choice import EngineChoice
    from distrivote.server.settings import Settings


LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class UpstreamOptions(ModelOptions):
    """Which engine with which model, where --api-key is what clients send."""

    api_key: Annotated[
        str | None,
        typer.Option(
            "--upstream-key",
            metavar="KEY",
            help="The key of the server at --base-url; OPENAI_API_KEY by default.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ServerOptions(OptionGroup):
    """Where the server listens, and the limits of requests."""

    panel: ClassVar[str] = "Server"

    host: Annotated[str, typer.Option(metavar="NAME", help="The address to listen on.")] = HOST
    port: Annotated[int, typer.Option(metavar="N", help="The port to listen on; 0: any free port.")] = PORT
    client_key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            metavar="KEY",
            envvar="DISTRIVOTE_API_KEY",
            help="The key that clients have to send; required for hosts that other machines can reach.",
            show_default=False,
            show_envvar=False,
        ),
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=f"Default number of trajectories per question, {BUDGET} if not given.",
            show_default=False,
        ),
    ] = None
    max_budget: Annotated[
        int, typer.Option(metavar="N", help="The most trajectories that a request may ask for.")
    ] = SERVER_MAX_BUDGET
    max_concurrency: Annotated[
        int, typer.Option(metavar="N", help="Maximum number of requests in progress; others get 429.")
    ] = MAX_CONCURRENCY
    max_tokens: MaxTokens = None
    ssc: Ssc = None
    steering: SteeringName = None
    template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The prompt template of the page: auto, math, choice, plain or worked."
        ),
    ] = None
    answer: Answer = ANSWER
    run_code: RunCode = False
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse what can't be voted on instead of forwarding it, and replies without any answer.",
        ),
    ] = False
    forward: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Forward this path too, besides embeddings, moderations and rerank; repeat it for several.",
            show_default=False,
        ),
    ] = None
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Let web pages of this origin use the server, as in https://example.com; repeatable.",
            show_default=False,
        ),
    ] = None
    log_level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            help="What is logged: info (a line per request), debug (for page files too), warning, error.",
        ),
    ] = LOG_LEVEL
    run: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A stored run that the page can open.", show_default=False),
    ] = None

    def settings(self, choice: EngineChoice) -> Settings:
        """Return the settings that the options describe; a run is checked before a model is loaded."""
        from distrivote.server.settings import LOOPBACK, Settings, check_host

        key = self.client_key or None  # an environment variable that is set but empty
        check_host(self.host, key)
        if self.run is not None:
            from distrivote.store.runs.run import Run

            Run.open(self.run)
        usual = choice.default_max_tokens if self.max_tokens is None else self.max_tokens
        longest = MAX_TOKENS_LIMIT_EMBEDDED if choice.engine == "embedded" else MAX_TOKENS_LIMIT
        return Settings(
            api_key=key,
            budget=min(BUDGET, self.max_budget) if self.budget is None else self.budget,
            max_budget=self.max_budget,
            max_concurrency=self.max_concurrency,
            max_tokens=usual,
            sends_max_tokens=self.max_tokens is not None,
            max_tokens_limit=max(usual, longest),
            template=self.template or choice.default_template,
            run=self.run,
            hosts=LOOPBACK if key is None else (),
            ssc=self.ssc,
            steering=self.steering,
            answer=self.answer,
            run_code=self.run_code,
            strict=self.strict,
            forward=tuple(self.forward or ()),
            allow_origins=tuple(self.allow_origin or ()),
        )


@grouped
def serve(
    model: UpstreamOptions,
    server: ServerOptions,
    vote: MethodOptions,
    belief: BeliefOptions,
    costs: CostOptions,
    same: Same = None,
) -> None:
    """Serve an OpenAI-compatible address that answers with a vote, and a page to watch it.

    A program that speaks the OpenAI API gets a vote by changing its base URL to http://HOST:PORT/v1; a
    person opens http://HOST:PORT. Without --base-url or --engine a small model runs in this process.
    Settings of the vote go into extra_body={"distrivote": {...}} or the model name, as in
    auto@16/MODEL. Ctrl-C stops the server.

    The default, --method auto, is DistriVoting unless votes and confidences together favour another
    answer; --method dis-gmm is the paper's own. auto learns with every question how far this model's
    confidences are to be trusted.
    """
    from importlib.util import find_spec

    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise MissingPackageError(package, "server", "distrivote serve")
    choice = model.choice()
    settings = replace(
        server.settings(choice),
        same=same,
        measure=vote.measure(),
        min_probability=belief.min_probability,
        max_error=belief.max_error,
        calibration=belief.read(),
    )
    belief.least(settings.calibration, [vote.pipeline().name])
    affordable(costs.max_cost, costs.price)
    with _logging(server.log_level):
        _serve(choice, vote.pipeline().name, settings, server.host, server.port, costs)


@contextmanager
def _logging(level: str) -> Iterator[None]:
    """Write the server's log to the standard error stream, while it runs."""
    import logging

    if level not in LOG_LEVELS:
        raise UnknownNameError("log level", level, LOG_LEVELS, argument="log_level")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("distrivote.server")
    log.setLevel(level.upper())
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = True


def _opened(choice: EngineChoice, costs: CostOptions) -> Engine:
    """Return the engine; the key of its server is --upstream-key, because --api-key is for our clients."""
    from distrivote.engines.choice import open_engine

    try:
        return costs.limited(open_engine(choice, say=say, note=lambda text: say(worded(text))))
    except DistrivoteError as error:
        if error.hint is not None:
            rename = {"api_key": "`upstream_key`"}
            error.hint = reworded(error.hint, lambda name, _value: rename.get(name))
        raise


def _serve(
    choice: EngineChoice, method: str, settings: Settings, host: str, port: int, costs: CostOptions
) -> None:
    import socket
    from contextlib import closing

    import uvicorn

    from distrivote.engines.abilities import carried_out
    from distrivote.server.app import create_app
    from distrivote.server.connections import PatientProtocol
    from distrivote.steering import steering_of

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except (OSError, OverflowError) as error:
            raise EngineError(f"can't listen on {host} port {port} ({error}): give another --port") from error
        with closing(_opened(choice, costs)) as engine:
            if settings.ssc is None and carried_out(engine, steering_of("auto")) is None:
                settings = replace(settings, ssc=False)  # shown on the page
            shown = f"[{host}]" if ":" in host else host
            address = f"http://{shown}:{listening.getsockname()[1]}"
            app = create_app(engine, method, settings)
            listening.listen(128)  # a reader of this line may connect at once
            say(f"{engine.model} ({engine.name}), {method}: open {address}, or point clients to {address}/v1")
            config = uvicorn.Config(
                app,
                http=PatientProtocol,
                log_level="warning",
                # Streams of clients that stay connected must not delay the shutdown.
                timeout_graceful_shutdown=5,
                server_header=False,
            )
            uvicorn.Server(config).run(sockets=[listening])
