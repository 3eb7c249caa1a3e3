"""Runs experiments on pool sets and returns a report.

The same pools, experiments, seed and numbers of repeats give the same report to the last bit, on any
number of workers. No clock is used unless one is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy as np

from distrivote.defaults import EVALUATION_BUDGET, N_REPEATS
from distrivote.errors import InputError
from distrivote.evaluation.draws import check_budget
from distrivote.evaluation.estimates import LEVEL, N_RESAMPLES
from distrivote.evaluation.experiments.base import Experiment, Setting
from distrivote.evaluation.experiments.registry import experiments_named
from distrivote.evaluation.experiments.stopping import plan_named
from distrivote.evaluation.paper.published import CONTRADICTIONS, SOURCE, published
from distrivote.evaluation.paper.runs import paper_notes
from distrivote.evaluation.pools import PoolSet, distinct
from distrivote.evaluation.results import Report, Result, Row
from distrivote.evaluation.scoring import Scores, has_confidence, score
from distrivote.evaluation.studies import shared_questions, studies_of
from distrivote.nouns import verb
from distrivote.voting.caveats import in_majority_only
from distrivote.voting.methods import parse_method

DEFAULT_EXPERIMENTS = ("main",)


def evaluate(
    pool_sets: Sequence[PoolSet],
    experiments: Sequence[str] = DEFAULT_EXPERIMENTS,
    *,
    budget: int | None = None,
    n_repeats: int = N_REPEATS,
    seed: int = 0,
    against_paper: bool = False,
    rules: Sequence[str] = (),
    slots: int | None = None,
    methods: Sequence[str] = (),
    baseline: str | None = None,
    n_workers: int = 1,
    watch: Callable[[float, str], None] | None = None,
    clock: Callable[[], float] | None = None,
) -> Report:
    """Run experiments on pool sets.

    Args:
        pool_sets: One per model, benchmark and way of sampling.
        experiments: Names, as in `experiments.registry`.
        budget: Trajectories per vote; None: 128, or as many as every question has.
        n_repeats: Draws per question.
        against_paper: Show the paper's numbers next to the measured ones.
        rules: The stopping rules that `stopping` compares, by name; none: its own choice.
        slots: Trajectories in progress at a time, for `stopping`; None: one after the other.
        methods: What `methods` compares, by name; none: its own choice.
        baseline: The method that they are compared with; None: majority voting.
        n_workers: Processes; the numbers do not depend on it.
        watch: Called with the share that is done, 0 to 1, and the current task.
        clock: Returns seconds. With it, the time of each experiment and of each split is measured: these
            are the only numbers that differ from run to run.
    """
    sets = distinct(pool_sets)
    wanted = experiments_named(experiments)
    _check(sets, n_repeats)
    _check_stopping(rules, slots)
    named = tuple(parse_method(name).name for name in methods)
    against = None if baseline is None else parse_method(baseline).name
    chosen = min(EVALUATION_BUDGET, *(each.smallest for each in sets)) if budget is None else budget
    check_budget(sets, chosen)
    studies, notes = studies_of(sets)
    shared, told = shared_questions(sets, studies)
    known = published() if against_paper else None
    setting = Setting(
        sets, studies, chosen, n_repeats, seed, known, clock, shared, tuple(rules), slots, named, against
    )
    beside = paper_notes(known, sets, studies) if known is not None else []
    tell = watch or (lambda _part, _what: None)
    asks = [ask for experiment in wanted for ask in experiment.asks(setting)]
    scores = score(
        sets,
        asks,
        n_repeats=n_repeats,
        seed=seed,
        n_workers=n_workers,
        watch=lambda part: tell(0.9 * part, "voting"),
    )
    results = []
    for index, experiment in enumerate(wanted):
        tell(0.9 + 0.1 * index / len(wanted), experiment.name)
        results.append(_result(experiment, setting, scores, against_paper))
    tell(1.0, "done")
    return Report(
        tuple(results),
        tuple(_source(each) for each in sets),
        {
            "budget": chosen,
            "n_repeats": n_repeats,
            "seed": seed,
            "intervals": f"{LEVEL:.0%}, bootstrap over questions, {N_RESAMPLES} resamples",
            "version": version("distrivote"),
            "published": SOURCE if against_paper else None,
        },
        (*notes, *told, *_notes(sets, budget, chosen), *beside),
    )


def _check(sets: tuple[PoolSet, ...], n_repeats: int) -> None:
    if n_repeats < 1:
        raise InputError(f"{n_repeats} repeats: give a number from 1")
    if not sets:
        raise InputError("there is nothing to evaluate: name a run whose right answers are known")
    for each in sets:
        if not each.pools or not each.smallest:
            raise InputError(f"{each.name} has a question without trajectories: leave it out")
        names = [pool.question for pool in each.pools]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{each.name} has question {twice} twice: give every question its own id")


def _check_stopping(rules: Sequence[str], slots: int | None) -> None:
    for rule in rules:
        plan_named(rule)
    if slots is not None and slots < 1:
        raise InputError(f"{slots} slots", hint="give a number from 1", argument="slots")


def _result(experiment: Experiment, setting: Setting, scores: Scores, against_paper: bool) -> Result:
    clock = setting.clock
    begun = clock() if clock is not None else 0.0
    found = experiment.make(setting, scores)
    seconds = clock() - begun if clock is not None else 0.0
    notes = (*found.notes, *(CONTRADICTIONS.get(experiment.name, ()) if against_paper else ()))
    return Result(
        experiment.name,
        experiment.title,
        tuple(found.tables),
        tuple(found.charts),
        _merged(notes, [study.model for study in setting.studies]),
        seconds,
    )


def _merged(notes: Sequence[str], models: Sequence[str]) -> tuple[str, ...]:
    """Return each note once; notes that differ only in the model that they begin with are merged.

    >>> _merged(["a: no run", "b: no run", "c: none", "the rest"], "abc")
    ('a, b: no run', 'c: none', 'the rest')
    """
    found: dict[str, list[str]] = {}
    for note in notes:
        model = next((name for name in models if note.startswith((f"{name}: ", f"{name} on "))), "")
        found.setdefault(note.removeprefix(model), []).append(model)
    merged = []
    for rest, names in found.items():
        names = list(dict.fromkeys(names))
        whole = 1 < len(names) == len(models)
        merged.append((f"all {len(names)} models" if whole else ", ".join(names)) + rest)
    return tuple(merged)


def _source(each: PoolSet) -> Row:
    sizes = [pool.n_trajectories for pool in each.pools]
    return {
        "name": each.name,
        "model": each.model,
        "benchmark": each.benchmark,
        "ssc": each.ssc,
        "n_questions": len(sizes),
        "n_trajectories": sum(sizes),
        "fewest": min(sizes),
        "most": max(sizes),
        "n_unanswered": sum(int((pool.classes < 0).sum()) for pool in each.pools),
        "pass_at_1": float(np.mean([pool.correct.mean() for pool in each.pools])),
        **{f"setting_{name}": value for name, value in each.settings.items()},
    }


def _notes(sets: Sequence[PoolSet], budget: int | None, chosen: int) -> list[str]:
    notes = []
    if budget is None and chosen < EVALUATION_BUDGET:
        fewest = min(sets, key=lambda each: each.smallest).name
        notes.append(
            f"the budget is {chosen}, not {EVALUATION_BUDGET}: a question of {fewest} has no more"
            " trajectories"
        )
    whole = [each.name for each in sets if all(pool.n_trajectories == chosen for pool in each.pools)]
    if whole:
        notes.append(
            f"{', '.join(whole)}: the budget is the whole pool, so that all repeats draw the same"
            " trajectories and differ only in their order: the spread over repeats says nothing"
        )
    sure = [each for each in sets if has_confidence(each)]
    unsure = [each.name for each in sets if each not in sure]
    if unsure:
        notes.append(
            f"{', '.join(unsure)} {verb(len(unsure), 'have')} no confidences: only majority voting and pass@k"
            " can be shown"
        )
    for each in sure:
        lacking = sum(int((np.isnan(pool.confidence) & (pool.classes >= 0)).sum()) for pool in each.pools)
        n_answers = sum(int((pool.classes >= 0).sum()) for pool in each.pools)
        if lacking:
            notes.append(f"{each.name}: {in_majority_only(lacking, n_answers)}")
    return notes
