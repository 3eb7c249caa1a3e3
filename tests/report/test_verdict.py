"""What an evaluation found, in words; and the terms that a table uses."""

from __future__ import annotations

import pytest

from distrivote.evaluation.results import Cell, Column, Report, Result, Table
from distrivote.report.cells import legend
from distrivote.report.terms import terms_in
from distrivote.report.verdict import verdict


def differences(*rows: tuple[str, float, float, float]) -> Report:
    fields: list[dict[str, Cell]] = [
        {
            "pair": pair,
            "difference": value,
            "difference_low": low,
            "difference_high": high,
            "n_questions": 60,
            "real": "yes" if low > 0 or high < 0 else "no",
        }
        for pair, value, low, high in rows
    ]
    columns = (Column("pair", "Methods"), Column("difference", "Difference", "percent"))
    table = Table("differences", "small: which differences are real?", columns, tuple(fields))
    return Report((Result("main", "Which method is right most often?", (table,)),), (), {})


def test_a_real_difference_is_told_with_its_interval() -> None:
    report = differences(("DIS-GMM − SC", 0.05, 0.01, 0.09), ("auto − SC", -0.02, -0.03, -0.01))
    assert verdict(report) == [
        "small: auto is right 2.0 points less often than majority voting on 60 questions"
        " (95% interval -3.0 to -1.0 points).",
        "small: DistriVoting (DIS-GMM) is right 5.0 points more often than majority voting on 60 questions"
        " (95% interval +1.0 to +9.0 points).",
    ]


def test_a_difference_by_chance_is_called_so() -> None:
    [steered] = verdict(differences(("DIS-GMM* − DIS-GMM", 0.01, -0.02, 0.04)))
    assert steered == (
        "small: DistriVoting with and without SelfStepConf differ by no more than chance on 60 questions"
        " (95% interval -2.0 to +4.0 points)."
    )
    [plain] = verdict(differences(("auto − SC", 0.0, -0.02, 0.04)))
    assert "auto and majority voting differ by no more than chance" in plain


def test_there_is_no_verdict_without_the_main_experiment() -> None:
    assert verdict(Report((Result("steps", "?"),), (), {})) == []


@pytest.mark.parametrize(
    ("title", "method", "expected"),
    [
        ("accuracy", "WSC-GMM*", "* after a method"),
        ("small: WAcc", "x", "WAcc: "),
        ("Density difference, Acc", "x", "density difference: "),
        ("AUROC pooled", "x", "AUROC: "),
    ],
)
def test_terms_are_explained_where_they_stand(title: str, method: str, expected: str) -> None:
    table = Table("t", title, (Column("method", "Method"),), ({"method": method},))
    [words] = terms_in(table)
    assert words.startswith(expected)
    assert words in legend(table)


def test_a_table_without_terms_explains_none() -> None:
    assert terms_in(Table("t", "accuracy", (Column("method", "Method"),), ({"method": "WSC-GMM"},))) == []
