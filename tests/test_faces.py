"""The faces of packages: what their `__init__` names is public, loads on use, and is this."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

FACES = {
    "benchmarks": """
        BENCHMARKS Benchmark Shard load
    """,
    "evaluation": """
        EXPERIMENTS Axis Cell Chart Column Fitted Loaded Pool PoolSet Report Result Row Rule Table Votes
        calibrate evaluate experiments_named load_pool_sets reads_of votes_of
    """,
    "pools": """
        POOLS OpenedPool PublishedPool PublishedSet open_pools pools_at_hand pools_named
    """,
    "report": """
        figure report_json report_latex report_markdown report_page tidy_table write_figures write_report
    """,
    "report.documents": """
        ask_document json_schema number solution_document split_document stored_trajectory_document
        summary_document tally_document trajectory_document trajectory_documents
    """,
    "scorers": """
        Reply ScoreInterrupted ScoreProgress ScoreResult Scored Scorer score_run
    """,
    "simulation": """
        Drawn MeasuredRun Preset Simulation VoteBound draw expected_bound measured plan presets
        presets_named simulate tail_ratio tail_ratio_derivative theory typical vote_accuracy with_auroc
        with_pass1
    """,
    "store": """
        AnswerTable Columns Compaction ImportOptions Imported Keep Manifest Row Run RunWriter Source
        StoredQuestion compact export_deepconf export_run formats import_files open_table read_calibration
        row_of sources trajectory_of write_calibration
    """,
    "store.runs": """
        FORMAT_VERSION MEASURES SCHEMA Compaction Keep Manifest Row Run RunWriter StoredQuestion compact
        export_deepconf export_run row_of rows_of table_of trajectory_of
    """,
    "store.tables": """
        AnswerTable Columns Judge Questions find_question hold_questions open_table questions_of
        stream_questions
    """,
}


@pytest.mark.parametrize("package", FACES)
def test_a_face_has_these_names_and_each_of_them_loads(package: str) -> None:
    module = importlib.import_module(f"distrivote.{package}")
    assert module.__all__ == FACES[package].split()
    for name in module.__all__:
        assert getattr(module, name).__class__.__name__ != "module", name
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = module.nothing_like_it


@pytest.mark.parametrize("package", FACES)
def test_a_face_alone_loads_nothing(package: str) -> None:
    code = f"import sys, distrivote.{package}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pyarrow"} & set(done.stdout.split())
