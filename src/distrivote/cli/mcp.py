"""`distrivote mcp`: an MCP server with one tool, "ask and vote", over the standard streams."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from distrivote.cli.answer_options import AnswerOptions
from distrivote.cli.costs import CostOptions, affordable
from distrivote.cli.groups import grouped
from distrivote.cli.inputs import asked_inputs
from distrivote.cli.messages import note, say
from distrivote.cli.model_options import ModelOptions
from distrivote.cli.options import BeliefOptions, MethodOptions, QuestionOptions
from distrivote.cli.sampling_options import SamplingOptions, StopWhen
from distrivote.cli.steering_options import OnlineOptions
from distrivote.defaults import BUDGET, SERVER_MAX_BUDGET


@grouped
def mcp(
    *,
    model: ModelOptions,
    vote: MethodOptions,
    answer: AnswerOptions,
    belief: BeliefOptions,
    put: QuestionOptions,
    budget: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="How many trajectories a call samples unless it says otherwise.",
            rich_help_panel=SamplingOptions.panel,
        ),
    ] = BUDGET,
    max_budget: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="The most trajectories that a call may ask for.",
            rich_help_panel=SamplingOptions.panel,
        ),
    ] = SERVER_MAX_BUDGET,
    stop_when: StopWhen = None,
    sampling: SamplingOptions,
    steering: OnlineOptions,
    costs: CostOptions,
) -> None:
    """Serve one tool, "ask and vote", to programs that speak the Model Context Protocol.

    Such a program starts this command itself and talks to it over its standard streams: give it the
    command in its list of MCP servers (see docs/integrations.md). The tool takes a question and, if the
    caller wants another one, a budget. It returns the answer, its probability, the votes, the majority
    and a reply that gave the answer. The options of the vote and the model are those of ask.
    """
    from distrivote.engines.abilities import carried_out
    from distrivote.engines.choice import open_engine
    from distrivote.integrations.mcp import Budgets, make_server, run_stdio
    from distrivote.poll import Poll, check_budget
    from distrivote.problem import Problem

    check_budget(budget)
    check_budget(max_budget)
    method, measure, kind = vote.pipeline(), vote.measure(), answer.kind()
    calibration, inputs = belief.read(), asked_inputs(answer.inputs)
    controller = steering.chosen()
    choice = model.choice()
    params = sampling.params(choice)
    template = put.template_or(choice.default_template)

    def make_poll(question: str, n: int) -> Poll:
        return Poll(
            Problem(question, template=template, system=put.system),
            budget=n,
            method=method,
            steering=controller,
            stop_when=stop_when,
            answer=kind,
            run_code=answer.run_code,
            inputs=inputs,
            same=answer.same,
            measure=measure,
            k=params.k,
            calibration=calibration,
            min_probability=belief.min_probability,
            max_error=belief.max_error,
        )

    make_poll("?", budget)  # an invalid option is an error now, and not at the first call
    affordable(costs.max_cost, costs.price)
    with closing(costs.limited(open_engine(choice, say=say, note=note))) as engine:
        controller = carried_out(engine, controller)
        say(f"{engine.model} ({engine.name}), {method.name}: one tool over the standard streams")
        run_stdio(make_server(engine, make_poll, params, Budgets(min(budget, max_budget), max_budget)))
