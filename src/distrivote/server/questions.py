"""From the fields of a request to a question: what is asked, how it is sampled, how it is voted on.

Requests are validated here, before anything is sampled. `Question` is what the rest of
the server works with; it does not say which endpoint the request came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from distrivote.answers.equality import equality
from distrivote.answers.kinds import Kind, asked_kind
from distrivote.defaults import ANSWER, MIN_PROBABILITY, SPLIT
from distrivote.engines.abilities import Upstream
from distrivote.engines.base import Engine, SamplingParams
from distrivote.errors import InputError
from distrivote.names import only_loaded
from distrivote.poll import Poll
from distrivote.problem import Message, Problem, asking_confidence
from distrivote.server.model_trust import ModelTrust
from distrivote.server.models import NamedModel
from distrivote.server.schemas import AskRequest, SharedRequest, SscFields, VoteFields
from distrivote.server.settings import Settings
from distrivote.splitting import splitter
from distrivote.steering import Controller, DistriVotingOnline, SelfStepConf, steering_of
from distrivote.steering.deepconf import online_rule
from distrivote.voting.abstaining import asked_probability
from distrivote.voting.methods import parse_method
from distrivote.voting.pipeline import Pipeline
from distrivote.voting.probability import Calibration
from distrivote.voting.stopping import StopRule, stop_rule

_MOST_PLACES = 8
"""How often a template may contain {question}: unlimited, a request of megabytes becomes terabytes."""


@dataclass(frozen=True, slots=True)
class Conversation(Problem):
    """A problem given as the turns of a conversation, as the client wrote them."""

    turns: tuple[Message, ...] = ()

    def messages(self) -> tuple[Message, ...]:
        return asking_confidence(self.turns) if self.states_confidence else self.turns


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that a request asks for."""

    engine: Engine
    """The engine that samples for it."""

    problem: Problem
    method: Pipeline
    budget: int
    steering: Controller | None
    params: SamplingParams
    stop_when: StopRule | None = None
    answer: str | Kind = ANSWER
    """The kind of answer."""

    same: str | None = None
    """When two answers are the same; None: the default of the kind of answer."""

    run_code: bool = False
    strict: bool = False
    """Whether replies without any answer are an error."""

    split: str = SPLIT
    """The splitter of the controller's steps, by name."""

    model: str = ""
    """The model name in the request."""

    return_trajectories: bool = False
    min_probability: float = MIN_PROBABILITY
    """An answer with a lower probability is withheld."""

    calibration: Calibration = field(default_factory=Calibration)
    model_trust: ModelTrust | None = field(default=None, compare=False)
    """Learns from the confidences of this question."""

    measure: str | None = None
    """The measure of confidence; None: the default of `solve`."""

    def poll(self, *, eager: bool = False) -> Poll:
        """Return the poll on this question; `eager` is the argument of `Poll`."""
        return Poll(
            self.problem,
            budget=self.budget,
            method=self.method,
            steering=self.steering,
            stop_when=self.stop_when,
            answer=self.answer,
            run_code=self.run_code,
            same=self.same,
            measure=self.measure,
            k=self.params.k,
            calibration=self.calibration,
            min_probability=self.min_probability,
            eager=eager,
        )


class Backend(NamedTuple):
    """The engine, the default method and the settings that questions are answered with."""

    engine: Engine
    pipeline: Pipeline
    settings: Settings
    model_trust: ModelTrust | None = None


def conversation_of(turns: Sequence[Message], template: str | None) -> Problem:
    """Return the problem that a conversation poses; with a template its last turn is put into it."""
    if turns[-1].role not in ("user", "tool", "function"):
        raise InputError("the last message is not the user's: end the conversation with a question")
    asked = next((turn for turn in reversed(turns) if turn.role == "user"), turns[-1])
    if not asked.content.strip():
        raise InputError("the last message is empty: ask something")
    if turns[-1] is not asked:  # the result of a tool belongs to the question before it
        return Conversation(asked.content, template="plain", turns=tuple(turns))
    last = Problem(asked.content, template=_checked(template or "plain"))
    put = [message._replace(more=asked.more) for message in last.messages()]
    return Conversation(asked.content, template=last.template, turns=(*turns[:-1], *put))


