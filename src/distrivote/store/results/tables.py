"""Results as tables, and tables as text: the columns of the output of a vote.

`long_table` has a row per question and method, for files and programs; `wide_table` has a row per question
with a column per method, for people. Text is formatted by column, not by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json.encoder import encode_basestring

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from distrivote.store.results.votes import MAJORITY, Results, Verdict
from distrivote.store.tables.cells import guarded
from distrivote.voting.methods import METHODS

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_OURS = frozenset(
    {
        "question_id",
        "method",
        "answer",
        "share",
        "probability",
        "abstained",
        "withheld",
        "n_kept",
        "n_cast",
        "n_unanswered",
        "n_unmeasured",
        "rejected",
        "correct",
        "majority",
        "majority_correct",
        "ground_truth",
    }
)


def by_name(by: str) -> str:
    """Return the name of the column of `--by` in results: its own name, unless that is taken."""
    return f"by_{by}" if by in _OURS or by in METHODS else by


def long_table(results: Results, by: str | None) -> pa.Table:
    """Return a row per question and method: questions in order, then methods in order."""
    n, n_methods = len(results), len(results.methods)
    each = np.repeat(np.arange(n), n_methods)
    # The methods' columns are concatenated; this interleaves them by question.
    dealt = (np.arange(n_methods) * n + np.arange(n)[:, None]).ravel()
    verdicts = [results.verdicts[name] for name in results.methods]
    majority = results.majority

    def own(arrays: list[pa.Array]) -> pa.Array:
        return pa.concat_arrays(arrays).take(pa.array(dealt))

    def common(array: pa.Array) -> pa.Array:
        return array.take(pa.array(each))

    truths = results.truths if results.truths is not None else pa.nulls(n, pa.string())
    columns = {"question_id": common(results.ids)}
    if results.by is not None and by is not None:
        columns[by_name(by)] = common(results.by)
    columns |= {
        "method": pa.array(list(results.methods)).take(pa.array(np.tile(np.arange(n_methods), n))),
        "answer": own([v.answer for v in verdicts]),
        "share": own([pa.array(v.share) for v in verdicts]),
        "n_kept": own([pa.array(v.n_kept) for v in verdicts]),
        "n_cast": own([pa.array(v.n_cast) for v in verdicts]),
        "n_unanswered": common(pa.array(results.n_trajectories - majority.n_cast)),
        "rejected": own([v.rejected for v in verdicts]),
        "correct": own([_flags(v.given_right) for v in verdicts]),
        "majority": common(majority.winner),
        "majority_correct": common(_flags(majority.right)),
        "ground_truth": common(truths),
        "probability": own([_numbers(v.probability) for v in verdicts]),
        "abstained": own([pa.array(v.abstained) for v in verdicts]),
        "withheld": own([v.withheld for v in verdicts]),
        "n_unmeasured": own([pa.array(v.n_unmeasured) for v in verdicts]),
    }
    return pa.table(columns)


def wide_table(results: Results, by: str | None) -> pa.Table:
    """Return a row per question: one method with its details, or one column for each of several."""
    columns = {"question_id": results.ids}
    if results.by is not None and by is not None:
        columns[by_name(by)] = results.by
    if len(results.methods) == 1:
        verdict = results.verdicts[results.methods[0]]
        columns |= _details(verdict)
        if results.methods[0] != MAJORITY:
            columns["majority"] = results.majority.winner
        columns["correct"] = _flags(verdict.given_right)
        columns["probability"] = _numbers(verdict.probability.round(4))
        columns["abstained"] = pa.array(verdict.abstained)
    else:
        columns |= {name: results.verdicts[name].answer for name in results.methods}
        if MAJORITY not in results.methods:
            columns["majority"] = results.majority.winner
    return pa.table(columns)


def _details(verdict: Verdict) -> dict[str, pa.Array]:
    return {
        "answer": verdict.answer,
        "share": pa.array(verdict.share.round(4)),
        "n_kept": pa.array(verdict.n_kept),
        "n_cast": pa.array(verdict.n_cast),
        "rejected": verdict.rejected,
    }


def _flags(right: npt.NDArray[np.int8]) -> pa.Array:
    return pa.array(right == 1, mask=right < 0)


def _numbers(values: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def tab_lines(table: pa.Table) -> memoryview:
    """Return a line per row, tabs between fields; tabs, line ends and other controls are escaped."""
    texts: list[pa.Array | str] = []
    for index, column in enumerate(table.itercolumns()):
        texts += ["\t"] if index else []
        texts.append(_spelt(column, _tab_field, missing=""))
    return _bytes(pc.binary_join_element_wise(*texts, "\n", ""))


def json_lines(table: pa.Table, before: str = "", after: str = "\n") -> memoryview:
    """Return a JSON object per row, each with the given text before and after it."""
    texts: list[pa.Array | str] = []
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        texts.append((", " if texts else before + "{") + encode_basestring(name) + ": ")
        texts.append(_spelt(column, encode_basestring, missing="null"))
    return _bytes(pc.binary_join_element_wise(*texts, "}" + after, ""))


def tab_header(names: list[str]) -> bytes:
    return ("\t".join(map(_tab_field, names)) + "\n").encode()


def _tab_field(text: str) -> str:
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(lambda m: _SHORT.get(m[0]) or f"\\x{ord(m[0]):02x}", text)


def guarded_texts(table: pa.Table) -> pa.Table:
    """Return the table with texts that no spreadsheet computes."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            coded = table.column(index).combine_chunks().dictionary_encode()
            texts = pa.array([guarded(text) for text in coded.dictionary.to_pylist()], pa.string())
            table = table.set_column(index, field, texts.take(coded.indices))
    return table


def _spelt(column: pa.ChunkedArray, spell: Callable[[str], str], missing: str) -> pa.Array:
    """Return the column as text; each distinct string is formatted once."""
    if pa.types.is_string(column.type):
        coded = column.combine_chunks().dictionary_encode()
        spelt = pa.array([spell(text) for text in coded.dictionary.to_pylist()], pa.string())
        texts = spelt.take(coded.indices)
    else:
        texts = column.combine_chunks().cast(pa.string())
    return texts.fill_null(missing)


def _bytes(lines: pa.Array) -> memoryview:
    """Return all lines as one buffer: Arrow stores them contiguously."""
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]
