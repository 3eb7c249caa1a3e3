"""`distrivote generate`: a benchmark sampled into a run that survives being stopped."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from distrivote.cli.console import open_console
from distrivote.cli.messages import note, say
from distrivote.cli.options import (
    Alpha,
    ApiKey,
    AsPublished,
    BaseUrl,
    Delta,
    EngineName,
    Guard,
    Json,
    MaxTokens,
    MinP,
    Model,
    Option,
    Parallel,
    Reflection,
    Same,
    Seed,
    Slots,
    Split,
    Ssc,
    StopWhen,
    System,
    Temperature,
    Template,
    Thinking,
    Threads,
    TopK,
    TopP,
    controller_of,
    engine_of,
    template_of,
)
from distrivote.cli.run_display import RunDisplay
from distrivote.cli.signals import terminated_like_interrupted
from distrivote.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from distrivote.engines.base import Engine, SamplingParams
    from distrivote.engines.opening import EngineChoice
    from distrivote.generate import Todo
    from distrivote.generate_ray import Cluster, Work
    from distrivote.problem import Problem
    from distrivote.selfstepconf import SelfStepConf
    from distrivote.stopping import StopRule
    from distrivote.store.manifest import Manifest
    from distrivote.store.run_writer import RunWriter


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
    model: Model = None,
    engine: EngineName = None,
    base_url: BaseUrl = None,
    api_key: ApiKey = None,
    budget: Annotated[int, typer.Option(metavar="N", help="Trajectories per question.")] = 32,
    limit: Annotated[int | None, typer.Option(metavar="N", help="Only the first so many questions.")] = None,
    size: Annotated[
        int | None, typer.Option(metavar="N", help="How many questions a built-in benchmark makes.")
    ] = None,
    template: Template = None,
    same: Same = None,
    system: System = None,
    stop_when: StopWhen = None,
    ssc: Ssc = True,
    alpha: Alpha = 0.8,
    delta: Delta = 0.8,
    reflection: Reflection = "wait",
    split: Split = None,
    guard: Guard = False,
    as_published: AsPublished = False,
    temperature: Temperature = 0.6,
    top_p: TopP = 0.95,
    top_k: TopK = 0,
    min_p: MinP = 0.0,
    max_tokens: MaxTokens = None,
    thinking: Thinking = None,
    seed: Seed = 0,
    slots: Slots = None,
    threads: Threads = None,
    parallel: Parallel = None,
    option: Option = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="[ADDRESS]",
            help="Sample on a Ray cluster; without an address one is started on this machine.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[int, typer.Option(metavar="N", help="Ray: at most so many engines.")] = 1,
    worker_cpus: Annotated[float, typer.Option(metavar="X", help="Ray: processors of each engine.")] = 1.0,
    worker_gpus: Annotated[float, typer.Option(metavar="X", help="Ray: GPUs of each engine.")] = 0.0,
    texts: Annotated[bool, typer.Option("--texts/--no-texts", help="Store the texts.")] = True,
    token_confidences: Annotated[
        bool, typer.Option("--token-confidences/--no-token-confidences", help="Store one per token.")
    ] = False,
    top_logprobs: Annotated[
        bool, typer.Option("--top-logprobs/--no-top-logprobs", help="Store all 20 per token: large.")
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
    from distrivote.answers.equality import equality
    from distrivote.benchmarks import load
    from distrivote.engines.base import SamplingParams
    from distrivote.generate import todo
    from distrivote.generate_ray import Cluster, Work
    from distrivote.solve import check_budget
    from distrivote.stopping import stop_rule
    from distrivote.store.manifest import Manifest
    from distrivote.store.run_rows import Keep
    from distrivote.store.run_writer import RunWriter

    check_budget(budget)
    max_tokens_total = _token_limit(max_tokens_total, max_cost, price)
    controller = controller_of(ssc, alpha, delta, reflection, split, guard, as_published)
    choice = engine_of(engine, model, base_url, api_key, option, slots, threads, parallel)
    params = SamplingParams(
        *(temperature, top_p, top_k, min_p, choice.default_max_tokens if max_tokens is None else max_tokens),
        seed=seed,
        thinking=thinking,
    )
    loaded = load(benchmark, limit=limit, size=size)
    if template is not None:
        loaded = loaded.put_with(template_of(template))
    if system is not None:
        loaded = loaded.told(system)
    rule = stop_rule(stop_when)
    compared = equality(loaded.problems[0].same if same is None else same)
    for problem in loaded.problems:
        compared.check_truth(problem.answer)
    if dry_run:
        if new:
            raise InputError("--dry-run says what RUN still needs and --new begins another: give one of them")
        settled = _settled(output, rule, budget)
        _plan(todo(loaded.problems, budget, _done(output), settled), params.max_tokens, price, as_json)
        return
    opened = _Opened(choice)
    manifest = Manifest.of(
        engine=choice.engine,
        model=opened.model,
        template=loaded.problems[0].template,
        benchmark=f"{loaded.name}: {loaded.source}",
        params=params,
        ssc=controller,
        budget=budget,
        limit=limit,
        stop_when=None if rule is None else rule.name,
        same=compared.name,
        system=loaded.system,
    )
    path = _free_name(output, manifest, loaded.problems) if new else output
    try:
        keep = Keep(texts, token_confidences, top_logprobs)
        with terminated_like_interrupted(), opened, RunWriter(path, manifest, keep=keep) as writer:
            note(*writer.notes)
            changed = _changed_question(path, loaded.problems)
            if changed is not None:
                raise InputError(
                    f"question {changed!r} of {path} was sampled with another text than {benchmark} has now:"
                    " restore the file, or make another run with --new"
                )
            work = todo(loaded.problems, budget, writer.done(), _settled(path, rule, budget))
            if ray is None:
                summary = _run(work, writer, opened, params, controller, rule, max_tokens_total)
            else:
                cluster = Cluster(ray, workers, worker_cpus, worker_gpus)
                shared = Work(choice, path, manifest, writer.keep, params, controller, manifest.stop_when)
                summary = _run_on_ray(shared, work, cluster, max_tokens_total)
    except KeyboardInterrupt:  # before the first trajectory was begun
        _tell_how_to_go_on()
        raise
    summary |= {
        "settles": rule is not None,
        "run": path,
        "n_questions": len(loaded.problems),
        "budget": budget,
    }
    if as_json:
        import json

        print(json.dumps(summary))
    else:
        _tell(summary, sum(len(item.samples) for item in work))
    if summary["stopped"]:
        _tell_how_to_go_on()
        raise typer.Exit(130)


def _tell_how_to_go_on() -> None:
    # Not wrapped: a command is there to be copied.
    print(f"go on with: distrivote {_without_key(sys.argv[1:])}", file=sys.stderr)


def _without_key(argv: Sequence[str]) -> str:
    r"""Return a command line with the key left out: what is printed ends in logs.

    >>> _without_key(["generate", "x", "--api-key", "sk-1", "--api-key=sk-2", "-o", "my run"])
    'generate x --api-key "$OPENAI_API_KEY" --api-key="$OPENAI_API_KEY" -o \'my run\''
    """
    words, hidden = [], '"$OPENAI_API_KEY"'
    for before, word in zip(["", *argv], argv, strict=False):
        is_both = word.startswith("--api-key=")
        shown = f"--api-key={hidden}" if is_both else shlex.quote(word)
        words.append(hidden if before == "--api-key" else shown)
    return " ".join(words)


class _Opened:
    """The engine, opened when it is needed: a run that is complete needs none."""

    def __init__(self, choice: EngineChoice) -> None:
        self._choice = choice
        self._engine: Engine | None = None

    @property
    def model(self) -> str:
        """The model's name, which for a server that was not told one only the server knows."""
        from distrivote.engines.model_files import BUILT_IN

        if self._choice.model is None and self._choice.engine != "embedded":
            return self.engine.model
        return self._choice.model or BUILT_IN

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            from distrivote.engines.opening import open_engine

            on_screen = open_console(sys.stderr).is_terminal
            self._engine = open_engine(
                self._choice,
                say=lambda text: say(text) if on_screen else None,
                note=note,
            )
        return self._engine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            self._engine.close()


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