@only_loaded()
def question_of(
    body: SharedRequest,
    named: NamedModel,
    turns: Sequence[Message],
    max_tokens: int | None,
    backend: Backend,
    *,
    kind: Kind | None = None,
    upstream: Mapping[str, Any] | None = None,
) -> Question:
    """Return the question of a request to one of OpenAI's endpoints.

    `backend` has the engine of the model that is `named`. `kind` is what the request's fields ask for, if
    `distrivote.answer` does not say another; `upstream` are the fields that go to the upstream with every
    trajectory.
    """
    fields = body.distrivote or VoteFields()
    for name in ("method", "budget"):
        said, again = getattr(named, name), getattr(fields, name)
        if said is not None and again is not None and said != again:
            raise InputError(
                f"the model name says {name} {said} and distrivote.{name} says {again}",
                hint="leave one of them out",
                argument=name,
            )
    try:
        method = _method(named.method or fields.method, backend, fields)
        budget = _budget(named.budget if fields.budget is None else fields.budget, backend.settings)
    except InputError as error:
        if named.method is not None:
            error.argument = "model"
        raise
    problem = conversation_of(turns, fields.template)
    # A reflection would be injected into the middle of a tool call or an object.
    is_unsteered = kind is not None and not fields.ssc
    return Question(
        engine=backend.engine,
        problem=problem,
        answer=_answer(fields.answer, backend.settings) if kind is None or fields.answer else kind,
        same=_same(fields.same, backend.settings),
        run_code=backend.settings.run_code,
        strict=backend.settings.strict if fields.strict is None else fields.strict,
        method=method,
        budget=budget,
        steering=None if is_unsteered else _steering(fields, backend.settings),
        split=_split(fields.ssc),
        params=replace(
            _params(body, _stops(body.stop), max_tokens, backend.settings),
            extra_body=dict(upstream or {}),
            left_out=_left_out(body, max_tokens, backend),
        ),
        stop_when=stop_rule(fields.stop_when, method.name),
        model=body.model,
        return_trajectories=fields.return_trajectories,
        min_probability=_least(fields, method, backend.settings),
        calibration=backend.settings.calibration,
        model_trust=backend.model_trust,
        measure=backend.settings.measure,
    )


@only_loaded()
def question_of_page(body: AskRequest, backend: Backend) -> Question:
    """Return the question that the page asks."""
    if not body.question.strip():
        raise InputError("the question is empty: ask something")
    method = _method(body.method, backend, body)
    template = _checked(body.template or backend.settings.template)
    problem = Problem(body.question, template=template, system=body.system or None)
    return Question(
        engine=backend.engine,
        problem=problem,
        answer=_answer(body.answer, backend.settings),
        same=_same(body.same, backend.settings),
        run_code=backend.settings.run_code,
        strict=backend.settings.strict,
        method=method,
        budget=_budget(body.budget, backend.settings),
        steering=_steering(body, backend.settings),
        split=_split(body.ssc),
        params=_params(body, (), body.max_tokens, backend.settings),
        stop_when=stop_rule(body.stop_when, method.name),
        model=backend.engine.model,
        min_probability=_least(body, method, backend.settings),
        calibration=backend.settings.calibration,
        model_trust=backend.model_trust,
        measure=backend.settings.measure,
    )


def _checked(template: str) -> str:
    """Return a template by name, or the client's own text if it contains {question}."""
    if template.count("{question}") > _MOST_PLACES:
        raise InputError(
            f"the template has {{question}} more than {_MOST_PLACES} times",
            hint="have it once",
            argument="template",
        )
    Problem("?", template=template)  # raises an error if there is no such template
    return template


def _same(asked: str | None, settings: Settings) -> str | None:
    """Return when two answers are the same; only the server's settings may name a judge or a command."""
    return settings.same if asked is None else equality(asked).name


