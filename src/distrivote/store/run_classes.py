"""Which answers of a question are the same, and which are right, for rows that do not say it yet.

A class can be told only when all answers of a question are there, so parts are written without. They are
filled in on reading, by the plain rules of `answers.equivalence`, or for good when a run is compacted,
by any rule.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equivalence import Equal, Key, classify, same_answer
from distrivote.store.run_parts import question_starts

NEEDED = ("question_id", "answer", "answer_class", "correct", "ground_truth")


def classified(
    table: pa.Table, *, equal: Equal | None = None, key: Key | None = None, again: bool = False
) -> pa.Table:
    """Return the table with `answer_class` and `correct` filled in; rows of a question are neighbours.

    A question of which any row has no class is classified anew as a whole. What a row says of being
    correct stays. `again` does all of it anew, where the right answer is known.
    """
    todo = pc.is_null(table["answer_class"])
    unsaid = pc.and_(pc.is_null(table["correct"]), pc.is_valid(table["ground_truth"]))
    rows = pc.or_(todo, unsaid).to_numpy()
    if not (again or rows.any()):
        return table
    starts = question_starts(table)
    answers, truths = table["answer"].to_pylist(), table["ground_truth"].to_pylist()
    classes, correct = table["answer_class"].to_pylist(), table["correct"].to_pylist()
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        if not (again or rows[start:end].any()):
            continue
        found = classify(answers[start:end], equal=equal, key=key)
        classes[start:end] = found.ids
        truth = next((truth for truth in truths[start:end] if truth is not None), None)
        if truth is None:
            continue
        right = {
            number
            for number, label in enumerate(found.labels)
            if same_answer(label, truth, equal=equal, key=key)
        }
        for row, number in zip(range(start, end), found.ids, strict=True):
            if again or correct[row] is None:
                correct[row] = number in right
    table = _replaced(table, "answer_class", pa.array(classes, pa.int32()))
    return _replaced(table, "correct", pa.array(correct, pa.bool_()))


def _replaced(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.set_column(index, table.schema.field(name), values)
