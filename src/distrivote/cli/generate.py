"""`distrivote generate`: a benchmark sampled into a run that survives being stopped."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from distrivote.cli.console import open_console
from distrivote.cli.options import (
    Alpha,
    Delta,
    Json,
    MaxTokens,
    Model,
    Reflection,
    Seed,
    Slots,
    Split,
    Ssc,
    Temperature,
    Threads,
    TopP,
    controller_of,
)
from distrivote.errors import InputError

if TYPE_CHECKING:
    from distrivote.engines.base import Progress
    from distrivote.generate import Made, Todo
    from distrivote.store.manifest import Manifest


def generate(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            help="arithmetic, easy-choice, aime2024, aime2025, hmmt2025, brumo2025, gpqa-diamond, gsm8k,"
            " NAME=FILE for a local copy, or a file with question and answer.",
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="RUN", help="The folder of the run.")],
    model: Model = "smollm2-135m",
    budget: Annotated[int, typer.Option(metavar="N", help="Trajectories per question.")] = 32,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Only the first so many questions.")] = None,
    size: Annotated[
        int | None, typer.Option(metavar="N", help="How many questions a built-in benchmark makes.")
    ] = None,
    ssc: Ssc = True,
    alpha: Alpha = 0.8,
    delta: Delta = 0.8,
    reflection: Reflection = "wait",
    split: Split = "paragraph",
    temperature: Temperature = 0.6,
    top_p: TopP = 0.95,
    max_tokens: MaxTokens = 256,
    seed: Seed = 0,
    slots: Slots = 32,
    threads: Threads = None,
    texts: Annotated[bool, typer.Option("--texts/--no-texts", help="Store the texts.")] = True,
    token_confidences: Annotated[
        bool, typer.Option("--token-confidences/--no-token-confidences", help="Store one per token.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what there is to do, and do nothing.")
    ] = False,
    price: Annotated[
        float | None, typer.Option(metavar="X", help="Of a million tokens, for --dry-run and --max-cost.")
    ] = None,
    max_tokens_total: Annotated[
        int | None, typer.Option(metavar="N", help="Stop in good order after so many tokens.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="X", help="Stop in good order at this cost; needs --price.")
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="With other settings than RUN was made with: make RUN-2.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Sample every question of a benchmark and store the trajectories.

    Stopped or killed, the same command goes on where it was: what is stored is not sampled again. A
    larger --budget or --limit only adds. Any other change is refused, with the difference shown.
    """
    from distrivote.benchmarks import load
    from distrivote.engines.base import SamplingParams
    from distrivote.generate import todo
    from distrivote.solve import check_budget
    from distrivote.store.manifest import Manifest
    from distrivote.store.run_rows import Keep
    from distrivote.store.run_writer import RunWriter

    check_budget(budget)
    max_tokens_total = _token_limit(max_tokens_total, max_cost, price)
    controller = controller_of(ssc, alpha, delta, reflection, split)
    params = SamplingParams(temperature, top_p, max_tokens=max_tokens, seed=seed)
    loaded = load(benchmark, limit=limit, size=size)
    manifest = Manifest.of(
        engine="embedded",
        model=model,
        template=loaded.problems[0].template,
        benchmark=f"{loaded.name}: {loaded.source}",
        params=params,
        ssc=controller,
        budget=budget,
        limit=limit,
    )
    if dry_run:
        done = _done(output)
        _plan(todo(loaded.problems, budget, done), max_tokens, price, as_json)
        return
    path = _free_name(output, manifest) if new else output
    with RunWriter(path, manifest, keep=Keep(texts, token_confidences)) as writer:
        for note in writer.notes:
            print(f"note: {note}", file=sys.stderr)
        work = todo(loaded.problems, budget, writer.done())
        summary = _run(work, writer, model, params, controller, slots, threads, max_tokens_total)
    summary |= {"run": path, "n_questions": len(loaded.problems), "budget": budget}
    if as_json:
        import json

        print(json.dumps(summary))
    else:
        _tell(summary, sum(len(item.samples) for item in work))
    if summary["stopped"]:
        print(f"go on with: distrivote {shlex.join(sys.argv[1:])}", file=sys.stderr)
        raise typer.Exit(130)


def _token_limit(n_tokens: int | None, cost: float | None, price: float | None) -> int | None:
    if n_tokens is not None and n_tokens < 1:
        raise InputError(f"max_tokens_total is {n_tokens}: give 1 or more")
    if cost is None:
        return n_tokens
    if price is None or price <= 0 or cost <= 0:
        raise InputError("--max-cost needs a cost above 0, and --price, what a million tokens cost")
    affordable = max(1, int(cost / price * 1e6))
    return affordable if n_tokens is None else min(n_tokens, affordable)


def _done(path: str) -> set[tuple[str, int]]:
    from pathlib import Path

    from distrivote.store.runs import Run

    return Run.open(path).done() if Path(path).exists() else set()


