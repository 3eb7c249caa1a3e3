"""Runs on disk: what was flushed stays, nothing is doubled, and what is damaged is named."""

from __future__ import annotations

import dataclasses
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.equality import Equality
from distrivote.errors import InputError, UnknownNameError
from distrivote.problem import Problem
from distrivote.splitting import EntropySplitter
from distrivote.steering import SelfStepConf, replay
from distrivote.store.runs import parts as run_parts
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, Row, row_of, rows_of, shortened, table_of, trajectory_of
from distrivote.store.runs.run import Run, known_tokens
from distrivote.store.runs.schema import MEASURES, SCHEMA
from distrivote.store.runs.writer import RunWriter
from distrivote.trajectory import Insertion, Interventions, Trajectory
from distrivote.voting.ballot import Ballot
from strategies import FEW

MANIFEST = Manifest("replay", "none", "math", "made-up", {"temperature": 0.6}, budget=8)
ALL = Keep(token_confidences=True, top_logprobs=True)
PROBLEM = Problem("What is 2 + 2?", id="q1", answer="4")


def trajectory(
    tokens: tuple[str, ...] = ("Well", ".\n\n", "\\boxed{4}"), index: int = 0, seed: int = 0
) -> Trajectory:
    rng = np.random.default_rng(seed)
    top = np.sort(-rng.exponential(3, (len(tokens), 20)), axis=1)[:, ::-1]
    return Trajectory("".join(tokens), tokens, top, top[:, 0], "stop", index)


def row(question_id: str = "q1", sample: int = 0, **fields: object) -> Row:
    made = {"answer": "4", "ground_truth": "4", "confidence": 1.5} | fields
    return Row(question_id=question_id, sample=sample, **made)  # type: ignore[arg-type]


def stored(path: Path, *rows: Row, keep: Keep = ALL) -> Run:
    with RunWriter(path, MANIFEST, keep=keep) as writer:
        for each in rows:
            writer.add(each)
    return Run.open(path)


def parts(path: Path) -> list[Path]:
    return sorted((path / "parts").glob("*.parquet"))


def same(one: Row, other: Row) -> None:
    for field in dataclasses.fields(Row):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if a is None or b is None:
            assert a is b, field.name
        else:
            np.testing.assert_array_equal(a, b, field.name)


def test_a_row_has_the_columns_of_the_schema() -> None:
    assert [field.name for field in dataclasses.fields(Row)] == SCHEMA.names


def test_a_row_measures_as_a_ballot_does() -> None:
    reply = trajectory()
    made = row_of(PROBLEM, reply)
    for name, column in MEASURES.items():
        assert getattr(made, column) == Ballot.from_trajectories([reply], measure=name).confidences[0]
    assert (made.answer, made.k, made.n_tokens) == ("4", 20, 3)
    assert made.step_ends is not None
    assert made.step_ends.tolist() == [2, 3]


def test_the_confidence_of_a_row_is_that_of_a_step_of_its_controller() -> None:
    tokens = ("Sure", ".\n\n", "Hm", "\n\n", "wait\n\n", "So", " \\boxed{4}")
    confidences = [10.0, 10.0, 5.0, 5.0, 20.0, 6.0, 6.0]
    top = -np.array(confidences)[:, None] * np.linspace(0.5, 1.5, 20)
    seen = replay(SelfStepConf(reflection="wait\n\n"), tokens, confidences)
    made = row_of(PROBLEM, Trajectory("".join(tokens), tokens, top, top[:, 0], interventions=seen))
    assert made.step_ends is not None
    assert made.step_confidences is not None
    assert made.step_ends.tolist() == [2, 4, 7]
    assert made.confidence == pytest.approx(32 / 3) == pytest.approx(made.step_confidences[-1])


