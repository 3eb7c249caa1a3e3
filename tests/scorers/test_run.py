"""Scores from outside, added to a run by real commands and functions, and used by votes."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import distrivote
from distrivote.cli.main import main
from distrivote.errors import EngineError, InputError, OwnCodeError, UnknownNameError
from distrivote.scorers.run import ScoreInterrupted
from distrivote.scorers.scorer import Reply
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.rows import Keep, Row
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from distrivote.store.signal_columns import mixed_questions
from distrivote.store.tables.source import Columns
from scorers.made_runs import ANSWERS, MANIFEST, made_run, reward
from store.stores import arrow_folder

COMMAND = """import json, sys
for line in sys.stdin:
    reply = json.loads(line)
    right = {"a": "4", "b": "7"}[reply["question_id"]]
    print(2.5 if reply["answer"] == right else -3.0)
"""


def judge(reply: Reply) -> float:
    return reward(reply.question, reply.answer)


class Batched:
    """An object with the batched protocol; it counts its calls."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def score_all(self, replies: Sequence[Reply]) -> list[float]:
        self.sizes.append(len(replies))
        return [float(len(reply.text or "")) for reply in replies]


@pytest.fixture
def run(tmp_path: Path) -> str:
    return made_run(tmp_path / "run")


def command(tmp_path: Path, code: str = COMMAND) -> str:
    (tmp_path / "scorer.py").write_text(code)
    return f"command:{sys.executable} {tmp_path / 'scorer.py'}"


def scores(run: str, name: str) -> list[float | None]:
    found: list[float | None] = Run.open(run).table([name])[name].to_pylist()
    return found


EXPECTED = [reward(f"What is {q}?", answer) for q in ANSWERS for answer in ANSWERS[q]]


def test_a_command_a_function_and_an_object_give_columns(run: str, tmp_path: Path) -> None:
    result = distrivote.score_run(run, command(tmp_path), name="reward")
    assert (result.n_scored, result.n_asked, result.n_left) == (12, 12, 0)
    assert distrivote.score_run(run, judge).column == "judge"
    batched = Batched()
    distrivote.score_run(run, batched, name="length-of-text")
    assert batched.sizes == [12]
    assert scores(run, "reward") == scores(run, "judge") == EXPECTED
    assert Run.open(run).score_names == ("judge", "length-of-text", "reward")
    assert scores(run, "length-of-text") == [
        len(t) for t in Run.open(run).table(["text"])["text"].to_pylist()
    ]
    assert Run.open(run).table(None).schema.names == Run.open(run).table().schema.names
    assert "reward" not in Run.open(run).table().schema.names


def test_nothing_is_asked_twice(run: str) -> None:
    asked: list[Reply] = []

    def remember(reply: Reply) -> float:
        asked.append(reply)
        return 1.0

    distrivote.score_run(run, remember, name="once")
    again = distrivote.score_run(run, remember, name="once")
    assert len(asked) == 12
    assert (again.n_before, again.n_scored, again.n_asked) == (12, 0, 0)
    with RunWriter(run, MANIFEST) as writer:  # one that says the same as another, and one that is new
        first = Run.open(run).row("a", 0)
        for sample, text in ((6, first.text), (7, "Hm.")):
            writer.add(Row(question_id="a", sample=sample, question=first.question, text=text, answer="4"))
    more = distrivote.score_run(run, remember, name="once")
    assert (more.n_before, more.n_scored, more.n_asked) == (12, 2, 1)
    assert asked[-1] == Reply("a", 7, "What is a?", "Hm.", "4")


def test_a_sample_whose_text_has_changed_is_scored_again(run: str, tmp_path: Path) -> None:
    def length(reply: Reply) -> float:
        return float(len(reply.text or ""))

    distrivote.score_run(run, length, name="length-now")
    other = tmp_path / "other"
    with RunWriter(other, MANIFEST) as writer:
        writer.add(Row(question_id="a", sample=0, question="What is a?", text="12345", answer="4"))
    os.rename(Path(run) / "scores", other / "scores")
    assert distrivote.score_run(str(other), length, name="length-now").n_asked == 1
    assert scores(str(other), "length-now") == [5.0]
    compact(other)
    assert scores(str(other), "length-now") == [5.0]


def test_a_column_belongs_to_its_scorer(run: str, tmp_path: Path) -> None:
    distrivote.score_run(run, judge, name="reward")
    with pytest.raises(InputError, match=r"'reward' of .* was made by another scorer"):
        distrivote.score_run(run, command(tmp_path), name="reward")
    for name in ("confidence", "auto", "length", "tail"):
        with pytest.raises(InputError, match=r"has .* already: give another"):
            distrivote.score_run(run, judge, name=name)
    for name in ("../x", "a b", "", "é", "x" * 65):
        with pytest.raises(InputError, match="letters, digits"):
            distrivote.score_run(run, judge, name=name or " ")
    with pytest.raises(UnknownNameError, match="ptrue"):
        distrivote.score_run(run, "ptru")


