"""An engine that stops at a number of tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2 as httpx
import pytest

from distrivote import solve
from distrivote.cli.main import main
from distrivote.engines.base import BaseEngine, Job, SamplingParams, Watch
from distrivote.engines.judging import embedder
from distrivote.engines.limited import LimitedAsyncEngine, limited
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.errors import SpentError
from distrivote.problem import Message
from distrivote.server.settings import Settings
from distrivote.steering import Controller
from distrivote.trajectory import Trajectory
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer
from serving import serving

QUESTION = (Message("user", "What is 2 + 2?"),)
PARAMS = SamplingParams(max_tokens=50)


class Counted(BaseEngine):
    """Gives trajectories of ten tokens, one after the other."""

    name, model = "counted", "ten"

    def sample_job(
        self, job: Job, controller: Controller | None, watch: Watch | None
    ) -> Iterator[Trajectory]:
        del controller, watch
        for index in job.indices:
            yield Trajectory("\\boxed{4}", index=index, n_reply_tokens=10)


def says(_prefix: str) -> list[Token]:
    return [Token("It is "), Token("\\boxed{4}.")]


def test_what_was_finished_is_delivered_and_then_nothing_more() -> None:
    engine = limited(Counted(), 35)
    found = []
    with pytest.raises(SpentError, match="the limit of 35 tokens is reached"):
        found.extend(engine.sample(QUESTION, 9, PARAMS))
    assert [t.index for t in found] == [0, 1, 2, 3]
    assert engine.n_spent == 40
    with pytest.raises(SpentError):
        next(engine.sample(QUESTION, 1, PARAMS))
    with pytest.raises(SpentError):
        next(engine.sample_all([Job(QUESTION, PARAMS, range(1))]))


def test_embeddings_pass_a_limit_and_count_nothing() -> None:
    def answer(request: Request) -> Reply:
        rows = [{"index": at, "embedding": [1, 0]} for at in range(len(request.body["input"]))]
        return Reply(body={"data": rows})

    with ScriptedServer(answer) as server, closing(limited(OpenAIEngine(server.url, "toy"), 5)) as engine:
        embed = embedder(engine)
        assert embed is not None
        assert embed(["a", "b"], None) == [[1.0, 0.0]] * 2
        assert engine.n_spent == 0
    spent = limited(OpenAIEngine("http://127.0.0.1:9/v1", "toy"), 0)
    with pytest.raises(SpentError):
        spent.embed(["a"])  # type: ignore[attr-defined]
    spent.close()
    assert embedder(limited(Counted(), 35)) is None


def test_calls_add_up_and_a_call_below_the_limit_is_whole() -> None:
    engine = limited(Counted(), 100)
    for _ in range(2):
        assert len(list(engine.sample(QUESTION, 3, PARAMS))) == 3
    assert len(list(engine.sample_all([Job(QUESTION, PARAMS, range(3))]))) == 3
    assert (engine.n_spent, engine.name, engine.model, engine.concurrent) == (90, "counted", "ten", False)


def test_solve_votes_on_what_was_finished() -> None:
    solution = solve(limited(Counted(), 25), "What is 2 + 2?", budget=8)
    assert (solution.answer, len(solution.trajectories)) == ("4", 3)
    assert "the limit of 25 tokens is reached" in str(solution.stopped)


@pytest.mark.parametrize("gives", [0, 20])
def test_a_server_is_held_to_it_in_a_loop_of_the_caller(gives: int) -> None:
    async def all_of(engine: LimitedAsyncEngine) -> int:
        n = 0
        try:
            async for _ in engine.asample(QUESTION, 40, PARAMS):
                n += 1
        except SpentError:
            return n
        raise AssertionError("it was not held to it")

    with (
        ScriptedServer(ToyServer(says, gives=gives)) as server,
        closing(limited(OpenAIEngine(server.url, n_parallel=1), 10)) as engine,
    ):
        assert isinstance(engine, LimitedAsyncEngine)
        assert 1 <= asyncio.run(all_of(engine)) <= 6


def test_a_served_engine_that_has_spent_it_answers_402() -> None:
    with (
        ScriptedServer(ToyServer(says)) as server,
        closing(limited(OpenAIEngine(server.url), 4)) as engine,
        serving(engine, Settings(budget=2)) as url,
    ):
        body = {"model": "toy", "messages": [{"role": "user", "content": "What is 2 + 2?"}]}
        replies = [httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 402]
    assert replies[1].json()["error"]["code"] == "insufficient_quota"


def test_ask_says_what_it_may_cost_and_stops_there(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer(ToyServer(says)) as server:
        asked = ["ask", "What is 2 + 2?", "--base-url", server.url, "--budget", "40", "--parallel", "1"]
        with pytest.raises(SystemExit):
            main(asked)
        assert "at most 40 trajectories of 16,384 tokens: 655,360 tokens; " in capsys.readouterr().err
        with pytest.raises(SystemExit):
            main([*asked, "--price", "100000", "--max-cost", "1", "--max-tokens", "100"])
        out, err = capsys.readouterr()
        with pytest.raises(SystemExit):
            main([*asked, "--max-cost", "1"])
        assert "--max-cost needs a cost above 0, and --price" in capsys.readouterr().err
    assert out == "4\n"
    assert "4,000 tokens, 400.00 at 100000 per million, stopped at 1.00" in err
    assert "the limit of 10 tokens is reached: raise --max-cost" in err
    assert "voting on what is finished: " in err


def test_a_run_keeps_its_own_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["generate", "arithmetic", "--size", "2", "--max-cost", "1", "-o", str(tmp_path / "run")])
    assert "--max-cost needs a cost above 0" in capsys.readouterr().err
