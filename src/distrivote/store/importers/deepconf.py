"""Pickles of DeepConf and of the authors of SelfStepConf: a file holds one question with its traces.

A trace has a confidence for each token but no token texts, so steps can't be found in it. If the file has the
confidences of steps (SelfStepConf runs), that of the last step, which holds the answer, is the trajectory's
confidence; otherwise it is DeepConf's tail measure, the mean of the last 2,048 tokens. The other measures are
computed from the tokens in either case.

`group_confs` holds step means in one kind of run and sliding windows in the other. The number of windows is
that of tokens minus the window's length plus one: any other number means steps.
"""

from __future__ import annotations

import math
import mmap
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from distrivote.confidence import DEFAULT_K, measure_named
from distrivote.confidence.trajectories import N_GROUP_TOKENS
from distrivote.errors import InputError
from distrivote.store.importers.base import Format, ImportOptions
from distrivote.store.importers.pickle_runs import Floats, Unread
from distrivote.store.importers.pickles import PickleError, read_pickle
from distrivote.store.importers.records import document
from distrivote.store.runs.rows import Row, singles
from distrivote.voting.scales import permitted

_NAME = re.compile(r"deepthink_.*_qid(?P<question>[^_]+)_rid")
_STEPS_NAME = re.compile(r"logitsprocessor_question_(?P<question>.+?)(_\d+)?\.pkl")
_OF_TOKENS = {
    "confidence_mean": measure_named("mean").reduce,
    "confidence_tail": measure_named("tail").reduce,
    "confidence_lowest_group": measure_named("lowest-group").reduce,
    "confidence_bottom_groups": measure_named("bottom-groups").reduce,
}


def _is_pickle(head: bytes) -> bool:
    return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _is_steps(path: Path, head: bytes) -> bool:
    return _is_pickle(head) and _STEPS_NAME.fullmatch(path.name) is not None


def _is_one(path: Path, head: bytes) -> bool:
    if _is_pickle(head):
        return not _is_steps(path, head)
    return head.lstrip()[:1] == b"{" and b'"all_traces"' in head and _NAME.match(path.name) is not None


def _load(path: Path) -> Any:
    """Return the value in a pickle or JSON file; a pickle is memory-mapped."""
    with open(path, "rb") as file:
        if not _is_pickle(file.read(2)):
            return document(path)
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        return read_pickle(memoryview(content))
    except PickleError as error:
        raise InputError(
            f"{path} can't be imported: {error}; save plain values (dict, list, str, numbers, arrays)"
        ) from error


def read(path: Path, _reading: ImportOptions) -> Iterator[Row]:
    """Yield the traces of one question."""
    content = _load(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} does not hold the dict that DeepConf saves")
    traces = content.get("all_traces")
    if traces is None or (isinstance(traces, list) and not traces):
        traces = content.get("final_traces")
    if not isinstance(traces, list):
        raise InputError(f"{path} has no list of all_traces or final_traces: is it a file of DeepConf's?")
    named = _NAME.match(path.name)
    question = content.get("qid")
    if question is None:
        question = named["question"] if named else path.stem
    truth = _text(content.get("ground_truth"))
    asked = content.get("question")
    window = _window(content.get("config"))
    for number, trace in enumerate(traces):
        if not isinstance(trace, dict):
            raise InputError(f"{path}, trace {number} is not a dict: is it a file of DeepConf's?")
        yield _row(
            trace,
            f"{path}, trace {number}",
            window,
            question_id=str(question),
            ground_truth=truth,
            question=asked if isinstance(asked, str) and asked else None,
        )


def _window(config: Any) -> int:
    size = config.get("window_size") if isinstance(config, Mapping) else None
    return size if isinstance(size, int) and size > 0 else N_GROUP_TOKENS


