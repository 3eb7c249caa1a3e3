"""A report with invented numbers: every kind of table and chart, and texts that mean harm."""

from __future__ import annotations

import math

from distrivote.evaluation.results import Axis, Cell, Chart, Column, Report, Result, Row, Rule, Table

EVIL = '<script>document.title="owned"</script>'
METHODS = {"SC": 0.689, "WSC": 0.694, "BoN": 0.655, "MoB": 0.691, "WSC-Top50": 0.722, "WSC-GMM": 0.741}
METHODS |= {"DIS-Top50": 0.738, "DIS-GMM": 0.768, "DIS-GMM*": 0.781}
BENCHMARKS = {"HMMT2025": -0.05, "GPQA-D": -0.02, "AIME2024": 0.17, "Avg.": 0.0}
ACCURACY = Axis("accuracy", "Voting accuracy", "percent")


def estimate(name: str, value: float) -> dict[str, Cell]:
    return {name: value, f"{name}_sd": 0.0023, f"{name}_low": value - 0.031, f"{name}_high": value + 0.029}


def main_table() -> Table:
    columns = [Column("method", "Method")]
    rows: list[dict[str, Cell]] = [{"method": name} for name in METHODS]
    for benchmark, shift in BENCHMARKS.items():
        fields = {"spread": f"{benchmark}_sd", "low": f"{benchmark}_low", "high": f"{benchmark}_high"}
        if benchmark == "Avg.":
            fields["paper"] = "Avg._paper"
        near = f"{benchmark}_near"
        columns.append(Column(benchmark, benchmark, "percent", 1, best="highest", near=near, **fields))
        for row, accuracy in zip(rows, METHODS.values(), strict=True):
            row |= estimate(benchmark, min(1.0, accuracy + shift)) | {near: accuracy > 0.76}
    for row, accuracy in zip(rows, METHODS.values(), strict=True):
        row["Avg._paper"] = accuracy + 0.004 if row["method"] != "MoB" else None
    return Table("accuracy", "DeepSeek-R1-8B: 128 trajectories, 64 repeats", tuple(columns), tuple(rows))


def awkward_table() -> Table:
    columns = (
        Column("question", "Question & id_#"),
        Column("difference", "Difference", "number", 2, low="low", high="high"),
        Column("seconds", "Time (s)", "number", 3, best="lowest"),
        Column("tokens", "Tokens", "whole"),
    )
    rows: tuple[Row, ...] = (
        {"question": EVIL, "difference": -0.31, "low": -1.2, "high": 0.6, "seconds": 0.0121, "tokens": 29311},
        {"question": "50% of $x_1^2$ \\ {a} ~ | # &", "difference": None, "seconds": 0.02, "tokens": 7},
        {"question": "数学 é ű ★ \x1b[31m", "difference": math.nan, "seconds": 1.5, "tokens": None},
        {"question": "=1+1", "difference": 12.5, "low": 1.0, "high": 20.0, "seconds": 0.3, "tokens": 1},
    )
    return Table("awkward", "Awkward <b>cells</b> & names", columns, rows)


def point(x: Cell, series: str, y: float, half: float | None = 0.02, published: bool = False) -> Row:
    low, high = (None, None) if half is None else (y - half, y + half)
    return {"x": x, "series": series, "accuracy": y, "low": low, "high": high, "published": published}


def budget_chart() -> Chart:
    rows: list[Row] = []
    for name in ("DIS-GMM*", "DIS-GMM", "WSC-GMM", "WSC-Top50", "SC"):
        for budget in (8, 16, 32, 64, 128, 256):
            y = METHODS[name] - 0.25 / math.sqrt(budget) * (0.4 + METHODS[name] - 0.68)
            rows.append(point(budget, name, y, 0.06 / math.log2(budget)))
            if name in ("DIS-GMM", "SC") and budget >= 16:
                rows.append(point(budget, name, y - 0.012, None, published=True))
    axis = Axis("x", "Budget (trajectories)", "whole", log=True)
    words = "DeepSeek-R1-8B, average over all questions, 64 repeats; 95% intervals over questions"
    return Chart(
        "budget", "What does a larger budget buy?", words, "lines", axis, ACCURACY, tuple(rows),
        series="series", low="low", high="high", published="published",
    )  # fmt: skip


def bars_chart() -> Chart:
    rows = [point(name, "", value, 0.03) for name, value in METHODS.items()]
    rows += [point(name, "", value + 0.01, None, published=True) for name, value in METHODS.items()]
    return Chart(
        "bars", "Which vote is right most often?", "DIS-GMM* is, by 1.3 points over DIS-GMM", "bars",
        Axis("x", "Method", "text"), ACCURACY, tuple(rows), low="low", high="high", published="published",
    )  # fmt: skip