def test_a_step_that_only_the_engines_entropies_show_is_the_controllers_too() -> None:
    tokens = ("One", " two", " and", " so", " \\boxed{4}", ".")
    confidences, entropies = [10.0, 9.0, 9.0, 10.0, 3.0, 1.0], [0.0, 0.0, 0.0, 0.9, 0.0, 0.0]
    top = -np.array(confidences)[:, None] * np.linspace(0.5, 1.5, 20)
    ssc = SelfStepConf(split=EntropySplitter(0.5, 3))
    seen = replay(ssc, tokens, confidences, entropies)
    reply = Trajectory("".join(tokens), tokens, top, top[:, 0], interventions=seen)
    made = row_of(PROBLEM, reply, split=ssc.split)
    assert made.step_ends is not None
    assert made.step_ends.tolist() == [4, 6]
    assert made.confidence == pytest.approx(2.0)


def whole(reply: Trajectory) -> Trajectory:
    values = np.full(reply.n_tokens, 2.0)
    return dataclasses.replace(reply, entropies=values, self_certainties=values)


def test_a_row_says_which_distribution_its_entropy_is_of(tmp_path: Path) -> None:
    made = [row_of(PROBLEM, whole(trajectory())), row_of(PROBLEM, trajectory(index=1))]
    run = stored(tmp_path, *made, row_of(PROBLEM, dataclasses.replace(AWKWARD["no tokens"], index=2)))
    columns = run.table(["entropy", "self_certainty", "whole_distribution"]).to_pydict()
    assert columns["whole_distribution"] == [True, False, None]
    assert columns["entropy"] == [pytest.approx(np.exp(-2)), made[1].entropy, None]
    assert columns["self_certainty"][0] == 2.0


def test_a_question_that_mixes_both_is_noted_where_they_are_read(tmp_path: Path) -> None:
    mixed = [row_of(PROBLEM, whole(trajectory())), row_of(PROBLEM, trajectory(index=1))]
    run = stored(tmp_path, *mixed, row("q2", entropy=0.5), row("q3", entropy=0.5, whole_distribution=True))
    run.table(["confidence"])
    assert run.notes == ()
    run.table(["entropy"])
    (note,) = run.notes
    assert note.startswith("entropy and self-certainty are not comparable")
    assert note.endswith("most probable tokens: q1")


def test_a_run_from_before_it_said_so_has_entropies_of_the_top_k(tmp_path: Path) -> None:
    stored(tmp_path, row_of(PROBLEM, trajectory()), row_of(PROBLEM, trajectory(index=1)))
    (part,) = parts(tmp_path)
    older = pq.read_table(part).drop_columns(["whole_distribution"])
    part.unlink()
    shutil.rmtree(tmp_path / "claims")
    run_parts.write_part(tmp_path, "0ld", 0, older)
    run = Run.open(tmp_path)
    assert run.table(["entropy", "whole_distribution"])["whole_distribution"].to_pylist() == [None, None]
    assert run.notes == ()
    run = stored(tmp_path, row_of(PROBLEM, trajectory(index=2)))
    run.table(["entropy"])
    assert run.notes == ()
    run = stored(tmp_path, row_of(PROBLEM, whole(trajectory(index=3))))
    run.table(["entropy"])
    assert len(run.notes) == 1


def test_a_watched_trajectory_comes_back_as_it_was(tmp_path: Path) -> None:
    seen = Interventions((Insertion(1, 2),), (1, 3), (1.5, float("nan")), unfinished=True)
    reply = dataclasses.replace(trajectory(index=7), interventions=seen)
    run = stored(tmp_path, row_of(PROBLEM, reply, seed=2**63 - 1))
    back = run.trajectory("q1", 7)
    assert (back.text, back.tokens, back.finish_reason, back.index) == (reply.text, reply.tokens, "stop", 7)
    np.testing.assert_array_equal(back.top_logprobs, reply.top_logprobs.astype(np.float32))
    np.testing.assert_array_equal(back.logprobs, shortened(reply.logprobs.astype(np.float32)))
    assert repr(back.interventions) == repr(seen)
    assert run.row("q1", 7).seed == 2**63 - 1


def test_no_controller_is_not_the_same_as_no_reflection(tmp_path: Path) -> None:
    watched = dataclasses.replace(trajectory(index=1), interventions=Interventions())
    run = stored(tmp_path, row_of(PROBLEM, trajectory()), row_of(PROBLEM, watched))
    assert run.trajectory("q1", 0).interventions is None
    back = run.trajectory("q1", 1).interventions
    assert back is not None
    assert back.n_reflections == 0