def _row(
    trace: Mapping[str, Any],
    where: str,
    window: int,
    question_id: str,
    ground_truth: str | None,
    question: str | None,
) -> Row:
    confidences = _floats(trace.get("confs"), f"{where}: confs")
    known = confidences[np.isfinite(confidences)]
    measures = {name: reduce(known) for name, reduce in _OF_TOKENS.items()} if len(known) else {}
    steps = _steps(trace, len(confidences), window, where)
    answer = _text(trace.get("extracted_answer"))
    correct = trace.get("correctness")
    n_tokens = trace.get("num_tokens")
    given = trace.get("confidence")
    if isinstance(given, float):
        measures["confidence"] = given
    elif steps is not None and math.isfinite(steps[-1]):
        measures["confidence"] = float(steps[-1])
    elif measures:
        measures["confidence"] = measures["confidence_tail"]
    text = trace.get("text")
    return Row(
        question_id=question_id,
        sample=0,
        answer=answer,
        answer_class=-1 if answer is None else None,
        correct=bool(correct) if isinstance(correct, (bool, int, float)) else None,
        ground_truth=ground_truth,
        k=DEFAULT_K if measures else None,
        n_tokens=n_tokens if isinstance(n_tokens, int) and 0 <= n_tokens < 2**31 else len(confidences),
        finish_reason=_text(trace.get("stop_reason")),
        step_confidences=None if steps is None else singles(steps),
        question=question,
        text=text if isinstance(text, str) else None,
        token_confidences=singles(confidences),
        **{name: value if permitted(value, True) else np.nan for name, value in measures.items()},  # type: ignore[arg-type]
    )


def _steps(trace: Mapping[str, Any], n_tokens: int, window: int, where: str) -> Floats | None:
    """Return the confidences of the steps, None if the trace has none."""
    given = _floats(trace.get("step_confs"), f"{where}: step_confs")
    if len(given):
        return given
    groups = _floats(trace.get("group_confs"), f"{where}: group_confs")
    is_windows = len(groups) == max(1, n_tokens - window + 1)
    return None if is_windows or not len(groups) else groups


def _floats(value: Any, where: str) -> Floats:
    """Return numbers as an array, empty for None."""
    if value is None:
        return np.empty(0)
    if isinstance(value, Unread):
        value = value.values()
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None or numbers.ndim != 1:
        raise InputError(f"{where} is not a list of numbers: is it a file of DeepConf's?")
    return numbers


def _text(value: Any) -> str | None:
    """Return an answer or a reason as text, None for nothing."""
    if value is None or (isinstance(value, (Sequence, Mapping)) and not isinstance(value, str)):
        return None
    text = str(value).strip()
    return text or None


def read_steps(path: Path, _reading: ImportOptions) -> Iterator[Row]:
    """Yield the only trajectory of a file of steps, which has neither a text nor an answer."""
    content = _load(path)
    step = content.get("step") if isinstance(content, dict) else None
    if not isinstance(step, dict):
        raise InputError(f"{path} has no dict called step: is it a logitsprocessor_question file?")
    confidences = _floats(step.get("step_confs"), f"{path}: step_confs")
    ends = _floats(step.get("step_end_idx"), f"{path}: step_end_idx")
    tokens = _floats(step.get("confs"), f"{path}: confs")
    named = _STEPS_NAME.fullmatch(path.name)
    fits = len(ends) == len(confidences) and (np.abs(ends) < 2**31).all()
    yield Row(
        question_id=named["question"] if named else path.stem,
        sample=0,
        answer_class=-1,
        n_tokens=len(tokens),
        finish_reason=_text(step.get("stop_reason")),
        step_ends=ends.astype(np.int32) if fits else None,
        step_confidences=singles(confidences),
        token_confidences=singles(tokens),
    )


FORMAT = Format("deepconf", "pickles of DeepConf and SelfStepConf runs", _is_one, read)
STEPS = Format("ssc-steps", "pickles of SelfStepConf's steps, without answers", _is_steps, read_steps)
