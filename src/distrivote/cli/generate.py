"""`distrivote generate`: a benchmark sampled into a run that can be interrupted and resumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from distrivote.cli.answer_options import Same
from distrivote.cli.costs import LIMITS, affordable
from distrivote.cli.groups import OptionGroup, grouped
from distrivote.cli.interrupts import terminated_like_interrupted
from distrivote.cli.model_options import ModelOptions
from distrivote.cli.options import OUTPUT, Json, QuestionOptions, StorageOptions
from distrivote.cli.run_sampling import deferred, sampled, tell_header, tell_how_to_go_on
from distrivote.cli.sampling_options import MachineOptions, SamplingOptions, StopWhen
from distrivote.cli.steering_options import OnlineOptions
from distrivote.defaults import BUDGET
from distrivote.errors import InputError

if TYPE_CHECKING:
    from distrivote.benchmarks import Benchmark
    from distrivote.generation.sampling import Todo
    from distrivote.store.runs.rows import Keep


@dataclass(frozen=True, slots=True)
class WholeStorageOptions(StorageOptions):
    """What a run stores, as far as the engine provides it."""

    top_logprobs: Annotated[
        bool,
        typer.Option(
            "--top-logprobs/--no-top-logprobs", help="Store all 20 log-probabilities per token (large)."
        ),
    ] = False

    def keep(self) -> Keep:
        from distrivote.store.runs.rows import Keep

        return Keep(self.texts, self.token_confidences, self.top_logprobs)


@dataclass(frozen=True, slots=True)
class LimitOptions(OptionGroup):
    """How much may be sampled."""

    panel: ClassVar[str] = LIMITS

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sampled, and exit.")] = False
    price: Annotated[
        float | None,
        typer.Option(metavar="X", help="Price of a million tokens, for --dry-run and --max-cost."),
    ] = None
    max_tokens_total: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after N tokens and keep what is finished.")
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(metavar="X", help="Stop at this cost and keep what is finished; needs --price."),
    ] = None

    def n_tokens(self) -> int | None:
        """Return the limit of tokens; None for no limit."""
        if self.max_tokens_total is not None and self.max_tokens_total < 1:
            raise InputError(f"max_tokens_total is {self.max_tokens_total}: give 1 or more")
        given = (self.max_tokens_total, affordable(self.max_cost, self.price))
        return min((n for n in given if n is not None), default=None)


@dataclass(frozen=True, slots=True)
class BenchmarkOptions(OptionGroup):
    """Which questions of which benchmark."""

    panel: ClassVar[str] = QuestionOptions.panel

    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            help="arithmetic, easy-choice, notes, aime2024, aime2025, hmmt2025, brumo2025, gpqa-diamond,"
            " gsm8k, NAME=FILE for a local copy, a file with question and answer, or"
            " package.module:function.",
        ),
    ]
    limit: Annotated[int | None, typer.Option(metavar="N", help="Only the first N questions.")] = None
    spread: Annotated[
        bool, typer.Option("--spread", help="Spread the questions of --limit evenly over the benchmark.")
    ] = False
    size: Annotated[
        int | None, typer.Option(metavar="N", help="How many questions a built-in benchmark makes.")
    ] = None

    def load(self) -> Benchmark:
        from distrivote.benchmarks import load

        return load(self.benchmark, limit=self.limit, spread=self.spread, size=self.size)


@grouped
def generate(
    *,
    asked: BenchmarkOptions,
    put: QuestionOptions,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="What an answer is: boxed, math, number, choice, short, json, tool, code or text; by default"
            " what the benchmark or its template says, else what a reply marks as its answer.",
            show_default=False,
            rich_help_panel=QuestionOptions.panel,
        ),
    ] = None,
    same: Same = None,
    model: ModelOptions,
    budget: Annotated[
        int,
        typer.Option(metavar="N", help="Trajectories per question.", rich_help_panel=SamplingOptions.panel),
    ] = BUDGET,
    stop_when: StopWhen = None,
    total: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Trajectories of all questions together, given to the questions that gain most; --budget"
            " limits each question.",
            rich_help_panel=SamplingOptions.panel,
            show_default=False,
        ),
    ] = None,
    sampling: SamplingOptions,
    steering: OnlineOptions,
    limits: LimitOptions,
    machines: MachineOptions,
    storage: WholeStorageOptions,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="RUN", help="The folder of the run.", rich_help_panel=OUTPUT),
    ],
    new: Annotated[
        bool,
        typer.Option(
            "--new",
            help="If RUN was made with other settings, create RUN-2.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Sample every question of a benchmark and store the trajectories.

    After an interruption the same command resumes: stored trajectories are not sampled again. A
    larger --budget or --limit only adds. Any other change is refused, with the difference shown.
    """
    from distrivote.generation.settings import RunSettings
    from distrivote.poll import check_budget
    from distrivote.voting.stopping import stop_rule

    check_budget(budget)
    max_tokens_total = limits.n_tokens()
    controller, choice = steering.chosen(), model.choice_of_one()
    settings = RunSettings(
        *(put.put(asked.load()), sampling.params(choice), controller, budget, asked.limit),
        rule=stop_rule(stop_when),
        total=total,
        shard=machines.share(),
        same=same,
        answer=answer,
    )
    if limits.dry_run:
        if new:
            raise InputError("--dry-run says what RUN still needs and --new begins another: give one of them")
        _plan(settings.lacking(output), settings.params.max_tokens, limits.price, as_json)
        return
    engine, cluster = deferred(choice), machines.cluster()
    if not as_json:
        tell_header(settings, engine)
    try:
        with terminated_like_interrupted(), engine:
            run = sampled(
                *(engine, settings, output, storage.keep(), cluster),
                new=new,
                max_tokens_total=max_tokens_total,
                processes=machines.processes,
            )
    except KeyboardInterrupt:  # before the first trajectory was begun
        tell_how_to_go_on()
        raise
    if as_json:
        import json

        print(json.dumps(run.document()))
    else:
        run.tell()
    if run.stopped:
        tell_how_to_go_on()
        raise typer.Exit(130)


def _plan(work: tuple[Todo, ...], max_tokens: int, price: float | None, as_json: bool) -> None:
    from distrivote.nouns import count

    n = sum(len(item.samples) for item in work)
    most = n * max_tokens
    plan: dict[str, Any] = {"n_questions": len(work), "n_trajectories": n, "n_tokens_at_most": most}
    if price is not None:
        plan["cost_at_most"] = round(most / 1e6 * price, 4)
    if as_json:
        import json

        print(json.dumps(plan))
        return
    line = f"{count(n, 'trajectory')} of {count(len(work), 'question')} to do, {count(most, 'token')} at most"
    if price is not None:
        line += f", {plan['cost_at_most']:,.2f} at {price:g} per million"
    print(line)
