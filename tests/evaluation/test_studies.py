"""Sets sorted by model, benchmark and way of sampling."""

from __future__ import annotations

import dataclasses

import pytest

from distrivote.evaluation.conditions import CONDITIONS
from distrivote.evaluation.pools import Pool, PoolSet
from distrivote.evaluation.studies import shared_questions, studies_of
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
        " not recorded in model-made-ssc), so they are shown separately and not compared",
    )


def test_benchmarks_may_differ_in_temperature() -> None:
    (study,), _ = studies_of(
        [
            pool_set(QUESTION, benchmark="x", temperature=0.6),
            pool_set(QUESTION, benchmark="y", temperature=0.7),
        ]
    )
    assert (study.model, study.temperature, len(study.benches)) == ("model", None, 2)


VALUES: dict[str, tuple[object, object, str]] = {
    "thinking": (True, False, "thinking (on in plain; off in steered)"),
    "template": ("math", "plain", "template ('math' in plain; 'plain' in steered)"),
    "system": (None, "Be brief.", "system message (none in plain; 'Be brief.' in steered)"),
    "temperature": (0.6, 0.7, "temperature (0.6 in plain; 0.7 in steered)"),
    "top_p": (0.95, 1.0, "top-p (0.95 in plain; 1 in steered)"),
    "top_k": (0, 20, "top-k (0 in plain; 20 in steered)"),
    "min_p": (0.0, 0.1, "min-p (0 in plain; 0.1 in steered)"),
    "max_tokens": (512, 1024, "max_tokens (512 in plain; 1024 in steered)"),
    "stop": (None, "'###'", "stop strings (none in plain; \"'###'\" in steered)"),
    "k": (20, 5, "number of log-probabilities (20 in plain; 5 in steered)"),
    "stop_when": (None, "beta", "stopping rule (none in plain; 'beta' in steered)"),
    "grader": ("notation", "math-verify 0.8", "grader ('notation' in plain; 'math-verify 0.8' in steered)"),
}


def arms(name: str, first: object, second: object) -> list[PoolSet]:
    plain, steered = pool_set(QUESTION), pool_set(QUESTION, ssc=True)
    return [
        dataclasses.replace(plain, name="plain", settings={name: first}),
        dataclasses.replace(steered, name="steered", settings={name: second, "alpha": 0.8}),
    ]


@pytest.mark.parametrize("name", CONDITIONS)
def test_arms_that_differ_in_more_than_the_steering_are_shown_apart_and_the_values_are_named(
    name: str,
) -> None:
    first, second, words = VALUES[name]
    studies, notes = studies_of(arms(name, first, second))
    assert [(study.benches[0].basic, study.benches[0].ssc) for study in studies] == [(0, None), (None, 1)]
    assert len({study.model for study in studies}) == 2
    assert notes == (
        f"model on made: these runs differ in {words}, so they are shown separately and not compared",
    )
    (together,), notes = studies_of(arms(name, second, second))
    assert (together.benches[0].basic, together.benches[0].ssc) == (0, 1)
    assert not notes


def test_what_is_not_recorded_is_not_taken_for_alike_but_for_the_grader() -> None:
    studies, notes = studies_of(arms("max_tokens", 512, None))
    assert len(studies) == 2
    assert "max_tokens (512 in plain; not recorded in steered)" in notes[0]
    (study,), notes = studies_of(arms("grader", "math-verify 0.8", None))
    assert (study.benches[0].basic, study.benches[0].ssc, notes) == (0, 1, ())


def test_a_model_that_thinks_by_itself_is_the_one_that_was_told_to() -> None:
    told, untold, off = (
        dataclasses.replace(pool_set(QUESTION, model="Qwen/Qwen3-8B", ssc=ssc), settings={"thinking": said})
        for said, ssc in ((True, False), (None, True), (False, False))
    )
    (study,), notes = studies_of([told, untold])
    assert (study.thinking, study.benches[0].ssc, notes) == (True, 1, ())
    first, second = studies_of([told, untold, off])[0]
    assert (first.model, second.model) == ("Qwen/Qwen3-8B thinking", "Qwen/Qwen3-8B non-thinking")
    assert (first.thinking, second.thinking) == (True, False)


