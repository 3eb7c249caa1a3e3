"""An MCP server with one tool: it asks a model the same question N times and returns the vote.

    run_stdio(make_server(engine, make_poll, SamplingParams(), Budgets(32, 256)))

It is started by the program that uses it, such as a chat application, and talks over its standard streams.
A call that the client cancels ends its sampling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, nullcontext
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple

from distrivote.engines.base import Engine, SamplingParams
from distrivote.errors import DistrivoteError, EngineError, MissingPackageError, OwnCodeError
from distrivote.flow_async import asample_into
from distrivote.poll import Poll
from distrivote.solution import Solution

try:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations
    from pydantic import Field
    from typing_extensions import TypedDict  # pydantic does not take typing's before Python 3.12
except ImportError as error:
    raise MissingPackageError("mcp", "mcp", "an MCP server") from error

TOOL = "ask_and_vote"
DESCRIPTION = (
    "Ask a language model the same question several times and vote on the answer by confidence. Use it where"
    " one wrong reply would matter: arithmetic, facts, choices, short answers. State the question completely;"
    " the model sees nothing else."
)


class Budgets(NamedTuple):
    """How many trajectories a call samples."""

    usual: int
    most: int


class Voted(TypedDict):
    """The result of a vote."""

    answer: str | None
    """The answer to believe; null if no reply gave one, or if it is withheld."""

    probability: float | None
    """How probable it is that the answer is right; null if the method gives none."""

    votes: dict[str, int]
    """How many replies gave each answer."""

    majority: str | None
    """The most frequent answer."""

    reply: str
    """A whole reply that gave the answer."""

    n_trajectories: int
    method: str
    notes: list[str]


def make_server(
    engine: Engine, make_poll: Callable[[str, int], Poll], params: SamplingParams, budgets: Budgets
) -> Any:
    """Return an `MCPServer`; `make_poll` makes the poll of a question with a budget."""
    lock = nullcontext() if engine.concurrent else asyncio.Lock()

    async def ask_and_vote(
        question: Annotated[str, Field(description="What to ask, with everything that it needs.")],
        ctx: Context,
        budget: Annotated[int | None, Field(description="How often to ask.")] = None,
    ) -> Voted:
        n = budgets.usual if budget is None else budget
        if not question.strip():
            raise ToolError("the question is empty: ask something")
        if not 1 <= n <= budgets.most:
            raise ToolError(f"the budget is {n}: give a number from 1 to {budgets.most}")
        try:
            async with lock:
                return _voted(await _solved(engine, make_poll(question, n), params, ctx))
        except DistrivoteError as error:
            raise ToolError(str(error)) from error

    server = MCPServer("distrivote", version=version("distrivote"), log_level="WARNING")
    # It asks a model and changes nothing.
    harmless = ToolAnnotations(read_only_hint=True, open_world_hint=True)
    limits = f"A budget is 1 to {budgets.most}, {budgets.usual} if it is left out."
    server.add_tool(ask_and_vote, TOOL, description=f"{DESCRIPTION} {limits}", annotations=harmless)
    return server


def run_stdio(server: Any) -> None:
    """Serve over the standard streams until the client closes them."""
    server.run("stdio")


async def _solved(engine: Engine, poll: Poll, params: SamplingParams, ctx: Context) -> Solution:
    n, failure = 0, None
    try:
        async with aclosing(asample_into(poll, engine, params)) as samples:
            async for _ in samples:
                n += 1
                await ctx.report_progress(n, poll.budget, f"{n} of {poll.budget} trajectories")
    except (EngineError, OwnCodeError) as error:
        failure = error
    return await asyncio.to_thread(poll.finish, failure)


def _voted(solution: Solution) -> Voted:
    tally, reason = solution.tally, solution.withheld
    notes = list(tally.notes)
    if reason is not None:
        return Voted(
            answer=None,
            probability=tally.probability,
            votes={},
            majority=None,
            reply="",
            n_trajectories=len(solution.trajectories),
            method=tally.method,
            notes=[*notes, f"the answer is withheld: {reason}"],
        )
    return Voted(
        answer=None if solution.answer is None else str(solution.answer),
        probability=tally.probability,
        votes={str(answer): n for answer, n in tally.votes.items()},
        majority=None if tally.majority is None else str(tally.majority),
        reply=solution.reply,
        n_trajectories=len(solution.trajectories),
        method=tally.method,
        notes=notes,
    )
