"""Whole evaluations: known tables, awkward pools, the same bits every time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from distrivote.errors import InputError, UnknownNameError
from distrivote.evaluation import scoring
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.base import Setting
from distrivote.evaluation.experiments.registry import EXPERIMENTS, experiments_named
from distrivote.evaluation.experiments.separation import rank_accuracies, side_counts
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.results import Report, Row, Table
from distrivote.evaluation.scoring import score
from distrivote.evaluation.studies import studies_of
from evaluation.made_pools import few_surer_right, pool, pool_set, random_set, surest_wrong

ALL = tuple(EXPERIMENTS)


def tables(report: Report) -> dict[str, Table]:
    return {table.name: table for result in report.results for table in result.tables}


def rows(report: Report, name: str) -> dict[str, Row]:
    return {str(row["method"]): row for row in tables(report)[name].rows}


def test_a_table_known_by_hand() -> None:
    # Two questions whose majority is wrong and sums are right, one the other way round for best-of-N.
    made = pool_set(few_surer_right("a"), few_surer_right("b"), surest_wrong("c"))
    report = evaluate([made], ["main"], n_repeats=3)
    found = {method: row["made"] for method, row in rows(report, "model").items()}
    assert found["SC"] == pytest.approx(1 / 3)
    assert found["WSC"] == 1.0
    assert found["BoN"] == pytest.approx(2 / 3)
    assert report.settings["budget"] == 8
    assert rows(report, "model")["WSC"]["made_sd"] == 0.0
    assert any("the budget is 8, not 128" in note for note in report.notes)
    assert any("whole pool" in note for note in report.notes)


def test_averages_weigh_by_questions_and_starred_rows_come_from_the_steered_run() -> None:
    sets = [
        pool_set(few_surer_right("a"), few_surer_right("b"), few_surer_right("c"), benchmark="x"),
        pool_set(surest_wrong("d"), benchmark="y"),
        pool_set(few_surer_right("a"), few_surer_right("b"), few_surer_right("c"), benchmark="x", ssc=True),
        pool_set(pool("d", [1] * 8, range(1, 9)), benchmark="y", ssc=True),
    ]
    report = evaluate(sets, ["main"], n_repeats=2)
    found = rows(report, "model")
    assert (found["SC"]["x"], found["SC"]["y"], found["SC"]["Avg."]) == (0.0, 1.0, 0.25)
    assert (found["WSC-GMM*"]["x"], found["WSC-GMM*"]["y"], found["WSC-GMM*"]["Avg."]) == (1.0, 0.0, 0.75)
    assert not any("SelfStepConf" in note for note in report.results[0].notes)


def test_a_missing_steered_run_is_a_note_beside_the_paper_and_the_rest_is_made() -> None:
    report = evaluate([random_set(8)], ["main"], n_repeats=2, against_paper=True)
    assert "DIS-GMM*" not in rows(report, "model")
    assert "DIS-GMM" in rows(report, "model")
    single = evaluate([random_set(8)], ["pass1"], n_repeats=2, against_paper=True)
    for result in (*report.results, *single.results):
        assert any("no SelfStepConf run on made" in note for note in result.notes)


def test_who_never_steered_reads_nothing_about_starred_rows() -> None:
    report = evaluate([random_set(8)], ["main", "pass1", "stages", "trace"], n_repeats=2)
    assert not any("SelfStepConf" in note for result in report.results for note in result.notes)


def test_notes_that_differ_only_in_the_model_are_one() -> None:
    plain = [random_set(4, seed=seed, model=f"m{seed}") for seed in range(3)]
    note, *_ = evaluate(plain, ["main"], n_repeats=2, against_paper=True).results[0].notes
    assert note == "all 3 models: no SelfStepConf run on made, so the starred rows are left out there"
    steered = random_set(4, model="m0", ssc=True, name="steered")
    (note,) = evaluate([*plain, steered], ["main"], n_repeats=2).results[0].notes
    assert note.startswith("m1, m2: no SelfStepConf run on made")


def test_sets_without_confidences_are_named_in_one_note() -> None:
    sets = [nothing_sure(), nothing_sure()]
    found = [note for note in evaluate(sets, ["main"], n_repeats=2).notes if "no confidences" in note]
    assert found == [
        "model-made, model-made (2) have no confidences: only majority voting and pass@k can be shown"
    ]


def test_a_clear_difference_is_called_real_and_marked() -> None:
    made = pool_set(*(few_surer_right(f"q{i}") for i in range(12)))
    report = evaluate([made], ["main"], n_repeats=2)
    pairs = {row["pair"]: row for row in tables(report)["model-differences"].rows}
    assert pairs["WSC − SC"]["real"] == "yes"
    assert pairs["WSC-GMM − WSC-Top50"]["real"] == "no"
    assert rows(report, "model")["SC"]["made_near"] is False
    assert rows(report, "model")["WSC"]["made_near"] is True


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_on_any_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [random_set(2, 40), random_set(2, 40, seed=1, ssc=True, name="steered")]
    first = evaluate(sets, ALL, budget=24, n_repeats=2, seed=5)
    assert repr(first) == repr(evaluate(sets, ALL, budget=24, n_repeats=2, seed=5))
    monkeypatch.setattr(scoring, "_WORTH_WORKERS", 0)
    few = ("main", "stages")
    alone = evaluate(sets, few, budget=24, n_repeats=3)
    assert repr(alone) == repr(evaluate(sets, few, budget=24, n_repeats=3, n_workers=2))
    assert repr(alone) != repr(evaluate(sets, few, budget=24, n_repeats=3, seed=1))


def nothing_sure() -> PoolSet:
    return pool_set(*(pool(f"q{i}", [0, 0, 1, -1] * 6, [math.nan] * 24) for i in range(3)))


AWKWARD = {
    "one question": pool_set(random_set(1).pools[0]),
    "all correct": pool_set(*(pool(f"q{i}", [0] * 24, range(1, 25)) for i in range(3))),
    "all wrong": pool_set(*(pool(f"q{i}", [1, 2] * 12, range(1, 25)) for i in range(3))),
    "no answers": pool_set(*(pool(f"q{i}", [-1] * 24, [math.nan] * 23 + [1.0]) for i in range(3))),
    "equal confidences": pool_set(*(pool(f"q{i}", [0, 1] * 12, [3.0] * 24) for i in range(3))),
    "no confidences": nothing_sure(),
    "one trajectory each": pool_set(*(pool(f"q{i}", [i % 2], [1.0]) for i in range(3))),
    "only steered": pool_set(*random_set(3).pools, ssc=True),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("experiment", ALL)
def test_every_experiment_copes_with(name: str, experiment: str) -> None:
    report = evaluate([AWKWARD[name]], [experiment], n_repeats=2, against_paper=True)
    (result,) = report.results
    assert result.tables or result.notes
    names = [table.name for table in result.tables] + [chart.name for chart in result.charts]
    assert not any("/" in one or " " in one for one in names)
    assert len({table.name for table in result.tables}) == len(result.tables)
    assert len({chart.name for chart in result.charts}) == len(result.charts)
    for table in result.tables:
        fields = {column.name for column in table.columns}
        for row in table.rows:
            assert fields <= {*row}
            assert not any(isinstance(value, float) and not math.isfinite(value) for value in row.values())
            assert not any(isinstance(value, np.generic) for value in row.values())
    for chart in result.charts:
        for row in chart.rows:
            assert {chart.x.field, chart.y.field} <= {*row}
            assert not any(isinstance(value, (np.generic,)) for value in row.values())


def test_published_numbers_stand_beside_measured_ones() -> None:
    sizes = {"HMMT2025": 2, "GPQA-D": 3, "AIME2024": 2, "AIME2025": 2, "BRUMO2025": 2}
    sets = [
        random_set(n, 24, model="DeepSeek-R1-8B", benchmark=benchmark, name=benchmark)
        for benchmark, n in sizes.items()
    ]
    report = evaluate(sets, ["main", "budget"], n_repeats=2, against_paper=True)
    found = rows(report, "DeepSeek-R1-8B")
    assert found["DIS-GMM"]["Avg._paper"] == pytest.approx(0.7695)
    assert found["MoB (q = 0.1)"]["Avg._paper"] == pytest.approx(0.7530)
    assert found["MoB (q = 0.75)"]["Avg._paper"] is None
    assert rows(report, "DeepSeek-R1-8B-budget")["DIS-GMM at 8"]["Avg._paper"] == pytest.approx(0.7312)
    assert any("q = 0.1" in note for note in report.results[0].notes)
    # An average over fewer benchmarks is another average.
    fewer = evaluate(sets[:2], ["main"], n_repeats=2, against_paper=True)
    assert "Avg._paper" not in rows(fewer, "DeepSeek-R1-8B")["SC"]
    assert "HMMT2025_paper" not in rows(evaluate(sets, ["main"], n_repeats=2), "DeepSeek-R1-8B")["SC"]


def test_an_order_that_contradicts_the_paper_is_said() -> None:
    # Here the majority is right and the confident half is not; the paper has WSC-Top50 above WSC.
    questions = [
        pool(f"q{i}", [0, 0, 0, 0, 0, 0, 1, 1], [4, 4.1, 4.2, 4.3, 1, 1.1, 9, 9.5]) for i in range(9)
    ]
    made = pool_set(*questions, model="DeepSeek-R1-8B", benchmark="HMMT2025")
    report = evaluate([made], ["main"], n_repeats=2, against_paper=True)
    notes = [note for note in report.results[0].notes if "WSC-Top50 − WSC is -100.00 points here" in note]
    assert len(notes) == 1
    assert "in the paper" in notes[0]


def test_budgets_go_as_far_as_the_pool() -> None:
    report = evaluate([random_set(3, 40)], ["budget"], n_repeats=2)
    assert [row["x"] for row in report.results[0].charts[0].rows if row["series"] == "DIS-GMM"] == [8, 16, 32]
    assert any("64, 128, 256 are left out" in note for note in report.results[0].notes)


def test_every_split_sees_all_questions_and_repeats() -> None:
    found = tables(evaluate([random_set(60, 40)], ["clustering"], n_repeats=3))
    assert [row["method"] for row in found["model-acc"].rows] == ["Top50", "K-Means", "MeanShift", "GMM"]
    setting = Setting((random_set(60, 40),), studies_of((random_set(60, 40),))[0], 40, 3, 0)
    (clustering,) = experiments_named(["clustering"])
    scores = score(setting.sets, clustering.asks(setting), n_repeats=3, seed=0)
    assert len(scores) == 8  # four splits, by what they keep and by the vote that follows
    for samples in scores.values():
        for sample in samples.values():
            assert len(sample.names) == 60
            assert len(sample.repeats) == 3


def test_a_clock_is_looked_at_only_where_one_is_given() -> None:
    ticks = iter(range(1000))
    timed = evaluate([random_set(3)], ["clustering"], n_repeats=1, clock=lambda: float(next(ticks)))
    assert timed.results[0].seconds > 0
    assert "model-time" in tables(timed)
    plain = evaluate([random_set(3)], ["clustering"], n_repeats=1)
    assert plain.results[0].seconds == 0
    assert "model-time" not in tables(plain)


def test_the_watcher_hears_how_far_it_is() -> None:
    heard: list[tuple[float, str]] = []
    evaluate([random_set(3)], ["main"], n_repeats=1, watch=lambda part, what: heard.append((part, what)))
    assert [part for part, _ in heard] == sorted(part for part, _ in heard)
    assert heard[-1][0] == 1.0


def test_what_can_not_be_evaluated_is_said() -> None:
    with pytest.raises(InputError, match="nothing to evaluate"):
        evaluate([], ["main"])
    with pytest.raises(UnknownNameError, match="did you mean main"):
        evaluate([random_set(2)], ["mian"])
    with pytest.raises(InputError, match="question q0 of random has 40 trajectories and the budget is 41"):
        evaluate([random_set(2)], ["main"], budget=41)
    with pytest.raises(InputError, match="question a twice"):
        evaluate([pool_set(few_surer_right("a"), few_surer_right("a"))], ["main"])
    with pytest.raises(InputError, match="0 repeats"):
        evaluate([random_set(2)], ["main"], n_repeats=0)
    with pytest.raises(InputError, match="without trajectories"):
        evaluate([pool_set(pool("q", [], []))], ["main"])


def test_sets_of_one_name_are_kept_apart() -> None:
    report = evaluate([random_set(12, seed=n) for n in range(2)], ["trust"], n_repeats=4)
    assert [source["name"] for source in report.sources] == ["random", "random (2)"]
    whole = [row for row in tables(report)["differences"].rows if row["set"] == "all runs"]
    assert whole
    for row in whole:
        assert row["to_sc"] == pytest.approx((float(row["won"] or 0) - float(row["lost"] or 0)) / 24)


def test_of_equal_confidences_the_earlier_ones_are_the_surer() -> None:
    accuracies = rank_accuracies(pool("q", [0] * 20 + [1] * 20, [5.0] * 40))
    assert accuracies is not None
    assert accuracies.tolist() == [0.0] * 10 + [1.0] * 10


def test_both_sides_of_the_split_are_followed_by_rank() -> None:
    # 40 answers of two humps: the upper half is right but for its lowest, the lower half wrong but for its
    # highest. Ranks hold two each; those of the lower half are of the likely wrong side.
    confidence = [1 + i / 100 for i in range(20)] + [9 + i / 100 for i in range(20)]
    made = pool("q", [1] * 19 + [0] + [1] + [0] * 19, confidence)
    right, members = side_counts(made)
    assert members[0].tolist() == [2.0] * 10 + [0.0] * 10
    assert members[1].tolist() == [0.0] * 10 + [2.0] * 10
    assert right[0].tolist() == [0.0] * 9 + [1.0] + [0.0] * 10
    assert right[1].tolist() == [0.0] * 10 + [1.0] + [2.0] * 9
    (result,) = evaluate([pool_set(made)], ["separation"], n_repeats=1).results
    chart = next(chart for chart in result.charts if chart.name.endswith("by-side"))
    shares = {(row["side"], row["rank"]): row["share"] for row in chart.rows}
    assert shares["likely wrong", 9.5 / 20] == 0.5
    assert shares["likely right", 10.5 / 20] == 0.5
    assert len(shares) == 20
    assert side_counts(pool("few", [0] * 19, list(range(1, 20)))) is None


def test_the_density_differences_of_the_papers_text_stand_beside_ours() -> None:
    sets = [
        random_set(4, 40, model="DeepSeek-R1-8B", benchmark="HMMT2025"),
        random_set(4, 40, model="DeepSeek-R1-8B", benchmark="HMMT2025", ssc=True, name="steered"),
    ]
    found = rows(evaluate(sets, ["separation"], n_repeats=1, against_paper=True), "DeepSeek-R1-8B-density")
    assert found["BasicInference"]["HMMT2025_paper"] == 0.165
    assert found["SelfStepConf"]["HMMT2025_paper"] == 0.251


def test_the_released_vote_is_measured_beside_the_papers() -> None:
    report = evaluate([random_set(6)], ["main", "components"], n_repeats=2)
    both = [
        {str(row["pair"]) for row in table.rows}
        for result in report.results
        for table in result.tables
        if table.name == "model-differences"
    ]
    assert {"DIS-GMM, released − DIS-GMM", "Root − SC", "auto − SC"} <= both[0]
    assert {"dis-gmm:released − dis-gmm", "hier:released − hier"} <= both[1]
    assert "wsc-top50:released − wsc-top50" not in both[1]