def test_a_run_without_texts_is_refused_in_one_sentence(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", Keep(texts=False))
    with pytest.raises(
        InputError, match=r"holds no texts of replies, which .* reads: sample or import it with"
    ):
        distrivote.score_run(run, judge)
    assert not (tmp_path / "run" / "scores").exists()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("print('much')", "gave 'much' for sample 0 of question 'a', which is not a finite number"),
        ("print('inf')", "gave 'inf'"),
        ("import sys; sys.exit(3)", "ended with exit code 3 after 0 of 12 lines"),
        ("pass", "ended with exit code 0 after 0 of 12 lines"),
        ("print('1\\n' * 13)", "wrote more lines than it was given"),
        ("print('1_0')", "gave '1_0'"),
        ("print('-1e101')", "gave '-1e101' for sample 0 of question 'a', which is beyond 1e+100"),
        ("while True: print('1', end='')", "wrote a line of more than 1,000 characters"),
    ],
)
def test_a_bad_command_is_an_error_and_what_came_before_stays(
    run: str, tmp_path: Path, code: str, sentence: str
) -> None:
    with pytest.raises(EngineError) as raised:
        distrivote.score_run(run, command(tmp_path, code), name="bad")
    assert sentence in str(raised.value)


def test_numbers_beyond_a_double_and_lists_without_end_are_errors(run: str) -> None:
    with pytest.raises(EngineError, match=r"gave a number of 33,220 bits for sample 0 of question 'a'"):
        distrivote.score_run(run, lambda _: 10**10_000, name="bad")

    class Endless:
        def score_all(self, _replies: Sequence[Reply]) -> Iterator[float]:
            return itertools.repeat(1.0)

    with pytest.raises(OwnCodeError, match="gave more scores for 12 replies"):
        distrivote.score_run(run, Endless(), name="worse")


def test_scores_that_are_all_0_or_nearly_are_voted_on(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    distrivote.score_run(run, lambda _: 5e-324, name="none")
    assert scores(run, "none") == [0.0] * 12
    first = done(capsys, "vote", run, "--signal", "none", "-m", "bon").splitlines()[1]
    assert first.split("\t")[:3] == ["a", "4", "0.3333"]


def test_a_command_may_exit_after_each_line_and_give_no_score(run: str, tmp_path: Path) -> None:
    once = command(tmp_path, "import sys; line = sys.stdin.readline(); print('nan' if '9' in line else 1)")
    result = distrivote.score_run(run, once, name="some")
    assert (result.n_scored, result.n_without) == (9, 3)
    assert scores(run, "some").count(None) == 3
    assert distrivote.score_run(run, once, name="some").n_before == 12


def test_a_function_that_fails_is_named_with_its_place(run: str) -> None:
    def fails(reply: Reply) -> float:
        if reply.trajectory == 3:
            raise ZeroDivisionError("three")
        return 0.5

    said = r"raised ZeroDivisionError: three \(.*test_run.py:\d+\), at sample 3 of question 'a'"
    with pytest.raises(OwnCodeError, match=said):
        distrivote.score_run(run, fails, name="fails")
    assert scores(run, "fails") == [0.5] * 3 + [None] * 9  # what came before is stored
    with pytest.raises(InputError, match="give a function"):
        distrivote.score_run(run, lambda: 1.0)


def test_an_interrupt_keeps_what_was_scored_and_the_same_call_goes_on(run: str) -> None:
    asked: list[str] = []
    stops = True

    def slow(reply: Reply) -> float:
        if stops and len(asked) == 5:
            raise KeyboardInterrupt
        asked.append(reply.question_id)
        return 1.0

    with pytest.raises(ScoreInterrupted) as raised:
        distrivote.score_run(run, slow, name="slow")
    assert raised.value.result.n_scored == 5
    stops = False
    assert distrivote.score_run(run, slow, name="slow").n_before == 5
    assert len(asked) == 12


@pytest.mark.slow
def test_a_kill_loses_only_what_was_not_flushed(run: str, tmp_path: Path) -> None:
    (tmp_path / "patient.py").write_text(
        "import time\n"
        "from distrivote.store.runs import score_writer\n"
        "score_writer.MAX_WAIT = 0.0\n"
        "def patient(reply):\n"
        "    time.sleep(0.1)\n"
        "    open('asked', 'a').write(f'{reply.question_id}{reply.trajectory}\\n')\n"
        "    return 1.0\n"
    )
    arguments = [sys.executable, "-m", "distrivote", "score", run, "--with", "patient:patient"]
    process = subprocess.Popen(arguments, cwd=tmp_path)
    asked = tmp_path / "asked"
    while not asked.exists() or len(asked.read_text().split()) < 4:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    stored = scores(run, "patient").count(1.0)
    assert stored >= 2
    ran = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True)
    # A part that was complete and not yet claimed counts from the next writer on.
    assert any(f"{n} there before" in ran.stdout for n in (stored, stored + 1))
    assert scores(run, "patient") == [1.0] * 12


