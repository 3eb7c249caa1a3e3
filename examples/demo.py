"""What `make demo` shows: two questions to the built-in model, then 60 stored ones. Takes about a minute."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.padding import Padding

import distrivote
from distrivote import SamplingParams, Solution, solve
from distrivote.engines.base import Engine
from distrivote.evaluation import Report, evaluate, load_pool_sets
from distrivote.report import write_report
from distrivote.report.terminal.explanation import explanation
from distrivote.report.verdict import verdict

ROOT = Path(__file__).parent
SUM = "Tom has 5 apples and buys 7 more. How many does he have?"
OPEN = "Hello, who are you?"
RUN, BUDGET, REPEATS = str(ROOT / "runs" / "smollm2-basic"), 32, 16
VOTES = {
    "one sample": "whatever comes first",
    "SC": "majority voting: every answer counts once",
    "DIS-GMM": "DistriVoting: sure samples decide, unsure ones reject",
    "auto": "the default: DistriVoting where confidence can be trusted",
}


def main() -> None:
    """Tell the story, on a terminal or in a pipe."""
    console = Console(width=None if sys.stdout.isatty() else 80, highlight=False)
    with distrivote.open() as engine:
        console.print(f"[bold]1. A small model is asked {BUDGET} times:[/]\n   {SUM}")
        tally = asked(engine, SUM, BUDGET, 64).tally
        console.print(explanation("", tally, console.width))
        console.print(f"\n[bold]2. Something that is not a number, 8 times:[/]\n   {OPEN}\n")
        console.print(Padding(asked(engine, OPEN, 8, 48).reply, (0, 0, 0, 2)), markup=False)
        console.print("\n  Whole texts are compared: this reply is the one that the others resemble most.")
    console.print("\n[bold]3. 60 stored questions like the first, 32 samples each: which vote is right?[/]\n")
    report = evaluate(load_pool_sets([RUN]).pool_sets, ["main", "pass1"], budget=BUDGET, n_repeats=REPEATS)
    for name, share in shares_of(report).items():
        console.print(f"  {share:6.1%}  {name:10}  {VOTES[name]}")
    console.print()
    for sentence in verdict(report):
        console.print(Padding(sentence, (0, 0, 0, 2)))
    Path("build").mkdir(exist_ok=True)
    write_report(report, "build/demo.html")
    console.print(
        "\n[bold]Where to go on[/]\n\n"
        "  build/demo.html                  the same as a page with charts\n"
        '  .venv/bin/distrivote ask "..."   your own question\n'
        "  .venv/bin/distrivote serve       a page and an OpenAI-compatible server\n"
        "  README.md                        your model, your samples, what it gains"
    )


def asked(engine: Engine, question: str, budget: int, max_tokens: int) -> Solution:
    """Return the vote on a question."""
    return solve(engine, question, budget=budget, params=SamplingParams(max_tokens=max_tokens))


def shares_of(report: Report) -> dict[str, float]:
    """Return how often each kind of vote is right, the least first."""
    rows = [row for result in report.results for table in result.tables for row in table.rows]
    [place] = {key for row in rows for key in row if f"{key}_low" in row and key != "difference"}
    found = {str(row.get("method", "one sample")): float(str(row[place])) for row in rows if place in row}
    found["one sample"] = found.pop("BasicInference", found.get("one sample", 0.0))
    return dict(sorted(((name, found[name]) for name in VOTES), key=lambda each: each[1]))


if __name__ == "__main__":
    main()
