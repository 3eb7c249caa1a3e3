"""The same replies give the same answer at every door, whatever kind of answer they have."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx2 as httpx
import numpy as np
import pytest

from distrivote import Problem, Trajectory, asolve, solve
from distrivote.cli.main import main
from distrivote.engines.replay import ReplayEngine
from distrivote.server.settings import Settings
from serving import serving


class Case(NamedTuple):
    kind: str
    question: str
    texts: list[str]
    answer: str
    votes: int


def thought(text: str) -> str:
    return f"<think>Oslo? 77? {{}}</think>{text}"


SMALL, OTHER = '{"name": "Anna", "age": 31}', '{"name": "Anna", "age": 13}'
ADD = "```python\ndef add(a, b):\n    return a + b\n```"
CALL = '{"name": "weather", "arguments": {"city": "Paris"}}'
CASES = [
    Case("math", "How many?", ["Tom has **12** pears.", "It is \\boxed{12}.", "He has 35."], "12", 2),
    Case("number", "How many?", ["Tom has **12** pears.", "So 12", "So 35"], "12", 2),
    Case("short", "Which town?", ["Paris", "It is **Paris**.", "Rome"], "Paris", 2),
    Case("choice", "Which? A) Mars B) Jupiter", ["The answer is (B).", "B", "A"], "B", 2),
    Case("label:good,bad", "Is it good?", ["I would say good.", "**Good**", "bad"], "good", 2),
    Case("json", "Who?", [SMALL, f"```json\n{SMALL}\n```", OTHER], SMALL, 2),
    Case(
        "tool",
        "How is the weather?",
        [f"<tool_call>\n{CALL}\n</tool_call>"] * 2
        + ["<tool_call>\n" + CALL.replace("Paris", "Rome") + "\n</tool_call>"],
        f"[{CALL}]",
        2,
    ),
    Case("code", "Add.", [ADD, ADD, ADD.replace("+", "-")], "def add(a, b):\n    return a + b", 2),
    Case(
        "text",
        "Sing.",
        ["Rain falls on the roof.", "Rain falls on the roof.", "No."],
        "Rain falls on the roof.",
        2,
    ),
]


def trajectories(texts: list[str], finish_reason: str = "stop") -> list[Trajectory]:
    made = []
    for at, text in enumerate(texts):
        tokens = tuple(text[i : i + 5] for i in range(0, len(text), 5))
        top = np.full((len(tokens), 20), -9.0)
        chosen = np.full(len(tokens), -0.5)
        made.append(Trajectory(text, tokens, top, chosen, finish_reason, at, n_prompt_tokens=5))
    return made


class Replay(ReplayEngine):
    """Replays its trajectories for every question."""

    def close(self) -> None:
        pass


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command whose model gives these replies."""

    def type_in(texts: list[str], *words: object, finish_reason: str = "stop") -> tuple[int, str, str]:
        def opened(*_: object, **__: object) -> Replay:
            return Replay(trajectories(texts, finish_reason), "toy")

        monkeypatch.setattr("distrivote.engines.choice.open_engine", opened)
        monkeypatch.setattr("distrivote.generation.deferred.open_engine", opened)
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return type_in


