"""What do stopping rules save, and what do they cost? All numbers that they must show; prints JSON.

    python bench/stopping.py [--data build/data] [--run DIR ...] [--section boinf|prs|presets|runs]
                             [--questions 100] [--orders 8] [--slots 32] [--rule NAME ...] [--looks]

BoInf (11 models on AIME 2024, with lengths) and PRS (7 models, up to 2,000 questions, answers only) are read
from --data, if they are there; `runs` are stored runs, those of examples/runs if none is named. Every rule
sees the same trajectories in the same orders, by `distrivote evaluate -e stopping`. --slots replays also what
a poll does with trajectories in progress, and what would come of it if those that finish first were believed.
--page FILE writes the tables of docs/stopping.md anew; --from takes files of JSON that was printed before
instead of measuring.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from distrivote import Ballot
from distrivote.evaluation.driver import evaluate
from distrivote.evaluation.experiments.base import ALL_RUNS
from distrivote.evaluation.experiments.stopping import RULES, costs_of
from distrivote.evaluation.loading import load_pool_sets
from distrivote.evaluation.pools import Pool, PoolSet
from distrivote.evaluation.replays import Looks, in_rounds
from distrivote.simulation.model import simulate
from distrivote.simulation.preset_models import presets
from distrivote.voting.stopping import stop_rule

ROOT = Path(__file__).resolve().parents[1]
BUDGET = 64


def table_sets(path: Path, by: tuple[str, ...], length: str | None, most: int) -> list[PoolSet]:
    """Return the sets of a table of graded answers without confidences."""
    columns = [*by, "question_id", "answer_key", "correct", *([length] if length else [])]
    table = pq.read_table(path, columns=columns).to_pydict()
    rows: dict[tuple[str, ...], dict[str, list[tuple[str | None, bool, int]]]] = {}
    for index, question in enumerate(table["question_id"]):
        name = tuple(str(table[column][index]) for column in by)
        key = table["answer_key"][index]
        row = (
            str(key) if key else None,
            bool(table["correct"][index]),
            table[length][index] if length else 1,
        )
        rows.setdefault(name, {}).setdefault(str(question), []).append(row)
    found = []
    for name, questions in rows.items():
        pools = [_pool(question, some, length is not None) for question, some in questions.items()]
        some = np.random.default_rng(0).permutation(len(pools))[:most]
        kept = tuple(pools[i] for i in sorted(some))
        found.append(PoolSet("/".join(name), name[0], name[-1], kept))
    return found


def _pool(question: str, rows: list[tuple[str | None, bool, int]], lengths: bool) -> Pool:
    numbers: dict[str, int] = {}
    classes = [-1 if key is None else numbers.setdefault(key, len(numbers)) for key, _, _ in rows]
    tokens = np.array([n for _, _, n in rows]) if lengths else None
    correct = np.array([right for _, right, _ in rows]) & (np.array(classes) >= 0)
    return Pool(question, np.array(classes), correct, np.full(len(rows), np.nan), n_tokens=tokens)


def sets_of(section: str, options: argparse.Namespace) -> list[PoolSet]:
    data = Path(options.data)
    if section == "boinf":
        path = data / "boinf_aime2024.parquet"
        return table_sets(path, ("model",), "length_tokens", options.questions) if path.exists() else []
    if section == "prs":
        path = data / "prs_k64.parquet"
        return table_sets(path, ("model", "dataset"), None, options.questions) if path.exists() else []
    if section == "runs":
        runs = options.run or [str(path) for path in sorted((ROOT / "examples" / "runs").iterdir())]
        loaded = load_pool_sets(runs, reads=("lengths",)).pool_sets
        return [each for each in loaded if each.smallest >= BUDGET]
    return list(_presets(options.questions))


def _presets(n_questions: int) -> Iterator[PoolSet]:
    for number, (name, preset) in enumerate(presets().items()):
        rng = np.random.default_rng(100 + number)
        yield simulate(preset.simulation, n_questions, BUDGET, rng, name=name, model=name)


def summary(rows: list[dict[str, Any]], slots: int | None) -> list[dict[str, Any]]:
    """Return a line per rule and order: the mean over sets, and the worst of them."""
    found = []
    for rule, order in dict.fromkeys((row["rule"], row["order"]) for row in rows):
        mine = [row for row in rows if (row["rule"], row["order"]) == (rule, order)]
        whole = next((row for row in mine if row["set"] == ALL_RUNS), mine[0])
        sets = [row for row in mine if row["set"] != ALL_RUNS]
        worst = min(sets, key=lambda row: row["to_whole"])
        found.append(
            {
                "rule": rule,
                "order": order if slots is None else f"{order}, {slots} slots",
                "to_whole": round(100 * float(np.mean([row["to_whole"] for row in sets])), 2),
                "pooled": [round(100 * whole[f"to_whole{end}"], 2) for end in ("", "_low", "_high")],
                "worst": round(100 * worst["to_whole"], 2),
                "worst_set": worst["set"],
                "worst_interval": [round(100 * worst[f"to_whole{end}"], 2) for end in ("_low", "_high")],
                "same": round(100 * float(np.mean([row["same"] for row in sets])), 1),
                "samples": round(100 * float(np.mean([row["samples"] for row in sets])), 1),
                "tokens": round(100 * float(np.mean([row["tokens"] for row in sets])), 1),
                "most_tokens": round(100 * max(row["tokens"] for row in sets), 1),
                "in_progress": round(100 * float(np.mean([row["lost"] for row in sets])), 1),
                "rounds": round(float(np.mean([row["rounds"] for row in sets])), 1),
            }
        )
    return found


def waiting(sets: list[PoolSet], slots: int) -> dict[str, float]:
    """Return the share of the tokens that `gain` spends if all trajectories are begun as slots get free.

    The rule sees those before which no number is missing, as in a poll, which begins them in rounds instead.
    """
    rule = stop_rule("gain")
    shares = []
    for source in sets:
        spent = whole = 0.0
        for pool in source.pools:
            costs = costs_of(pool)[:BUDGET]
            looks = Looks(rule, pool.classes[:BUDGET], pool.confidence[:BUDGET])
            spent += in_rounds(looks, costs, slots, first=BUDGET).spent
            whole += float(costs.sum())
        shares.append(spent / whole)
    return {"slots": slots, "tokens": round(100 * float(np.mean(shares)), 1)}


def look_times(n_times: int = 5) -> dict[str, dict[str, float]]:
    """Return the processor time of a look at trajectories with confidences, in ms, the lowest of some runs.

    "all" is the mean over all looks of samplings of up to 64 trajectories, each after one more until the vote
    is settled; the others are those that settle nothing and those that settle the vote.
    """
    rng = np.random.default_rng(0)
    ballots = []
    for _ in range(12):
        shares = rng.dirichlet(np.full(6, 0.5))
        answers = [str(each) for each in rng.choice(6, BUDGET, p=shares)]
        ballots.append(Ballot.of(answers, rng.normal(15, 2, BUDGET).tolist()))
    found = {}
    names = ("gain", "sure", "anytime", "vote:0.95:auto", "vote", "beta", "dirichlet", "consensus", "esc")
    for name in names:
        rule = stop_rule(name)
        assert rule is not None
        lowest: dict[tuple[int, int], float] = {}
        ends: dict[int, int] = {}
        for _ in range(n_times):
            for number, ballot in enumerate(ballots):
                for n in range(1, BUDGET):
                    seen = Ballot(ballot.classes[:n], ballot.confidences[:n], ballot.labels)
                    begun = time.process_time()
                    is_settled = rule.settled(seen, BUDGET - n)
                    taken = time.process_time() - begun
                    lowest[number, n] = min(lowest.get((number, n), np.inf), 1000 * taken)
                    if is_settled:
                        ends[number] = n
                        break
        last = [lowest[each] for each in ends.items()]
        others = [value for place, value in lowest.items() if place not in ends.items()]
        kinds = {"all": list(lowest.values()), "settle nothing": others, "settle it": last}
        found[name] = {kind: round(float(np.mean(each)), 3) for kind, each in kinds.items() if each}
    return found


TITLES = {
    "boinf": "BoInf: 11 models on AIME 2024, 30 questions each, majority voting",
    "prs": "PRS: 22 sets of seven small models, up to 300 questions each, majority voting, tokens not known",
    "presets": "Presets: 22 simulated sets fitted to the paper, with confidences, `auto`",
    "runs": "Stored runs of small models on the processor, with confidences, `auto`",
}
MARKS = "<!-- measured -->", "<!-- /measured -->"


def page(results: list[dict[str, Any]]) -> str:
    """Return the measured part of docs/stopping.md."""
    lines: list[str] = []
    for section, title in TITLES.items():
        found = next(
            (each[section] for each in results if section in each and not slots_of(each[section])), None
        )
        if found is None:
            continue
        lines += [
            f"{title}; budget {found['budget']}:",
            "",
            *_head("rule", "worst set", "same", "tokens", "most"),
        ]
        for row in found["rules"]:
            low, high = row["pooled"][1:]
            worst = f"{row['worst']:+.2f} ({row['worst_set']})"
            lines.append(
                f"| {row['rule']} | {row['to_whole']:+.2f} | {low:+.2f} to {high:+.2f} | {worst}"
                f" | {row['same']:.1f}% | {row['tokens']:.1f}% | {row['most_tokens']:.1f}% |"
            )
        lines += ["", *_frontier(found["rules"]), ""]
    slotted = [found for each in results for found in each.values() if "rules" in found and slots_of(found)]
    if slotted:
        lines += ["Slots: BoInf, trajectories that take as long as they have tokens:", ""]
        lines += ["| rule | order | accuracy | worst | same | tokens | of these in progress | rounds |"]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for found in slotted:
            lines += [
                f"| {row['rule']} | {row['order']} | {row['to_whole']:+.2f} | {row['worst']:+.2f}"
                f" | {row['same']:.1f}% | {row['tokens']:.1f}% | {row['in_progress']:.1f}%"
                f" | {row['rounds']:.1f} |"
                for row in found["rules"]
                if "slots" in row["order"] and not row["rule"].startswith("first")
            ]
        lines.append("")
    return "\n".join(lines)


PUBLISHED = ("beta", "consensus", "dirichlet", "esc")


def _frontier(rows: list[dict[str, Any]]) -> list[str]:
    """Return how far `gain` is ahead of each published rule at equal tokens.

    Compared with each is the setting of gain with the most tokens that takes no more, but for half a point.
    """
    gains = [row for row in rows if row["rule"].startswith("gain")]
    parts, is_kept = [], True
    for row in rows:
        fewer = [gain for gain in gains if gain["tokens"] <= row["tokens"] + 0.5]
        if row["rule"].startswith(PUBLISHED) and fewer:
            nearest = max(fewer, key=lambda gain: float(gain["tokens"]))
            ahead = nearest["to_whole"] - row["to_whole"]
            is_kept &= ahead >= -(nearest["pooled"][2] - nearest["pooled"][1]) / 2
            parts.append(f"{row['rule']} {ahead:+.2f} ({nearest['rule']})")
    if not parts:
        return []
    below = "never below by more than half of its interval"
    if not is_kept:
        below = "once or more below by more than half of its interval"
    return [f"`gain` at no more tokens, points ahead of {', '.join(parts)}: {below}."]


def slots_of(found: dict[str, Any]) -> bool:
    return any("slots" in row["order"] for row in found["rules"])


def _head(first: str, *others: str) -> list[str]:
    names = [first, "accuracy", "95% interval", *others]
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]


def write_page(path: Path, results: list[dict[str, Any]]) -> None:
    text = path.read_text()
    begin, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    path.write_text(f"{text[:begin]}\n\n{page(results)}{text[end:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = ("boinf", "prs", "presets", "runs")
    parser.add_argument("--section", action="append", choices=sections)
    parser.add_argument("--data", default=str(ROOT / "build" / "data"))
    parser.add_argument("--run", action="append")
    parser.add_argument("--rule", action="append")
    parser.add_argument("--questions", type=int, default=100, help="the most of a set")
    parser.add_argument("--orders", type=int, default=8)
    parser.add_argument("--slots", type=int)
    parser.add_argument("--looks", action="store_true", help="only the times of looks")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--from", dest="files", nargs="+", type=Path)
    options = parser.parse_args()
    if options.files:
        results = [
            {name: each for name, each in json.loads(path.read_text()).items() if name != "ms_per_look"}
            for path in options.files
        ]
        write_page(options.page, results) if options.page else print(page(results))
        return
    found: dict[str, Any] = {"ms_per_look": look_times()}
    if options.looks:
        print(json.dumps(found, indent=1))
        return
    for section in options.section or sections:
        sets = sets_of(section, options)
        if not sets:
            print(f"{section}: not there, so it is left out", file=sys.stderr)
            continue
        begun = time.perf_counter()
        budget = min(BUDGET, *(each.smallest for each in sets))
        report = evaluate(
            sets,
            ["stopping"],
            budget=budget,
            n_repeats=options.orders,
            rules=options.rule or RULES,
            slots=options.slots,
        )
        rows = [dict(row) for table in report.results[0].tables for row in table.rows]
        if options.slots is not None:
            print(f"all at once: {waiting(sets, options.slots)}", file=sys.stderr)
        found[section] = {"budget": budget, "sets": len(sets), "rules": summary(rows, options.slots)}
        print(f"{section}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    if options.page:
        write_page(options.page, [{name: each for name, each in found.items() if name != "ms_per_look"}])
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