def test_texts_and_token_values_can_be_left_out(tmp_path: Path) -> None:
    made = row_of(PROBLEM, trajectory())
    back = stored(tmp_path / "bare", made, keep=Keep(texts=False)).row("q1", 0)
    gone = ("text", "token_ends", "token_confidences", "token_logprobs", "top_logprobs")
    assert all(getattr(back, name) is None for name in gone)
    assert trajectory_of(back).text == ""
    assert back.confidence == made.confidence
    back = stored(tmp_path / "default", made, keep=Keep()).row("q1", 0)
    assert back.text == made.text
    assert back.token_confidences is None


AWKWARD = {
    "unicode": trajectory(("Ünïcødé 🦆", "\x00", "\u202e", "\\boxed{四}")),
    "half a pair": Trajectory("\ud83e \\boxed{4}"),
    "a megabyte": trajectory(("ab\n\n" * 250_000, "\\boxed{4}")),
    "no answer": trajectory(("I", " am", " not", " sure")),
    "empty": Trajectory("", finish_reason="stop"),
    "no tokens": Trajectory("so \\boxed{4}"),
    "no logprobs": Trajectory("\\boxed{4}", ("\\boxed{4}",), np.empty((1, 0)), np.array([np.nan])),
    "one logprob": Trajectory("\\boxed{4}", ("\\boxed{4}",), np.full((1, 1), -0.1), np.array([-0.1])),
    "sentinels": Trajectory("4", ("4",), np.array([[-9999.0, -np.inf, np.nan]]), np.array([-9999.0])),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_trajectories_come_back(name: str, tmp_path: Path) -> None:
    made = row_of(PROBLEM, AWKWARD[name])
    run = stored(tmp_path, made)
    back = run.row("q1", 0)
    expected = "\\ud83e \\boxed{4}" if name == "half a pair" else AWKWARD[name].text
    assert run.trajectory("q1", 0).text == back.text == expected
    filled = {"text": expected, "answer_class": back.answer_class, "correct": back.correct}
    same(dataclasses.replace(made, **filled), back)
    assert (back.answer is None) == (back.answer_class == -1) == (name in ("no answer", "empty", "sentinels"))


def test_one_logprob_per_token_gives_no_confidence_but_a_logprob() -> None:
    made = row_of(PROBLEM, AWKWARD["one logprob"])
    assert np.isnan(made.confidence)
    assert made.logprob == pytest.approx(np.exp(-0.1))


floats = st.floats(width=32) | st.just(float("nan"))
singles = st.none() | st.lists(floats, max_size=4).map(lambda x: np.array(x, np.float32))
ints = st.none() | st.lists(st.integers(0, 2**31 - 1), max_size=4).map(lambda x: np.array(x, np.int32))
texts = st.none() | st.text(st.characters(codec="utf-8"), max_size=8)
rows = st.builds(
    Row, question_id=st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), sample=st.integers(0, 3),
    seed=st.none() | st.integers(-(2**63), 2**63 - 1), answer=texts,
    answer_class=st.none() | st.integers(-1, 9),
    correct=st.none() | st.booleans(), ground_truth=texts, confidence=st.floats(), entropy=st.floats(),
    n_tokens=st.none() | st.integers(0, 99), step_ends=ints, step_confidences=singles, reflections=ints,
    text=texts, token_confidences=singles,
)  # fmt: skip


@FEW
@given(st.lists(rows, max_size=5))
def test_rows_come_back_from_parquet(made: list[Row]) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table_of(made, ALL), sink)
    for one, other in zip(made, rows_of(pq.read_table(pa.BufferReader(sink.getvalue()))), strict=True):
        same(one, other)


def test_ids_that_cannot_be_kept_are_refused() -> None:
    for fields in ({"question_id": ""}, {"question_id": "\ud800"}, {"sample": -1}, {"seed": 2**63}):
        with pytest.raises(InputError):
            row(**fields)  # type: ignore[arg-type]


