"""Custom engines: a class, an open engine, or a function (messages, seed) -> text or Trajectory.

A function is called once for each trajectory, with the messages as dicts of `role` and `content` and a seed
that differs for each. The parameter `seed` may be omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from distrivote.engines.base import BaseEngine, Job, Progress, Watch
from distrivote.engines.openai.protocol import seed_of
from distrivote.errors import InputError
from distrivote.names import ENGINE, Own, called, check_call, each_of, made_with, misfit, misgiven, parameters
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory


class FunctionEngine(BaseEngine):
    """A function as an engine; it can't be steered.

    >>> from distrivote.engines.base import SamplingParams
    >>> from distrivote.problem import Problem
    >>> engine = FunctionEngine(Own("mine:reply", lambda messages, seed: f"{messages[-1]['content']} 4"))
    >>> asked = Problem("2 + 2 =", template="plain").messages()
    >>> [each.text for each in engine.sample(asked, 1, SamplingParams())]
    ['2 + 2 = 4']
    """

    def __init__(self, own: Own, model: str | None = None) -> None:
        self.name, self.model = own.name, model or own.name
        self._own = own
        self._takes_seed = check_call(ENGINE, own, 2, 1) == 2

    def can_steer(self, controller: Controller) -> bool:  # noqa: ARG002
        return False

    def sample_job(
        self, job: Job, controller: Controller | None, watch: Watch | None
    ) -> Iterator[Trajectory]:
        if controller is not None and not controller.optional:
            raise InputError(
                f"the engine {self.name!r} is a function, which can't be steered",
                hint="give `steering=None`, or an engine that samples token by token",
                argument="steering",
            )
        messages = [each.fields() for each in job.messages]
        for n_done, index in enumerate(job.indices):
            if watch is not None:
                watch(Progress(n_done, len(job.indices) - n_done, 0))
            given = (messages, seed_of(job.params.seed, index)) if self._takes_seed else (messages,)
            reply = called(ENGINE, self.name, self._own.value, *given)
            if isinstance(reply, str):
                reply = Trajectory(reply)
            if not isinstance(reply, Trajectory):
                raise misgiven(ENGINE, self._own, f"returned {str(reply)[:60]}")
            yield replace(reply, index=index)


def own_engine(own: Own, model: str | None, options: Mapping[str, Any]) -> BaseEngine:
    """Return the engine for an object of the user's.

    A class gets the options, and `model` if it takes that.
    """
    value = own.value
    if isinstance(value, type):
        given = dict(options)
        if model is not None and "model" in parameters(own):
            given["model"] = model
        try:
            value = value(**given)
        except TypeError as error:
            raise misfit(ENGINE, own, f"can't be made ({error})") from error
    elif options:
        value = made_with(ENGINE, own, {name: str(each) for name, each in options.items()}).value
    if isinstance(value, BaseEngine):
        sample = value.sample_job

        def sample_job(*given: Any) -> Iterator[Trajectory]:
            return each_of(ENGINE, own, called(ENGINE, own.name, sample, *given))

        value.sample_job = sample_job  # type: ignore[assignment, method-assign]
    if hasattr(value, "sample"):
        return value  # type: ignore[no-any-return]
    return FunctionEngine(own._replace(value=value), model)
