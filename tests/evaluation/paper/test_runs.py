"""Which of the paper's numbers stand beside a run, and what is said about how it differs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.paper.model_settings import model_settings
from distrivote.evaluation.paper.published import published
from distrivote.evaluation.paper.runs import SPREAD, paper_notes
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.results import Row
from distrivote.evaluation.studies import studies_of
from evaluation.made_pools import pool, pool_set, random_set

PAPERS: dict[str, float | str | bool] = {"temperature": 0.6, "top_p": 0.95, "template": "math"}


def run(model: str = "Qwen/Qwen3-14B", n: int = 30, **settings: float | str | bool | None) -> PoolSet:
    made = random_set(n, 8, model=model, benchmark="aime2025: hf:MathArena/aime_2025", name="run")
    return dataclasses.replace(made, settings=PAPERS | {"max_tokens": 32768} | settings)


def rows(made: PoolSet, experiment: str) -> list[Row]:
    (result,) = evaluate([made], [experiment], n_repeats=2, against_paper=True).results
    return list(result.tables[0].rows)


def notes(*sets: PoolSet) -> list[str]:
    found = paper_notes(published(), sets, studies_of(sets)[0])
    assert found[-1] == SPREAD
    return found[:-1]


NAME = "aime2025: hf:MathArena/aime_2025"


def test_a_run_without_thinking_gets_the_numbers_without_thinking() -> None:
    off = rows(run(thinking=False, temperature=0.7), "pass1")
    assert off[0][f"{NAME}_paper"] == pytest.approx(0.2109)
    on = rows(run(), "pass1")
    assert on[0][f"{NAME}_paper"] == pytest.approx(0.6891)
    main = {row["method"]: row for row in rows(run(thinking=False, temperature=0.7), "main")}
    found = published().find("main_results", "Qwen3-14B*", "SC", "", "AIME2025", "voting_accuracy")
    assert found is not None
    assert main["SC"][f"{NAME}_paper"] == pytest.approx(found / 100)


@pytest.mark.parametrize(
    "model", ["./models/Qwen3-14B/", "hub/models--Qwen--Qwen3-14B/snapshots/40c", "qwen3-14b-q4_k_m.gguf"]
)
def test_every_spelling_of_the_model_finds_its_row(model: str) -> None:
    assert rows(run(model), "pass1")[0][f"{NAME}_paper"] == pytest.approx(0.6891)


def test_a_run_like_the_papers_is_not_remarked_on() -> None:
    assert notes(run()) == []
    assert notes(run(thinking=False, temperature=0.7)) == []
    deepseek = model_settings("DeepSeek-R1-8B")
    alike = {"template": "plain", "system": deepseek.system, "max_tokens": 64000}
    assert notes(run("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", **alike)) == []


def test_deepseek_was_asked_without_an_instruction() -> None:
    model = "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B"
    (note,) = notes(run(model, max_tokens=64000))
    assert note.endswith("template is 'math' here and 'plain' in the paper")
    assert notes(run("somebody/else", 3, temperature=1.0)) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"top_p": 1.0}, "top-p is 1 here and 0.95 in the paper"),
        ({"max_tokens": 1024}, "max_tokens is 1024 here and 32768 in the paper"),
        ({"template": "plain"}, "template is 'plain' here and 'math' in the paper"),
        ({"system": "Be brief."}, "system message is 'Be brief.' here and none in the paper"),
        ({"grader": "math-verify 0.8"}, "grader is 'math-verify 0.8' here and 'math_equal' in the paper"),
    ],
)
def test_a_difference_from_the_papers_runs_is_named_with_both_values(
    settings: dict[str, float | str], words: str
) -> None:
    assert notes(run(**settings)) == [f"Qwen/Qwen3-14B on AIME2025: {words}"]
    assert rows(run(**settings), "pass1")[0][f"{NAME}_paper"] == pytest.approx(0.6891)


def test_other_weights_and_fewer_questions_are_named() -> None:
    assert notes(run("Qwen3-14B-Q4_K_M.gguf", 12)) == [
        "Qwen3-14B-Q4_K_M.gguf: its weights are quantised (Q4_K_M), and those of the paper's Qwen3-14B were"
        " not",
        "Qwen3-14B-Q4_K_M.gguf on AIME2025: 12 of the paper's 30 questions",
    ]


def test_nothing_stands_beside_a_run_of_another_temperature() -> None:
    (row, *_) = rows(run(temperature=0.7), "pass1")
    assert f"{NAME}_paper" not in row
    assert notes(run(temperature=0.7)) == [
        "Qwen/Qwen3-14B on AIME2025: sampled at temperature 0.7, the paper's runs at 0.6, so its numbers are"
        " not shown"
    ]
    (wrong,) = notes(run(thinking=False))
    assert "sampled at temperature 0.6, the paper's runs at 0.7" in wrong


def test_the_papers_lengths_stand_beside_greedy_runs_alone() -> None:
    greedy, sampled = (
        pool_set(
            *(
                dataclasses.replace(pool(f"q{i}", [0, 1], [1.0, 2.0]), n_tokens=np.array([10, 20]))
                for i in range(3)
            ),
            model="DeepSeek-R1-8B",
            benchmark="HMMT2025",
            temperature=temperature,
        )
        for temperature in (0.0, 0.6)
    )
    assert rows(greedy, "length")[0]["tokens_paper"] == pytest.approx(28266.73)
    assert rows(sampled, "length")[0]["tokens_paper"] is None


def test_a_model_that_only_thinks_has_no_numbers_without() -> None:
    made = run("DeepSeek-R1-8B", thinking=False)
    assert notes(made) == ["DeepSeek-R1-8B: the paper has no numbers of DeepSeek-R1-8B without thinking"]
    assert f"{NAME}_paper" not in rows(made, "pass1")[0]


def test_the_spread_is_said_to_be_another_one_wherever_the_paper_stands_beside() -> None:
    assert SPREAD in evaluate([run()], ["main"], n_repeats=2, against_paper=True).notes
    assert SPREAD not in evaluate([run()], ["main"], n_repeats=2).notes
