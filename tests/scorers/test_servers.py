"""Reward models and P(True) behind servers that are scripted as vLLM documents its addresses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import distrivote
from distrivote.cli.main import main
from distrivote.engines.llamacpp.engine import LlamaCppEngine
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.many import n_tokens_of
from distrivote.engines.openai.patience import Backoff, Patience
from distrivote.errors import EngineError, InputError
from distrivote.problem import Message
from distrivote.scorers.ptrue import p_true
from distrivote.store.runs.run import Run
from engines.scripted_server import Reply, Request, ScriptedServer, refusal
from scorers.made_runs import ANSWERS, made_run, reward

QUICK = Patience(probe=Backoff(0.001, 0.01), n_probes=3)
EXPECTED = [reward(f"What is {q}?", answer) for q in ANSWERS for answer in ANSWERS[q]]
USAGE = {"prompt_tokens": 9, "total_tokens": 10}


def reward_of(text: str, question: str) -> float:
    return reward(question, text[-3])


class RewardServer:
    """Has a reward model at the three addresses, and fails the first requests if told to."""

    def __init__(self, n_failing: int = 0, labels: int = 1) -> None:
        self.n_failing, self.labels = n_failing, labels

    def __call__(self, request: Request) -> Reply:
        if request.path == "/v1/models":
            return Reply(body={"data": [{"id": "rm"}]})
        self.n_failing -= 1
        if self.n_failing >= 0:
            return refusal(503, "busy")
        body = request.body
        assert body["model"] == "rm"
        if request.path == "/v1/score":
            return self._reply({"score": reward_of(body["text_2"], body["text_1"])})
        user, assistant = body["messages"]
        assert (user["role"], assistant["role"]) == ("user", "assistant")
        value = reward_of(assistant["content"], user["content"])
        if request.path == "/pooling":
            return self._reply({"data": [[0.0], [value]] if self.labels == 1 else [[9.0, 9.0], [9.0, value]]})
        if request.path == "/classify":
            return self._reply({"label": "x", "probs": [*[0.0] * (self.labels - 1), value], "num_classes": 1})
        return refusal(404, "Not Found")

    def _reply(self, data: dict[str, Any]) -> Reply:
        return Reply(body={"object": "list", "model": "rm", "data": [{"index": 0, **data}], "usage": USAGE})


@pytest.fixture
def run(tmp_path: Path) -> str:
    return made_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("way", "labels"), [("score", 1), ("pooling", 1), ("pooling", 2), ("classify", 1), ("classify", 2),
                        ("classify:2", 3)]
)  # fmt: skip
def test_each_address_of_a_reward_model_gives_the_score(run: str, way: str, labels: int) -> None:
    with ScriptedServer(RewardServer(labels=labels)) as server, OpenAIEngine(server.url) as engine:
        result = distrivote.score_run(run, way, engine=engine)
    assert (result.column, result.n_asked, result.n_tokens) == ("reward", 12, 120)
    column = Run.open(run).scores("reward")
    assert (column.record.scorer, column.record.settings) == (way, {"model": "rm"})
    assert Run.open(run).table(["reward"])["reward"].to_pylist() == EXPECTED


def test_a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_an_error(run: str) -> None:
    with ScriptedServer(RewardServer(2)) as server, OpenAIEngine(server.url, patience=QUICK) as engine:
        assert distrivote.score_run(run, "pooling", engine=engine).n_scored == 12
    with (
        ScriptedServer(RewardServer(10**6)) as server,
        OpenAIEngine(server.url, patience=QUICK) as engine,
        pytest.raises(EngineError, match="503"),
    ):
        distrivote.score_run(run, "pooling", engine=engine, name="other")
    with ScriptedServer(RewardServer(labels=3)) as server, OpenAIEngine(server.url) as engine:
        with pytest.raises(InputError, match="3 classes: name one, as in classify:2"):
            distrivote.score_run(run, "classify", engine=engine, name="third")
        with pytest.raises(InputError, match="number of a class follows"):
            distrivote.score_run(run, "score:2", engine=engine, name="third")
    with pytest.raises(InputError, match="needs a server with a reward model"):
        distrivote.score_run(run, "pooling", engine=None)


def test_a_limit_of_tokens_ends_cleanly_and_a_higher_one_goes_on(run: str) -> None:
    with ScriptedServer(RewardServer()) as server, OpenAIEngine(server.url, n_parallel=1) as engine:
        first = distrivote.score_run(run, "score", engine=engine, max_tokens_total=35)
        assert (first.n_scored, first.n_left, first.is_spent) == (4, 8, True)
        second = distrivote.score_run(run, "score", engine=engine)
        assert (second.n_before, second.n_scored, second.is_spent) == (4, 8, False)


def test_a_limit_holds_for_requests_that_run_together_and_none_is_paid_for_twice(run: str) -> None:
    counted = RewardServer()
    n_sent = 0

    def answer(request: Request) -> Reply:
        nonlocal n_sent
        n_sent += request.path == "/v1/score"
        return counted(request)

    with ScriptedServer(answer) as server, OpenAIEngine(server.url) as engine:
        first = distrivote.score_run(run, "score", engine=engine, max_tokens_total=35)
        assert (first.n_scored, n_sent) == (4, 4)
        last = distrivote.score_run(run, "score", engine=engine, max_tokens_total=80)
        assert (last.n_scored, last.is_spent, n_sent) == (8, False, 12)


def test_p_true_is_the_share_of_true_in_the_first_token(run: str) -> None:
    def answer(request: Request) -> Reply:
        if request.path == "/v1/models":
            return Reply(body={"data": [{"id": "lm"}]})
        assert (request.body["max_tokens"], request.body["top_logprobs"]) == (1, 20)
        (message,) = request.body["messages"]
        question = message["content"].partition("\n")[0].removeprefix("Question: ")
        proposed = message["content"].partition("\\boxed{")[2][0]
        right = reward(question, proposed) > 0
        tops = [("A", 0.6), (" B", 0.2), ("Ah", 0.1)] if right else [("B", 0.9), ("The", 0.01)]
        top = [{"token": token, "logprob": math.log(p)} for token, p in tops]
        first = {**top[0], "top_logprobs": top}
        return Reply(body={"choices": [{"logprobs": {"content": [first]}}], "usage": USAGE})

    with ScriptedServer(answer) as server, OpenAIEngine(server.url) as engine:
        result = distrivote.score_run(run, "ptrue", engine=engine)
        assert (result.n_asked, result.n_tokens) == (12, 120)
        told = distrivote.score_run(run, "ptrue", engine=engine)
        assert told.n_before == 12
    found = Run.open(run).table(["ptrue"])["ptrue"].to_pylist()
    assert found == pytest.approx([0.75 if each > 0 else 0.01 / 0.91 for each in EXPECTED])


def test_p_true_of_the_answer_asks_once_for_equal_answers(run: str) -> None:
    def answer(request: Request) -> Reply:
        if request.path == "/v1/models":
            return Reply(body={"data": [{"id": "lm"}]})
        top = [{"token": "The", "logprob": -0.1}]
        return Reply(body={"choices": [{"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}]})

    with ScriptedServer(answer) as server, OpenAIEngine(server.url) as engine:
        result = distrivote.score_run(run, "ptrue:answer", engine=engine)
    assert (result.n_asked, result.n_without) == (4, 12)  # neither True nor False was listed


def test_a_judges_mark_is_the_mean_of_the_digits(run: str) -> None:
    def answer(request: Request) -> Reply:
        if request.path == "/v1/models":
            return Reply(body={"data": [{"id": "lm"}]})
        (message,) = request.body["messages"]
        assert "from 0 (certainly wrong) to 9" in message["content"]
        tops = [("9", 0.5), (" 8", 0.25), ("The", 0.25)] if "{4}" in message["content"] else [("1", 0.9)]
        top = [{"token": token, "logprob": math.log(p)} for token, p in tops]
        return Reply(body={"choices": [{"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}]})

    with ScriptedServer(answer) as server, OpenAIEngine(server.url) as engine:
        assert distrivote.score_run(run, "judge", engine=engine).n_asked == 12
        with pytest.raises(InputError, match="did you mean judge:answer"):
            distrivote.score_run(run, "judge:answr", engine=engine)
    found = Run.open(run).table(["judge"])["judge"].to_pylist()
    assert found == pytest.approx(
        [26 / 3 if each > 0 and at < 6 else 1.0 for at, each in enumerate(EXPECTED)]
    )


def test_a_server_without_log_probabilities_is_an_error(run: str) -> None:
    def answer(request: Request) -> Reply:
        if request.path == "/v1/models":
            return Reply(body={"data": [{"id": "lm"}]})
        return Reply(body={"choices": [{"message": {"content": "A"}}]})

    with (
        ScriptedServer(answer) as server,
        OpenAIEngine(server.url) as engine,
        pytest.raises(EngineError, match="no log-probabilities"),
    ):
        distrivote.score_run(run, "ptrue", engine=engine)


def test_p_true_sums_the_spellings_of_each_side() -> None:
    entries = [
        ("True", math.log(0.3)),
        ("(A", math.log(0.1)),
        ("▁B", math.log(0.1)),
        (" false", math.log(0.3)),
    ]
    assert p_true(entries) == pytest.approx(0.5)
    assert p_true([("A", math.log(0.9))]) == pytest.approx(0.5)  # nothing is known of the other side
    assert p_true([]) is None


@pytest.mark.model
def test_the_built_in_model_says_how_true_replies_are(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
    run = made_run(tmp_path / "run")
    with LlamaCppEngine() as engine:
        entries = next(engine.next_tokens([[Message("user", "Say A or B.")]]))[1].entries
        assert sum(math.exp(logprob) for _, logprob in entries) == pytest.approx(1.0, abs=0.35)
        assert [logprob for _, logprob in entries] == sorted((each for _, each in entries), reverse=True)
        result = distrivote.score_run(run, "ptrue", engine=engine)
        assert result.n_scored + result.n_without == 12
        assert distrivote.score_run(run, "ptrue", engine=engine).n_before == 12
    found = [each for each in Run.open(run).table(["ptrue"])["ptrue"].to_pylist() if each is not None]
    assert found
    assert all(0 < each < 1 for each in found)


def test_one_command_scores_and_votes(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer(RewardServer()) as server, pytest.raises(SystemExit) as left:
        main(["score", run, "--with", "score", "--base-url", server.url, "-m", "bon", "-m", "mob"])
    said = capsys.readouterr()
    assert not left.value.code, said.err
    assert "12 scores added to reward" in said.out
    header, *rows = [line.split("\t") for line in said.out.splitlines() if "\t" in line]
    for method in ("bon", "mob"):
        assert [row[header.index(method)] for row in rows] == ["4", "7"]
    with pytest.raises(SystemExit):
        main(["score", run, "--with", "nothing:at_all", "-m", "bom"])
    assert "unknown method 'bom'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": {"x": 1}}, {"total_tokens": [1]}, {"total_tokens": -5}, 7]
)
def test_a_usage_that_is_no_count_is_none(usage: object) -> None:
    assert n_tokens_of({"usage": usage}) == 0
