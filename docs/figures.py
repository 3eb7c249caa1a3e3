"""Draw the pictures of concepts.md and simulation.md with the project's own charts: `python docs/figures.py`.

Nothing here comes from a language model: the pools are simulated (docs/simulation.md), taken from
examples/answers.jsonl, whose numbers are made up, or written below. The numbers are the same every time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import vl_convert

from distrivote import vote, vote_batch
from distrivote.evaluation.results import Axis, Chart, Row, Rule
from distrivote.report.charts.chart import VEGA_LITE, figure
from distrivote.simulation.bounds import theory
from distrivote.simulation.model import Drawn, Simulation, draw
from distrivote.simulation.preset_models import presets, presets_named
from distrivote.steering.threshold import Threshold

DOCS = Path(__file__).parent
ANSWERS = DOCS.parent / "examples" / "answers.jsonl"
ACCURACY = Axis("accuracy", "Right answers", "percent")
CONFIDENCE = Axis("confidence", "Confidence")

# A trajectory whose confidence drops twice; made up.
STEP_CONFIDENCES = (14.2, 14.9, 14.4, 10.6, 13.8, 14.6, 15.1, 14.0, 11.0, 14.7, 15.6, 16.4)
STEP_TOKENS = 120


def accuracies(pools: Drawn, methods: Sequence[str]) -> dict[str, float]:
    """Return how often each method's answer is right."""
    winners = vote_batch(pools.classes, pools.confidences, methods)
    return {
        method: float((pools.correct & (pools.classes == winners[method][:, None])).any(axis=1).mean())
        for method in methods
    }


def first(pools: Drawn, n: int) -> Drawn:
    """Return the first trajectories of every pool, with its answers renumbered from 0."""
    classes = pools.classes[:, :n].copy()
    for row in classes:
        _, numbers = np.unique(row[row >= 0], return_inverse=True)
        row[row >= 0] = numbers
    return pools._replace(classes=classes, confidences=pools.confidences[:, :n], correct=pools.correct[:, :n])


def budget_chart() -> Chart:
    rows: list[Row] = []
    found = [
        draw(preset.simulation, 20 * preset.n_questions, 128, np.random.default_rng(number))
        for number, preset in enumerate(presets_named("deepseek-r1-8b"))
    ]
    weights = [len(pools.classes) for pools in found]
    for budget in (1, 2, 4, 8, 16, 32, 64, 128):
        each = [accuracies(first(pools, budget), ["sc", "dis-gmm"]) for pools in found]
        for method, name in (("sc", "SC"), ("dis-gmm", "DIS-GMM")):
            share = float(np.average([one[method] for one in each], weights=weights))
            rows.append({"budget": budget, "accuracy": share, "method": name})
    return Chart(
        "budget",
        "What does asking more often buy?",
        f"simulated after DeepSeek-R1-8B, {sum(weights):,} questions · SC: majority, DIS-GMM: DistriVoting",
        "lines",
        Axis("budget", "Trajectories per question", "whole", log=True),
        ACCURACY,
        tuple(rows),
        series="method",
    )


def humps_chart() -> Chart:
    model = Simulation(
        easy_rate=0.45,
        hard_share=0.0,
        confidently_wrong=0.0,
        separation=4.0,
        level_spread=0.0,
        unanswered=0.0,
    )
    pool = draw(model, 1, 512, np.random.default_rng(4))
    confidences, right = pool.confidences[0], pool.correct[0]
    tally = vote(pool.classes[0].tolist(), confidences.tolist(), "wsc-gmm")
    assert tally.split is not None
    edges = np.linspace(confidences.min(), confidences.max(), 33)
    rows = [*_bins(confidences[right], edges, "right"), *_bins(confidences[~right], edges, "wrong")]
    return Chart(
        "humps",
        "Is the model surer when it is right?",
        "one simulated question, 512 trajectories: two humps, and the cut that two Gaussians find",
        "histogram",
        CONFIDENCE,
        Axis("n", "Trajectories", "whole", zero=True),
        tuple(rows),
        series="answer",
        rules=(Rule("cut", float(tally.split.cut)),),
    )


def _bins(values: np.ndarray, edges: np.ndarray, answer: str) -> Iterator[Row]:
    counts, _ = np.histogram(values, edges)
    for middle, count in zip((edges[1:] + edges[:-1]) / 2, counts, strict=True):
        yield {"confidence": float(middle), "n": int(count), "answer": answer}


def example(question: str) -> tuple[list[str], list[float]]:
    """Return the answered trajectories of a question in examples/answers.jsonl."""
    rows = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    kept = [row for row in rows if row["question_id"] == question and row["answer"] is not None]
    return [row["answer"] for row in kept], [row["confidence"] for row in kept]


