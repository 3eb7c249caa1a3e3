"""What `make demo` shows: two questions to the built-in model, then stored ones. Takes about a minute."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding

import distrivote
from distrivote import SamplingParams, Solution, solve
from distrivote.engines.base import Engine
from distrivote.evaluation import Report, evaluate, load_pool_sets
from distrivote.report import write_report
from distrivote.report.terminal.explanation import explanation
from distrivote.report.text import shortened
from distrivote.report.verdict import verdict

ROOT = Path(__file__).parent
SUM = "Tom has 5 apples and buys 7 more. How many does he have?"
OPEN = "Hello, who are you?"
RUN, MODEL, BUDGET, REPEATS = str(ROOT / "runs" / "smollm2-basic"), "smollm2-135m", 32, 16
HOW_TO_READ = """\
Each reply ends in an answer. Its confidence says how sure the model was while
it wrote that answer. The picture shows all replies by confidence: those right
of the cut are likely right and vote; those left of it only name one answer to
reject. The table below it counts the votes."""
VOTES = {
    "one sample": ("one reply", "as if asked once"),
    "SC": ("majority", "32 replies, each one vote (sc)"),
    "DIS-GMM": ("DistriVoting", "only the sure ones vote (dis-gmm)"),
    "auto": ("auto", "DistriVoting where it can be trusted"),
}


def main() -> None:
    """Tell the story, on a terminal or in a pipe."""
    console = Console(width=None if sys.stdout.isatty() else 80, highlight=False)
    with distrivote.open() as engine:
        console.print(f"[bold]1. A small model on this machine is asked one question {BUDGET} times[/]\n")
        console.print(f"  {SUM}\n")
        say(console, HOW_TO_READ)
        console.print(explanation("", asked(console, engine, SUM, BUDGET, 64).tally, console.width))
        console.print("\n[bold]2. A question without a number, 8 times[/]\n")
        console.print(f"  {OPEN}\n")
        tell_replies(console, asked(console, engine, OPEN, 8, 48))
    [stored] = load_pool_sets([RUN]).pool_sets
    console.print(
        f"\n[bold]3. {len(stored.pools)} stored questions like the first, {BUDGET} replies each[/]\n"
    )
    report = evaluate([stored], ["main", "pass1"], budget=BUDGET, n_repeats=REPEATS)
    tell_shares(console, report)
    Path("build").mkdir(exist_ok=True)
    write_report(report, "build/demo.html")
    console.print(
        "\n[bold]Where to go on[/]\n\n"
        "  build/demo.html                  part 3 as a page with charts\n"
        '  .venv/bin/distrivote ask "..."   your own question\n'
        "  .venv/bin/distrivote serve       a page and an OpenAI-compatible server\n"
        "  README.md                        your model, your samples, what it gains"
    )


def asked(console: Console, engine: Engine, question: str, budget: int, max_tokens: int) -> Solution:
    """Return the vote on a question."""
    with console.status(f"sampling {budget} replies ..."):
        return solve(engine, question, budget=budget, params=SamplingParams(max_tokens=max_tokens))


def say(console: Console, text: str) -> None:
    """Print a paragraph, indented."""
    console.print(Padding(" ".join(text.split()), (0, 0, 0, 2)), markup=False)


def tell_replies(console: Console, solution: Solution) -> None:
    """Print every reply in a line, and the chosen one in full."""
    say(console, "Texts can't be counted: the reply wins that the others resemble most (▸).")
    console.print()
    for trajectory in solution.trajectories:
        if trajectory is solution.best:
            console.print(Padding(f"▸ {solution.reply}", (0, 0, 0, 2)), markup=False, style="bold")
        else:
            line = shortened(" ".join(trajectory.text.split()), console.width - 6)
            console.print(f"    {line}", markup=False, style="dim")


def tell_shares(console: Console, report: Report) -> None:
    """Print how often each kind of vote is right, and what follows from it."""
    shares = shares_of(report)
    say(console, "How often is the answer right?")
    console.print()
    for name, share in shares.items():
        word, meaning = VOTES[name]
        console.print(f"  {word:12}  {share:4.0%}  {'█' * round(20 * share):20}  {meaning}")
    console.print()
    gain = 100 * (shares["auto"] - shares["one sample"])
    say(console, f"Asking {BUDGET} times and voting is right {gain:.0f} points more often than asking once.")
    for sentence in comparisons(report):
        say(console, sentence)
    say(
        console,
        "A model this small hardly knows when it is right. What confidence gains with "
        "larger ones is in README.md, under “What it gains and costs”.",
    )


def comparisons(report: Report) -> Sequence[str]:
    """Return the report's sentences without the model's name: there is only one here."""
    return [sentence.removeprefix(f"{MODEL}: ") for sentence in verdict(report)]


def shares_of(report: Report) -> dict[str, float]:
    """Return how often each kind of vote is right, the least first."""
    rows = [row for result in report.results for table in result.tables for row in table.rows]
    [place] = {key for row in rows for key in row if f"{key}_low" in row and key != "difference"}
    found = {str(row.get("method", "one sample")): float(str(row[place])) for row in rows if place in row}
    found["one sample"] = found.pop("BasicInference", found.get("one sample", 0.0))
    return dict(sorted(((name, found[name]) for name in VOTES), key=lambda each: each[1]))


if __name__ == "__main__":
    main()