def test_a_damaged_part_of_scores_is_named_and_its_scores_are_made_again(run: str) -> None:
    distrivote.score_run(run, judge)
    (part,) = Path(run, "scores", "judge", "parts").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-9])
    opened = Run.open(run)
    assert opened.table(["judge"])["judge"].null_count == 12
    assert opened.notes[0].startswith(f"scores/judge: {part.name} is damaged")
    assert Run.open(run).notes == ()  # votes with other signals do not care
    result = distrivote.score_run(run, judge)
    assert result.n_asked == 12
    assert "is damaged" in result.notes[0]
    assert scores(run, "judge") == EXPECTED


def test_a_missing_part_of_scores_is_an_error_unless_partial_is_enough(run: str) -> None:
    distrivote.score_run(run, judge)
    (part,) = Path(run, "scores", "judge", "parts").glob("*.parquet")
    part.unlink()
    with pytest.raises(InputError, match=r"judge lacks part-.*distrivote score"):
        Run.open(run).table(["judge"])
    assert Run.open(run, partial=True).table(["judge"])["judge"].null_count == 12
    assert len(Run.open(run).table(["confidence"])) == 12
    (Path(run) / "scores" / "judge" / "scorer.json").write_text("{}")
    with pytest.raises(InputError, match=r"scorer.json is damaged or was edited"):
        Run.open(run).table(["judge"])


def test_scores_are_kept_in_an_object_store_and_small_parts_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = arrow_folder(tmp_path)
    made_run(folder)
    for under in ("parts", "claims"):  # folders of this machine, which an object store does not need
        (tmp_path / "run" / "scores" / "judge" / under).mkdir(parents=True)
    monkeypatch.setattr("distrivote.store.runs.score_writer.MAX_WAIT", 0.0)
    monkeypatch.setattr("distrivote.store.runs.score_writer.N_MERGED", 5)
    distrivote.score_run(Run.open(folder), judge)
    assert Run.open(folder).table(["judge"])["judge"].to_pylist() == EXPECTED
    assert len(list((tmp_path / "run" / "scores" / "judge" / "parts").glob("*.parquet"))) < 6
    compact(folder)
    assert len(list((tmp_path / "run" / "scores" / "judge" / "parts").glob("*.parquet"))) == 1
    assert Run.open(folder).table(["judge"])["judge"].to_pylist() == EXPECTED


def done(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    said = capsys.readouterr()
    assert not left.value.code, said.err
    return said.out + said.err


def test_best_of_n_and_mob_with_a_reward_are_one_command_each(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "12 scores added to reward" in done(
        capsys, "score", run, "--with", command(tmp_path), "--name", "reward"
    )
    assert "has reward of every trajectory" in done(
        capsys, "score", run, "--with", command(tmp_path), "--name", "reward"
    )
    for method in ("bon", "mob"):
        said = done(capsys, "vote", run, "-m", method, "--signal", "reward", "--json")
        found, _ = json.JSONDecoder().raw_decode(said)
        assert [each["answer"] for each in found["questions"] if each["method"] == method] == ["4", "7"]
    weighed = done(capsys, "vote", run, "-m", "wsc", "--signal", "reward", "--confidence-scale", "logit")
    assert "4" in weighed
    assert {"reward", "confidence"} <= mixed_questions(run, Columns()).weights[""].keys()
    for signal_name in ("reward", "auto"):
        report = done(
            *(capsys, "evaluate", run, "-m", "bon", "-m", "mob", "--baseline", "sc"),
            *("--signal", signal_name, "--budget", "6", "--repeats", "2"),
        )
        assert "bon" in report.lower()
    assert f"reward: 12 scores by {command(tmp_path)}" in done(capsys, "show", run).replace("\n", " ")
    assert "reward 2.5" in done(capsys, "show", run, "a", "0")
    done(capsys, "export", run, "-o", str(tmp_path / "table.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "table.jsonl").read_text().splitlines()]
    assert [row["reward"] for row in rows] == EXPECTED
    done(capsys, "export", run, "--format", "run", "-o", str(tmp_path / "copy"))
    assert scores(str(tmp_path / "copy"), "reward") == EXPECTED


def test_a_limit_of_cost_is_for_models(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["score", run, "--with", command(tmp_path), "--max-cost", "1", "--price", "1"])
    assert left.value.code == 2
    assert "has none: leave it out" in capsys.readouterr().err
