"""How long does it take to read and class the replies to one question, by kind of answer? Prints JSON.

    python bench/kinds.py [--section short|label|json|tool|text|fields|code]

512 replies of 2,000 characters, all different; field votes on 128 objects with 40 leaves each; 32 programs on
20 inputs in the sandbox, two at a time. `ms` is processor time, the least of several runs, that of the
sandbox's processes included; `wall_ms` is the clock, which counts for the sandbox. `bar_ms` is what it may
take at most. For comparison on the same replies: `json.loads` of the objects alone, and the cosines that
scikit-learn computes from 1- to 3-grams.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from distrivote.answers.code.behaviour import sort_by_behaviour
from distrivote.answers.code.sandbox import Sandbox
from distrivote.answers.equality import Equality
from distrivote.answers.equivalence import classify
from distrivote.answers.labels import find_label
from distrivote.answers.short import folded, short
from distrivote.answers.structured.fields import compose
from distrivote.answers.structured.find import find_json
from distrivote.answers.structured.parse import document
from distrivote.answers.structured.same import value_key
from distrivote.answers.structured.tools import calls_key, find_calls
from distrivote.answers.texts import medoid, sort_texts
from distrivote.voting.vote import elect

N_REPLIES, LENGTH = 512, 2_000
BARS = {"short": 50, "label": 50, "json": 50, "tool": 50, "text": 1_000, "fields": 50, "code": 5_000}
"""Milliseconds of processor time; for code of the clock."""

SENTENCE = (
    "the number of pears that Tom has now is found when we add those which he had at first to those that he"
    " bought later in the shop near his house so let us look at each step and check every sum before we go on"
)
WORDS = re.findall(r"\w+", SENTENCE)
Made = dict[str, Any]


def cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def best(act: Callable[[], object], n: int = 5) -> float:
    """Return the least processor time of several runs, in milliseconds."""
    taken = []
    for _ in range(n):
        begun = time.process_time()
        act()
        taken.append(time.process_time() - begun)
    return round(1000 * min(taken), 2)


def prose(rng: random.Random, length: int) -> str:
    """Return sentences and steps of about that many characters."""
    parts: list[str] = []
    size = 0
    while size < length:
        words = rng.choices(WORDS, k=rng.randint(6, 16))
        parts.append(f"{' '.join(words).capitalize()} {rng.randint(2, 99)}.{rng.choice([' ', ' ', chr(10)])}")
        size += len(parts[-1])
    return "".join(parts)[:length]


def replies(rng: random.Random, ends: Callable[[], str]) -> list[str]:
    made = []
    for _ in range(N_REPLIES):
        end = ends()
        made.append(f"{prose(rng, LENGTH - len(end) - 2)}\n\n{end}")
    return made


def short_section(rng: random.Random) -> Made:
    """Statements, bold spans, sentences and names, as many of each."""
    endings = [
        "The answer is {} pears.",
        "So Tom has **{}** pears.",
        "Tom has {} pears.",
        "So it is Town{}.",
    ]
    given = replies(rng, lambda: rng.choice(endings).format(rng.randint(10, 14)))

    def act() -> int:
        found = [short(text) for text in given]
        same = Equality("short", key=folded)
        return len(classify([None if one is None else one.answer for one in found], same).labels)

    return {"ms": best(act), "n_classes": act()}


def label_section(rng: random.Random) -> Made:
    labels = ("positive", "negative", "neutral")
    given = replies(
        rng, lambda: rng.choice(["I would say {}.", "**{}**", "Label: {}"]).format(rng.choice(labels))
    )

    def act() -> int:
        return len({one.answer for text in given if (one := find_label(text, labels))})

    return {"ms": best(act), "n_classes": act()}


def record(rng: random.Random, n_leaves: int) -> Made:
    """Return an invoice with that many leaves, of which a few vary."""
    items = [
        {"name": f"item {at}", "price": 10 + at, "count": rng.choice([1, 1, 1, 2])}
        for at in range((n_leaves - 4) // 3)
    ]
    return {
        "customer": {"name": "Anna", "city": rng.choice(["Rome", "Rome", "Paris"])},
        "date": "2026-01-31",
        "paid": rng.random() < 0.8,
        "items": items,
    }


def json_section(rng: random.Random) -> Made:
    objects = [json.dumps(record(rng, 40), indent=1) for _ in range(8)]
    given = replies(rng, lambda: f"```json\n{rng.choice(objects)}\n```")

    def act() -> int:
        found = [find_json(text) for text in given]
        return len({value_key(one.value) for one in found if one.extraction is not None})

    alone = [one.extraction.answer for text in given if (one := find_json(text)).extraction is not None]
    assert len(alone) == N_REPLIES
    plain = best(lambda: [json.loads(text) for text in alone])
    mine = best(act)
    return {
        "ms": mine,
        "n_classes": act(),
        "json_loads_alone_ms": plain,
        "over_json_loads": round(mine / plain, 1),
    }


def tool_section(rng: random.Random) -> Made:
    def call() -> str:
        arguments = {"city": rng.choice(["Paris", "Rome"]), "days": rng.randint(1, 3), "unit": "C"}
        return f"<tool_call>\n{json.dumps({'name': 'weather', 'arguments': arguments})}\n</tool_call>"

    given = replies(rng, call)

    def act() -> int:
        return len(
            {calls_key(found.calls) for text in given if (found := find_calls(text, ["weather"])).calls}
        )

    return {"ms": best(act), "n_classes": act()}


def text_section(rng: random.Random) -> Made:
    """Four contents, of which every reply changes one word in four."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vocabulary = [f"{rng.choice(WORDS)}{at}" for at in range(3_000)]
    subjects = [rng.choices(vocabulary, k=400) for _ in range(4)]
    given = [
        " ".join(w if rng.random() < 0.75 else rng.choice(vocabulary) for w in subjects[at % 4])[:LENGTH]
        for at in range(N_REPLIES)
    ]
    chinese = [
        "".join(chr(0x4E00 + int(rng.paretovariate(0.9)) % 3_000) for _ in range(LENGTH)) for _ in given
    ]
    weights = [rng.uniform(8, 15) for _ in given]

    def cosines() -> None:
        table = TfidfVectorizer(ngram_range=(1, 3)).fit_transform(given)
        (table @ table.T).toarray()

    mine, theirs = best(lambda: sort_texts(given)), best(cosines, 3)
    return {
        "ms": mine,
        "n_classes": len(set(sort_texts(given))),
        "medoid_ms": best(lambda: medoid(given, weights)),
        "chinese_ms": best(lambda: sort_texts(chinese), 3),
        "sklearn_similarities_ms": theirs,
        "times_faster_than_sklearn": round(theirs / mine, 1),
    }