def test_classes_and_correctness_are_filled_in_on_reading_and_kept_by_compaction(tmp_path: Path) -> None:
    answers = ["7", "\\frac12", None, "0.5", "1/2"]
    given_rows = [row("q", i, answer=answer, ground_truth="0.5") for i, answer in enumerate(answers)]
    run = stored(tmp_path, *given_rows, row("r", 0, answer="1", ground_truth=None, correct=None))
    read = run.table(["answer_class", "correct"]).to_pydict()
    assert read["answer_class"] == [0, 1, -1, 1, 1, 0]
    assert read["correct"] == [False, True, False, True, True, None]
    compact(tmp_path)
    assert pq.read_table(parts(tmp_path)[0], columns=["answer_class", "correct"]).to_pydict() == read
    compact(tmp_path, same=Equality("all one", key=lambda _answer: "all one"))
    assert Run.open(tmp_path).table(["answer_class"])[0].to_pylist() == [0, 0, -1, 0, 0, 0]


def test_what_a_row_says_of_being_correct_stays(tmp_path: Path) -> None:
    run = stored(tmp_path, row(sample=0, answer="5", correct=True), row(sample=1, answer="5"))
    assert run.table(["correct"])[0].to_pylist() == [True, False]


def test_questions_and_columns(tmp_path: Path) -> None:
    run = stored(tmp_path, row("b", 1, n_tokens=3), row("b", 0, n_tokens=4), row("a", 0, ground_truth=None))
    assert [tuple(question) for question in run.questions()] == [("a", 1, None, None), ("b", 2, 7, "4")]
    assert run.table(["sample"]).to_pydict() == {"sample": [0, 0, 1]}
    assert run.table(["sample"], "b").num_rows == 2
    assert run.done() == {("a", 0), ("b", 0), ("b", 1)}
    with pytest.raises(UnknownNameError, match="did you mean answer"):
        run.table(["answr"])
    with pytest.raises(InputError, match="no sample 5 of question 'b': it has 2 trajectories"):
        run.row("b", 5)
    with pytest.raises(InputError, match="no sample 9223372036854775808"):
        run.row("b", 2**63)


def test_tokens_are_added_up_as_far_as_they_are_known(tmp_path: Path) -> None:
    run = stored(tmp_path, row("b", 0, n_tokens=3), row("b", 1), row("a", 0), row("c", 0, n_tokens=4))
    questions = run.questions()
    assert [question.n_tokens for question in questions] == [None, 3, 4]
    assert [known_tokens(some) for some in (questions, questions[:1], ())] == [7, None, 0]


def test_questions_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    ids = ["2", "10", "aime-2", "aime-10", "aime-10b", "aime-010", "9" * 5000]
    run = stored(tmp_path, *(row(question_id) for question_id in reversed(ids)))
    natural = ["2", "10", "9" * 5000, "aime-2", "aime-010", "aime-10", "aime-10b"]
    assert [question.id for question in run.questions()] == natural


def test_the_time_of_a_trajectory_comes_back(tmp_path: Path) -> None:
    timed = dataclasses.replace(trajectory(), seconds=1.5)
    run = stored(tmp_path, row_of(PROBLEM, timed), row_of(PROBLEM, trajectory(index=1)))
    assert run.table(["seconds"])["seconds"].to_pylist() == [1.5, None]
    assert [trajectory_of(run.row("q1", sample)).seconds for sample in (0, 1)] == [1.5, None]


def test_a_run_from_before_there_were_times_is_read_and_goes_on(tmp_path: Path) -> None:
    stored(tmp_path, row_of(PROBLEM, trajectory()))
    (part,) = parts(tmp_path)
    older = pq.read_table(part).drop_columns(["seconds"])
    part.unlink()
    run_parts.write_part(tmp_path, "0ld", 0, older)
    timed = row_of(PROBLEM, dataclasses.replace(trajectory(index=1), seconds=2.0))
    run = stored(tmp_path, timed)
    assert run.table(["seconds"])["seconds"].to_pylist() == [None, 2.0]
    assert compact(tmp_path).n_rows == 2
    assert Run.open(tmp_path).table(["seconds"])["seconds"].to_pylist() == [None, 2.0]


