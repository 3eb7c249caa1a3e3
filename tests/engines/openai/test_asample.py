"""The OpenAI engine in the event loop of its caller, against scripted servers with real sockets."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing

import pytest

from distrivote.engines.abilities import AsyncEngine
from distrivote.engines.base import Progress, SamplingParams
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.patience import Backoff, Patience
from distrivote.errors import DistrivoteError, EngineError, InputError
from distrivote.problem import Message
from distrivote.steering import SelfStepConf
from distrivote.trajectory import Trajectory
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer, refusal

QUESTION = (Message("user", "What is 2 + 2?"),)
PARAMS = SamplingParams(max_tokens=50)
HURRIED = Patience(retry=Backoff(0.01, 30.0))


def says(_prefix: str) -> Sequence[Token]:
    return [Token("Well", 9.0), Token(".\n\n", 9.0), Token("4", 9.0)]


def endless(_prefix: str) -> Sequence[Token]:
    return [Token("word ")] * 1000


async def gathered(engine: OpenAIEngine, n: int, **more: object) -> list[Trajectory]:
    async with aclosing(engine.asample(QUESTION, n, PARAMS, **more)) as samples:  # type: ignore[arg-type]
        return [trajectory async for trajectory in samples]


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        await asyncio.sleep(0.005)
    assert condition()


def engine_at(server: ScriptedServer, **options: object) -> OpenAIEngine:
    return OpenAIEngine(server.url, "toy", **{"patience": HURRIED} | options)  # type: ignore[arg-type]


def n_threads() -> int:
    return sum(thread.name == "distrivote-openai" for thread in threading.enumerate())


def test_it_samples_without_a_thread() -> None:
    with ScriptedServer(ToyServer(says)) as server, engine_at(server) as engine:
        before = n_threads()
        assert isinstance(engine, AsyncEngine)
        found = asyncio.run(gathered(engine, 3, indices=[5, 6, 9]))
        assert n_threads() == before
        assert sorted(trajectory.index for trajectory in found) == [5, 6, 9]
        assert {trajectory.text for trajectory in found} == {"Well.\n\n4"}


def test_it_gives_what_the_synchronous_call_gives() -> None:
    with ScriptedServer(ToyServer(says, template=True)) as server, engine_at(server) as engine:
        controller = SelfStepConf(delta=0.0)
        found = asyncio.run(gathered(engine, 2, controller=controller))
        other = list(engine.sample(QUESTION, 2, PARAMS, controller))
    assert [(t.text, t.interventions) for t in found] == [(t.text, t.interventions) for t in other]


def test_calls_in_one_loop_overlap_and_share_the_limit() -> None:
    toy = ToyServer(says, pause=0.02)

    async def both(engine: OpenAIEngine) -> list[list[Trajectory]]:
        return await asyncio.gather(gathered(engine, 6), gathered(engine, 6))

    with ScriptedServer(toy) as server, engine_at(server, n_parallel=3) as engine:
        assert [len(found) for found in asyncio.run(both(engine))] == [6, 6]
        assert server.max_open <= 3


def test_replies_that_wait_for_those_asked_again_do_not_take_their_places() -> None:
    """Calls that share few places all get replies with a flaw at once, as at the start of a server."""

    def answer(request: Request) -> Reply:
        is_asked = request.body["messages"][0]["content"] != "Hello"
        return ToyServer(says, gives=0 if is_asked else 1000)(request)

    async def all_of(engine: OpenAIEngine) -> list[list[Trajectory]]:
        async with asyncio.timeout(60):
            return await asyncio.gather(*(gathered(engine, 4) for _ in range(6)))

    waiting = Patience(discovery=1e9)
    with ScriptedServer(answer) as server, engine_at(server, n_parallel=2, patience=waiting) as engine:
        found = asyncio.run(all_of(engine))
        assert server.max_open <= 2
    assert [len(each) for each in found] == [4] * 6
    assert {trajectory.flaw for each in found for trajectory in each} == {"no log-probabilities"}


def test_what_was_found_out_in_one_loop_is_known_in_the_next() -> None:
    with ScriptedServer(ToyServer(says)) as server, engine_at(server) as engine:
        asyncio.run(gathered(engine, 1))
        n_first = len(server.requests)
        asyncio.run(gathered(engine, 1))
        assert len(list(engine.sample(QUESTION, 1, PARAMS))) == 1
    assert len(server.requests) - n_first == 2


def test_two_loops_at_once_do_not_share_connections() -> None:
    found: list[int] = []
    with ScriptedServer(ToyServer(says, pause=0.01)) as server, engine_at(server) as engine:
        threads = [
            threading.Thread(target=lambda: found.append(len(asyncio.run(gathered(engine, 8)))))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        found.append(len(list(engine.sample(QUESTION, 8, PARAMS))))
        for thread in threads:
            thread.join()
    assert found == [8, 8, 8, 8]


def test_closing_the_generator_ends_the_streams() -> None:
    async def leave(engine: OpenAIEngine, server: ScriptedServer) -> None:
        samples = engine.asample(QUESTION, 4, PARAMS)
        first = asyncio.ensure_future(anext(samples))
        await until(lambda: server.n_open == 4)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await samples.aclose()
        await until(lambda: server.n_open == 0)
        assert not asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]

    with ScriptedServer(ToyServer(endless, pause=0.1)) as server, engine_at(server) as engine:
        asyncio.run(leave(engine, server))
    assert server.n_left == 4


def test_breaking_off_after_the_first_ends_the_rest() -> None:
    toy = ToyServer(lambda _: [Token("word ")] * 1000, pause=0.05)

    async def first(engine: OpenAIEngine) -> Trajectory:
        params = SamplingParams(max_tokens=4)
        async with aclosing(engine.asample(QUESTION, 8, params)) as samples:
            return await anext(samples)

    with ScriptedServer(toy) as server, engine_at(server, n_parallel=2) as engine:
        assert asyncio.run(first(engine)).n_tokens == 4
        assert len(server.sampled()) < 8


def test_the_progress_is_watched() -> None:
    seen: list[Progress] = []
    with ScriptedServer(ToyServer(says, pause=0.1)) as server, engine_at(server) as engine:
        asyncio.run(gathered(engine, 2, watch=seen.append))
    assert seen[-1].n_tokens == 6
    assert len(seen) > 1


def test_an_error_in_the_watch_ends_the_call() -> None:
    def watch(_: Progress) -> None:
        raise ZeroDivisionError

    with (
        ScriptedServer(ToyServer(endless, pause=0.1)) as server,
        engine_at(server) as engine,
        pytest.raises(ZeroDivisionError),
    ):
        asyncio.run(gathered(engine, 2, watch=watch))


def test_what_is_missing_is_one_error_after_what_there_is() -> None:
    toy, found = ToyServer(says), list[Trajectory]()

    def answer(request: Request) -> Reply:
        return refusal(400, "no such thing") if len(server.sampled()) > 1 else toy(request)

    async def some(engine: OpenAIEngine) -> None:
        async for trajectory in engine.asample(QUESTION, 2, PARAMS):
            found.append(trajectory)

    with (
        ScriptedServer(answer) as server,
        engine_at(server, n_parallel=1) as engine,
        pytest.raises(EngineError, match="1 of 2 trajectories is missing"),
    ):
        asyncio.run(some(engine))
    assert len(found) == 1


def test_a_closed_engine_refuses() -> None:
    with ScriptedServer(ToyServer(says)) as server:
        with engine_at(server) as engine:
            asyncio.run(gathered(engine, 1))
        with pytest.raises(DistrivoteError, match="the engine is closed: make a new one"):
            asyncio.run(gathered(engine, 1))


def test_closing_the_engine_from_another_thread_ends_the_call() -> None:
    async def closed_under_way(engine: OpenAIEngine, server: ScriptedServer) -> None:
        task = asyncio.create_task(gathered(engine, 2))
        await until(lambda: server.n_open == 2)
        await asyncio.to_thread(engine.close)
        with pytest.raises(DistrivoteError, match="closed while it was sampling"):
            await task
        await until(lambda: server.n_left == 2)

    with ScriptedServer(ToyServer(endless, pause=0.1)) as server, engine_at(server) as engine:
        asyncio.run(closed_under_way(engine, server))


def test_the_engine_may_be_closed_in_its_loop() -> None:
    async def inside(server: ScriptedServer) -> None:
        with engine_at(server) as engine:
            assert len(await gathered(engine, 2)) == 2

    with ScriptedServer(ToyServer(says)) as server:
        asyncio.run(inside(server))


def test_an_engine_is_closed_while_its_loop_stands_still() -> None:
    loop = asyncio.new_event_loop()
    with ScriptedServer(ToyServer(says)) as server, engine_at(server) as engine:
        assert len(loop.run_until_complete(gathered(engine, 2))) == 2
    loop.close()


def test_self_step_conf_as_published_is_refused() -> None:
    with (
        ScriptedServer(ToyServer(says)) as server,
        engine_at(server) as engine,
        pytest.raises(InputError, match="as published"),
    ):
        asyncio.run(gathered(engine, 1, controller=SelfStepConf.as_published()))
