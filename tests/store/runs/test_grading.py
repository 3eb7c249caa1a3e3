"""What graded a run is recorded, another version grades it again, and every door grades alike."""

from __future__ import annotations

import dataclasses
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from distrivote import Problem, SamplingParams, Trajectory, solve
from distrivote.answers import equality as equality_module
from distrivote.answers.equality import Equality, Same, equality
from distrivote.answers.kinds import kind_named
from distrivote.answers.remarks import Remarks
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import InputError, MissingPackageError
from distrivote.evaluation.loading import load_pool_sets
from distrivote.generation.sampling import generate, settled_questions, todo
from distrivote.store.importers.registry import sources
from distrivote.store.importing import import_files
from distrivote.store.runs.classes import Grading
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.manifest import Manifest, differences
from distrivote.store.runs.rows import Row
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from distrivote.voting.stopping import BetaRule
from formulas import ANSWERS, FORMULA, TRUTH, formula_rows, formula_run, hide_math_verify

needs_math_verify = pytest.mark.skipif(find_spec("math_verify") is None, reason="needs math-verify")

RIGHT = [True] * 9 + [False] * 6
CLASSES = [0] * 9 + [1] * 6


def graded(path: Path, same: Same | None = None) -> tuple[list[int], list[bool]]:
    table = Run.open(path, same).table(["answer_class", "correct"])
    return table["answer_class"].to_pylist(), table["correct"].to_pylist()


def in_parts(path: Path) -> dict[str, list[object]]:
    (part,) = (path / "parts").glob("*.parquet")
    return pq.read_table(part, columns=["answer_class", "correct"]).to_pydict()


def reply(answer: str, confidence: float) -> Trajectory:
    text = f"So it is \\boxed{{{answer}}}."
    return Trajectory(text, (text,), np.full((1, 20), -confidence), np.array([-0.1]), "stop")


@needs_math_verify
def test_a_run_of_formulas_is_graded_as_mathematics(tmp_path: Path) -> None:
    formula_run(tmp_path / "run")
    assert graded(tmp_path / "run") == (CLASSES, RIGHT)
    assert graded(tmp_path / "run", "notation") == ([0] * 5 + [1] * 4 + [2] * 6, [False] * 15)
    (pool,) = load_pool_sets([str(tmp_path / "run")]).pool_sets[0].pools
    assert pool.correct.mean() == pytest.approx(9 / 15)


@needs_math_verify
def test_generate_grades_alike(tmp_path: Path) -> None:
    engine = ReplayEngine([reply(answer, 9.0 + i % 3) for i, answer in enumerate(ANSWERS)])
    manifest = Manifest.of("replay", "replay", "math", "made up", SamplingParams(), budget=15)
    with RunWriter(tmp_path / "run", manifest) as writer:
        work = todo([Problem("How long?", "q", TRUTH)], 15, set())
        made = list(generate(engine, work, writer, SamplingParams(), None))
    assert sum(bool(item.correct) for item in made) == 9
    assert sum(graded(tmp_path / "run")[1]) == 9
    assert manifest.same == "math"


@needs_math_verify
def test_solve_elects_the_formula() -> None:
    engine = ReplayEngine([reply(answer, 9.0) for answer in ANSWERS])
    assert solve(engine, "How long?", method="sc", budget=15, steering=None).tally.votes == {
        FORMULA: 9,
        "2": 6,
    }
    by_notation = solve(engine, "How long?", method="sc", budget=15, steering=None, same="notation")
    assert by_notation.answer == "2"


