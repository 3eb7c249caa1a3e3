"""Inputs that nobody meant to write, and everything that reads them.

A target takes a random generator, makes one input and hands it to a reader. What a reader may do is return
or raise an error of ours; anything else is a find. Inputs are valid samples of each format, spoiled: a few
bytes changed, a JSON value replaced, two files spliced, or strings put together from the words of a format.
The same seed makes the same inputs.
"""

from __future__ import annotations

import json
import pickle
import random
import re
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import foreign_files as foreign
from distrivote.answers.equality import Equality
from distrivote.answers.equivalence import classify, same_answer
from distrivote.answers.extract import extractor
from distrivote.answers.forms import normal_form, plainly_equal
from distrivote.answers.mathverify import MathVerifier
from distrivote.errors import DistrivoteError
from distrivote.store.importers.records import LeftOutWarning
from faults.fuzz_replies import (
    spoiled_events,
    spoiled_fields,
    spoiled_json_answer,
    spoiled_kind,
    spoiled_program,
    spoiled_reward,
    spoiled_stream,
)
from faults.fuzz_tables import (
    imported,
    spoiled_benchmark,
    spoiled_csv,
    spoiled_jsonl,
    spoiled_parquet_table,
    spoiled_run,
    spoiled_table,
)
from faults.spoiling import FORMULA, REPLY, lines, spoiled, spoiled_json, text, written

HANG = 1.0
"""Seconds of processor time that no input may take."""

Target = Callable[[random.Random, Path], None]
"""Makes one input with the generator and reads it, in a folder of its own."""


class Find(NamedTuple):
    """An input that broke something."""

    target: str
    seed: int
    what: str


class Counts(NamedTuple):
    """What a target did with its inputs."""

    n_inputs: int
    n_refused: int
    """With an error of ours."""

    slowest: float
    """Seconds of processor time."""

    finds: list[Find]


def fuzz(name: str, first: int, n: int, folder: Path, most_finds: int = 20) -> Counts:
    """Give a target n inputs, those of the seeds from `first` on."""
    target = TARGETS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=LeftOutWarning)
        return _fuzz(name, target, range(first, first + n), folder, most_finds)


def _fuzz(name: str, target: Target, seeds: range, folder: Path, most_finds: int) -> Counts:
    n_refused, slowest = 0, 0.0
    finds: list[Find] = []
    for seed in seeds:
        begun = time.process_time()
        try:
            target(random.Random(f"{name}-{seed}"), folder)
        except DistrivoteError as error:
            n_refused += 1
            if "\n" in str(error) or not str(error):
                finds.append(Find(name, seed, f"not one sentence: {str(error)[:200]!r}"))
        except Exception as error:
            finds.append(Find(name, seed, f"{type(error).__name__}: {str(error)[:200]}"))
        taken = time.process_time() - begun
        slowest = max(slowest, taken)
        if taken > HANG:
            finds.append(Find(name, seed, f"took {taken:.1f} s"))
        if len(finds) >= most_finds:
            return Counts(seed - seeds[0] + 1, n_refused, slowest, finds)
    return Counts(len(seeds), n_refused, slowest, finds)


# Other people's files


def _importer(name: str) -> Target:
    def target(rng: random.Random, folder: Path) -> None:
        file, content = rng.choice(foreign.FILES[name])
        if not content.startswith(b"PK") and rng.random() < 0.6:
            try:
                content = json.dumps(spoiled_json(rng, json.loads(content))).encode()
            except json.JSONDecodeError:
                content = lines([spoiled_json(rng, json.loads(line)) for line in content.splitlines()])
        else:
            content = spoiled(rng, content, [other for _, other in foreign.FILES[name]])
        imported(written(folder, file, content), name)

    return target


def _inspect(rng: random.Random, folder: Path) -> None:
    sample = foreign.inspect_sample()
    if rng.random() < 0.7:
        sample = spoiled_json(rng, sample)
    if not isinstance(sample, dict) or not {"id", "epoch"} <= set(sample):
        sample = {"id": 1, "epoch": 1, "output": sample}
    content = json.dumps(sample).encode()
    members = {"header.json": json.dumps(foreign.inspect_log()).encode(), "samples/1_epoch_1.json": content}
    match rng.randrange(3):
        case 0:
            packed = foreign.zstandard_archive(members)
        case 1:
            sample["id"], sample["epoch"] = re.sub(r"\W", "", str(sample["id"])), 1
            packed = foreign.inspect_archive(sample)
        case _:
            packed = json.dumps(foreign.inspect_log(sample)).encode()
    if rng.random() < 0.6:
        packed = spoiled(rng, packed, [packed])
    imported(written(folder, "log.eval" if packed.startswith(b"PK") else "log.json", packed), "inspect")


