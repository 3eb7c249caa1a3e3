"""The MCP server, by the official client: in this process, and as a program starts the command."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed (make test-integrations)")

from mcp import Client, StdioServerParameters, stdio_client

from distrivote.engines.base import SamplingParams
from distrivote.engines.replay import ReplayEngine
from distrivote.integrations.mcp import TOOL, Budgets, make_server
from distrivote.poll import Poll
from serving import POOL, SlowEngine

pytestmark = pytest.mark.integrations
ROOT = Path(__file__).parents[2]
QUESTION = {"question": "How many has he?"}


def by_client(server: Any, use: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with Client(server) as client:
            await use(client)

    asyncio.run(run())


def polls(question: str, n: int) -> Poll:
    return Poll(question, budget=n, method="dis-gmm")


def test_the_one_tool_returns_the_vote_and_tells_its_progress() -> None:
    async def use(client: Client) -> None:
        (tool,) = (await client.list_tools()).tools
        assert tool.name == TOOL
        assert tool.input_schema["required"] == ["question"]
        assert set(tool.output_schema or {}) >= {"properties"}
        steps: list[tuple[float, float | None]] = []

        async def seen(done: float, total: float | None, _message: str | None) -> None:
            steps.append((done, total))

        result = await client.call_tool(TOOL, QUESTION, progress_callback=seen)
        voted: Any = result.structured_content
        assert not result.is_error
        assert (voted["answer"], voted["majority"], voted["votes"]) == ("12", "35", {"35": 10, "12": 8})
        assert 0 < voted["probability"] < 1
        assert "boxed{12}" in voted["reply"]
        assert steps == [(n, 20) for n in range(1, 21)]

    by_client(make_server(ReplayEngine(POOL), polls, SamplingParams(), Budgets(20, 20)), use)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"question": " "}, "the question is empty"),
        ({"question": "?", "budget": 21}, "the budget is 21: give a number from 1 to 20"),
    ],
)
def test_a_wrong_argument_is_a_sentence_for_the_model(given: dict[str, Any], said: str) -> None:
    async def use(client: Client) -> None:
        result = await client.call_tool(TOOL, given)
        assert result.is_error
        assert said in result.content[0].text

    by_client(make_server(ReplayEngine(POOL), polls, SamplingParams(), Budgets(20, 20)), use)


def test_an_answer_that_is_not_probable_enough_is_withheld() -> None:
    async def use(client: Client) -> None:
        voted: Any = (await client.call_tool(TOOL, QUESTION)).structured_content
        assert voted["answer"] is voted["majority"] is None
        assert (voted["votes"], voted["reply"]) == ({}, "")
        assert "withheld" in voted["notes"][-1]

    def careful(question: str, n: int) -> Poll:
        return Poll(question, budget=n, min_probability=0.999)

    by_client(make_server(ReplayEngine(POOL), careful, SamplingParams(), Budgets(20, 20)), use)


def test_a_cancelled_call_frees_the_engine_for_the_next_ones() -> None:
    engine = SlowEngine(POOL, mixes=False)
    engine.pause = 0.2

    async def use(client: Client) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.call_tool(TOOL, QUESTION), 0.5)
        both = await asyncio.gather(*(client.call_tool(TOOL, QUESTION | {"budget": 1}) for _ in range(2)))
        assert not any(each.is_error for each in both)
        assert engine.n_overlaps == 0

    by_client(make_server(engine, polls, SamplingParams(), Budgets(20, 20)), use)


def test_a_program_starts_the_command_and_asks() -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=[
            "-m",
            "distrivote",
            "mcp",
            "--engine",
            "examples.extending.guess_engine:guess",
            "--budget",
            "8",
        ],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")},
        cwd=ROOT,
    )

    async def use(client: Client) -> None:
        result = await client.call_tool(TOOL, {"question": "What is 2 + 2?"})
        voted: Any = result.structured_content
        assert voted["answer"] == "4"
        assert sum(voted["votes"].values()) == voted["n_trajectories"] == 8

    by_client(stdio_client(command), use)
