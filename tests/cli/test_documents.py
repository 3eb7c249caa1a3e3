"""What `ask`, `vote` and its files write is what docs/reference/documents.schema.json says."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from conforming import conforms
from distrivote.cli.main import main
from distrivote.engines.replay import ReplayEngine
from distrivote.report.documents.fields import VoteRow
from serving import POOL

ANSWERS = str(Path(__file__).parents[2] / "examples" / "answers.jsonl")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0), capsys.readouterr().out


@pytest.mark.parametrize("more", [[], ["--no-ssc"], ["--min-probability", "1"], ["--method", "sc"]])
def test_ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, more: list[str]) -> None:
    monkeypatch.setattr(
        "distrivote.engines.choice.open_engine", lambda *_, **__: ReplayEngine(POOL, "replay")
    )
    code, out = printed(capsys, "ask", "How many?", "--budget", "20", "--json", *more)
    document = json.loads(out)
    conforms(document, "AskDocument")
    assert (document["question"], document["model"], document["budget"]) == ("How many?", "replay", 20)
    assert (code, document["abstained"]) == ((3, True) if "--min-probability" in more else (0, False))
    assert len(document["trajectories"]) == document["n_trajectories"] == len(document["ballot"]) == 20


@pytest.mark.parametrize("more", [[], ["-m", "auto", "--min-probability", "1"], ["-m", "sc", "-m", "wsc"]])
def test_vote(capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    document = json.loads(printed(capsys, "vote", ANSWERS, "--json", *more)[1])
    conforms(document, "VotesDocument")


@pytest.mark.parametrize("more", [[], ["-m", "dis-gmm", "--min-probability", "1"], ["-m", "sc", "-m", "wsc"]])
def test_vote_explained_agrees_with_the_vote_on_all(
    capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    explained = ["vote", ANSWERS, "--json", "--explain", "bat-and-ball", *more]
    document = json.loads(printed(capsys, *explained)[1])
    conforms(document, "ExplainedDocument")
    every = json.loads(printed(capsys, "vote", ANSWERS, "--json", *more)[1])["questions"]
    mine = [row for row in every if row["question_id"] == "bat-and-ball"]
    approximately = {
        name: pytest.approx(value) if isinstance(value, float) else value
        for row in mine
        for name, value in row.items()
    }
    if len(mine) == 1:
        assert document["questions"] == [approximately]
    for row, tally in zip(document["questions"], document["explanations"], strict=True):
        shared = set(row) & set(tally)
        assert shared >= {"answer", "share", "probability", "withheld", "n_kept", "n_cast", "rejected"}
        assert {name: row[name] for name in shared} == {name: tally[name] for name in shared}


def test_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table, lines = tmp_path / "votes.parquet", tmp_path / "votes.jsonl"
    for path in (table, lines):
        printed(capsys, "vote", ANSWERS, "-o", str(path))
    stored = pq.read_table(table)
    assert stored.column_names == list(VoteRow.__annotations__)
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert rows == stored.to_pylist()
    for row in rows:
        conforms(row, "VoteRow")


def test_a_column_of_by_is_allowed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [{"question_id": 1, "answer": "x", "confidence": 2.0, "model": "m"}] * 3
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    document = json.loads(printed(capsys, "vote", str(file), "--by", "model", "--json")[1])
    conforms(document, "VotesDocument")
    assert document["questions"][0]["model"] == "m"
