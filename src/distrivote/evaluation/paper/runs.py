"""The settings of the paper's own runs, and how the runs that are compared with them differ.

The paper has separate rows for models without thinking and separate tables at temperature 0, so these two
decide which of its numbers are shown. What it kept fixed (context, top-p, prompts, questions, weights,
grader) is compared here, and a note names each difference with both values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distrivote.evaluation.conditions import CONDITIONS, Value, condition, value_words
from distrivote.evaluation.paper.model_settings import ModelSettings, model_settings
from distrivote.evaluation.paper.published import N_QUESTIONS, Published, published
from distrivote.evaluation.pools import PoolSet
from distrivote.evaluation.studies import Bench, Study

SPREAD = (
    "The paper's ± is not the ± here. Ours is the standard deviation over repeats, each a draw per question."
    " Thirty questions move in steps of 3.33 points, so that 64 repeats whose mean is 69.11 deviate by 1.47"
    " at least, and the paper has 0.23: probably the deviation between three means, each of 64 repeats. It"
    " is not shown."
)
"""A note in every report that has the paper's numbers."""

_CONTEXTS = {"Qwen3": (32768, 32000), "DeepSeek": (65536, 64000)}
"""The paper says 32k and 64k, the authors' script 64,000."""

_GRADER = "math_equal"


def paper_temperature(study: Study) -> float:
    """Return the temperature of the paper's runs of a model: 0.6, and 0.7 for Qwen3 without thinking."""
    known = published().model(study.name, study.thinking)
    return 0.7 if known is not None and known.endswith("*") else 0.6


def paper_notes(known: Published, sets: Sequence[PoolSet], studies: Sequence[Study]) -> list[str]:
    """Return how runs differ from the paper's, for the studies and benchmarks that it has numbers of."""
    notes = []
    for study in studies:
        model = known.known(study.name)
        benches = [bench for bench in study.benches if known.benchmark(bench.benchmark) is not None]
        if model is None or not benches:
            continue
        if known.model(study.name, study.thinking) is None:
            notes.append(f"{study.model}: the paper has no numbers of {model.name} without thinking")
            continue
        notes += _temperature_notes(study, benches)
        if model.quantised is not None:
            notes.append(
                f"{study.model}: its weights are quantised ({model.quantised}), and those of the paper's"
                f" {model.name} were not"
            )
        told: dict[str, list[str]] = {}
        for bench in benches:
            for words in _differences(known, sets, study, bench):
                told.setdefault(words, []).append(study.label(bench.benchmark))
        for words, where in told.items():
            notes.append(f"{study.model} on {', '.join(where)}: {words}")
    return [*notes, SPREAD]


def _temperature_notes(study: Study, benches: Sequence[Bench]) -> Iterator[str]:
    wanted = paper_temperature(study)
    unlike: dict[float, list[str]] = {}
    for bench in benches:
        if bench.temperature is not None and bench.temperature != wanted:
            unlike.setdefault(bench.temperature, []).append(study.label(bench.benchmark))
    for temperature, where in unlike.items():
        but = " but for lengths" if temperature == 0 else ""
        yield (
            f"{study.model} on {', '.join(where)}: sampled at temperature {temperature:g}, the paper's runs"
            f" at {wanted:g}, so its numbers{but} are not shown"
        )


def _differences(known: Published, sets: Sequence[PoolSet], study: Study, bench: Bench) -> Iterator[str]:
    """Yield each condition in which the arms of a benchmark differ from the paper's."""
    name = known.benchmark(bench.benchmark) or ""
    arms = [sets[source] for source in (bench.basic, bench.ssc) if source is not None]
    for which, theirs in _paper_conditions(model_settings(study.name), name).items():
        ours = dict.fromkeys(condition(arm, which) for arm in arms)
        unlike = [value for value in ours if value is not None and value not in theirs]
        if unlike:
            said = " and ".join(value_words(which, value) for value in unlike)
            yield f"{CONDITIONS[which]} is {said} here and {value_words(which, theirs[0])} in the paper"
    n_questions = min(len(arm.pools) for arm in arms)
    if n_questions != N_QUESTIONS[name]:
        yield f"{n_questions} of the paper's {N_QUESTIONS[name]} questions"


def _paper_conditions(settings: ModelSettings, benchmark: str) -> dict[str, tuple[Value, ...]]:
    """Return the paper's value of each condition first, then others that are the same."""
    found: dict[str, tuple[Value, ...]] = {
        "template": ("choice" if benchmark == "GPQA-D" else "plain" if settings.plain else "math",),
        "system": (settings.system,),
        "top_p": (settings.top_p,),
        "grader": (_GRADER,),
    }
    for series, contexts in _CONTEXTS.items():
        if settings.name is not None and settings.name.startswith(series):
            found["max_tokens"] = contexts
    return found