def _free_name(path: str, manifest: Manifest) -> str:
    """Return the first of RUN, RUN-2, RUN-3, ... that is free or has these settings."""
    from pathlib import Path

    from distrivote.store.manifest import Manifest as Known
    from distrivote.store.manifest import differences

    number, name = 1, path
    while Path(name).exists() and list(differences(Known.load(Path(name)), manifest)):
        number += 1
        name = f"{path}-{number}"
    return name


def _plan(work: tuple[Todo, ...], max_tokens: int, price: float | None, as_json: bool) -> None:
    n = sum(len(item.samples) for item in work)
    most = n * max_tokens
    plan: dict[str, Any] = {"n_questions": len(work), "n_trajectories": n, "n_tokens_at_most": most}
    if price is not None:
        plan["cost_at_most"] = round(most / 1e6 * price, 4)
    if as_json:
        import json

        print(json.dumps(plan))
        return
    line = f"{n:,} trajectories of {len(work):,} questions to do, {most:,} tokens at most"
    if price is not None:
        line += f", {plan['cost_at_most']:,.2f} at {price:g} per million"
    print(line)


def _run(
    work: tuple[Todo, ...],
    writer: Any,
    model: str,
    params: Any,
    controller: Any,
    slots: int,
    threads: int | None,
    max_tokens_total: int | None,
) -> dict[str, Any]:
    """Sample and store; return what was done."""
    from distrivote.engines.llamacpp import LlamaCppEngine
    from distrivote.generate import generate as make

    screen = open_console(sys.stderr)
    display = _Display(sum(len(item.samples) for item in work), len(work), screen.is_terminal)
    if not work:
        return display.summary(stopped=False)
    engine = LlamaCppEngine(model, n_slots=slots, n_threads=threads, say=display.say)
    made = make(
        engine, work, writer, params, controller, max_tokens_total=max_tokens_total, watch=display.watch
    )
    stopped = False
    try:
        for item in made:
            display.add(item)
    except KeyboardInterrupt:
        stopped = True
    finally:
        made.close()
        display.clear()
    engine.close()
    return display.summary(stopped)


class _Display:
    """A line on standard error, on a terminal only, and the counts behind it."""

    def __init__(self, n_todo: int, n_questions: int, on: bool) -> None:
        self._n_todo, self._n_questions, self._on = n_todo, n_questions, on
        self._begun = self._shown = time.monotonic()
        self._n_made = self._n_tokens = self._n_reflections = self._n_known = self._n_right = 0
        self._questions: set[str] = set()
        self._n_under_way = 0

    def say(self, text: str) -> None:
        if self._on:
            print(text, file=sys.stderr)

    def watch(self, progress: Progress) -> None:
        self._n_under_way = progress.n_tokens
        self._show()

    def add(self, made: Made) -> None:
        record = made.trajectory.interventions
        self._n_made += 1
        self._n_tokens += made.trajectory.n_tokens
        self._n_reflections += record.n_reflections if record is not None else 0
        self._questions.add(made.problem.id)
        if made.correct is not None:
            self._n_known += 1
            self._n_right += made.correct
        self._show()

    def _show(self) -> None:
        now = time.monotonic()
        if not self._on or now - self._shown < 0.2:
            return
        self._shown = now
        seconds = now - self._begun
        parts = [
            f"question {len(self._questions)}/{self._n_questions}",
            f"{self._n_made:,}/{self._n_todo:,} trajectories",
            f"{self._n_tokens / seconds:,.0f} tok/s",
        ]
        if 0 < self._n_made < self._n_todo:
            left = int(seconds / self._n_made * (self._n_todo - self._n_made))
            parts.append(f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left")
        if self._n_known:
            parts.append(f"{self._n_right / self._n_known:.1%} right")
        parts.append(f"{self._n_reflections:,} reflections")
        sys.stderr.write("\r" + " · ".join(parts) + "\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def summary(self, stopped: bool) -> dict[str, Any]:
        seconds = time.monotonic() - self._begun
        return {
            "n_trajectories": self._n_made,
            "n_tokens": self._n_tokens,
            "n_reflections": self._n_reflections,
            "accuracy": self._n_right / self._n_known if self._n_known else None,
            "seconds": round(seconds, 3),
            "stopped": stopped,
        }


def _tell(summary: dict[str, Any], n_todo: int) -> None:
    made = summary["n_trajectories"]
    if not n_todo:
        print(f"{summary['run']} is complete: {summary['budget']} trajectories of every question")
        return
    right = "" if summary["accuracy"] is None else f", {summary['accuracy']:.1%} right"
    print(
        f"{summary['run']}: {made:,} trajectories added, {summary['n_tokens']:,} tokens,"
        f" {summary['n_reflections']:,} reflections{right}"
    )
    if made < n_todo:
        print(f"{n_todo - made:,} are still to do: the same command goes on", file=sys.stderr)