_TRACES = {
    "qid": 3,
    "ground_truth": "4",
    "question": "2 + 2?",
    "config": {"window_size": 2},
    "all_traces": [
        {
            "stop_reason": "stop",
            "text": "x",
            "num_tokens": 4,
            "confs": [9.5, 8.25, 7.0, 6.5],
            "extracted_answer": "4",
            "step_confs": [9.0, 7.0],
            "group_confs": np.array([9.0, 8.0]),
            "correctness": True,
            "confidence": 7.5,
        },
        {
            "stop_reason": None,
            "text": "",
            "num_tokens": 3,
            "confs": [np.float64(9.5)] * 3,
            "extracted_answer": None,
        },
        {"confs": [1, 2, 300], "extracted_answer": 4, "group_confs": np.arange(3, dtype=np.float32)},
    ],
}
_CODES = b"(.012FIJKLMNRSTUVXabceghijlopqrstu})]GBC\x80\x81\x85\x86\x87\x88\x89\x8a\x8c\x8f\x90\x94\x95\x96"
_OPCODES = [bytes([code]) for code in _CODES]


def _deepconf(rng: random.Random, folder: Path) -> None:
    traces = _TRACES
    if rng.random() < 0.4:
        plain = {**_TRACES, "all_traces": [{"text": "x", "confs": [9.5, 8.25], "extracted_answer": "4"}] * 2}
        traces = spoiled_json(rng, plain)
    content = pickle.dumps(traces, rng.choice((2, 3, 4, 5)))
    if rng.random() < 0.2:
        content = b"\x80\x04" + b"".join(
            rng.choice(_OPCODES) + rng.randbytes(rng.choice((0, 0, 1, 4)))
            for _ in range(rng.randrange(1, 40))
        )
    elif traces is _TRACES or rng.random() < 0.5:
        content = spoiled(rng, content, [content])
    imported(written(folder, "deepthink_offline_qid3_rid0.pkl", content), "deepconf")


_STEPS = {
    "step": {
        "step_confs": [9.0, 7.5, 8.0],
        "step_end_idx": [4, 9, 12],
        "confs": [9.5, np.float64(8.25), 7.0],
        "stop_reason": "stop",
    }
}


def _ssc_steps(rng: random.Random, folder: Path) -> None:
    steps = _STEPS
    if rng.random() < 0.5:
        steps = spoiled_json(rng, _STEPS)
    content = pickle.dumps(steps, rng.choice((2, 3, 4, 5)))
    if steps is _STEPS or rng.random() < 0.5:
        content = spoiled(rng, content, [content])
    imported(written(folder, "logitsprocessor_question_q3_1.pkl", content), "ssc-steps")


# Answers


_OWN = re.compile(r"is (.*)")


def _extraction(rng: random.Random, _folder: Path) -> None:
    reply = text(rng, REPLY)
    how = rng.choice(("auto", "boxed", "choice", "number", _OWN))
    found = extractor(how)(reply)
    if found is not None:
        assert found.answer.strip(), f"{how} gave a blank answer to {reply!r}"
        assert 0 < found.end <= len(reply), f"{how} ends outside {reply!r}"


def _equivalence(rng: random.Random, _folder: Path) -> None:
    a = text(rng, FORMULA)
    b = text(rng, FORMULA) if rng.random() < 0.5 else f" ${a}$. "
    assert plainly_equal(a, b) == plainly_equal(b, a), f"{a!r} and {b!r}: the order matters"
    if normal_form(a) == normal_form(b) and a.strip() and b.strip():
        assert same_answer(a, b, "notation"), f"{a!r} and {b!r}: one form, two answers"
    if rng.random() < 0.1:
        pool = [a, b, None, *(text(rng, FORMULA) for _ in range(4))]
        there, back = classify(pool, "notation").ids, classify(pool[::-1], "notation").ids[::-1]
        assert {frozenset(i for i, c in enumerate(there) if c == k) for k in there} == {
            frozenset(i for i, c in enumerate(back) if c == k) for k in back
        }, f"{pool!r}: the order matters"


@cache
def _verifier() -> MathVerifier:
    return MathVerifier(limit=0.3, budget=1.0)


def _mathverify(rng: random.Random, _folder: Path) -> None:
    pool = [text(rng, FORMULA) for _ in range(3)]
    equal = _verifier().equal()
    classify(pool, Equality("math", normal_form, equal))


TARGETS: dict[str, Target] = {
    "jsonl": spoiled_jsonl,
    "csv": spoiled_csv,
    "parquet": spoiled_parquet_table,
    "table": spoiled_table,
    "benchmark": spoiled_benchmark,
    "run": spoiled_run,
    "deepconf": _deepconf,
    "ssc-steps": _ssc_steps,
    "inspect": _inspect,
    **{name: _importer(name) for name in foreign.FILES if name != "inspect"},
    "extraction": _extraction,
    "equivalence": _equivalence,
    "mathverify": _mathverify,
    "events": spoiled_events,
    "stream": spoiled_stream,
    "json-answer": spoiled_json_answer,
    "fields": spoiled_fields,
    "kinds": spoiled_kind,
    "program": spoiled_program,
    "reward": spoiled_reward,
}
