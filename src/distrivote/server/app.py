"""The application: `create_app` makes the routes for an engine, a method and settings.

Requests share the engine, its queue, the list of models and the counts, and no other state that changes.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from distrivote.answers.kinds import KINDS
from distrivote.answers.mathverify import shared_verifier
from distrivote.defaults import ANSWER, METHOD, SPLIT
from distrivote.engines.base import Engine, SamplingParams
from distrivote.errors import DistrivoteError
from distrivote.prompts import TEMPLATE_NAMES
from distrivote.server.bounds import Bounds
from distrivote.server.chat import answer_chat
from distrivote.server.completions import answer_completion
from distrivote.server.errors import failure_of_validation, failure_reply, json_reply, on_error
from distrivote.server.forwarding import HEADER, PATHS, forward_request, forwards
from distrivote.server.guard import Guard
from distrivote.server.limits import EngineQueue, RequestLimit
from distrivote.server.live import answer_page, steering_json
from distrivote.server.metrics import Metrics
from distrivote.server.model_trust import ModelTrust
from distrivote.server.models import Models
from distrivote.server.questions import Backend
from distrivote.server.readiness import Readiness
from distrivote.server.record import Records
from distrivote.server.reference import STYLE, reference_page
from distrivote.server.replies import Service
from distrivote.server.responses import answer_response
from distrivote.server.runs import question_json, questions_json, run_json, sample_json
from distrivote.server.schemas import (
    AskRequest,
    ChatReply,
    ChatRequest,
    CompletionReply,
    CompletionRequest,
    ErrorReply,
    Fields,
    ModelReply,
    ModelsReply,
    ResponsesReply,
    ResponsesRequest,
    field_names,
)
from distrivote.server.settings import Settings
from distrivote.steering import steering_of
from distrivote.voting.methods import METHODS, parse_method
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.stopping import RULES

STATIC = Path(__file__).parent / "static"

_FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorReply, "description": "The request can't be used; the message says why."},
    401: {"model": ErrorReply, "description": "The key is missing or wrong."},
    404: {"model": ErrorReply, "description": "There is no such model, question or address."},
    413: {"model": ErrorReply, "description": "The request is too large."},
    422: {"model": ErrorReply, "description": "No trajectory gave an answer."},
    424: {"model": ErrorReply, "description": "The upstream refuses every request until its setup changes."},
    429: {
        "model": ErrorReply,
        "description": "Too many requests in progress; Retry-After says when to retry.",
    },
    502: {"model": ErrorReply, "description": "The engine failed; the same request may work later."},
}
_VOTES = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/v1/responses": "responses",
    "/api/ask": "ask",
}
"""Paths that answer with a vote, and their names in the metrics."""


def create_app(
    engine: Engine, pipeline: Pipeline | str = METHOD, settings: Settings | None = None
) -> FastAPI:
    """Return the application that answers by voting.

    Args:
        engine: Where trajectories come from. The caller closes it.
        pipeline: The default method, for requests that do not name one.
        settings: Limits, defaults and the key.
    """
    settings = settings or Settings()
    backend = Backend(
        engine, parse_method(pipeline) if isinstance(pipeline, str) else pipeline, settings, ModelTrust()
    )
    service = Service(
        backend, Models(engine), RequestLimit(settings.max_concurrency), EngineQueue(engine), Metrics()
    )
    app = FastAPI(
        title="distrivote",
        description="Ask a language model the same question N times and believe the right answer.",
        version=version("distrivote"),
        lifespan=_lifespan(settings),
        docs_url=None,
        redoc_url=None,
        responses=_FAILURES,
    )
    app.add_middleware(Bounds)
    app.add_middleware(Guard, settings=settings)
    if settings.allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allow_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=[HEADER, "retry-after"],
        )
    forwarded = {path: path.removeprefix("/v1/") for path in (*PATHS, *settings.forward)}
    app.add_middleware(Records, metrics=service.metrics, endpoints=_VOTES | forwarded)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    for error in (DistrivoteError, HTTPException, Exception):
        app.add_exception_handler(error, on_error)
    _add_openai(app, service)
    _add_page(app, service)
    _add_run(app, backend)
    _add_operations(app, service)
    static = settings.static or STATIC
    if (static / "index.html").is_file():
        # The files of the page would answer 405.
        app.add_api_route("/{path:path}", _wrong_address, methods=["POST"], include_in_schema=False)
        app.mount("/", StaticFiles(directory=static, html=True))
    return app


async def _wrong_address(path: str) -> Response:
    known = "/v1/chat/completions, /v1/responses and /v1/completions"
    raise HTTPException(404, f"there is no /{path[:200]} to post to: the addresses are {known}")


def _lifespan(settings: Settings) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        # One thread samples for each request and one may vote; asyncio's own pool has room for few.
        with ThreadPoolExecutor(2 * settings.max_concurrency + 4, "distrivote-server") as pool:
            asyncio.get_running_loop().set_default_executor(pool)
            if find_spec("math_verify") is not None:
                shared_verifier().start()  # loaded here, before the first question
            # A full collection visits everything that is loaded, which blocked all requests for 57 ms.
            gc.collect()
            gc.freeze()
            yield
            gc.unfreeze()

    return lifespan


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    bodies: dict[str, type[Fields]] = {
        "/v1/chat/completions": ChatRequest,
        "/v1/completions": CompletionRequest,
        "/v1/responses": ResponsesRequest,
    }
    known = list(field_names(bodies.get(request.url.path, AskRequest)))
    return failure_reply(failure_of_validation(error.errors(), known))


def _either(whole: type[ChatReply | CompletionReply | ResponsesReply]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entry of a reply that is one document or, on request, a stream."""
    return {200: {"model": whole, "content": {"text/event-stream": {}}}}