def test_an_empty_run_reads_as_empty(tmp_path: Path) -> None:
    run = stored(tmp_path)
    assert run.done() == set()
    assert run.table().schema.names == SCHEMA.names
    assert run.questions() == ()
    assert compact(tmp_path).n_rows == 0


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run"):
        Run.open(tmp_path / "nothing")
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        RunWriter(tmp_path, MANIFEST)


def test_a_run_goes_on_and_refuses_what_is_done(tmp_path: Path) -> None:
    stored(tmp_path, row(sample=0))
    with RunWriter(tmp_path, dataclasses.replace(MANIFEST, budget=16)) as writer:
        assert writer.done() == {("q1", 0)}
        with pytest.raises(InputError, match="has sample 0 of question 'q1' already"):
            writer.add(row(sample=0))
        writer.add(row(sample=1))
    run = Run.open(tmp_path)
    assert run.manifest.budget == 16
    assert run.done() == {("q1", 0), ("q1", 1)}
    with pytest.raises(InputError, match=r"sampling\.temperature: was 0\.6, asked 0\.7"):
        RunWriter(tmp_path, dataclasses.replace(MANIFEST, sampling={"temperature": 0.7}))


def test_a_newer_run_is_neither_read_nor_written(tmp_path: Path) -> None:
    dataclasses.replace(MANIFEST, format_version=99).save(tmp_path)
    for use in (Run.open, lambda path: RunWriter(path, MANIFEST), compact):
        with pytest.raises(InputError, match="install a newer distrivote"):
            use(tmp_path)


def test_a_row_is_flushed_when_there_are_many_or_time_has_passed(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, MANIFEST, max_rows=2, max_wait=0.05)
    writer.add(row(sample=0))
    writer.add(row(sample=1))
    assert len(Run.open(tmp_path).done()) == 2
    writer.add(row(sample=2))
    until = time.monotonic() + 10
    while len(Run.open(tmp_path).done()) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    assert len(Run.open(tmp_path).done()) == 3
    writer.close()
    assert len(parts(tmp_path)) == 2


def test_a_writer_merges_its_own_small_parts(tmp_path: Path) -> None:
    with RunWriter(tmp_path, MANIFEST, max_rows=1) as writer:
        for sample in range(70):
            writer.add(row(sample=sample))
    assert len(parts(tmp_path)) == 2 + 6
    assert len(Run.open(tmp_path).done()) == 70


def test_a_merge_that_was_cut_off_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path, row(sample=0))
    stored(tmp_path, row(sample=1))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_args, **_kwargs: None)
        compact(tmp_path)
    assert len(parts(tmp_path)) == 3
    assert Run.open(tmp_path).table(["sample"]).to_pydict() == {"sample": [0, 1]}
    stored(tmp_path)
    assert len(parts(tmp_path)) == 1


def test_a_part_that_claims_to_replace_files_elsewhere_removes_none(tmp_path: Path) -> None:
    stored(tmp_path, row())
    claims = {"distrivote.replaces": '["../manifest.json"]'}
    hostile = table_of([row(sample=1)]).replace_schema_metadata(claims)
    pq.write_table(hostile, tmp_path / "parts" / "mine.parquet")
    assert len(stored(tmp_path).done()) == 2


def test_a_flush_that_fails_in_the_background_is_said_at_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter(tmp_path, MANIFEST, max_wait=0.01)
    tried = threading.Event()

    def fail(*_: object) -> None:
        tried.set()
        raise InputError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(writer, "_write", fail)
        writer.add(row(sample=0))
        assert tried.wait(10)
        time.sleep(0.05)
        with pytest.raises(InputError, match="the disk is full"):
            writer.add(row(sample=1))
    writer.close()
    assert Run.open(tmp_path).done() == {("q1", 0)}


def test_of_two_writers_rows_the_earlier_counts(tmp_path: Path) -> None:
    one, other = RunWriter(tmp_path, MANIFEST), RunWriter(tmp_path, MANIFEST)
    other.add(row(answer="other"))
    one.add(row(answer="one"))
    other.add(row(sample=1))
    other.close()
    one.close()
    assert Run.open(tmp_path).table(["answer"]).to_pydict() == {"answer": ["other", "4"]}
    report = compact(tmp_path)
    assert (report.n_parts_before, report.n_parts, report.n_rows, report.n_doubled) == (2, 1, 2, 1)
    assert Run.open(tmp_path).table(["answer"]).to_pydict() == {"answer": ["other", "4"]}


