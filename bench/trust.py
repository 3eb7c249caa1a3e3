"""Does `auto` keep the gain of confidence and never pay for it? All numbers that it must show, in one table.

    python bench/trust.py [--data build/data] [--questions 200] [--repeats 64] [--run DIR ...] [--json]

BoInf (11 models on AIME 2024, confidence is 1000 / length) and the BRUMO sample are read from --data, if
they are there (docs/trust.md says where they come from); the simulated presets of the paper's models are
drawn here, as they are and with a confidence that says nothing (AUROC 0.5) or misleads (0.4). Weak and
misleading sets (BoInf at 32, with its lengths as they are and inverted, and those of bench/misleading.py)
stand beside strong ones, with the trust of the whole run. --run adds runs of your own. Single votes see one
question alone; beside them stand the same votes with the trust learned over the whole run.
`distrivote evaluate --experiment trust` shows the same for any run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from distrivote.evaluation.calibrating import WinnerTable, held_out, rows_of
from distrivote.evaluation.experiments.trust import Trial, trial_rows
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.reliability import brier_score, calibration_error
from distrivote.evaluation.winners import WHOLE_RUN, Votes, votes_of
from distrivote.simulation.model import Simulation, draw, simulate, with_auroc
from distrivote.simulation.preset_models import Preset, presets
from distrivote.store.tables.source import Columns
from distrivote.voting.electorate import Electorate
from distrivote.voting.kernels.pools import make_pools
from distrivote.voting.methods import parse_method
from distrivote.voting.probability import Calibration
from distrivote.voting.signals import combine
from distrivote.voting.vote import vote, vote_batch
from misleading import HELD_OUT_SETS, STRONG, held_out_sets, inverted, painted_sets, simulated_sets

DATA = Path(__file__).resolve().parents[1] / "build" / "data"
SIZE = 128
"""Trajectories of a simulated question."""


@dataclass(frozen=True)
class Line:
    """One asked number: what was asked, what was measured, by single votes and over whole runs."""

    subject: str
    asked: str
    single: str
    whole_run: str = ""
    met: bool | None = None
    """None: nothing was asked."""


def accuracy(votes: Votes, way: str) -> float:
    """In percent."""
    return 100 * float(votes.right(way).mean())


# Accuracy


def boinf(sets: Sequence[PoolSet]) -> Iterator[Line]:
    """One vote per question over all its answers."""
    voted = [votes_of(each, None, 1, 0) for each in sets]
    ways = ("sc", "dis-gmm", "auto", WHOLE_RUN)
    means = {way: float(np.mean([accuracy(votes, way) for votes in voted])) for way in ways}
    yield Line(
        "BoInf, mean of 11 models, to SC",
        "at least -0.5 points",
        f"{means['auto'] - means['sc']:+.2f} (SC {means['sc']:.2f}, DIS-GMM {means['dis-gmm']:.2f})",
        f"{means[WHOLE_RUN] - means['sc']:+.2f}",
        means["auto"] - means["sc"] >= -0.5,
    )
    worst = {}
    for way in ("auto", WHOLE_RUN):
        below = [int(votes.right("sc").sum() - votes.right(way).sum()) for votes in voted]
        model = sets[int(np.argmax(below))].model
        worst[way] = (max(below), f"{max(below)} question(s) below ({model})")
    yield Line(
        "BoInf, worst model",
        "at most 1 question below SC",
        worst["auto"][1],
        worst[WHOLE_RUN][1],
        worst["auto"][0] <= 1,
    )


def brumo(source: PoolSet, n_repeats: int) -> Iterator[Line]:
    for budget in (16, 32, 64):
        votes = votes_of(source, budget, n_repeats, 0)
        sc, dis, auto, run = (accuracy(votes, way) for way in ("sc", "dis-gmm", "auto", WHOLE_RUN))
        kept, kept_run = (100 * (value - sc) / (dis - sc) for value in (auto, run))
        yield Line(
            f"BRUMO at {budget}, gain of DIS-GMM kept",
            "whole run at least 90%",
            f"{kept:.1f}% (SC {sc:.2f}, DIS-GMM {dis:.2f}, auto {auto:.2f})",
            f"{kept_run:.1f}%",
            kept_run >= 90,
        )


def published_presets() -> list[Preset]:
    return [preset for preset in presets().values() if preset.published is not None]


def simulated(n_questions: int, auroc: float | None = None) -> list[PoolSet]:
    """Return the presets, or the same with another AUROC and no question that is confidently wrong."""
    sets = []
    for index, preset in enumerate(published_presets()):
        simulation = preset.simulation
        if auroc is not None:
            simulation = with_auroc(replace(simulation, confidently_wrong=0.0, hard_drop=0.0), auroc)
        rng = np.random.default_rng(100 + index)
        names = {"name": preset.name, "model": preset.model, "benchmark": preset.benchmark}
        sets.append(simulate(simulation, n_questions, SIZE, rng, **names))
    return sets


def presets_lines(sets: Sequence[PoolSet], words: str, other: str, least: float) -> Line:
    voted = [votes_of(each, None, 1, 0) for each in sets]
    differences = {
        way: [accuracy(votes, way) - accuracy(votes, other) for votes in voted] for way in ("auto", WHOLE_RUN)
    }
    mean, run = (float(np.mean(values)) for values in differences.values())
    of_dis = np.mean([accuracy(votes, "dis-gmm") - accuracy(votes, "sc") for votes in voted])
    return Line(
        f"{words}, mean of {len(sets)}, to {other}",
        f"at least {least:+.1f} points",
        f"{mean:+.2f} (DIS-GMM to SC {of_dis:+.2f}; worst preset {min(differences['auto']):+.2f})",
        f"{run:+.2f}",
        mean >= least,
    )


# Weak, misleading and strong signals, over whole runs


def to_majority(voted: Sequence[Votes], way: str = WHOLE_RUN) -> list[float]:
    return [accuracy(votes, way) - accuracy(votes, "sc") for votes in voted]


def weak_line(subject: str, voted: Sequence[Votes], worst: float) -> Line:
    """Return how far the whole run is below the majority, on average and in the worst set."""
    found, dis = to_majority(voted), to_majority(voted, "dis-gmm")
    mean, least = float(np.mean(found)), min(found)
    return Line(
        f"{subject}, {len(voted)} sets, to SC",
        f"at least -1 on average, {worst:+.0f} at worst",
        f"{mean:+.2f}, worst {least:+.2f} (DIS-GMM {np.mean(dis):+.2f}, worst {min(dis):+.2f};"
        f" single votes {np.mean(to_majority(voted, 'auto')):+.2f})",
        met=mean >= -1 and least >= worst,
    )


def strong_line(subject: str, voted: Sequence[Votes]) -> Line:
    gains = {way: float(np.mean(to_majority(voted, way))) for way in (WHOLE_RUN, "dis-gmm", "auto")}
    kept = {way: 100 * gains[way] / gains["dis-gmm"] for way in (WHOLE_RUN, "auto")}
    return Line(
        f"{subject}, {len(voted)} sets, gain of DIS-GMM kept",
        "at least 90%",
        f"{kept[WHOLE_RUN]:.0f}% of {gains['dis-gmm']:+.2f} (single votes {kept['auto']:.0f}%)",
        met=kept[WHOLE_RUN] >= 90,
    )


def signal_lines(words: str, sets: Sequence[tuple[str, PoolSet]], worst: float) -> Iterator[Line]:
    """Yield a line for all weak and misleading sets together, and one per strong kind."""
    by_kind: dict[str, list[Votes]] = {}
    for kind, source in sets:
        by_kind.setdefault(kind, []).append(votes_of(source, None, 1, 0))
    strong = [f"AUROC {auroc}" for auroc in STRONG]
    weak = [votes for kind, some in by_kind.items() if kind not in strong for votes in some]
    yield weak_line(f"{words}, AUROC 0.2 to 0.5 and careless", weak, worst)
    for kind in strong:
        yield strong_line(f"{words}, {kind}", by_kind[kind])


def misleading_lines(real: dict[str, list[PoolSet]], prs: Path, n_repeats: int) -> Iterator[Line]:
    if "BoInf" in real:
        for words, sets in (
            ("BoInf at 32, 1000 / length", real["BoInf"]),
            ("BoInf at 32, length", [inverted(each) for each in real["BoInf"]]),
        ):
            yield weak_line(words, [votes_of(each, 32, n_repeats, 0) for each in sets], -5)
    if "BRUMO" in real:
        yield weak_line("BRUMO inverted at 32", [votes_of(inverted(real["BRUMO"][0]), 32, n_repeats, 0)], -5)
    for n_questions, worst in ((30, -5.0), (200, -2.0)):
        for n in (16, 32, 64):
            words = f"{n_questions} questions of {n}"
            n_sets = 12 if n_questions == 30 else 4
            sets = {"simulated": simulated_sets(n_questions, n, n_sets)}
            sets["held out: made-up models"] = held_out_sets(n_questions, n, n_sets)
            if prs.is_file():
                sets["PRS"] = painted_sets(prs, n_questions, n)
                sets["held out: other PRS"] = painted_sets(prs, n_questions, n, HELD_OUT_SETS)
            for name, some_sets in sets.items():
                yield from signal_lines(f"{name}, {words}", list(some_sets), worst)
    if not prs.is_file():
        yield Line("PRS", "", f"{prs} is not there: left out")


def own_runs(sets: Sequence[PoolSet], n_repeats: int) -> Iterator[Line]:
    for each in sets:
        budget = min(64, each.smallest)
        votes = votes_of(each, budget, n_repeats, 0)
        rows = {str(row["method"]): row for row in trial_rows(Trial(each.name, budget, ((each, votes),)), 0)}
        row = rows["auto, one question"]
        better = "sc" if accuracy(votes, "sc") >= accuracy(votes, "dis-gmm") else "dis-gmm"
        high = row[f"to_{better}_high"]
        difference, run = (accuracy(votes, way) - accuracy(votes, better) for way in ("auto", WHOLE_RUN))
        yield Line(
            f"{each.name} at {budget}, to {better}",
            "interval reaches 0",
            f"{difference:+.2f} [{100 * float(row[f'to_{better}_low'] or 0):+.2f},"
            f" {100 * float(high or 0):+.2f}]",
            f"{run:+.2f}",
            float(high or 0) >= 0,
        )


# Probability


def fold_line(subject: str, asked: bool, p: np.ndarray, rows: WinnerTable) -> Line:
    ece, brier = calibration_error(p, rows.right), brier_score(p, rows.right)
    share = calibration_error(rows.share, rows.right), brier_score(rows.share, rows.right)
    return Line(
        subject,
        "ECE at most 0.05, Brier below the share's" if asked else "",
        f"ECE {ece:.3f}, Brier {brier:.4f} (share of votes {share[0]:.3f}, {share[1]:.4f})",
        met=(ece <= 0.05 and brier < share[1]) if asked else None,
    )


def joined(parts: Sequence[WinnerTable]) -> WinnerTable:
    columns = [np.concatenate([part[at] for part in parts]) for at in range(3)]
    return WinnerTable(columns[0], columns[1], columns[2], np.arange(len(columns[1])), 8, SIZE)


def winners_of(source: PoolSet) -> WinnerTable:
    """Return the winners of `auto`, one per question, over all its answers."""
    won = votes_of(source, None, 1, 0).winners["auto"]
    there = won.answered
    return WinnerTable(
        won.features[there], won.right[there], won.share[there], np.flatnonzero(there), SIZE, SIZE
    )


def leave_out(sets: Sequence[PoolSet], names: Sequence[str]) -> tuple[np.ndarray, WinnerTable, np.ndarray]:
    """Return the probabilities of every winner by a fit on the sets of other names, and the names."""
    parts = [winners_of(each) for each in sets]
    rows = joined(parts)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    groups = np.repeat([numbers[name] for name in names], [len(part.right) for part in parts])
    return held_out(rows, groups), rows, np.repeat(names, [len(part.right) for part in parts])


def some(rows: WinnerTable, which: np.ndarray) -> WinnerTable:
    return WinnerTable(*(column[which] for column in rows[:4]), rows.fewest, rows.most)


def probability_lines(
    sims: Sequence[PoolSet], flat: Sequence[PoolSet], real: dict[str, list[PoolSet]]
) -> Iterator[Line]:
    """Fits see the presets as they are and with AUROC 0.5; only the former are judged."""
    both = [*sims, *flat]
    n = sum(len(winners_of(each).right) for each in sims)
    for what in ("model", "benchmark"):
        p, rows, names = leave_out(both, [getattr(each, what) for each in both])
        p, rows, names = p[:n], some(rows, np.arange(len(names)) < n), names[:n]
        yield fold_line(f"presets, leave one {what} out", True, p, rows)
        for name in dict.fromkeys(names.tolist()):
            inside = names == name
            yield fold_line(f"  left out: {name}", False, p[inside], some(rows, inside))
    shipped = Calibration()
    rows = joined([winners_of(each) for each in sims])
    yield fold_line("presets, the shipped default", True, shipped.of_features(rows.features), rows)
    apart = np.repeat(
        ["gpqa" in each.benchmark for each in sims], [len(winners_of(each).right) for each in sims]
    )
    for words, which in (("GPQA presets", apart), ("the other presets", ~apart)):
        part = some(rows, which)
        yield fold_line(f"  {words}, the shipped default", False, shipped.of_features(part.features), part)
    if "BoInf" in real:
        p, rows, _ = leave_out(real["BoInf"], [each.model for each in real["BoInf"]])
        yield fold_line("BoInf, leave one model out", True, p, rows)
    for name, sets in real.items():
        rows = joined([winners_of(each) for each in sets])
        yield fold_line(f"{name}, the shipped default", True, shipped.of_features(rows.features), rows)
        rows = rows_of(sets)
        p = shipped.of_features(rows.features)
        yield fold_line(f"{name}, the shipped default on draws of 8 and more", False, p, rows)


# Several signals


def signals_line(n_questions: int) -> Line:
    """Two independent signals, noise and one that misleads, mixed without labels."""
    rng = np.random.default_rng(0)
    simulation = with_auroc(Simulation(confidently_wrong=0.0, hard_share=0.5), 0.75)
    drawn = draw(simulation, n_questions, 64, rng)
    missing = np.isnan(drawn.confidences)
    signals = {
        "first": drawn.confidences,
        "second": np.maximum(rng.normal(10, 1, missing.shape) + 2 * drawn.correct, 0.1),
        "noise": np.exp(rng.normal(size=missing.shape)),
        "misleading": 1 / np.where(missing, 1.0, drawn.confidences),
    }
    flat = {name: np.where(missing, np.nan, values).ravel() for name, values in signals.items()}
    mix = combine(flat, drawn.classes.ravel(), np.arange(n_questions + 1) * 64)
    rights = {}
    for name, values in (*flat.items(), ("mix", mix.confidences)):
        won = vote_batch(drawn.classes, values.reshape(missing.shape), ["sc", "auto"])
        for method in ("sc", "auto"):
            right = drawn.correct & (drawn.classes == won[method][:, None])
            rights["majority" if method == "sc" else name] = 100 * float(right.any(axis=1).mean())
    words = ", ".join(f"{name} {value:.1f}" for name, value in rights.items())
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in mix.weights.items())
    return Line("auto by signal, simulated", "", f"{words} (weights {weights})")


# Cost


def cost_lines(n_rounds: int = 15) -> Iterator[Line]:
    """Time both on the same pools, one after the other, so that a slow moment slows both."""
    simulation = presets()["qwen3-8b/aime2025"].simulation
    drawn = draw(simulation, 400, SIZE, np.random.default_rng(3))
    pools = make_pools(drawn.classes, drawn.confidences, int(drawn.classes.max()) + 1)
    names = ("dis-gmm", "auto")

    def batch(name: str) -> None:
        parse_method(name).decide(Electorate(pools))

    def single(name: str) -> None:
        for row in range(20):
            given = drawn.classes[row]
            vote([None if c < 0 else int(c) for c in given], drawn.confidences[row].tolist(), name)

    for words, call in (("400 pools of 128 at once", batch), ("single vote() calls", single)):
        spent: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(n_rounds):
            for name in names:
                begun = time.perf_counter()
                call(name)
                spent[name].append(time.perf_counter() - begun)
        ratio = float(np.median(np.array(spent["auto"]) / np.array(spent["dis-gmm"])))
        yield Line(f"time of auto to dis-gmm, {words}", "at most 2", f"{ratio:.2f}", met=ratio <= 2)


def lines_of(options: argparse.Namespace) -> Iterator[Line]:
    real: dict[str, list[PoolSet]] = {}
    columns = Columns(answer="answer_key", by="model")
    for name, file in (("BoInf", "boinf_aime2024.parquet"), ("BRUMO", "brumo2025_deepconf_64.parquet")):
        path = options.data / file
        if path.is_file():
            real[name] = list(load_pool_sets([str(path)], columns=columns, reads=()).pool_sets)
        else:
            yield Line(name, "", f"{path} is not there: left out")
    if "BoInf" in real:
        yield from boinf(real["BoInf"])
    if "BRUMO" in real:
        yield from brumo(real["BRUMO"][0], options.repeats)
    sims, flat = simulated(options.questions), simulated(options.questions, 0.5)
    yield presets_lines(sims, "presets", "dis-gmm", -0.3)
    yield presets_lines(flat, "presets at AUROC 0.5", "sc", -0.5)
    yield presets_lines(simulated(options.questions, 0.4), "presets at AUROC 0.4", "sc", -0.5)
    yield from misleading_lines(real, options.data / "prs_k64.parquet", options.repeats)
    if options.run:
        yield from own_runs(load_pool_sets(options.run, reads=()).pool_sets, options.repeats)
    yield from probability_lines(sims, flat, real)
    yield signals_line(options.questions)
    yield from cost_lines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of BoInf and BRUMO")
    parser.add_argument("--questions", type=int, default=200, help="of each preset")
    parser.add_argument("--repeats", type=int, default=64)
    parser.add_argument("--run", action="append", help="a run of your own; repeat for several")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    lines = []
    for line in lines_of(options):
        lines.append(line)
        if not options.json:
            met = {True: "yes", False: "NO", None: ""}[line.met]
            print(f"{met:3}  {line.subject:66}  {line.asked:42}  {line.single}")
            if line.whole_run:
                print(
                    f"{'':3}  {'  with the trust of the whole run':66}  {'':42}  {line.whole_run}", flush=True
                )
    if options.json:
        print(json.dumps([asdict(line) for line in lines], indent=2))


if __name__ == "__main__":
    main()
