"""Runs and tables become pool sets; what has no truth is left out and said."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from distrivote.answers.equality import RULES_VERSION, equality
from distrivote.engines.base import SamplingParams
from distrivote.errors import InputError, UnknownNameError
from distrivote.evaluation.loading import load_pool_sets
from distrivote.steering import BudgetForcing, Controller, SelfStepConf
from distrivote.store.runs.compaction import compact
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Row
from distrivote.store.runs.writer import RunWriter
from distrivote.store.tables.source import Columns

GRADER = f"math {equality().version}"


def write_run(
    path: Path,
    rows: list[Row],
    ssc: Controller | None = None,
    params: SamplingParams = SamplingParams(temperature=0.5),  # noqa: B008  # a frozen value
    model: str = "tiny",
) -> str:
    manifest = Manifest.of("replay", model, "math", "sums", params, ssc, budget=8)
    with RunWriter(path, manifest) as writer:
        for row in rows:
            writer.add(row)
    return str(path)


def row(question: str, sample: int, answer: str | None, truth: str | None, **more: object) -> Row:
    return Row(question_id=question, sample=sample, answer=answer, ground_truth=truth, **more)  # type: ignore[arg-type]


def test_a_run_becomes_a_pool_set(tmp_path: Path) -> None:
    path = write_run(
        tmp_path / "first",
        [
            row("q1", 0, "7", "4", confidence=1.0, k=20, n_tokens=10),
            row("q1", 1, "4", "4", confidence=2.0, confidence_tail=3.0, k=20, n_tokens=20),
            row("q1", 2, None, "4", k=20, n_tokens=30),
            row("q1", 3, "4.0", "4", confidence=4.0, k=20, n_tokens=40),
            row("q2", 0, "1", None, confidence=1.0, k=20, n_tokens=1),
        ],
        SelfStepConf(alpha=0.5),
    )
    loaded = load_pool_sets([path])
    (found,) = loaded.pool_sets
    assert (found.name, found.model, found.benchmark, found.ssc) == ("first", "tiny", "sums", True)
    assert found.settings["alpha"] == 0.5
    assert found.settings["temperature"] == 0.5
    (only,) = found.pools
    assert only.classes.tolist() == [0, 1, -1, 1]
    assert only.correct.tolist() == [False, True, False, True]
    np.testing.assert_array_equal(only.confidence, [1.0, 2.0, np.nan, 4.0])
    np.testing.assert_array_equal(only.measures["tail"], [np.nan, 3.0, np.nan, np.nan])
    assert only.n_tokens is not None
    assert only.n_tokens.tolist() == [10, 20, 30, 40]
    assert loaded.notes == ("first: 1 of 2 questions has no known answer and is left out",)


def test_a_run_that_does_not_say_its_model_has_a_name_for_it(tmp_path: Path) -> None:
    path = write_run(tmp_path / "first", [row("q1", 0, "7", "4", confidence=1.0)], model="")
    assert [found.model for found in load_pool_sets([path]).pool_sets] == ["unknown model"]


def test_steps_and_reflections_are_counted_only_if_asked_for(tmp_path: Path) -> None:
    ends = {"step_ends": np.array([3, 9], np.int32), "reflections": np.array([3], np.int32)}
    path = write_run(tmp_path / "run", [row("q", 0, "4", "4", confidence=1.0, **ends)])
    (with_lengths,) = load_pool_sets([path], reads=("lengths",)).pool_sets[0].pools
    assert with_lengths.n_steps is not None
    assert with_lengths.n_reflections is not None
    assert (with_lengths.n_steps.tolist(), with_lengths.n_reflections.tolist()) == ([2], [1])
    (without,) = load_pool_sets([path], reads=()).pool_sets[0].pools
    assert without.n_steps is None
    assert not without.measures


def test_a_run_without_truth_is_left_out_and_the_rest_goes_on(tmp_path: Path) -> None:
    blind = write_run(tmp_path / "blind", [row("q", 0, "4", None, confidence=1.0)])
    good = write_run(tmp_path / "good", [row("q", 0, "4", "4", confidence=1.0)])
    loaded = load_pool_sets([blind, good])
    assert [each.name for each in loaded.pool_sets] == ["good"]
    assert "blind has no question whose right answer is known" in loaded.notes[0]
    with pytest.raises(InputError, match="no right answers are known"):
        load_pool_sets([blind])


def test_a_pool_that_mixes_k_is_refused(tmp_path: Path) -> None:
    rows = [row("q", i, "4", "4", confidence=1.0, k=k) for i, k in enumerate((5, 20))]
    with pytest.raises(InputError, match=r"question q of run mixes .* the 5 and of the 20"):
        load_pool_sets([write_run(tmp_path / "run", rows)])


def test_a_pool_that_mixes_two_distributions_is_refused_where_they_count(tmp_path: Path) -> None:
    more = {"confidence": 1.0, "k": 20, "entropy": 0.5}
    rows = [row("q", i, "4", "4", whole_distribution=whole, **more) for i, whole in enumerate((True, None))]
    path = write_run(tmp_path / "run", rows)
    with pytest.raises(InputError, match="question q of run mixes entropies of the whole distribution"):
        load_pool_sets([path], signal="entropy")
    assert load_pool_sets([path]).pool_sets


def test_two_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / folder / "run", [row("q", 0, "4", "4", confidence=1.0)]) for folder in "ab"]
    assert [each.name for each in load_pool_sets(paths).pool_sets] == ["run", "run (2)"]


def write_table(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_table_becomes_a_pool_set_per_model(tmp_path: Path) -> None:
    rows = [
        {"question_id": q, "answer": answer, "confidence": c, "ground_truth": "4", "who": who}
        for who in ("b", "a")
        for q, answer, c in ((1, "4.0", 2.0), (2, "5", 3.0), (1, None, None), (1, "9", 1.0))
    ]
    loaded = load_pool_sets([write_table(tmp_path / "sums.jsonl", rows)], columns=Columns(by="who"))
    assert [(each.name, each.model, each.benchmark) for each in loaded.pool_sets] == [
        ("sums/b", "b", "sums"),
        ("sums/a", "a", "sums"),
    ]
    one, two = loaded.pool_sets[0].pools
    assert (one.question, one.classes.tolist(), one.correct.tolist()) == (
        "1",
        [0, -1, 1],
        [True, False, False],
    )
    assert (two.question, two.correct.tolist()) == ("2", [False])


def test_rows_that_do_not_say_go_by_the_others_of_their_answer(tmp_path: Path) -> None:
    rows = [
        {"question_id": "q", "answer": answer, "confidence": 1.0, "correct": correct}
        for answer, correct in (("x", True), ("x", None), ("y", None), ("z", False))
    ]
    (only,) = load_pool_sets([write_table(tmp_path / "t.jsonl", rows)]).pool_sets[0].pools
    assert only.correct.tolist() == [True, True, False, False]


def test_an_unknown_thing_to_read_is_named() -> None:
    with pytest.raises(UnknownNameError, match="'lenghts': did you mean lengths"):
        load_pool_sets([], reads=("lenghts",))


BRUMO = Path(__file__).parents[1] / "data" / "brumo2025_deepconf_64.parquet"


def test_real_traces_give_the_known_counts() -> None:
    from distrivote.evaluation.driver import evaluate

    loaded = load_pool_sets([str(BRUMO)], columns=Columns(answer="answer_key"))
    report = evaluate(loaded.pool_sets, ["main"], n_repeats=2)
    found = {row["method"]: row["brumo2025_deepconf_64"] for row in report.results[0].tables[0].rows}
    expected = {"WSC": 23, "BoN": 27, "WSC-Top50": 26, "WSC-GMM": 28, "DIS-Top50": 27, "DIS-GMM": 28}
    assert {name: round(29 * float(found[name] or 0)) for name in expected} == expected


def test_real_traces_give_the_row_of_the_readme() -> None:
    from distrivote.evaluation.driver import evaluate

    loaded = load_pool_sets([str(BRUMO)], columns=Columns(answer="answer_key"))
    table = evaluate(loaded.pool_sets, ["trust"], budget=32).results[0].tables[0]
    (row,) = (row for row in table.rows if row["budget"] == "32")
    found = [f"{float(row[name] or 0):.1%}" for name in ("SC", "DIS-GMM", "auto-one-question")]
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (line,) = (line for line in readme.splitlines() if line.startswith("| DeepSeek-R1-0528-Qwen3-8B"))
    assert found == [cell.split()[0] for cell in line.split("|")[4:7]]


def test_steps_are_also_counted_by_empty_lines_where_texts_are_stored(tmp_path: Path) -> None:
    rows = [row("q", 0, "1", "1", text="One.\n\nTwo.\n\n\nThree.\n"), row("q", 1, "1", "1", text="")]
    run = write_run(tmp_path / "run", rows)
    counted = load_pool_sets([run], reads=("lengths",)).pool_sets[0].pools[0].n_paragraphs
    assert counted is not None
    assert counted.tolist() == [3, 1]


def test_seconds_are_read_where_a_run_has_them(tmp_path: Path) -> None:
    timed = write_run(
        tmp_path / "timed",
        [
            row("q1", 0, "7", "4", confidence=1.0, seconds=1.5),
            row("q1", 1, "4", "4", confidence=2.0),
        ],
    )
    untimed = write_run(tmp_path / "untimed", [row("q1", 0, "7", "4", confidence=1.0)])
    with_times, without = load_pool_sets([timed, untimed], reads=("lengths",)).pool_sets
    assert with_times.pools[0].seconds is not None
    np.testing.assert_array_equal(with_times.pools[0].seconds, [1.5, np.nan])
    assert without.pools[0].seconds is None


def test_a_set_knows_under_what_it_was_sampled(tmp_path: Path) -> None:
    params = SamplingParams(
        temperature=0.7, top_p=0.9, max_tokens=77, thinking=False, stop=("\n\n",), n_logprobs=5
    )
    path = write_run(tmp_path / "run", [row("q", 0, "1", "1")], BudgetForcing(max_tokens=9), params)
    (found,) = load_pool_sets([path]).pool_sets
    assert found.settings == found.settings | {
        "thinking": False,
        "template": "math",
        "system": None,
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 77,
        "stop": repr("\n\n"),
        "k": 5,
        "stop_when": None,
        "grader": GRADER,
        "controller_max_tokens": 9,
    }
    assert found.pools[0].truth == "1"


def test_the_grader_is_what_graded_whatever_it_doubted(tmp_path: Path) -> None:
    answers = [row("q", 0, "1", "1"), row("q", 1, "2", "1")]
    sure, unsure, new = (write_run(tmp_path / name, answers) for name in ("sure", "unsure", "new"))
    for path in (sure, unsure):
        compact(path)
    manifest = Manifest.load(Path(unsure))
    assert manifest.grader is not None
    dataclasses.replace(manifest, grader={**manifest.grader, "n_unsure": 3}).save(Path(unsure))
    sets = load_pool_sets([sure, unsure, new]).pool_sets
    assert [found.settings["grader"] for found in sets] == [GRADER] * 3
    by_text = load_pool_sets([sure, new], same="text").pool_sets
    assert {found.settings["grader"] for found in by_text} == {f"text {RULES_VERSION}"}


def test_a_run_without_trajectories_is_one_sentence(tmp_path: Path) -> None:
    empty, other = write_run(tmp_path / "empty", []), write_run(tmp_path / "other", [row("q", 0, "1", "1")])
    with pytest.raises(InputError, match="empty holds no trajectories yet: sample some with distrivote"):
        load_pool_sets([empty])
    loaded = load_pool_sets([empty, other])
    assert [each.name for each in loaded.pool_sets] == ["other"]
    assert loaded.notes == (f"{empty} holds no trajectories yet: it is left out",)