MODEL = ["--base-url", "http://127.0.0.1:9/v1", "--model", "toy"]
"""Nobody is asked there: the engine is a replay."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_python(case: Case) -> None:
    texts = [thought(text) for text in case.texts]
    how = {"budget": 3, "answer": case.kind, "steering": None, "method": "sc"}
    put = Problem(case.question, template="plain")
    found = solve(ReplayEngine(trajectories(texts)), put, **how)  # type: ignore[arg-type]
    again = asyncio.run(asolve(ReplayEngine(trajectories(texts)), put, **how))  # type: ignore[arg-type]
    for each in (found, again):
        assert each.answer == case.answer
        assert each.tally.votes[case.answer] == case.votes
        assert "Oslo" not in each.reply
        assert each.reply in case.texts


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_ask(case: Case, run: Callable[..., tuple[int, str, str]]) -> None:
    texts = [thought(text) for text in case.texts]
    words = ["ask", case.question, "--budget", 3, "--answer", case.kind, "--method", "sc", "--no-ssc", *MODEL]
    code, out, _ = run(texts, *words, "--template", "plain")
    assert (code, out) == (0, f"{case.answer}\n")
    code, out, _ = run(texts, *words, "--template", "plain", "--json")
    told = json.loads(out)
    assert (code, told["answer"], told["votes"][case.answer]) == (0, case.answer, case.votes)
    assert "Oslo" not in told["reply"]


def streamed(url: str, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a stream, and the vote at its end."""
    text, vote = "", {}
    for line in httpx.post(url, json=body | {"stream": True}).text.splitlines():
        if line.startswith("data: {"):
            chunk = json.loads(line.removeprefix("data: "))
            text += "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
            vote = chunk.get("distrivote", vote)
    return text, vote


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_server(case: Case) -> None:
    texts = [thought(text) for text in case.texts]
    vote = {"answer": case.kind, "budget": 3, "ssc": False, "method": "sc"}
    body = {"model": "toy", "messages": [{"role": "user", "content": case.question}], "distrivote": vote}
    with serving(Replay(trajectories(texts), "toy"), Settings(budget=3)) as url:
        whole = httpx.post(f"{url}/v1/chat/completions", json=body)
        text, last = streamed(f"{url}/v1/chat/completions", body)
        asked = {"question": case.question, "template": "plain", **vote}
        page = httpx.post(f"{url}/api/ask", json=asked).text
    assert whole.status_code == 200
    said = whole.json()
    message = said["choices"][0]["message"]
    content = message["content"] or ""
    assert said["distrivote"]["answer"] == last["answer"] == case.answer
    assert said["distrivote"]["votes"][case.answer] == case.votes
    assert content == text
    if case.kind == "tool":  # calls are no text
        (called,) = json.loads(case.answer)
        (call,) = message["tool_calls"]
        assert call["function"]["name"] == called["name"]
        assert json.loads(call["function"]["arguments"]) == called["arguments"]
        assert message["content"] is None
    else:
        assert content in case.texts
    (final,) = (
        json.loads(line.removeprefix("data: "))
        for line in page.splitlines()
        if line.startswith("data: ") and '"votes"' in line and '"seconds"' in line
    )
    assert final["answer"] == case.answer
    assert "Oslo" not in final["reply"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_runs(case: Case, run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    texts = [thought(text) for text in case.texts]
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"id": "q", "question": case.question, "answer": case.answer}) + "\n")
    stored = tmp_path / "run"
    made = ["generate", questions, "--budget", 3, "--template", "plain", "--no-ssc", "-o", stored, *MODEL]
    code, _, err = run(texts, *made, "--answer", case.kind)
    assert code == 0, err
    code, out, err = run(texts, "vote", stored, "--method", "sc", "--json", "--answer", case.kind)
    assert code == 0, err
    (row,) = json.loads(out)["questions"]
    assert (row["answer"], row["correct"]) == (case.answer, True)
    code, out, err = run(texts, "show", stored, "q", "--answer", case.kind, "--method", "sc")
    assert code == 0, err
    assert "66.7%" in out or "67%" in out
    code, out, err = run(texts, "evaluate", stored, "--answer", case.kind, "--budget", 3, "--json")
    assert code == 0, err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_import(case: Case, run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    rows = [{"question_id": "q", "question": case.question, "text": thought(text)} for text in case.texts]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = run([], "import", file, "--answer", case.kind, "-o", tmp_path / "run")
    assert code == 0, err
    code, out, err = run([], "vote", tmp_path / "run", "--answer", case.kind, "--method", "sc", "--json")
    assert code == 0, err
    (row,) = json.loads(out)["questions"]
    assert row["answer"] == case.answer


def test_texts_in_runs_and_files_have_no_probability(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    texts = ["Rain falls on the roof.", "Rain falls on the roof.", "No."]
    questions, stored, file = (tmp_path / name for name in ("q.jsonl", "run", "answers.csv"))
    questions.write_text('{"id": "q", "question": "Sing.", "answer": "?"}\n')
    file.write_text("question_id,answer,confidence\n" + "".join(f"q,{text},5\n" for text in texts))
    made = ["generate", questions, "--budget", 3, "--template", "plain", "--no-ssc", "-o", stored, *MODEL]
    code, _, err = run(texts, *made, "--answer", "text")
    assert code == 0, err
    asked = ["--min-probability", "0.999", "--method", "wsc"]
    for words in ([stored], [stored, "--answer", "text"], [file, "--answer", "text"]):
        written = tmp_path / "votes.csv"
        code, out, err = run([], "vote", *words, *asked, "--json", "-o", written)
        assert code == 0, err
        (row,) = json.loads(out)["questions"]
        assert (row["answer"], row["probability"], row["abstained"]) == (texts[0], None, False)
        assert "a text has no probability of being right" in err.lower()
        (line,) = csv.DictReader(written.read_text().splitlines())
        assert line["probability"] == ""
        code, out, err = run([], "vote", *words, *asked)
        assert code == 0, err
        code, out, err = run([], "vote", *words, *asked, "--explain", "q", "--json")
        assert code == 0, err
        (told,) = json.loads(out)["explanations"]
        assert (told["probability"], told["probabilities"]) == (None, {})
        assert told["no_probability"].startswith("A text has no probability")
    code, out, err = run([], "show", stored, "q", "--answer", "text")
    assert code == 0, err
    assert "likely right" not in out
    code, out, err = run([], "vote", file, "--answer", "short", "--method", "wsc", "--json")
    assert json.loads(out)["questions"][0]["probability"] > 0


def test_a_file_of_replies_is_to_be_imported(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text('{"question_id": "q", "text": "It is Paris."}\n')
    code, out, err = run([], "vote", file, "--answer", "short")
    assert (code, out) == (2, "")
    said = " ".join(err.split())
    assert (
        "has no column 'answer' (it has question_id, text): name the right one with --answer-column" in said
    )
    assert "if it holds whole replies, turn it into a run first (distrivote import)" in said


# There is always a reply


def test_without_anything_to_vote_on_the_surest_reply_comes(run: Callable[..., tuple[int, str, str]]) -> None:
    texts = ["I can't say.", "No idea at all."]
    words = ["ask", "How many?", "--budget", 2, "--answer", "number", "--no-ssc", *MODEL]
    code, out, err = run(texts, *words)
    assert (code, out) == (0, "I can't say.\n")
    assert "no trajectory gave an answer" in err
    code, out, err = run(texts, *words, "--strict")
    assert (code, out) == (1, "\n")
    assert "no trajectory gave an answer" in err


def test_a_server_without_anything_to_vote_on_replies_all_the_same() -> None:
    texts = ["I can't say.", "No idea at all."]
    vote: dict[str, Any] = {"answer": "number", "budget": 2, "ssc": False}
    body = {"model": "toy", "messages": [{"role": "user", "content": "How many?"}], "distrivote": vote}
    with serving(Replay(trajectories(texts), "toy"), Settings(budget=2)) as url:
        found = httpx.post(f"{url}/v1/chat/completions", json=body)
        strict = httpx.post(f"{url}/v1/chat/completions", json=body | {"distrivote": vote | {"strict": True}})
        command = httpx.post(
            f"{url}/v1/chat/completions", json=body | {"distrivote": vote | {"same": "command:touch x"}}
        )
        running = httpx.post(
            f"{url}/v1/chat/completions", json=body | {"distrivote": vote | {"run_code": True}}
        )
        inputs = httpx.post(
            f"{url}/v1/chat/completions", json=body | {"distrivote": vote | {"inputs": "model"}}
        )
    assert found.status_code == 200
    assert found.json()["distrivote"]["answer"] is None
    assert found.json()["choices"][0]["message"]["content"] == "I can't say."
    assert strict.status_code == 422
    assert strict.json()["error"]["code"] == "no_answer"
    assert command.status_code == 400  # no request names a program
    assert running.status_code == 400
    assert inputs.status_code == 400


def test_three_tokens_are_no_answer(run: Callable[..., tuple[int, str, str]]) -> None:
    words = ["ask", "How many has Tom?", "--budget", 2, "--template", "plain", "--no-ssc", *MODEL]
    code, out, err = run(["Tom has 5", "Tom has 5"], *words, finish_reason="length")
    assert (code, out) == (0, "Tom has 5\n")
    assert "2 of 2 were cut off, so raise --max-tokens" in err


ADDING = 'def add(a, b):\n    """Return the sum.\n\n    >>> add(2, 3)\n    5\n    """'


@pytest.mark.slow
def test_programs_are_tried_on_the_inputs_of_a_file(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    texts = [ADD, ADD.replace("a + b", "b + a"), ADD.replace("a + b", "a + b if b < 99 else 0")]
    inputs, questions, stored = (tmp_path / name for name in ("inputs.jsonl", "questions.jsonl", "run"))
    inputs.write_text("[1, 100]\n")
    questions.write_text(json.dumps({"id": "q", "question": ADDING, "answer": "?"}) + "\n")
    told = ["--run-code", "--answer", "code", "--method", "sc", "--json"]
    words = ["ask", ADDING, "--budget", 3, "--no-ssc", "--template", "plain", *told, *MODEL]
    made = ["generate", questions, "--budget", 3, "--template", "plain", "--no-ssc", "-o", stored, *MODEL]
    code, _, err = run(texts, *made, "--answer", "code")
    assert code == 0, err
    for more, votes, share in (([], [3], 1), (["--inputs", inputs], [1, 2], 2 / 3)):
        code, out, err = run(texts, *words, *more)
        assert code == 0, err
        assert sorted(json.loads(out)["votes"].values()) == votes
        code, out, err = run(texts, "vote", stored, *told, *more)
        assert code == 0, err
        (row,) = json.loads(out)["questions"]
        assert row["share"] == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--answer", "code", "--run-code", "--inputs", "model"], "there is no model here"),
        (["--answer", "code", "--run-code", "--inputs", "no.jsonl"], "no.jsonl can't be read"),
        (["--answer", "code", "--inputs", "no.jsonl"], "add --answer code --run-code"),
        (["--answer", "short", "--run-code", "--inputs", "no.jsonl"], "add --answer code --run-code"),
        (["--run-code", "--inputs", "no.jsonl"], "add --answer code --run-code"),
    ],
)
def test_a_file_of_answers_has_no_model_to_ask_for_inputs(
    words: list[str], message: str, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question_id": 1, "answer": "x = 1", "confidence": 1}\n')
    code, out, err = run([], "vote", file, *words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--inputs", "model"], "add --run-code, or leave out --inputs"),
        (["--run-code", "--inputs", "no.jsonl"], "no.jsonl can't be read"),
        (["--run-code", "--inputs", "model", "--answer", "short"], "the answers are of the kind short"),
        (["--answer", "label:yes"], "label"),
        (["--answer", "nubmer"], "kind of answer"),
        (["--answer", "short", "--schema", "no.json"], "--schema and --ignore are for JSON"),
        (["--answer", "json", "--schema", "no.json"], "no.json can't be read"),
        (["--answer", "json", "--schema", "INVALID"], "error: the JSON schema is invalid: 12 is not"),
        (["--same", "command:no-such-program-here"], "there is no program"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    words: list[str], message: str, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    (tmp_path / "invalid.json").write_text('{"type": 12}')
    words = [str(tmp_path / "invalid.json") if word == "INVALID" else word for word in words]
    code, out, err = run(["12"], "ask", "How many?", "--budget", 1, *words, *MODEL)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) <= 2