@needs_math_verify
def test_import_and_compact_grade_alike(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    rows = [
        {"question_id": "q", "answer": each, "confidence": 9.0, "ground_truth": TRUTH} for each in ANSWERS
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_files(sources([str(file)], None), tmp_path / "run")
    assert graded(tmp_path / "run") == (CLASSES, RIGHT)
    compact(tmp_path / "run")
    assert in_parts(tmp_path / "run") == {"answer_class": CLASSES, "correct": RIGHT}


@needs_math_verify
def test_compacting_records_what_graded_and_then_it_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula_run(tmp_path / "run")
    compact(tmp_path / "run")
    grader = Manifest.load(tmp_path / "run").grader
    version = Equality.version.fget(equality_module.NAMED["math"])  # type: ignore[attr-defined]
    assert grader == {"same": "math", "version": version, "told": False, "n_unsure": 0, "n_unsure_grades": 0}
    assert version.startswith("1, math-verify ")

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("graded again")

    monkeypatch.setattr("distrivote.store.runs.classes.grade", refused)
    assert graded(tmp_path / "run") == (CLASSES, RIGHT)


@needs_math_verify
@pytest.mark.parametrize("change", [{"grader": None, "same": None}, {"version": "0, math-verify 0.1"}])
def test_what_an_older_version_graded_is_graded_again(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "run"
    formula_run(path, same="notation")
    compact(path)
    assert in_parts(path)["correct"] == [False] * 15
    was = Manifest.load(path)
    assert was.grader is not None
    older = (
        {"grader": {**was.grader, "same": "math", **change}, "same": "math"}
        if "version" in change
        else change
    )
    dataclasses.replace(was, **older).save(path)
    assert graded(path) == (CLASSES, RIGHT)
    compact(path)
    assert in_parts(path) == {"answer_class": CLASSES, "correct": RIGHT}


@needs_math_verify
def test_compact_changes_what_a_run_is_compared_by(tmp_path: Path) -> None:
    path = tmp_path / "run"
    formula_run(path)
    compact(path, same="text")
    assert Run.open(path).manifest.same == "text"
    assert graded(path)[1] == [False] * 15
    assert graded(path, "math") == (CLASSES, RIGHT)
    compact(path, same="math")
    assert graded(path) == (CLASSES, RIGHT)


@needs_math_verify
def test_a_compaction_that_is_killed_leaves_no_classes_to_be_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    formula_run(path, same="notation")
    compact(path)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("distrivote.store.runs.compaction.write_part", killed)
    with pytest.raises(KeyboardInterrupt):
        compact(path, same="math")
    assert Manifest.load(path).grader is None
    assert graded(path) == (CLASSES, RIGHT)


def test_what_a_file_told_of_being_right_stays_whatever_grades(tmp_path: Path) -> None:
    path = tmp_path / "run"
    told = [dataclasses.replace(row, correct=row.sample == 3) for row in formula_rows()]
    formula_run(path, *told)
    expected = [i == 3 for i in range(15)]
    for same in (None, "notation", "text"):
        assert graded(path, same)[1] == expected
        compact(path, same=same)
        assert graded(path)[1] == expected
    grader = Manifest.load(path).grader
    assert grader is not None
    assert grader["told"]


@needs_math_verify
def test_doubts_are_said_on_reading_and_kept_by_compaction(tmp_path: Path) -> None:
    path = tmp_path / "run"
    formula_run(path, *formula_rows(answers=["(2, 1)", "(2, 1)", "1, 2"], truth="1, 2"))
    run = Run.open(path)
    run.table(["correct"])
    run.table(["answer_class"])
    assert run.remarks == Remarks(n_unsure=1, n_unsure_grades=2)
    assert any(note.startswith("2 gradings were doubtful") for note in run.notes)
    notes = load_pool_sets([str(path)]).notes
    assert any("2 gradings were doubtful" in note for note in notes)
    assert compact(path).notes == run.notes
    again = Run.open(path)
    again.table(["correct"])
    assert again.remarks == run.remarks


def test_a_rule_of_ones_own_is_kept_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "run"
    formula_run(path)
    compact(path, same=Equality("all one", key=lambda _: 0))
    run = Run.open(path)
    assert set(run.table(["answer_class"])["answer_class"].to_pylist()) == {0}
    assert any("'all one', which is not known here" in note for note in run.notes)


def test_a_rule_of_ones_own_grades_where_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whichever.py").write_text("def same(answer): return 0\n")
    monkeypatch.chdir(tmp_path)
    manifest = Manifest.of("replay", "none", "math", "made-up", SamplingParams(), budget=2)
    manifest = dataclasses.replace(manifest, same="whichever:same")
    with RunWriter(tmp_path / "run", manifest) as writer:
        for i, answer in enumerate(["4", "5"]):
            writer.add(Row(question_id="q", sample=i, answer=answer, ground_truth="4"))
    assert graded(tmp_path / "run") == ([0, 1], [True, False])  # nothing is imported because a run says so
    assert equality("whichever:same").name == "whichever:same"
    assert graded(tmp_path / "run") == ([0, 0], [True, True])


def test_multiple_choice_is_compared_by_letters(tmp_path: Path) -> None:
    manifest = Manifest.of("replay", "none", "choice", "made-up", SamplingParams(), budget=3)
    with RunWriter(tmp_path / "run", manifest) as writer:
        for i, answer in enumerate(["b", "(B)", "C."]):
            writer.add(Row(question_id="q", sample=i, answer=answer, ground_truth="B"))
    assert manifest.same == "choice"
    assert graded(tmp_path / "run") == ([0, 0, 1], [True, True, False])


def test_an_older_run_goes_on_and_another_notion_is_another_run(tmp_path: Path) -> None:
    old = dataclasses.replace(
        Manifest.of("replay", "none", "math", "made-up", SamplingParams(), budget=3), same=None
    )
    asked = dataclasses.replace(old, same="math")
    assert list(differences(old, asked)) == []
    assert old.going_on(asked, tmp_path).same == "math"
    assert list(differences(asked, dataclasses.replace(old, same="text"))) == [
        'same: was "math", asked "text"'
    ]


def test_a_grader_that_is_none_is_refused(tmp_path: Path) -> None:
    formula_run(tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    content = json.loads(path.read_text())
    del content["checksum"]
    for grader in ({"same": "math"}, {"same": 3, "version": "1", "told": False}, [], "math"):
        path.write_text(json.dumps(content | {"grader": grader}))
        with pytest.raises(InputError, match="grader has an invalid value"):
            Run.open(tmp_path / "run")


def test_without_math_verify_formulas_are_not_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    formula_run(path)
    hide_math_verify(monkeypatch)
    for use in (
        lambda: graded(path),
        lambda: compact(path),
        lambda: load_pool_sets([str(path)]),
    ):
        with pytest.raises(MissingPackageError, match=r"pip install '.\[math\]'"):
            use()
    assert graded(path, "notation")[1] == [False] * 15
    manifest = Manifest.of("replay", "replay", "math", "made up", SamplingParams(), budget=2)
    with RunWriter(tmp_path / "new", manifest) as writer:
        work = todo([Problem("How long?", "q", TRUTH)], 2, set())
        with pytest.raises(MissingPackageError):
            next(generate(ReplayEngine([reply("2", 9.0)] * 2), work, writer, SamplingParams(), None))
    assert not Run.open(tmp_path / "new").done()


@needs_math_verify
def test_without_math_verify_the_grades_of_a_machine_that_had_it_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula_run(tmp_path / "run")
    compact(tmp_path / "run")
    hide_math_verify(monkeypatch)
    assert graded(tmp_path / "run") == (CLASSES, RIGHT)


@needs_math_verify
def test_compacting_without_math_verify_keeps_the_record_of_the_grader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula_run(tmp_path / "run")
    compact(tmp_path / "run")
    recorded = Manifest.load(tmp_path / "run").grader
    hide_math_verify(monkeypatch)
    compact(tmp_path / "run")
    assert Manifest.load(tmp_path / "run").grader == recorded
    assert recorded is not None
    assert "not installed" not in recorded["version"]


def test_without_math_verify_formulas_among_the_answers_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_math_verify(monkeypatch)
    formula_run(tmp_path / "run", *formula_rows(truth="2"))
    run = Run.open(tmp_path / "run")
    assert run.table(["correct"])["correct"].to_pylist() == [False] * 9 + [True] * 6
    assert [note for note in run.notes if "compared by notation only" in note]
    formula_run(tmp_path / "plain", *formula_rows(answers=["2", "2.0"], truth="2"))
    plain = Run.open(tmp_path / "plain")
    plain.table(["correct"])
    assert plain.notes == ()


@needs_math_verify
def test_a_question_is_settled_by_the_notion_of_its_run(tmp_path: Path) -> None:
    answers = [FORMULA, r"\frac{\sqrt{95}}{2\sqrt{6}}", TRUTH, FORMULA]
    formula_run(tmp_path / "run", *formula_rows(answers=answers))
    formula_run(tmp_path / "text", *formula_rows(answers=answers), same="text")
    assert settled_questions(Run.open(tmp_path / "run"), BetaRule(), 15) == {"q"}
    assert settled_questions(Run.open(tmp_path / "text"), BetaRule(), 15) == frozenset()


def test_a_simulated_run_is_compared_as_text() -> None:
    old = Manifest("simulate", "m", "", "b", {})
    assert Grading.of(old).same.name == "text"


def test_answers_that_only_a_kind_finds_are_graded_by_it(tmp_path: Path) -> None:
    truth = '{"name": "Anna", "age": 31}'
    texts = ['{"age": 31, "name": "Anna"}', '{"age": 13, "name": "Anna"}']
    rows = [Row(question_id="q", sample=at, ground_truth=truth, text=text) for at, text in enumerate(texts)]
    formula_run(tmp_path / "run", *rows)
    compact(tmp_path / "run")  # stored as wrong: no answer was found in them
    assert graded(tmp_path / "run") == ([-1, -1], [False, False])
    assert graded(tmp_path / "run", kind_named("json")) == ([0, 1], [True, False])


def test_a_sample_that_arrives_late_renumbers_classes_and_changes_no_member(tmp_path: Path) -> None:
    """Classes are numbered by first appearance in the order of samples, not of arrival."""
    path = tmp_path / "run"
    manifest = Manifest.of("embedded", "m", "math", "arithmetic", SamplingParams(), budget=4)
    with RunWriter(path, manifest, max_wait=None) as writer:
        for sample, answer in ((1, "5"), (2, "7"), (3, "5")):
            writer.add(Row(question_id="q", sample=sample, answer=answer, confidence=2.0, ground_truth="7"))
    assert graded(path) == ([0, 1, 0], [False, True, False])
    with RunWriter(path, manifest, max_wait=None) as writer:
        writer.add(Row(question_id="q", sample=0, answer="7", confidence=2.0, ground_truth="7"))
    assert graded(path) == ([0, 1, 0, 1], [True, False, True, False])
