"""`distrivote generate`: a benchmark sampled into a run that survives being stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    Ray,
    Reflection,
    Same,
    Seed,
    Shard,
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
    WorkerCpus,
    WorkerGpus,
    Workers,
    controller_of,
    engine_of,
    template_of,
)
from distrivote.cli.run_sampling import Opened, sample_run, tell_how_to_go_on, tell_what_was_done
from distrivote.cli.signals import terminated_like_interrupted
from distrivote.errors import InputError

if TYPE_CHECKING:
    from distrivote.generation.sampling import Todo


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
    spread: Annotated[
        bool, typer.Option("--spread", help="Take the questions of --limit from all over the benchmark.")
    ] = False,
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
    shard: Shard = None,
    ray: Ray = None,
    workers: Workers = 1,
    worker_cpus: WorkerCpus = 1.0,
    worker_gpus: WorkerGpus = 0.0,
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
    from distrivote.benchmarks import load
    from distrivote.benchmarks.shard import Shard as Share
    from distrivote.engines.base import SamplingParams
    from distrivote.flow import check_budget
    from distrivote.generation.cluster import Cluster
    from distrivote.generation.run import Sampling, free_name
    from distrivote.store.runs.rows import Keep
    from distrivote.voting.stopping import stop_rule

    check_budget(budget)
    max_tokens_total = _token_limit(max_tokens_total, max_cost, price)
    controller = controller_of(ssc, alpha, delta, reflection, split, guard, as_published)
    choice = engine_of(engine, model, base_url, api_key, option, slots, threads, parallel)
    params = SamplingParams(
        *(temperature, top_p, top_k, min_p, choice.default_max_tokens if max_tokens is None else max_tokens),
        seed=seed,
        thinking=thinking,
    )
    loaded = load(benchmark, limit=limit, spread=spread, size=size)
    if template is not None:
        loaded = loaded.put_with(template_of(template))
    if system is not None:
        loaded = loaded.told(system)
    sampling = Sampling(
        *(loaded, params, controller, budget, limit, stop_rule(stop_when)),
        shard=Share.parse(shard),
        same=same,
    )
    if dry_run:
        if new:
            raise InputError("--dry-run says what RUN still needs and --new begins another: give one of them")
        _plan(sampling.lacking(output), params.max_tokens, price, as_json)
        return
    opened = Opened(choice)
    manifest = sampling.manifest(choice.engine, opened.model)
    path = free_name(output, manifest, loaded.problems) if new else output
    keep = Keep(texts, token_confidences, top_logprobs)
    cluster = None if ray is None else Cluster(ray, workers, worker_cpus, worker_gpus)
    try:
        with terminated_like_interrupted(), opened:
            n_todo, summary = sample_run(
                path, manifest, sampling, keep, opened, cluster, max_tokens_total=max_tokens_total
            )
    except KeyboardInterrupt:  # before the first trajectory was begun
        tell_how_to_go_on()
        raise
    summary |= {
        "settles": sampling.rule is not None,
        "run": path,
        "n_questions": len(loaded.problems),
        "budget": budget,
    }
    if as_json:
        import json

        print(json.dumps(summary))
    else:
        tell_what_was_done(summary, n_todo, sampling.shard)
    if summary["stopped"]:
        tell_how_to_go_on()
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