def fields_section(rng: random.Random) -> Made:
    """Documents as they are after reading; the vote is `auto`, and the majority beside it."""
    documents = [document(json.dumps(record(rng, 40))) for _ in range(128)]
    sure = [np.array([rng.uniform(5, 15) for _ in one.places]) for one in documents]

    def held(method: str) -> Callable[[Any, Any], Any]:
        def vote(classes: Any, confidences: Any) -> Any:
            offsets = np.arange(len(classes) + 1) * classes.shape[1]
            return elect(classes.ravel(), confidences.ravel(), offsets, [method])[method]

        return vote

    found = compose(documents, sure, held("auto"), 0)
    return {
        "ms": best(lambda: compose(documents, sure, held("auto"), 0)),
        "majority_ms": best(lambda: compose(documents, sure, held("sc"), 0)),
        "n_fields": len(found.fields),
    }


def code_section(rng: random.Random) -> Made:
    bodies = [
        "return sum(numbers)",
        "total = 0\n    for number in numbers:\n        total += number\n    return total",
        "return len(numbers)",
    ]
    programs = [f"def total(numbers):\n    # {at}\n    {bodies[at % 3]}\n" for at in range(32)]
    inputs = [([rng.randint(-9, 9) for _ in range(at)],) for at in range(20)]
    sandbox = Sandbox()
    sandbox.run(programs[:1], "total", inputs[:1])  # what the system can confine is found out once
    wall, used = [], []
    for _ in range(3):
        begun, spent = time.perf_counter(), cpu()
        found = sort_by_behaviour(sandbox.run(programs, "total", inputs), [None] * len(inputs))
        wall.append(time.perf_counter() - begun)
        used.append(cpu() - spent)
    return {
        "ms": round(1000 * min(used), 1),
        "wall_ms": round(1000 * min(wall), 1),
        "n_inputs": found.n_inputs,
        "n_classes": len(set(found.classes)),
    }


SECTIONS = {
    "short": short_section,
    "label": label_section,
    "json": json_section,
    "tool": tool_section,
    "text": text_section,
    "fields": fields_section,
    "code": code_section,
}


def main() -> None:
    """Print the figures of every section, and which bars are missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--section", choices=SECTIONS)
    chosen = parser.parse_args().section
    report: Made = {}
    for name, section in SECTIONS.items():
        if chosen in (None, name):
            report[name] = section(random.Random(7)) | {"bar_ms": BARS[name]}
    missed = [name for name, one in report.items() if one.get("wall_ms", one["ms"]) > one["bar_ms"]]
    print(json.dumps(report | {"missed": missed}, indent=2))


if __name__ == "__main__":
    main()