def test_compaction_changes_nothing_that_is_read_and_rests_when_done(tmp_path: Path) -> None:
    for question in ("b", "a"):
        for seed in range(3):
            problem = dataclasses.replace(PROBLEM, id=question)
            stored(tmp_path, row_of(problem, trajectory(index=seed, seed=seed)))
    before = Run.open(tmp_path).table()
    compact(tmp_path, max_bytes=parts(tmp_path)[0].stat().st_size * 3)
    assert 1 < len(parts(tmp_path)) < 6
    assert Run.open(tmp_path).table().equals(before)
    compact(tmp_path)
    last = parts(tmp_path)
    compact(tmp_path)
    assert parts(tmp_path) == last
    assert len(last) == 1
    assert Run.open(tmp_path).table().equals(before)


def test_a_part_cut_short_or_flipped_anywhere_is_named_set_aside_and_made_again(tmp_path: Path) -> None:
    stored(tmp_path, row_of(PROBLEM, trajectory()))
    (good,) = parts(tmp_path)
    stored(tmp_path, row_of(PROBLEM, trajectory(index=1)))
    (bad,) = set(parts(tmp_path)) - {good}
    content = bad.read_bytes()
    places = [0, len(content) - 1, *random.Random(0).sample(range(len(content)), 40)]
    flips = [content[:i] + bytes([content[i] ^ 1 << i % 8]) + content[i + 1 :] for i in places]
    for damaged in (b"", content[:4], content[: len(content) // 2], content[:-1], *flips):
        bad.write_bytes(damaged)
        run = Run.open(tmp_path)
        assert run.done() == {("q1", 0)}
        (note,) = run.notes
        assert note.startswith(f"{bad.name} is damaged (it")
    writer = RunWriter(tmp_path, MANIFEST)
    assert writer.done() == {("q1", 0)}
    assert writer.notes[0].endswith("it was set aside, and its trajectories count as not done")
    writer.add(row_of(PROBLEM, trajectory(index=1)))
    writer.close()
    assert (bad.parent / f"{bad.name}.damaged").exists()
    run = Run.open(tmp_path)
    assert run.notes == ()
    assert run.done() == {("q1", 0), ("q1", 1)}


def test_damage_in_a_large_part_is_found_page_by_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path, row(text="duck " * 100))
    monkeypatch.setattr(run_parts, "SMALL", 0)
    (part,) = parts(tmp_path)
    content = bytearray(part.read_bytes())
    place = pq.read_metadata(part).row_group(0).column(SCHEMA.names.index("question_id")).data_page_offset
    content[place - 3] ^= 1
    part.write_bytes(content)
    run = Run.open(tmp_path)
    assert run.notes == ()
    assert run.done() == set()
    assert "can't be read" in run.notes[0]
    assert len(RunWriter(tmp_path, MANIFEST).notes) == 1


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, MANIFEST, max_wait=None)
    writer.add(row(sample=0))
    writer.flush()
    noise = random.Random(0).randbytes(50_000).hex()
    writer.add(row(sample=1, text=noise))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"can't write to .* what was stored before is safe"):
            writer.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert Run.open(tmp_path).done() == {("q1", 0)}
    assert not list((tmp_path / "parts").glob(".*"))
    writer.close()
    assert Run.open(tmp_path).done() == {("q1", 0), ("q1", 1)}


CHILD = """
import sys
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.writer import RunWriter

path, question, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
manifest = Manifest("replay", "none", "math", "made-up", {"temperature": 0.6}, budget=8)
writer = RunWriter(path, manifest, max_rows=3)
todo = [sample for sample in range(n) if (question, sample) not in writer.done()]
pending = []
print("ready", flush=True)
for sample in todo:
    pending.append(sample)
    writer.add(Row(question_id=question, sample=sample, answer=str(sample), text="x" * 1000))
    if len(pending) == 3:
        print(*pending, flush=True)
        pending.clear()
writer.close()
print(*pending, flush=True)
"""