def _answer(asked: str | None, settings: Settings) -> str | Kind:
    name = asked or settings.answer
    return asked_kind(name) or name


def _method(method: str | None, backend: Backend, fields: VoteFields | AskRequest) -> Pipeline:
    pipeline = backend.pipeline if method is None else parse_method(method)
    # A promise about errors holds only if each question is voted on independently.
    is_alone = _max_error(fields, backend.settings) is not None
    if pipeline.trust is None or backend.model_trust is None or is_alone:
        return pipeline
    return replace(pipeline, trust=backend.model_trust.trust(backend.engine.model))


def _max_error(fields: VoteFields | AskRequest, settings: Settings) -> float | None:
    return settings.max_error if fields.max_error is None else fields.max_error


def _least(fields: VoteFields | AskRequest, method: Pipeline, settings: Settings) -> float:
    asked = settings.min_probability if fields.min_probability is None else fields.min_probability
    return asked_probability(asked, _max_error(fields, settings), settings.calibration, method.name)


def _budget(budget: int | None, settings: Settings) -> int:
    if budget is None:
        return settings.budget
    if not 1 <= budget <= settings.max_budget:
        raise InputError(
            f"the budget is {budget}",
            hint=f"this server takes 1 to {settings.max_budget} trajectories",
            argument="budget",
        )
    return budget


def _steering(body: VoteFields | AskRequest, settings: Settings) -> Controller | None:
    if body.deepconf is not None:
        if body.ssc or body.online:
            raise InputError(
                "deepconf takes the place of SelfStepConf and of online DistriVoting",
                hint="leave out `deepconf`, or `ssc` and `online`",
                argument="deepconf",
            )
        return online_rule(body.deepconf)
    if not body.online:
        if body.ssc is None and settings.steering is not None:
            return steering_of(settings.steering)
        return _reflecting(body.ssc, settings)
    steps = _reflecting(body.ssc or False, settings)
    return DistriVotingOnline(steps=steps) if steps is not None else DistriVotingOnline()


def _reflecting(fields: bool | SscFields | None, settings: Settings) -> SelfStepConf | None:
    if isinstance(fields, SscFields):
        return SelfStepConf(fields.alpha, fields.delta, fields.reflection, splitter(fields.split))
    if fields is None and settings.ssc is None:
        return SelfStepConf(optional=True)
    return SelfStepConf() if (settings.ssc if fields is None else fields) else None


def _split(fields: bool | SscFields | None) -> str:
    return fields.split if isinstance(fields, SscFields) else SscFields().split


def _stops(stop: str | list[str] | None) -> tuple[str, ...]:
    return () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop)


def _left_out(body: SharedRequest, max_tokens: int | None, backend: Backend) -> tuple[str, ...]:
    """Return the fields that are not sent because nobody set them: the upstream's defaults apply."""
    if not isinstance(backend.engine, Upstream):
        return ()
    names = ("temperature", "top_p", "top_k", "min_p")
    silent = ["repetition_penalty", *(name for name in names if getattr(body, name) is None)]
    if max_tokens is None and not backend.settings.sends_max_tokens:
        silent.append("max_tokens")
    return tuple(silent)


def _params(
    body: SharedRequest | AskRequest, stops: tuple[str, ...], max_tokens: int | None, settings: Settings
) -> SamplingParams:
    usual = SamplingParams()
    longest = settings.max_tokens_limit
    if max_tokens is not None and max_tokens > longest:
        raise InputError(
            f"max_tokens is {max_tokens}",
            hint=f"this server's trajectories have {longest:,} at most",
            argument="max_tokens",
        )
    return SamplingParams(
        temperature=usual.temperature if body.temperature is None else body.temperature,
        top_p=usual.top_p if body.top_p is None else body.top_p,
        top_k=max(body.top_k or 0, 0),
        min_p=body.min_p or 0.0,
        max_tokens=settings.max_tokens if max_tokens is None else max_tokens,
        stop=stops,
        seed=body.seed or 0,
    )
