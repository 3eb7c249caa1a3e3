"""Runs by batch files: requests out, replies in, again and again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from distrivote.benchmarks.benchmark import Benchmark
from distrivote.cli.main import main
from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.protocol import seed_of
from distrivote.errors import InputError
from distrivote.generation import batch as batches
from distrivote.generation.batch import (
    BatchSettings,
    begin_batch,
    continue_batch,
    custom_id,
    read_batch,
)
from distrivote.generation.run import generate_run
from distrivote.generation.sampling import question_seed
from distrivote.generation.settings import RunSettings
from distrivote.problem import Problem
from distrivote.store.runs.run import Run
from engines.scripted_server import ScriptedServer, Token, ToyServer, whole_choice

QUESTIONS = Benchmark(
    "sums",
    tuple(Problem(f"What is {n} + 1?", id=f"q{n}", answer=str(n + 1), template="math") for n in range(3)),
    "here",
)
PARAMS = SamplingParams(max_tokens=50, seed=7)


TOY = ToyServer(lambda _: [Token("\\boxed{1}")])


def settings(budget: int = 4) -> RunSettings:
    return RunSettings(QUESTIONS, PARAMS, None, budget)


def requests_of(files: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files for line in Path(file).read_text().splitlines()]


def says(body: dict[str, Any]) -> list[Token]:
    n = int(body["messages"][-1]["content"].split()[2])
    return [Token("It is ", 10.0), Token(f"\\boxed{{{n + body['seed'] % 2}}}.", 5.0 + body["seed"] % 7)]


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Return the line of output that a host writes for a request."""
    body = request["body"]
    choice = {"index": 0, **whole_choice(says(body), body.get("top_logprobs", 0), chat=True)}
    reply = {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    response = {"status_code": 200, "request_id": "r", "body": reply}
    return {"id": "x", "custom_id": request["custom_id"], "response": response, "error": None}


def failed(request: dict[str, Any]) -> dict[str, Any]:
    response = {"status_code": 429, "body": {"error": {"message": "rate limit reached"}}}
    return {"id": "x", "custom_id": request["custom_id"], "response": response, "error": None}


def written(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_requests_are_those_that_the_engine_would_send(tmp_path: Path) -> None:
    made = begin_batch(str(tmp_path / "run"), settings(), BatchSettings("toy", "vllm"))
    requests = requests_of(made.files)
    assert (made.n_requests, made.n_questions, len(requests)) == (12, 3, 12)
    assert {(each["method"], each["url"]) for each in requests} == {("POST", "/v1/chat/completions")}
    assert len({each["custom_id"] for each in requests}) == 12
    with (
        ScriptedServer(ToyServer(lambda _: [Token("\\boxed{1}")])) as server,
        OpenAIEngine(server.url) as engine,
    ):
        generate_run(engine, QUESTIONS, tmp_path / "other", 4, params=PARAMS, steering=None)
        sent = [
            {n: v for n, v in body.items() if n not in ("stream", "stream_options")}
            for body in server.sampled()
        ]

    def by_seed(body: dict[str, Any]) -> int:
        return int(body["seed"])

    assert sorted((each["body"] for each in requests), key=by_seed) == sorted(sent, key=by_seed)


def test_what_is_off_is_left_out_for_hosts_that_may_refuse_it(tmp_path: Path) -> None:
    plain = RunSettings(QUESTIONS, SamplingParams(temperature=1.0, top_p=1.0, max_tokens=50), None, 1)
    batch = BatchSettings("gpt-5.1", n_logprobs=0, reasoning_effort="low", extra_body={"verbosity": "low"})
    (first, *_) = requests_of(begin_batch(str(tmp_path / "run"), plain, batch).files)
    seed = seed_of(question_seed(0, "q0"), 0)
    assert first["custom_id"] == "q0#0"
    assert first["body"] == {
        "model": "gpt-5.1",
        "max_completion_tokens": 50,
        "messages": [message.fields() for message in QUESTIONS.problems[0].messages()],
        "seed": seed,
        "verbosity": "low",
        "reasoning_effort": "low",
    }
    assert Run.open(tmp_path / "run").manifest.request == {
        "body": {"verbosity": "low", "reasoning_effort": "low"}
    }


def test_output_is_read_once_in_any_order_and_what_failed_is_written_again(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    requests = requests_of(begin_batch(run, settings(), BatchSettings("toy")).files)
    lines = [failed(each) if at % 4 == 0 else answered(each) for at, each in enumerate(requests)]
    output = written(tmp_path / "out.jsonl", lines[::-1])
    read = read_batch(run, [output])
    assert (read.n_added, read.n_there, read.n_failed, read.n_lacking) == (9, 0, 3, 3)
    assert read.first_failure == "rate limit reached"
    again = read_batch(run, [output])
    assert (again.n_added, again.n_there, again.n_failed) == (0, 9, 3)
    more = continue_batch(run)
    assert [each["custom_id"] for each in requests_of(more.files)] == ["q0#0", "q1#0", "q2#0"]
    assert requests_of(more.files) == [each for each in requests if each["custom_id"].endswith("#0")]
    errors = written(tmp_path / "errors.jsonl", [])
    last = read_batch(
        run, [written(tmp_path / "two.jsonl", [*map(answered, requests_of(more.files))]), errors]
    )
    assert (last.n_added, last.n_lacking) == (3, 0)
    assert continue_batch(run).files == ()
    table = Run.open(run).table(
        ("question_id", "sample", "seed", "answer", "confidence", "k", "n_tokens", "flaw")
    )
    rows = sorted(table.to_pylist(), key=lambda row: (row["question_id"], row["sample"]))
    assert [(row["question_id"], row["sample"]) for row in rows] == [
        (f"q{n}", i) for n in range(3) for i in range(4)
    ]
    assert {(row["k"], row["n_tokens"], row["flaw"]) for row in rows} == {(20, 2, None)}
    for row in rows:
        seed = seed_of(question_seed(7, row["question_id"]), row["sample"])
        assert row["seed"] == question_seed(7, row["question_id"])
        assert row["answer"] == str(int(row["question_id"][1:]) + seed % 2)
        assert row["confidence"] == pytest.approx((10.0 + 5.0 + seed % 7) / 2)


def test_a_larger_budget_only_adds_and_an_engine_goes_on_with_a_batch(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    first = requests_of(begin_batch(run, settings(2), BatchSettings("toy")).files)
    read_batch(run, [written(tmp_path / "out.jsonl", [*map(answered, first)])])
    more = requests_of(continue_batch(run, 3).files)
    assert [each["custom_id"] for each in more] == ["q0#2", "q1#2", "q2#2"]
    with (
        ScriptedServer(ToyServer(lambda _: [Token("\\boxed{1}")])) as server,
        OpenAIEngine(server.url) as engine,
    ):
        result = generate_run(engine, QUESTIONS, run, 3, params=PARAMS, steering=None)
    assert result.n_added == 3


def test_files_have_as_many_requests_as_hosts_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_REQUESTS", 5)
    made = begin_batch(str(tmp_path / "run"), settings(), BatchSettings("toy"))
    assert [file.name for file in made.files] == [f"requests-00{n}.jsonl" for n in (1, 2, 3)]
    assert [len(requests_of([file])) for file in made.files] == [5, 5, 2]


def test_a_reply_whose_tokens_do_not_spell_it_is_kept_and_marked(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    lines = [
        answered(each) for each in requests_of(begin_batch(run, settings(1), BatchSettings("toy")).files)
    ]
    lines[0]["response"]["body"]["choices"][0]["message"]["content"] = "Completely other words \\boxed{9}"
    lines[1]["response"]["body"]["choices"][0]["logprobs"] = None
    read_batch(run, [written(tmp_path / "out.jsonl", lines)])
    rows = Run.open(run).table(("question_id", "answer", "flaw")).to_pylist()
    flaws = {row["question_id"]: row["flaw"] for row in rows}
    assert flaws == {"q0": "its tokens do not spell its text", "q1": "no log-probabilities", "q2": None}


def test_long_and_odd_ids_have_names_that_every_host_takes() -> None:
    long = [custom_id(Problem("?", id=name), 0) for name in ("x" * 300, "x" * 301, "täglich")]
    assert len(set(long)) == 3
    assert all(len(name) < 64 and name.isascii() for name in long)


def test_what_is_no_output_of_the_run_is_an_error_with_its_place(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    (first, *_) = requests_of(begin_batch(run, settings(), BatchSettings("toy")).files)
    other = answered(first) | {"custom_id": "q9#0"}
    for line, says_so in (
        (json.dumps(other), "line 1: 'q9#0' is no request of"),
        ("{", "line 1 is no line of a batch's output"),
        ("{}", "line 1 is no line of a batch's output"),
    ):
        (tmp_path / "out.jsonl").write_text(line)
        with pytest.raises(InputError, match=says_so):
            read_batch(run, [tmp_path / "out.jsonl"])
    with pytest.raises(InputError, match="can't read"):
        read_batch(run, [tmp_path / "nowhere.jsonl"])
    with pytest.raises(InputError, match="was not begun as a batch"):
        continue_batch(str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="unknown host"):
        BatchSettings("toy", "somebody")


def test_the_command_writes_and_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = str(tmp_path / "run"), tmp_path / "out.jsonl"

    def typed(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["batch", *words])
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    begin = ["write", run, "--benchmark", "arithmetic", "--size", "2", "--budget", "2"]
    assert "a batch needs a model: give --model" in typed(*begin)[2]
    code, files, said = typed(*begin, "--model", "toy", "--for", "other")
    assert (code, said.split(";")[0]) == (0, "4 requests for 2 questions")
    requests = requests_of(files.splitlines())

    def line(request: dict[str, Any]) -> dict[str, Any]:
        request["body"]["messages"] = [{"content": "What is 1"}]
        return answered(request)

    written(out, [line(each) for each in requests[:3]] + [failed(requests[3])])
    code, told, said = typed("read", run, str(out))
    assert (code, told) == (0, f"{run}: 3 trajectories added, 1 still to do\n")
    assert "1 request failed, the first with: rate limit reached" in said
    assert json.loads(typed("write", run, "--json")[1])["n_requests"] == 1
    assert "nothing to read" in typed("read", run)[2]
    assert "unknown action 'send'" in typed("send", run)[2]
    assert "leave the files out" in typed("write", run, str(out))[2]
    assert "was not begun as a batch: give --benchmark and --model" in typed("write", str(tmp_path / "no"))[2]
