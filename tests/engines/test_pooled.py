"""Several engines as one: who samples what, and how the vote names them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from distrivote.cli.main import main
from distrivote.engines.base import BaseEngine, SamplingParams
from distrivote.engines.choice import EngineChoice
from distrivote.engines.pooled import PooledEngine
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import EngineError, InputError
from distrivote.flow import solve
from distrivote.trajectory import Trajectory
from engines.scripted_server import ScriptedServer, Token, ToyServer


def replaying(model: str, answer: str, n: int = 8) -> ReplayEngine:
    return ReplayEngine([Trajectory(f"It is \\boxed{{{answer}}}.")] * n, model)


def test_the_budget_is_divided_and_every_trajectory_names_its_model() -> None:
    engine = PooledEngine([replaying("a", "1"), replaying("b", "2")])
    found = {each.index: each.model for each in engine.sample([], 5, SamplingParams())}
    assert found == {0: "a", 1: "b", 2: "a", 3: "b", 4: "a"}


def test_the_vote_says_which_models_took_part() -> None:
    engine = PooledEngine([replaying("a", "1"), replaying("b", "2"), replaying("c", "2")])
    solution = solve(engine, "What is 1 + 1?", budget=6, steering=None)
    assert solution.answer == "2"
    assert any("3 models vote together, with equal weights" in note for note in solution.tally.notes)


def test_closing_the_iterator_ends_all_engines() -> None:
    engine = PooledEngine([replaying("a", "1"), replaying("b", "2")])
    samples = engine.sample([], 8, SamplingParams())
    next(samples)
    samples.close()
    assert len(list(engine.sample([], 4, SamplingParams()))) == 4


def test_the_failure_of_one_engine_reaches_the_caller() -> None:
    class Broken(BaseEngine):
        name, model = "broken", "broken"

        def sample_job(self, *_: object) -> Iterator[Trajectory]:
            raise EngineError("the server is down")

    with pytest.raises(EngineError, match="the server is down"):
        list(PooledEngine([replaying("a", "1"), Broken()]).sample([], 4, SamplingParams()))


@pytest.mark.parametrize("names", [["a"], ["a", "a"], []])
def test_a_pool_needs_different_models(names: list[str]) -> None:
    with pytest.raises(InputError, match="two or more different"):
        PooledEngine([replaying(name, "1") for name in names])


def test_models_are_paired_with_servers() -> None:
    urls = ("http://one/v1", "http://two/v1")
    one, two = EngineChoice("openai", "a, b", urls).models
    assert (one.model, one.base_urls, two.model, two.base_urls) == ("a", urls[:1], "b", urls[1:])
    assert [each.base_urls for each in EngineChoice("openai", "a,b", urls[:1]).models] == [urls[:1]] * 2
    assert EngineChoice("openai", "a", urls).models == ()
    assert EngineChoice("embedded", "a,b.gguf").models == ()
    with pytest.raises(InputError, match="3 models but 2 servers"):
        _ = EngineChoice("openai", "a,b,c", urls).models
    with pytest.raises(InputError, match="the models are 'a,,b'"):
        _ = EngineChoice("openai", "a,,b", urls).models


def test_two_servers_with_different_models_share_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    toy = ToyServer(lambda _: [Token("\\boxed{5}")], models=("toy",))
    other = ToyServer(lambda _: [Token("\\boxed{5}", 2.0)], models=("other",))
    with ScriptedServer(toy) as one, ScriptedServer(other) as two:
        servers = ["--model", "toy,other", "--base-url", one.url, "--base-url", two.url]
        with pytest.raises(SystemExit) as exit:
            main(["ask", "What is 2 + 3?", *servers, "--budget", "4", "--no-ssc", "--json"])
        assert exit.value.code == 0
        document = json.loads(capsys.readouterr().out)
        assert document["answer"] == "5"
        said = "2 models vote together, with equal weights: toy (2 answers), other (2 answers)"
        assert said in document["notes"]
        assert {body["model"] for body in one.sampled()} == {"toy"}
        assert {body["model"] for body in two.sampled()} == {"other"}


def test_a_run_is_of_one_model(capsys: pytest.CaptureFixture[str]) -> None:
    urls = ["--base-url", "http://localhost:1/v1", "--base-url", "http://localhost:2/v1"]
    with pytest.raises(SystemExit) as exit:
        main(["generate", "arithmetic", "--model", "a,b", *urls, "-o", "unused"])
    assert exit.value.code == 2
    assert "a run is of one model, and these are a,b" in capsys.readouterr().err