def rejection_chart() -> Chart:
    answers, confidences = example("handshakes")
    tally = vote(answers, confidences)
    rows: list[Row] = []
    for answer in sorted(set(answers), key=lambda answer: -answers.count(answer)):
        label = f"{answer} (rejected)" if answer == tally.rejected else answer
        rows.append({"answer": label, "votes": answers.count(answer), "stage": "all"})
        rows.append({"answer": label, "votes": tally.likely_right_votes[answer], "stage": "kept"})
        rows.append({"answer": label, "votes": tally.kept_votes.get(answer, 0), "stage": "after rejection"})
    return Chart(
        "rejection",
        "Who may vote?",
        f"handshakes, a made-up question: majority says {tally.majority}, which is right, "
        f"DistriVoting {tally.answer}",
        "bars",
        Axis("answer", "Answer", "text"),
        Axis("votes", "Votes", "whole", zero=True),
        tuple(rows),
        series="stage",
    )


def intervals_chart() -> Chart:
    answers, confidences = example("bat-and-ball")
    values, low, high = np.array(confidences), min(confidences), max(confidences)
    places = np.clip(np.ceil((values - low) / ((high - low) / 10)).astype(int) - 1, 0, 9)
    rows: list[Row] = []
    for place in range(10):
        inside = [i for i in range(len(answers)) if places[i] == place]
        if not inside:
            continue
        sums = {answers[i]: sum(values[j] for j in inside if answers[j] == answers[i]) for i in inside}
        winner = max(sums, key=lambda answer: sums[answer])
        weight = float(np.mean([values[i] for i in inside if answers[i] == winner]))
        right = "right" if winner == "5" else "wrong"
        rows.append({"interval": place + 1, "weight": weight, "answer": f"{winner}, {right}"})
    return Chart(
        "intervals",
        "What does each interval of confidence say?",
        "bat-and-ball, all answers: each interval has one vote, as heavy as its supporters are sure",
        "points",
        Axis("interval", "Interval, from the least to the most sure", "whole"),
        Axis("weight", "Weight of its vote"),
        tuple(rows),
        series="answer",
    )


def reflection_chart() -> Chart:
    threshold, rows, rules = Threshold(0.8, 0.8), [], []
    for number, confidence in enumerate(STEP_CONFIDENCES, start=1):
        token = number * STEP_TOKENS
        line = 0.8 * threshold.tau
        if not math.isnan(line):
            rows.append({"token": token, "confidence": line, "series": "threshold, 0.8 tau"})
        rows.append({"token": token, "confidence": confidence, "series": "step confidence"})
        if threshold.take(confidence):
            rules.append(Rule("wait", float(token)))
    return Chart(
        "reflection",
        "When is the model told to think again?",
        "a made-up trajectory of 12 steps, judged by SelfStepConf's own rule",
        "steps",
        Axis("token", "Token", "whole"),
        CONFIDENCE,
        tuple(rows),
        series="series",
        rules=tuple(rules),
    )


def losing_chart() -> Chart:
    rows: list[Row] = []
    names = {
        "deepseek-r1-8b/hmmt2025": "informative (AUROC 0.90)",
        "uninformative": "says nothing (AUROC 0.50)",
        "misleading": "misleads (AUROC 0.40)",
    }
    for number, (preset, label) in enumerate(names.items()):
        pools = draw(presets()[preset].simulation, 3000, 64, np.random.default_rng(number))
        for method, share in accuracies(pools, ["sc", "wsc-gmm", "dis-gmm"]).items():
            rows.append({"method": method.upper(), "accuracy": share, "kind": label})
    return Chart(
        "losing",
        "What if confidence means nothing?",
        "3,000 simulated questions each, 64 trajectories · SC: majority",
        "bars",
        Axis("kind", "Confidence", "text"),
        Axis("accuracy", "Right answers", "percent", zero=True),
        tuple(rows),
        series="method",
    )


def write(chart: Chart) -> None:
    """Write a chart into docs/img, for light and dark pages."""
    for dark in (False, True):
        drawn = figure(chart, dark=dark)
        assert drawn is not None
        name = f"{chart.name}-dark.svg" if dark else f"{chart.name}.svg"
        (DOCS / "img" / name).write_text(vl_convert.vegalite_to_svg(drawn, vl_version=VEGA_LITE))
        print(f"docs/img/{name}")


def main() -> None:
    charts = (budget_chart, humps_chart, rejection_chart, intervals_chart, reflection_chart, losing_chart)
    for make in charts:
        write(make())
    for chart in theory(np.random.default_rng(0), n_draws=20_000).charts:
        write(chart)


if __name__ == "__main__":
    main()