def _add_openai(app: FastAPI, service: Service) -> None:
    settings, models = service.backend.settings, service.models
    created = int(time.time())

    def model(name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": created, "owned_by": "distrivote"}

    @app.post("/v1/chat/completions", responses=_either(ChatReply), response_class=Response)
    async def chat_completions(request: Request, body: ChatRequest) -> Response:
        """Answer a conversation with a vote: OpenAI's chat completions, plus a `distrivote` object."""
        return await answer_chat(service, request, body)

    @app.post("/v1/completions", responses=_either(CompletionReply), response_class=Response)
    async def completions(request: Request, body: CompletionRequest) -> Response:
        """Answer a prompt with a vote: OpenAI's completions, plus a `distrivote` object."""
        return await answer_completion(service, request, body)

    @app.post("/v1/responses", responses=_either(ResponsesReply), response_class=Response)
    async def responses(request: Request, body: ResponsesRequest) -> Response:
        """Answer a text or a conversation with a vote: OpenAI's responses, plus a `distrivote` object."""
        return await answer_response(service, request, body)

    for path in (*PATHS, *settings.forward):
        app.add_api_route(path, _forwarder(service, path), methods=["POST"], include_in_schema=False)

    @app.get("/v1/models", responses={200: {"model": ModelsReply}}, response_class=Response)
    async def list_models() -> Response:
        """List the models, each by its plain name and with methods and budgets as prefixes."""
        names = await models.listed_names(service.backend.pipeline.name, settings.max_budget)
        return json_reply({"object": "list", "data": [model(name) for name in names]})

    @app.get("/v1/models/{name:path}", responses={200: {"model": ModelReply}}, response_class=Response)
    async def one_model(name: str) -> Response:
        """Return a model by its name."""
        await models.named(name)
        return json_reply(model(name))


def _forwarder(service: Service, path: str) -> Callable[[Request], Any]:
    """Return the endpoint that forwards requests for one path to the upstream."""

    async def handle(request: Request) -> Response:
        if not forwards(service):
            raise HTTPException(404, f"there is no {path} here: this server does not forward to another")
        return await forward_request(
            service, request, path.removeprefix("/v1/"), f"{path} has nothing to vote on"
        )

    return handle


def _add_page(app: FastAPI, service: Service) -> None:
    backend = service.backend

    @app.get("/api/settings", response_class=Response)
    async def page_settings() -> Response:
        """Return what the page offers: methods, limits, defaults."""
        return json_reply(_settings_json(backend))

    @app.post("/api/ask", response_class=Response)
    async def ask(request: Request, body: AskRequest) -> Response:
        """Ask a question; the reply is a stream of server-sent events that show the vote as it develops."""
        return answer_page(service, request, body)


def _settings_json(backend: Backend) -> dict[str, Any]:
    settings, params = backend.settings, SamplingParams()
    return {
        "model": backend.engine.model,
        "engine": backend.engine.name,
        "methods": [{"name": name, "meaning": meaning} for name, meaning in METHODS.items()],
        "templates": list(TEMPLATE_NAMES),
        "answers": [ANSWER, *KINDS],
        "stop_rules": list(RULES),
        "max_budget": settings.max_budget,
        "max_tokens_limit": settings.max_tokens_limit,
        "defaults": {
            "budget": settings.budget,
            "method": backend.pipeline.name,
            "template": settings.template,
            "answer": settings.answer,
            "min_probability": settings.min_probability,
            "max_tokens": settings.max_tokens,
            "temperature": params.temperature,
            "top_p": params.top_p,
            "seed": params.seed,
            "ssc": steering_json(None if settings.ssc is False else steering_of("auto"), SPLIT),
        },
        "has_run": settings.run is not None,
    }


def _add_run(app: FastAPI, backend: Backend) -> None:
    usual = backend.pipeline.name

    def run() -> str | Path:
        if backend.settings.run is None:
            raise HTTPException(404, "no run is served: only a server that was started with a run has one")
        return backend.settings.run

    # Plain functions: Starlette runs them in a thread, since they read files.
    @app.get("/api/run", response_class=Response)
    def stored_run() -> Response:
        """Return the facts of the stored run: model, settings and counts."""
        return json_reply(run_json(run()))

    @app.get("/api/run/questions", response_class=Response)
    def run_questions(method: str = usual) -> Response:
        """Return all questions of the stored run with their votes."""
        return json_reply(questions_json(run(), method))

    @app.get("/api/run/questions/{question_id:path}/samples/{sample}", response_class=Response)
    def run_sample(question_id: str, sample: int) -> Response:
        """Return one trajectory of the stored run."""
        return json_reply(sample_json(run(), question_id, sample))

    @app.get("/api/run/questions/{question_id:path}", response_class=Response)
    def run_question(question_id: str, method: str = usual) -> Response:
        """Return the vote on one question of the stored run."""
        return json_reply(question_json(run(), question_id, method, backend.settings.calibration))


def _add_operations(app: FastAPI, service: Service) -> None:
    @app.get("/health", response_class=Response)
    async def health() -> Response:
        """Report that the server is running."""
        return json_reply({"status": "ok", "model": service.backend.engine.model})

    readiness = Readiness(service.backend.engine)

    @app.get("/ready", response_class=Response)
    async def ready() -> Response:
        """Report whether questions can be answered now: 503 if the upstream would not answer."""
        why = await readiness.why_not()
        found = {"status": "ready" if why is None else "not ready", "model": service.backend.engine.model}
        return json_reply(found | ({} if why is None else {"why": why}), 200 if why is None else 503)

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Return counts for Prometheus."""
        text = service.metrics.text(service.limit.n_active)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(reference_page(app.openapi()))

    @app.get("/docs.css", include_in_schema=False)
    async def style() -> Response:
        return Response(STYLE, media_type="text/css")
