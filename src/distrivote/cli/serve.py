"""`distrivote serve`: an OpenAI-compatible address that answers with a vote, and a page to watch it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from distrivote.cli.messages import say
from distrivote.cli.options import (
    BaseUrl,
    CalibrationFile,
    EngineName,
    MaxTokens,
    Measured,
    Method,
    Model,
    Option,
    Parallel,
    Same,
    Slots,
    Ssc,
    Threads,
    calibration_of,
    engine_of,
)
from distrivote.defaults import METHOD
from distrivote.errors import EngineError, MissingPackageError

if TYPE_CHECKING:
    from distrivote.engines.choice import EngineChoice
    from distrivote.server.settings import Settings


def serve(
    model: Model = None,
    engine: EngineName = None,
    base_url: BaseUrl = None,
    upstream_key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", help="Of the server at --base-url; OPENAI_API_KEY if not said.", show_default=False
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="NAME", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Where to listen; 0: any that is free.")] = 8765,
    api_key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            envvar="DISTRIVOTE_API_KEY",
            help="What clients have to send; needed for hosts that others can reach.",
            show_default=False,
            show_envvar=False,
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Trajectories where a request does not say it, 32 if not said.",
            show_default=False,
        ),
    ] = None,
    max_budget: Annotated[
        int, typer.Option(metavar="N", help="The most trajectories that a request may ask for.")
    ] = 256,
    max_concurrency: Annotated[
        int, typer.Option(metavar="N", help="Requests under way at most; others get 429.")
    ] = 16,
    method: Method = METHOD,
    signal: Measured = None,
    ssc: Ssc = True,
    min_probability: Annotated[
        float,
        typer.Option(
            metavar="P",
            help="Withhold an answer that is less probable than this (0 to 1); the server's default, a"
            " request may say another.",
        ),
    ] = 0.0,
    calibration: CalibrationFile = None,
    max_tokens: MaxTokens = None,
    template: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How the page puts a question: math, choice, plain or worked."),
    ] = None,
    same: Same = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A stored run that the page can open.", show_default=False),
    ] = None,
    slots: Slots = None,
    threads: Threads = None,
    parallel: Parallel = None,
    option: Option = None,
) -> None:
    """Serve an OpenAI-compatible address that answers with a vote, and a page to watch it.

    A program that speaks the OpenAI API gets a vote by changing its base URL to http://HOST:PORT/v1; a
    person opens http://HOST:PORT. Without --base-url or --engine a small model runs in this process.
    Settings of the vote go into extra_body={"distrivote": {...}} or the model name, as in
    auto@16/MODEL. Ctrl-C ends it.

    The default, --method auto, is DistriVoting unless votes and confidences together speak for another
    answer; --method dis-gmm is the paper's own. auto learns with every question how far this model's
    confidences are to be trusted.
    """
    from importlib.util import find_spec

    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise MissingPackageError(package, "server", "distrivote serve")
    from distrivote.server.settings import check_host
    from distrivote.store.signal_columns import measure_of
    from distrivote.voting.methods import parse_method

    api_key = api_key or None  # a variable that is set to nothing
    check_host(host, api_key)
    pipeline = parse_method(method).name
    measure = None if signal is None else measure_of(signal)
    choice = engine_of(engine, model, base_url, upstream_key, option, slots, threads, parallel)
    believed = calibration_of(calibration, min_probability)
    settings = _settings(choice, api_key, budget, max_budget, max_concurrency, max_tokens, template, run)
    settings = replace(
        settings,
        same=same,
        measure=measure,
        ssc=ssc,
        min_probability=min_probability,
        calibration=believed,
    )
    _serve(choice, pipeline, settings, host, port)


def _settings(
    choice: EngineChoice,
    api_key: str | None,
    budget: int | None,
    max_budget: int,
    max_concurrency: int,
    max_tokens: int | None,
    template: str | None,
    run: str | None,
) -> Settings:
    """Return the settings that the options describe; a run is looked at before a model is loaded."""
    from pathlib import Path

    from distrivote.server.settings import LOOPBACK, Settings

    if run is not None:
        from distrivote.store.runs.run import Run

        Run.open(run)
    usual = choice.default_max_tokens if max_tokens is None else max_tokens
    return Settings(
        api_key=api_key,
        budget=min(32, max_budget) if budget is None else budget,
        max_budget=max_budget,
        max_concurrency=max_concurrency,
        max_tokens=usual,
        # The embedded engine holds the memory of all trajectories at their longest.
        max_tokens_limit=max(usual, 4096 if choice.engine == "embedded" else 131_072),
        template=template or choice.default_template,
        run=None if run is None else Path(run),
        hosts=LOOPBACK if api_key is None else (),
    )


def _serve(choice: EngineChoice, method: str, settings: Settings, host: str, port: int) -> None:
    import socket
    from contextlib import closing

    import uvicorn

    from distrivote.engines.choice import open_engine
    from distrivote.server.app import create_app
    from distrivote.server.connections import PatientProtocol

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except (OSError, OverflowError) as error:
            raise EngineError(f"can't listen on {host} port {port} ({error}): give another --port") from error
        with closing(open_engine(choice, say=say, note=say)) as engine:
            shown = f"[{host}]" if ":" in host else host
            address = f"http://{shown}:{listening.getsockname()[1]}"
            app = create_app(engine, method, settings)
            listening.listen(128)  # whoever reads the address may connect at once
            say(f"{engine.model} ({engine.name}), {method}: open {address}, or point clients to {address}/v1")
            config = uvicorn.Config(
                app,
                http=PatientProtocol,
                log_level="warning",
                # Streams of clients that stay connected should not keep the server from ending.
                timeout_graceful_shutdown=5,
                server_header=False,
            )
            uvicorn.Server(config).run(sockets=[listening])
