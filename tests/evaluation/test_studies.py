"""Sets sorted by model, benchmark and way of sampling."""

from __future__ import annotations

from distrivote.evaluation.studies import studies_of
from evaluation.made_pools import few_surer_right, pool_set

QUESTION = few_surer_right("q")


def test_a_study_is_a_model_with_its_benchmarks_and_both_ways_of_sampling() -> None:
    sets = [
        pool_set(QUESTION, model="a", benchmark="x"),
        pool_set(QUESTION, model="b", benchmark="x"),
        pool_set(QUESTION, model="a", benchmark="x", ssc=True),
        pool_set(QUESTION, model="a", benchmark="y"),
    ]
    (first, second), notes = studies_of(sets)
    assert (first.model, second.model) == ("a", "b")
    assert [(bench.basic, bench.ssc) for bench in first.benches] == [(0, 2), (3, None)]
    assert first.sources(starred=False) == (0, 3)
    assert first.sources(starred=True) == ()
    assert not notes


def test_of_several_steered_runs_the_one_with_the_papers_settings_is_starred() -> None:
    sets = [
        pool_set(QUESTION, ssc=True, alpha=0.5, delta=0.8),
        pool_set(QUESTION, ssc=True, alpha=0.8, delta=0.8),
        pool_set(QUESTION, ssc=True, alpha=0.9, delta=0.8),
    ]
    (study,), notes = studies_of(sets)
    assert study.benches[0].ssc == 1
    assert study.benches[0].variants == (0, 1, 2)
    assert "3 SelfStepConf runs" in notes[0]


def test_a_second_plain_run_stands_for_itself() -> None:
    studies, notes = studies_of([pool_set(QUESTION), pool_set(QUESTION)])
    assert [study.model for study in studies] == ["model", "model (model-made)"]
    assert "both plain runs" in notes[0]


def test_sets_at_different_temperatures_are_studies_of_their_own() -> None:
    sets = [
        pool_set(QUESTION, temperature=0.6),
        pool_set(QUESTION, ssc=True, temperature=0.6),
        pool_set(QUESTION, temperature=0.0),
        pool_set(QUESTION, ssc=True),
        pool_set(QUESTION, model="other", temperature=0.0),
    ]
    studies, notes = studies_of(sets)
    assert [(study.model, study.temperature) for study in studies] == [
        ("model at temperature 0.6", 0.6),
        ("model at temperature 0", 0.0),
        ("model at unknown temperature", None),
        ("other", 0.0),
    ]
    assert [(study.benches[0].basic, study.benches[0].ssc) for study in studies] == [
        (0, 1),
        (2, None),
        (None, 3),
        (4, None),
    ]
    assert notes == (
        "model on made: these runs differ in temperature (0.6 in model-made, model-made-ssc; 0 in model-made;"
        " not recorded in model-made-ssc), so they are shown apart and not compared",
    )


def test_benchmarks_may_differ_in_temperature() -> None:
    (study,), _ = studies_of(
        [
            pool_set(QUESTION, benchmark="x", temperature=0.6),
            pool_set(QUESTION, benchmark="y", temperature=0.7),
        ]
    )
    assert (study.model, study.temperature, len(study.benches)) == ("model", None, 2)
