"""SelfStepConf where a host can, plain sampling with one note where it can't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from distrivote import Problem, solve
from distrivote.benchmarks.benchmark import Benchmark
from distrivote.cli.main import main
from distrivote.engines.abilities import carried_out
from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import EngineError
from distrivote.generation.run import generate_run
from distrivote.steering import SelfStepConf, steering_of
from distrivote.store.runs.manifest import Manifest
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer, WholeOnly, is_sampled

WORDS = [Token("Sure", 10.0), Token(".\n\n", 10.0), Token("Hm", 4.0), Token(".\n\n", 4.0)]


def story(prefix: str) -> list[Token]:
    """Say something unsure, which a reflection follows, and an answer after it."""
    end = [Token("It is ", 10.0), Token("\\boxed{4}.", 10.0)]
    return end if "wait" in prefix else [*WORDS, *end]


HOSTS: dict[str, tuple[Any, str | None]] = {
    "no log-probabilities": (ToyServer(story, gives=0), "majority voting decides"),
    "no continuation": (ToyServer(story, completes=False), "can't continue a reply that was begun"),
    "whole replies": (WholeOnly(story, completes=False), "in whole replies only"),
    "continuation": (ToyServer(story, template=True), None),
}


@pytest.mark.parametrize("name", HOSTS)
def test_solve_works_on_every_host_and_says_once_what_it_can_not(name: str) -> None:
    toy, note = HOSTS[name]
    with ScriptedServer(toy) as server, OpenAIEngine(server.url) as engine:
        for _ in range(2):
            solution = solve(engine, "What is 2 + 2?", budget=3, params=SamplingParams(max_tokens=50))
            assert solution.answer == "4"
        n_steered = sum(t.interventions is not None for t in solution.trajectories)
        assert [note in said for said in engine.notes] == [True] if note else not engine.notes
        assert n_steered == (0 if note else 3)
        assert (carried_out(engine, steering_of("auto")) is None) == (note is not None)
        assert len(engine.notes) == (note is not None)


@pytest.mark.parametrize(
    "name", [name for name, (_, note) in HOSTS.items() if note and name != "whole replies"]
)
def test_asked_for_by_name_it_is_an_error(name: str) -> None:
    with (
        ScriptedServer(HOSTS[name][0]) as server,
        OpenAIEngine(server.url) as engine,
        pytest.raises(EngineError, match="use `steering=None`"),
    ):
        solve(engine, "What is 2 + 2?", budget=2, steering=SelfStepConf())


def test_an_engine_that_can_do_all_is_not_asked() -> None:
    controller = steering_of("auto")
    assert carried_out(ReplayEngine([]), controller) is controller
    assert carried_out(ReplayEngine([]), None) is None


def test_thinking_that_is_split_off_is_sampled_without_it() -> None:
    def answer(request: Request) -> Reply:
        reply = ToyServer(story, prefill="asked", completes=False, tells_usage=False)(request)
        if request.body and is_sampled(request.body):
            reply.events = list(reply.events)
            for chunk in reply.events:
                delta = chunk["choices"][0]["delta"]
                delta["reasoning_content"] = delta.pop("content")
        return reply

    with ScriptedServer(answer) as server, OpenAIEngine(server.url) as engine:
        solution = solve(engine, "What is 2 + 2?", budget=4, params=SamplingParams(max_tokens=50))
        assert (solution.answer, len(solution.trajectories)) == ("4", 4)
        assert ["splits off the thinking" in note for note in engine.notes] == [True]


def test_a_prompt_count_that_never_changes_is_no_continuation() -> None:
    """Gateways that count tokens themselves may always say the same number."""

    def answer(request: Request) -> Reply:
        reply = ToyServer(story, completes=False)(request)
        if reply.body is not None and "usage" in reply.body:
            reply.body["usage"]["prompt_tokens"] = 9
        return reply

    with ScriptedServer(answer) as server, OpenAIEngine(server.url) as engine:
        assert carried_out(engine, steering_of("auto")) is None


def test_a_text_that_does_not_go_on_is_no_continuation() -> None:
    """The counts look right, but the model opens another turn."""

    def answer(request: Request) -> Reply:
        reply = ToyServer(story, completes=False, prefill="always")(request)
        if reply.body is not None and request.body and request.body["messages"][-1]["role"] == "assistant":
            reply.body["choices"][0]["message"]["content"] = "red green blue"
        return reply

    with ScriptedServer(answer) as server, OpenAIEngine(server.url) as engine:
        assert carried_out(engine, steering_of("auto")) is None


def test_one_server_that_can_not_leaves_all_plain() -> None:
    with (
        ScriptedServer(ToyServer(story, template=True)) as can,
        ScriptedServer(ToyServer(story, completes=False)) as can_not,
        OpenAIEngine([can.url, can_not.url], "toy") as engine,
    ):
        solution = solve(engine, "What is 2 + 2?", budget=6, params=SamplingParams(max_tokens=50))
        assert {t.interventions for t in solution.trajectories} == {None}
        assert {t.server for t in solution.trajectories} == {can.url, can_not.url}


def test_a_run_records_whether_it_was_steered_and_goes_on_so(tmp_path: Path) -> None:
    questions = Benchmark("two", (Problem("What is 2 + 2?", id="a", answer="4"),), "here")
    params = SamplingParams(max_tokens=50)
    for name, steers in (("no continuation", False), ("continuation", True)):
        path = tmp_path / name
        with ScriptedServer(HOSTS[name][0]) as server, OpenAIEngine(server.url) as engine:
            generate_run(engine, questions, path, 2, params=params)
            assert generate_run(engine, questions, path, 3, params=params).n_added == 1
        assert (Manifest.load(path).ssc is not None) == steers
    with (
        ScriptedServer(HOSTS["no continuation"][0]) as server,
        OpenAIEngine(server.url) as engine,
        pytest.raises(EngineError, match="use `steering=None`"),
    ):
        generate_run(engine, questions, tmp_path / "continuation", 4, params=params)


def test_ask_says_what_steers(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["ask", "What is 2 + 2?", "--budget", "2", "--max-tokens", "50", "--json", "--base-url"]
    with ScriptedServer(HOSTS["no continuation"][0]) as server:
        with pytest.raises(SystemExit):
            main([*asked, server.url])
        out, err = capsys.readouterr()
        assert '"answer": "4"' in out
        assert err.count("can't continue a reply") == 1
        with pytest.raises(SystemExit):
            main([*asked, server.url, "--ssc"])
        assert "use --no-ssc" in capsys.readouterr().err
        with pytest.raises(SystemExit):
            main([*asked, server.url, "--delta", "0.9"])
        assert "use --no-ssc" in capsys.readouterr().err