def grouped_chart() -> Chart:
    rows = [
        point(stage, name, value - 0.01 * index, 0.02)
        for index, stage in enumerate(("I: filter", "II: reject", "III: vote"))
        for name, value in {"basic": 0.70, "SelfStepConf": 0.74}.items()
    ]
    return Chart(
        "stages", "Which stage gains?", "Each stage, with and without SelfStepConf", "bars",
        Axis("x", "Stage", "text"), ACCURACY, tuple(rows), series="series", low="low", high="high",
    )  # fmt: skip


def humps_chart() -> Chart:
    rows: list[Row] = []
    for panel, centre in (("basic", 10.5), ("SelfStepConf", 11.5)):
        for name, mean, weight in (("wrong", 8.5, 0.4), ("correct", centre, 0.6)):
            for index in range(40):
                x = 6 + 0.2 * index
                rows.append({"x": x, "y": weight * math.exp(-((x - mean) ** 2)), "s": name, "run": panel})
    return Chart(
        "humps", "Does confidence tell right from wrong?", "AUROC 0.71 basic, 0.78 with SelfStepConf",
        "histogram", Axis("x", "Confidence"), Axis("y", "Density"), tuple(rows), series="s", facet="run",
        rules=(Rule("cut", 9.4),),
    )  # fmt: skip


def points_chart() -> Chart:
    rows = [
        {"x": 8 + math.sin(i) + i / 60, "y": 0.5 + 0.4 * math.cos(i * 1.7), "s": ("right", "wrong")[i % 2]}
        for i in range(80)
    ]
    return Chart(
        "points", f"Is a long answer a sure one? {EVIL}", EVIL, "points", Axis("x", "Confidence"),
        Axis("y", "Share of trajectories", "percent"), tuple(rows), series="s",
    )  # fmt: skip


def heat_chart() -> Chart:
    rows = [
        {"alpha": a / 10, "delta": d / 10, "accuracy": 0.7 + 0.01 * a - 0.002 * (d - 6) ** 2}
        for a in range(1, 10)
        for d in range(1, 10)
    ]
    return Chart(
        "alpha-delta", "Which alpha and delta are best?", "Large alpha, delta near 0.6", "heatmap",
        Axis("alpha", "alpha"), Axis("delta", "delta"), tuple(rows), value=ACCURACY,
    )  # fmt: skip


def trace_chart() -> Chart:
    rows: list[Row] = []
    for panel, lift in (("basic", 0.0), ("SelfStepConf", 1.0)):
        for step in range(60):
            c = 11 + lift * step / 60 + math.sin(step) * (2 if step % 17 == 0 else 0.6)
            rows.append({"step": step, "c": c, "s": "step confidence", "run": panel})
            rows.append({"step": step, "c": 10.9 + lift * step / 80, "s": "threshold", "run": panel})
            if lift and step % 17 == 16:
                rows.append({"step": step, "c": c, "s": "reflection", "run": panel})
    return Chart(
        "trace", "Where does a trajectory lose confidence?", "Question 7, sample 0", "steps",
        Axis("step", "Step", "whole"), Axis("c", "Confidence"), tuple(rows), series="s", facet="run",
    )  # fmt: skip


def many_chart() -> Chart:
    rows = [
        point(n, f"top {top}%", 0.7 + 0.001 * top - 0.0004 * (n - 10) ** 2, 0.02)
        for top in (10, 30, 50, 70, 90)
        for n in range(1, 21)
    ]
    return Chart(
        "intervals", "Does the number of intervals matter?", "Less when more is kept", "lines",
        Axis("x", "Intervals", "whole"), ACCURACY, tuple(rows), series="series", low="low", high="high",
    )  # fmt: skip


CHARTS = (
    budget_chart(), bars_chart(), grouped_chart(), humps_chart(), points_chart(), heat_chart(), trace_chart(),
    many_chart(),
)  # fmt: skip


def made_up_report() -> Report:
    return Report(
        results=(
            Result(
                "main", "Is DistriVoting right more often?", (main_table(),), CHARTS[:3],
                ("MoB was run with q = 0.1 by the authors; q = 0.75 is its own paper's.",), seconds=3.2,
            ),
            Result("separation", "Does confidence tell right from wrong?", (), CHARTS[3:5]),
            Result("settings", "Which settings are best?", (awkward_table(),), CHARTS[5:], (EVIL,)),
            Result("passk", "What could the best choice reach?", notes=("no run has a truth",)),
        ),
        sources=(
            {"name": "aime", "model": "DeepSeek-R1-8B", "benchmark": "AIME2024", "ssc": False,
             "n_questions": 30, "n_trajectories": 15360},
            {"name": EVIL, "model": "DeepSeek-R1-8B", "benchmark": "AIME2024", "ssc": True,
             "n_questions": 30, "n_trajectories": 15360},
        ),
        settings={"seed": 0, "n_repeats": 64, "budget": 128, "intervals": "bootstrap over questions",
                  "version": "0.1.0"},
        notes=("One question has no truth and is left out.",),
    )  # fmt: skip
