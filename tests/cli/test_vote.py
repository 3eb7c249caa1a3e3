"""`distrivote vote`: what it prints, what it writes, and what it leaves behind when it can't."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest

from distrivote.cli.main import main
from distrivote.store.tables import text as table_text
from distrivote.store.tables.cells import guarded

ROOT = Path(__file__).parents[2]
ANSWERS = str(ROOT / "examples" / "answers.jsonl")
BRUMO = ROOT / "tests" / "data" / "brumo2025_deepconf_64.parquet"
BOINF = ROOT / "tests" / "data" / "boinf_aime2024.parquet"


class Result(NamedTuple):
    code: int
    out: str
    err: str


Vote = Callable[..., Result]


@pytest.fixture
def vote(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Vote:
    """Run the command in this process."""

    def run(*arguments: object, stdin: bytes | None = None) -> Result:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as left:
            main(["vote", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Result(left.value.code, out, err)

    return run


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(question: object, answers: str, **more: object) -> list[dict[str, Any]]:
    """A row per letter; capitals are sure."""
    return [
        {
            "question_id": question,
            "answer": a.lower(),
            "confidence": 15.0 + i % 3 if a.isupper() else 9.0,
        }
        | more
        for i, a in enumerate(answers)
    ]


def table(out: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(out), delimiter="\t", quoting=csv.QUOTE_NONE))


# What it prints


def test_piped_output_is_a_line_per_question_and_the_summary_is_elsewhere(vote: Vote) -> None:
    code, out, err = vote(ANSWERS)
    assert code == 0
    rows = {row["question_id"]: row for row in table(out)}
    assert list(rows) == [
        "bat-and-ball", "lily-pads", "machines", "birthdays", "two-aces", "handshakes",
    ]  # fmt: skip
    assert list(rows["machines"]) == [
        "question_id", "answer", "share", "n_kept", "n_cast", "rejected", "majority", "correct",
        "probability", "abstained",
    ]  # fmt: skip
    assert rows["two-aces"]["answer"] == "\\frac{1}{221}"
    assert "auto       83.3%  5 of 6 right" in err
    assert "majority   66.7%  4 of 6 right" in err
    assert "6 questions · 184 trajectories · 8 without an answer" in err
    assert "\x1b" not in out + err


def test_the_example_shows_the_good_and_the_bad(vote: Vote) -> None:
    rows = {row["question_id"]: row for row in table(vote(ANSWERS).out)}
    assert (rows["bat-and-ball"]["answer"], rows["bat-and-ball"]["majority"]) == ("5", "10")
    assert rows["bat-and-ball"]["correct"] == "true"
    assert rows["machines"]["answer"] == rows["machines"]["majority"] == "5"
    assert (rows["handshakes"]["answer"], rows["handshakes"]["majority"]) == ("90", "45")
    assert rows["handshakes"]["correct"] == "false"
    with open(ANSWERS) as file:
        answers = [json.loads(line) for line in file]
    assert sum(row["answer"] is None for row in answers) == 8
    sizes = np.unique([row["question_id"] for row in answers], return_counts=True)[1]
    assert sizes.min() >= 24
    assert sizes.max() <= 40


def test_several_methods_have_a_column_each(vote: Vote) -> None:
    _, out, err = vote(ANSWERS, "-m", "bon", "--method", "wsc", "-m", "bon")
    assert list(table(out)[0]) == ["question_id", "bon", "wsc", "majority"]
    assert [line.split()[0] for line in err.splitlines()[:3]] == ["bon", "wsc", "majority"]


def test_majority_alone_needs_no_confidence_and_no_second_majority(vote: Vote, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question_id,answer,confidence\n1,x,\n1,x,-5\n1,y,none\n")
    code, out, _ = vote(path, "-m", "sc")
    assert code == 0
    assert table(out)[0] == {
        "question_id": "1", "answer": "x", "share": "0.6667", "n_kept": "3", "n_cast": "3",
        "rejected": "", "correct": "", "probability": "0.5449", "abstained": "false",
    }  # fmt: skip
    assert vote(path, "-m", "sc", "-m", "wsc").code == 2


def test_json_is_one_document(vote: Vote) -> None:
    _, out, err = vote(ANSWERS, "--json", "-m", "dis-gmm", "-m", "wsc")
    document = json.loads(out)
    assert document["methods"] == ["dis-gmm", "wsc"]
    assert [(row["question_id"], row["method"]) for row in document["questions"][:3]] == [
        ("bat-and-ball", "dis-gmm"), ("bat-and-ball", "wsc"), ("lily-pads", "dis-gmm"),
    ]  # fmt: skip
    first = document["questions"][0]
    assert (first["answer"], first["majority"], first["correct"]) == ("5", "10", True)
    assert (first["n_kept"], first["n_cast"], first["n_unanswered"]) == (12, 32, 0)
    assert first["ground_truth"] == "5"
    assert document["summary"]["n_trajectories"] == 184
    assert document["summary"]["accuracy"]["dis-gmm"]["n_right"] == 5
    assert document["summary"]["accuracy"]["sc"]["n_known"] == 6
    assert err == ""


def test_a_method_is_called_by_its_canonical_name(vote: Vote) -> None:
    document = json.loads(vote(ANSWERS, "--json", "-m", " hier-gmm-reject").out)
    assert document["methods"] == ["dis-gmm"]


def test_questions_of_several_runs_are_told_apart(vote: Vote, tmp_path: Path) -> None:
    rows = [
        row
        for run in ("b", "a")
        for question in (2, 1)
        for row in rows_of(question, "xxY" if run == "a" else "yyX", model=run, ground_truth="y")
    ]
    path = write(tmp_path / "a.jsonl", rows)
    _, out, _ = vote(path, "--by", "model", "-m", "bon")
    assert [(r["model"], r["question_id"], r["answer"], r["majority"]) for r in table(out)] == [
        ("b", "2", "x", "y"), ("b", "1", "x", "y"), ("a", "2", "y", "x"), ("a", "1", "y", "x"),
    ]  # fmt: skip
    _, out, _ = vote(path, "--by", "model", "--json")
    assert json.loads(out)["questions"][0]["model"] == "b"
    assert "question 'a/3'" in vote(path, "--by", "model", "--explain", "a/3").err
    assert "say which one, as in b/1 or a/1" in vote(path, "--by", "model", "--explain", 1).err
    assert "question a/1" in vote(path, "--by", "model", "--explain", "a/1").out


def test_a_by_column_with_one_of_our_names_is_renamed(vote: Vote, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", rows_of(1, "xy", method="greedy"))
    assert json.loads(vote(path, "--by", "method", "--json").out)["questions"][0]["by_method"] == "greedy"


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_standard_input_equals_the_file(vote: Vote, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"copy.{suffix}"
    with open(ANSWERS) as file:
        rows = [json.loads(line) for line in file]
    if suffix == "jsonl":
        path.write_text(Path(ANSWERS).read_text())
    elif suffix == "csv":
        with open(path, "w", newline="") as target:
            writer = csv.DictWriter(target, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        import pyarrow as pa

        pq.write_table(pa.Table.from_pylist(rows), path)
    expected = vote(ANSWERS)
    assert vote(path) == expected
    assert vote("-", stdin=path.read_bytes()) == expected


def test_an_unsorted_file_gives_the_same_with_a_note(vote: Vote, tmp_path: Path) -> None:
    lines = Path(ANSWERS).read_text().splitlines(keepends=True)
    by_question: dict[str, list[str]] = {}
    for line in lines:
        by_question.setdefault(json.loads(line)["question_id"], []).append(line)
    turns = [group[i] for i in range(40) for group in by_question.values() if i < len(group)]
    path = tmp_path / "turns.jsonl"
    path.write_text("".join(turns))
    expected, found = vote(ANSWERS), vote(path)
    assert found.out == expected.out
    note = f"note: {path} is not sorted by question_id: 184 rows held in memory; sort it to stream\n"
    assert found.err.replace(note, "") == expected.err != found.err
    assert "held in memory" in vote(path, "--explain", "machines").err


def test_small_pools_are_noted_in_one_line(vote: Vote, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", rows_of(1, "xxY") + rows_of(2, "xY") + rows_of(3, "xY" * 10))
    _, _, err = vote(path)
    assert "note: 2 of 3 questions have fewer than 16 answers" in err
    assert "fewer than" not in vote(path, "-m", "wsc").err


def test_probabilities_that_decide_are_noted_where_they_were_not_fitted(vote: Vote, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", rows_of(1, "x") + rows_of(2, "x" * 8))
    code, out, err = vote(path, "--min-probability", "0.9")
    assert [row["answer"] for row in table(out)] == ["", "x"]
    assert "note: 1 of 2 questions has fewer than 8 or more than 256 answers" in err
    assert code == 3
    assert "guess" not in vote(path).err
    assert json.loads(vote(path, "--json").out)["summary"]["n_uncalibrated"] == 1


def test_questions_without_any_answer_are_counted_as_wrong(vote: Vote, tmp_path: Path) -> None:
    rows = [{"question_id": 1, "answer": None, "confidence": None, "ground_truth": "x"}] * 3
    path = write(tmp_path / "a.jsonl", [*rows, *rows_of(2, "xX", ground_truth="x")])
    _, out, err = vote(path)
    assert [(row["answer"], row["correct"]) for row in table(out)] == [("", "false"), ("x", "true")]
    assert "1 of 2 right" in err
    assert "3 without an answer" in err


def test_the_truth_may_be_said_in_several_ways(vote: Vote, tmp_path: Path) -> None:
    def accuracy(rows: list[dict[str, Any]], *options: str) -> tuple[int, int] | None:
        found = json.loads(vote(write(tmp_path / "a.jsonl", rows), "--json", *options).out)
        of = found["summary"]["accuracy"].get("auto")
        return of and (of["n_right"], of["n_known"])

    plain = {"question_id": 1, "answer": "42", "confidence": 2.0}
    assert accuracy([plain]) is None
    assert accuracy([plain | {"ground_truth": " 42.0 "}]) == (1, 1)
    assert accuracy([plain | {"ground_truth": 42}]) == (1, 1)
    assert accuracy([plain | {"ground_truth": "41"}]) == (0, 1)
    assert accuracy([plain | {"ground_truth": "42", "correct": False}]) == (0, 1)
    assert accuracy([plain | {"ground_truth": "42", "correct": None}]) == (1, 1)
    assert accuracy([plain | {"correct": c} for c in (True, True, False)]) == (1, 1)
    assert accuracy([plain | {"correct": c} for c in (True, False)]) == (0, 1)
    right = plain | {"ground_truth": "41", "gold": "42", "correct": False}
    assert accuracy([right], "--truth-column", "gold") == (1, 1)


HOSTILE = [
    "[bold]x[/]",
    "\x1b[31mred\x1b[0m\x07",
    "a\tb\nc\rd",
    "x" * 10_000,
    "42 ☃ 数学 🎲 e\u0301",
    "\u202eturned",
    "{{}} %s \\n",
    '"quoted", and more',
    "=cmd()",
]


def test_hostile_answers_stay_text(vote: Vote, tmp_path: Path) -> None:
    rows = [
        {"question_id": f"{i} {answer[:20]}", "answer": answer, "confidence": 2.0}
        for i, answer in enumerate(HOSTILE)
        for _ in range(2)
    ]
    path = write(tmp_path / "a.jsonl", rows)
    _, out, _ = vote(path)
    assert "\x1b" not in out
    assert len(out.splitlines()) == len(HOSTILE) + 1
    assert "a\\tb\\nc\\rd" in out
    document = json.loads(vote(path, "--json").out)
    assert [row["answer"] for row in document["questions"]] == HOSTILE
    for answer, row in zip(HOSTILE, rows[::2], strict=True):
        code, out, _ = vote(path, "--explain", row["question_id"])
        assert code == 0
        assert "\x1b" not in out
        assert max(map(len, out.splitlines())) <= 80, answer
    for suffix in ("jsonl", "csv", "parquet", "tsv"):
        assert vote(path, "-o", tmp_path / f"out.{suffix}").code == 0
    lines = (tmp_path / "out.jsonl").read_bytes().split(b"\n")[:-1]
    assert [json.loads(line)["answer"] for line in lines] == HOSTILE
    with open(tmp_path / "out.csv", newline="") as file:
        assert [row["answer"] for row in csv.DictReader(file)] == [guarded(answer) for answer in HOSTILE]
    assert pq.read_table(tmp_path / "out.parquet")["answer"].to_pylist() == HOSTILE


# --explain


def test_explain_tells_the_whole_story(vote: Vote) -> None:
    code, out, _ = vote(ANSWERS, "--explain", "bat-and-ball", "-m", "dis-gmm")
    assert code == 0
    for part in (
        "question bat-and-ball · dis-gmm · 32 trajectories",
        "✓ right",
        "majority voting says 10 instead",
        "cut 13.2",
        "likely wrong 20   ┊   likely right 12",
        "after reject",
        "rejected",
        "95 is rejected because",
    ):
        assert part in out
    assert "no answer 7" in vote(ANSWERS, "--explain", "birthdays").out
    assert "✗ wrong, it is 45" in vote(ANSWERS, "--explain", "handshakes", "-m", "dis-gmm").out


@pytest.mark.parametrize("method", ["sc", "wsc", "bon", "borda", "mob", "hier", "dis-top50", "wsc-kmeans"])
def test_explain_works_for_every_kind_of_method(vote: Vote, method: str) -> None:
    code, out, _ = vote(ANSWERS, "--explain", "lily-pads", "-m", method)
    assert code == 0
    assert f"question lily-pads · {method}" in out


def test_explain_as_json_has_the_split(vote: Vote) -> None:
    document = json.loads(vote(ANSWERS, "--explain", "bat-and-ball", "--json", "-m", "dis-gmm").out)
    assert [row["question_id"] for row in document["questions"]] == ["bat-and-ball"]
    (explained,) = document["explanations"]
    assert explained["first_split"]["n_positive"] == 12
    assert explained["rejected"] == "95"
    assert explained["votes"] == {"5": 12, "10": 17, "100": 2, "95": 1}
    assert "wins with" in explained["explanation"]


def test_an_unknown_question_names_the_nearest(vote: Vote) -> None:
    code, out, err = vote(ANSWERS, "--explain", "bat-and-bull")
    assert (code, out) == (2, "")
    assert err == ("distrivote: error: there is no question 'bat-and-bull': did you mean bat-and-ball?\n")
    assert "there are bat-and-ball, lily-pads, machines and 3 more" in vote(ANSWERS, "--explain", "#").err


def test_explain_survives_pools_of_one_value(vote: Vote, tmp_path: Path) -> None:
    for confidences in ([3.0], [3.0] * 20, [1e-100, 2e-100], [1e100, 2.0], [1.0, 1.0 + 1e-15]):
        rows = [{"question_id": 1, "answer": "x", "confidence": c} for c in confidences]
        code, out, err = vote(write(tmp_path / "a.jsonl", rows), "--explain", 1)
        assert (code, err) == (0, "")
        assert "x wins with 100% of the score" in out
    rows = [{"question_id": 1, "answer": None, "confidence": None}]
    assert "no answer" in vote(write(tmp_path / "a.jsonl", rows), "--explain", 1).out


# -o


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "csv", "tsv", "parquet", "pq"])
def test_every_format_can_be_written(vote: Vote, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    path.write_text("old")
    code, _, _ = vote(ANSWERS, "-m", "bon", "-m", "dis-gmm", "-o", path)
    assert code == 0
    assert os.listdir(tmp_path) == [path.name]
    if suffix in ("jsonl", "ndjson"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    elif suffix in ("csv", "tsv"):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t" if suffix == "tsv" else ","))
    else:
        rows = pq.read_table(path).to_pylist()
    assert list(rows[0]) == [
        "question_id", "method", "answer", "share", "n_kept", "n_cast", "n_unanswered", "rejected",
        "correct", "majority", "majority_correct", "ground_truth", "probability", "abstained", "withheld",
        "n_unmeasured",
    ]  # fmt: skip
    assert len(rows) == 12
    assert [row["method"] for row in rows[:2]] == ["bon", "dis-gmm"]
    assert (rows[1]["answer"], rows[1]["majority"], str(rows[1]["n_kept"])) == ("5", "10", "12")


def test_integer_ids_stay_integers(vote: Vote, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", rows_of(7, "xX"))
    vote(path, "-o", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["question_id"].to_pylist() == [7]


def test_a_new_file_has_the_permissions_of_any_new_file(vote: Vote, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    vote(ANSWERS, "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_keeps_pointing_to_the_file_that_is_written(vote: Vote, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    vote(ANSWERS, "-o", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith('"question_id"')


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_nothing_is_printed_or_left_behind_on_an_error(
    vote: Vote, tmp_path: Path, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_text, "BATCH_ROWS", 2)
    path = write(tmp_path / "a.jsonl", [row for q in range(50) for row in rows_of(q, "xyX")])
    with open(path, "a") as file:
        file.write("oops\n")
    (tmp_path / "out.jsonl").write_text("old\n")
    for target in ("out.jsonl", "new.jsonl", "new.csv", "new.parquet"):
        code, out, err = vote(path, "-o", tmp_path / target, *options)
        assert (code, out) == (2, "")
        assert err.startswith(f"distrivote: error: {path}, line 151 is not valid JSON")
        assert err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl", "out.jsonl"]
    assert (tmp_path / "out.jsonl").read_text() == "old\n"


def test_an_output_that_cant_be_is_refused_before_anything_is_read(vote: Vote, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", rows_of(1, "xX"))
    before = path.read_bytes()
    (tmp_path / "folder.csv").mkdir()
    for output, part in (
        ("out.xlsx", "can't tell the format"),
        ("out.json", "can't tell the format"),
        ("out", "can't tell the format"),
        ("a.jsonl", "is the file that is read"),
        ("no/such/out.csv", "make the folder"),
        ("folder.csv", "is a directory"),
    ):
        code, out, err = vote(path, "-o", tmp_path / output)
        assert (code, out) == (2, "")
        assert part in err
    assert path.read_bytes() == before
    assert "leave out -o or --explain" in vote(path, "-o", tmp_path / "x.csv", "--explain", 1).err


def test_an_unknown_method_lists_the_nearest(vote: Vote) -> None:
    code, out, err = vote(ANSWERS, "-m", "dis-gm")
    assert (code, out) == (2, "")
    assert "dis-gmm" in err


def test_a_file_without_a_column_of_confidences_is_voted_on_by_majority_with_one_note(
    vote: Vote, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.jsonl", [{"question_id": 1, "answer": a} for a in "445"])
    code, out, err = vote(path)
    assert code == 0
    assert out.splitlines()[1].split("\t")[:2] == ["1", "4"]
    assert [line for line in err.splitlines() if line.startswith("note: ")] == [
        "note: no answer has a confidence, so majority voting decides, not auto: there is no column"
        " 'confidence' (--confidence-column names another)"
    ]
    assert "note" not in vote(path, "--method", "sc").err


@pytest.mark.parametrize("option", ["--signal", "--confidence-column"])
def test_a_column_that_is_named_must_be_there(vote: Vote, tmp_path: Path, option: str) -> None:
    path = write(tmp_path / "a.jsonl", [{"question_id": 1, "answer": "4"}] * 3)
    code, _, err = vote(path, option, "sure")
    assert code == 2
    assert err == (
        f"distrivote: error: {path} has no column 'sure' (it has question_id, answer): name the right one"
        " with --confidence-column\n"
    )


@pytest.mark.parametrize("more", [(), ("--explain", "q"), ("--signal", "auto")])
def test_models_that_are_pooled_are_said(vote: Vote, tmp_path: Path, more: tuple[str, ...]) -> None:
    rows = rows_of("q", "xxYY", model="m") + rows_of("q", "xxYY", model="n")
    path = write(tmp_path / "a.jsonl", rows)
    note = "note: the column 'model' has 2 values: --by model votes on each apart\n"
    assert vote(path, *more).err.count(note) == 1
    assert note not in vote(path, "--by", "model").err


# A terminal


def on_a_terminal(*arguments: str, columns: int = 80, **env: str) -> str:
    """Run the command with a terminal as standard output, and return what it shows."""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"COLUMNS": str(columns), "LINES": "50", "TERM": "xterm-256color"} | env
    process = subprocess.Popen(
        [sys.executable, "-m", "distrivote", "vote", *arguments],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.stderr is not None
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 0, err
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_a_terminal_gets_a_table_with_marks_and_a_summary(tmp_path: Path) -> None:
    rows = [row for q in range(45) for row in rows_of(f"q{q}", "xxY" * 8, ground_truth="y")]
    shown = on_a_terminal(str(write(tmp_path / "a.jsonl", rows)), "-m", "dis-gmm", columns=100)
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "question   answer   majority   share   probability   kept / cast" in plain
    assert re.search(r"q0         ✓ y      ✗ x         100%  +\d+%        8 / 24", plain)
    assert "q39 " in plain
    assert "q40 " not in plain
    assert "…5 more questions; -o FILE or --json gives all" in plain
    assert "dis-gmm   100.0%  45 of 45 right" in plain
    plain = on_a_terminal(ANSWERS, "--explain", "lily-pads", columns=60, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain)
    assert "likely wrong" in plain


# The real sample


def test_the_real_sample_gives_its_published_counts(vote: Vote) -> None:
    expected = {
        "sc": 17, "wsc": 23, "bon": 27, "hier": 25,
        "wsc-top50": 26, "wsc-gmm": 28, "dis-top50": 27, "dis-gmm": 28,
    }  # fmt: skip
    options = [option for name in expected for option in ("-m", name)]
    code, out, _ = vote(BRUMO, "--answer-column", "answer_key", "--json", *options)
    assert code == 0
    accuracy = json.loads(out)["summary"]["accuracy"]
    assert {name: accuracy[name]["n_right"] for name in expected} == expected
    assert {a["n_known"] for a in accuracy.values()} == {29}
    for name, n_right in expected.items():
        _, _, err = vote(BRUMO, "--answer-column", "answer_key", "--method", name)
        assert f"{n_right} of 29 right" in err.splitlines()[0]


def test_a_file_with_several_models_needs_by(vote: Vote) -> None:
    code, out, _ = vote(BOINF, "--answer-column", "answer_key", "--by", "model", "-m", "wsc")
    assert code == 0
    assert len(table(out)) == 11 * 30
    assert len({row["model"] for row in table(out)}) == 11


def test_eleven_models_give_the_counts_of_the_documentation(vote: Vote) -> None:
    options = ("--answer-column", "answer_key", "--by", "model", "-m", "sc", "-m", "dis-gmm")
    code, out, _ = vote(BOINF, *options, "--json")
    assert code == 0
    accuracy = json.loads(out)["summary"]["accuracy"]
    found = {name: (said["n_right"], said["n_known"]) for name, said in accuracy.items()}
    assert found == {"sc": (282, 330), "dis-gmm": (283, 330)}