def _settled(path: str, rule: StopRule | None, budget: int) -> frozenset[str]:
    """Return the questions of a run that need no more trajectories, though the budget has some left."""
    from pathlib import Path

    from distrivote.generate import settled_questions
    from distrivote.store.runs import Run

    if rule is None or not Path(path).exists():
        return frozenset()
    return settled_questions(Run.open(path), rule, budget)


def _free_name(path: str, manifest: Manifest, problems: Sequence[Problem]) -> str:
    """Return the first of RUN, RUN-2, RUN-3, ... that is free or has these settings and questions."""
    from pathlib import Path

    from distrivote.store.manifest import Manifest as Known
    from distrivote.store.manifest import differences
    from distrivote.store.tables import is_run

    def is_other(name: str) -> bool:
        was = Known.load(Path(name))
        return any(differences(was, manifest)) or _changed_question(name, problems) is not None

    number, name = 1, path
    while is_run(name) and is_other(name):
        number += 1
        name = f"{path}-{number}"
    return name


def _changed_question(path: str, problems: Sequence[Problem]) -> str | None:
    """Return the id of the first problem that a run holds with another text, None if there is none."""
    from distrivote.store.labels import text_array
    from distrivote.store.runs import Run

    table = Run.open(path).table(("question_id", "question"))
    held: dict[str, set[str]] = {}
    for pair in table.drop_null().group_by(table.column_names).aggregate([]).to_pylist():
        held.setdefault(pair["question_id"], set()).add(pair["question"])
    for problem in problems:
        (text,) = text_array([problem.question]).to_pylist()
        if held.get(problem.id, {text}) != {text}:
            return problem.id
    return None


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