def child(path: Path, question: str, n: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(path), question, str(n)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_killed_at_any_moment_nothing_flushed_is_lost_and_nothing_doubled(tmp_path: Path) -> None:
    said: set[int] = set()
    moments = random.Random(1)
    for _ in range(6):
        process = child(tmp_path, "q", 100_000)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0, 0.4))
        process.kill()
        lines = process.stdout.read().splitlines()
        process.wait()
        process.stdout.close()
        told = [int(word) for line in lines for word in line.split()]
        assert said.isdisjoint(told)
        said.update(told)
        run = Run.open(tmp_path)
        assert run.notes == ()
        table = run.table(["sample", "answer", "text"]).to_pydict()
        assert said <= set(table["sample"])
        assert len(set(table["sample"])) == len(table["sample"])
        assert table["answer"] == [str(sample) for sample in table["sample"]]
        assert set(table["text"]) <= {"x" * 1000}
        said.update(table["sample"])
    assert len(said) > 30


@pytest.mark.slow
def test_two_writers_share_a_run_while_it_is_read_and_compacted(tmp_path: Path) -> None:
    writers = [child(tmp_path, question, 300) for question in "ab"]
    try:
        watch_until_done(tmp_path, writers)
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0]
    assert Run.open(tmp_path).done() == {(question, sample) for question in "ab" for sample in range(300)}
    assert not list((tmp_path / "parts").glob("*.damaged"))


def watch_until_done(path: Path, writers: list[subprocess.Popen[str]]) -> None:
    """Read, and compact now and then, while others write: nothing that was seen goes away."""
    seen: set[tuple[str, int]] = set()
    n_looks = 0
    while any(writer.poll() is None for writer in writers):
        if (path / "manifest.json").exists():
            run = Run.open(path)
            done = run.done()
            assert run.notes == ()
            assert seen <= done
            seen, n_looks = done, n_looks + 1
            if n_looks % 5 == 0:
                compact(path)
    assert n_looks > 2


@pytest.fixture(scope="module")
def two_parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    stored(path, row_of(PROBLEM, trajectory()))
    stored(path, row_of(PROBLEM, trajectory(index=1, seed=1)), row("q2", answer=None), keep=Keep(texts=False))
    return path


def test_it_opens_in_pyarrow(two_parts: Path) -> None:
    table = pq.read_table(two_parts / "parts")
    assert table.schema.remove_metadata().equals(SCHEMA)
    assert len(table) == 3


def test_it_opens_in_duckdb(two_parts: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(f"select * from '{two_parts}/parts/*.parquet' order by question_id, sample")
    assert found.columns == SCHEMA.names
    expected = Run.open(two_parts).table()
    for name in ("sample", "confidence", "step_ends", "step_confidences", "token_ends", "top_logprobs"):
        column = found.select(f'"{name}"').fetchall()
        assert [value for (value,) in column] == expected[name].to_pylist()


def test_it_opens_in_polars(two_parts: Path) -> None:
    polars = pytest.importorskip("polars")
    found = polars.read_parquet(two_parts / "parts" / "*.parquet").sort("question_id", "sample")
    assert found.columns == SCHEMA.names
    expected = Run.open(two_parts).table()
    for name in ("sample", "confidence", "step_ends", "step_confidences", "token_ends", "top_logprobs"):
        assert found[name].to_list() == expected[name].to_pylist()


def test_steps_take_little_room(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    many = [
        row(
            sample=sample,
            answer=str(sample % 40),
            **{column: rng.normal(12, 3) for column in set(MEASURES.values())},
            n_tokens=14_000,
            seed=int(rng.integers(2**62)),
            step_ends=np.cumsum(rng.integers(20, 400, 68)).astype(np.int32),
            step_confidences=rng.normal(12, 3, 68).astype(np.float32),
        )
        for sample in range(2048)
    ]
    with RunWriter(tmp_path, MANIFEST, max_rows=256) as writer:
        for each in many:
            writer.add(each)
    compact(tmp_path)
    # 80 MB for 318 questions x 512 trajectories.
    assert sum(part.stat().st_size for part in parts(tmp_path)) / 2048 < 80e6 / (318 * 512)