def test_a_mean_over_benchmarks_with_and_without_thinking_is_of_no_model() -> None:
    sets = [
        dataclasses.replace(pool_set(QUESTION, benchmark=name), settings={"thinking": said})
        for name, said in (("x", True), ("y", False))
    ]
    assert [len(study.benches) for study in studies_of(sets)[0]] == [1, 1]


def test_spellings_of_a_model_are_one_model_and_a_note_says_so() -> None:
    cached = "/hub/models--Qwen--Qwen3-8B/snapshots/1a2b"
    names = ("Qwen/Qwen3-8B", "./models/Qwen3-8B/", cached)
    sets = [pool_set(QUESTION, model=name, ssc=i > 0, alpha=0.8) for i, name in enumerate(names)]
    (study,), notes = studies_of(sets[:2])
    assert (study.model, study.benches[0].basic, study.benches[0].ssc) == ("Qwen/Qwen3-8B", 0, 1)
    assert notes == ("Qwen/Qwen3-8B and ./models/Qwen3-8B/ are taken for one model",)
    assert len(studies_of(sets)[0]) == 1
    # Of models that nobody knows only the same path is the same.
    assert len(studies_of([pool_set(QUESTION, model=name) for name in ("a/final", "b/final")])[0]) == 2
    mine = [pool_set(QUESTION, model="./mine/"), pool_set(QUESTION, model="mine", ssc=True)]
    assert len(studies_of(mine)[0]) == 1
    # Other weights are another model.
    sets = [pool_set(QUESTION, model=name) for name in ("Qwen3-8B", "Qwen3-8B-Q4_K_M.gguf")]
    assert len(studies_of(sets)[0]) == 2


def test_benchmarks_stand_in_the_papers_order_under_its_names() -> None:
    names = (
        "gsm8k: hf:openai/gsm8k",
        "brumo2025",
        "aime_2025",
        "gpqa-diamond",
        "data/aime24",
        "hmmt_feb_2025",
    )
    (study,), _ = studies_of([pool_set(QUESTION, benchmark=name) for name in names])
    assert [study.label(bench.benchmark) for bench in study.benches] == [
        "HMMT2025",
        "GPQA-D",
        "AIME2024",
        "AIME2025",
        "BRUMO2025",
        "gsm8k",
    ]


def test_arms_share_the_questions_that_both_have() -> None:
    plain = pool_set(*(few_surer_right(name) for name in "abcd"))
    steered = pool_set(*(few_surer_right(name) for name in "bcde"), ssc=True)
    (study,), _ = studies_of([plain, steered])
    shared, notes = shared_questions([plain, steered], [study])
    assert shared == {0: frozenset("bcd"), 1: frozenset("bcd")}
    assert notes == [
        "model on made: the arms are compared on the 3 questions that both have, of 4 of model-made and 4 of"
        " model-made-ssc"
    ]
    assert shared_questions([plain, dataclasses.replace(plain, ssc=True)], studies_of([plain])[0]) == ({}, [])


def test_a_question_with_another_right_answer_is_another_question() -> None:
    def truths(**known: str) -> tuple[Pool, ...]:
        return tuple(dataclasses.replace(few_surer_right(name), truth=t) for name, t in known.items())

    sets = [pool_set(*truths(a="1", b="2")), pool_set(*truths(a="1", b="3"), ssc=True)]
    studies, _ = studies_of(sets)
    assert shared_questions(sets, studies)[0] == {0: frozenset("a"), 1: frozenset("a")}


def test_arms_without_a_common_question_are_shown_apart() -> None:
    sets = [pool_set(few_surer_right("a")), pool_set(few_surer_right("b"), ssc=True)]
    studies, notes = studies_of(sets)
    assert [(study.benches[0].basic, study.benches[0].ssc) for study in studies] == [(0, None), (None, 1)]
    assert notes == (
        "model-made and model-made-ssc have no question of made in common: the second is shown as model"
        " (model-made-ssc)",
    )