def _run(
    work: tuple[Todo, ...],
    writer: RunWriter,
    opened: _Opened,
    params: SamplingParams,
    controller: SelfStepConf | None,
    rule: StopRule | None,
    max_tokens_total: int | None,
) -> dict[str, Any]:
    """Sample and store; return what was done."""
    from distrivote.generate import generate as make

    n_todo, on_screen = sum(len(item.samples) for item in work), open_console(sys.stderr).is_terminal
    if not work:
        return RunDisplay(0, 0, on_screen).summary(stopped=False)
    engine = opened.engine
    display = RunDisplay(n_todo, len(work), on_screen)
    made = make(
        *(engine, work, writer, params, controller),
        max_tokens_total=max_tokens_total,
        stop_when=rule,
        watch=display.watch,
    )
    stopped, n_before = False, len(writer.done())
    try:
        for item in made:
            record = item.trajectory.interventions
            n_reflections = 0 if record is None else record.n_reflections
            display.add(item.problem.id, item.trajectory.n_tokens, n_reflections, item.correct)
    except KeyboardInterrupt:
        stopped = True
    finally:
        made.close()
        display.clear()
    # An interrupt may come between the storing of one and its showing.
    return display.summary(stopped) | {"n_trajectories": len(writer.done()) - n_before}


def _run_on_ray(
    shared: Work, items: tuple[Todo, ...], cluster: Cluster, max_tokens_total: int | None
) -> dict[str, Any]:
    """Let a cluster sample and store; return what was done."""
    from distrivote.generate_ray import generate_on_ray

    n_todo, on_screen = sum(len(item.samples) for item in items), open_console(sys.stderr).is_terminal
    display = RunDisplay(n_todo, len(items), on_screen)
    stored = generate_on_ray(shared, items, cluster, note)
    stopped = False
    try:
        for item in stored if items else ():
            display.add(*item)
            if max_tokens_total is not None and display.n_tokens >= max_tokens_total:
                break
    except KeyboardInterrupt:
        stopped = True
    finally:
        stored.close()
        display.clear()
    return display.summary(stopped)


def _tell(summary: dict[str, Any], n_todo: int) -> None:
    from distrivote.nouns import count

    made = summary["n_trajectories"]
    if not n_todo:
        print(f"{summary['run']} is complete: {count(summary['budget'], 'trajectory')} of every question")
        return
    right = "" if summary["accuracy"] is None else f", {summary['accuracy']:.1%} right"
    print(
        f"{summary['run']}: {count(made, 'trajectory')} added, {count(summary['n_tokens'], 'token')},"
        f" {count(summary['n_reflections'], 'reflection')}{right}"
    )
    if made < n_todo and not summary["settles"]:
        say(f"{n_todo - made:,} are still to do: the same command goes on")
