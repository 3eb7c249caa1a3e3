"""Which answers of a question are equal, and which are right, for rows that do not store it yet.

Classes are known only when all answers of a question are stored, so parts are written without them. They are
filled in on reading, or permanently when a run is compacted; then the manifest records the comparison, and
another version of it grades them again. Imported values of `correct` are not changed.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from distrivote.answers.equality import RULES_VERSION, Equality, Same, equality
from distrivote.answers.equivalence import grade
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.mathverify import shared_verifier
from distrivote.answers.remarks import Remarks
from distrivote.errors import InputError
from distrivote.names import only_loaded
from distrivote.prompts import DEFAULT_SAME
from distrivote.store.columns import (
    ANSWER,
    ANSWER_CLASS,
    CORRECT,
    FINISH_REASON,
    GROUND_TRUTH,
    QUESTION,
    QUESTION_ID,
    TEXT,
)
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.parts import question_starts
from distrivote.trajectory import CUT_OFF

NEEDED = (QUESTION_ID, ANSWER, ANSWER_CLASS, CORRECT, GROUND_TRUTH)


class Grading(NamedTuple):
    """How the answers of a run are compared, and which of its stored classes can be used."""

    same: Equality
    again: bool
    """Whether stored classes are from another comparison and are computed again."""

    told: bool
    """Whether `correct` was imported from a file, and is kept."""

    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, manifest: Manifest, same: Same | None = None) -> Grading:
        """Return the grading of a run: the requested one, or that of the run."""
        told = manifest.grader is not None and manifest.grader["told"]
        name = manifest.compared_by
        rule = _known(name) if same is None else equality(same)
        if rule is None:
            note = (
                f"answers were compared by {name!r}, which is not known here, so new ones are by"
                f" {DEFAULT_SAME}: name it with `same`"
            )
            return cls(equality(), False, told, (note,))
        is_read_again = isinstance(same, Kind)
        return cls(rule, is_read_again or not _is_current(manifest, rule), told and not is_read_again)

    def recorded_in(self, manifest: Manifest, told: bool, remarks: Remarks) -> Manifest:
        """Return the manifest of a run whose classes are stored; `told` is that of `Classified`."""
        if self.notes:
            return manifest
        record = {
            "same": self.same.name,
            "version": self.same.version,
            "told": self.told or told,
            "n_unsure": remarks.n_unsure,
            "n_unsure_grades": remarks.n_unsure_grades,
        }
        return dataclasses.replace(manifest, same=self.same.name, grader=record)


def _known(name: str) -> Equality | None:
    """Return the equality that a run names; its code is not imported unless the caller has named it too."""
    try:
        with only_loaded():
            return equality(name)
    except InputError:
        return None


def recorded(manifest: Manifest) -> Remarks:
    """Return the recorded doubts of the comparison that made the stored classes."""
    grader = manifest.grader or {}
    return Remarks(grader.get("n_unsure", 0), grader.get("n_unsure_grades", 0))


def _is_current(manifest: Manifest, rule: Equality) -> bool:
    grader = manifest.grader
    if grader is None or grader["same"] != rule.name or not rule.is_named:
        return False
    if rule.is_math and not shared_verifier().is_installed:
        # Stored by a machine that had math-verify: better than what this one could compute.
        return str(grader["version"]).startswith(f"{RULES_VERSION}, math-verify ")
    return bool(grader["version"] == rule.version)


class Classified(NamedTuple):
    """A table with classes, and remarks about those that were made for it."""

    table: pa.Table
    remarks: dict[str, Remarks]
    """By question, of those that were classified here."""

    told: bool = False
    """Whether a row without a class has `correct`, which can only come from an imported file."""


def classified(table: pa.Table, grading: Grading) -> Classified:
    """Return the table with `answer_class` and `correct` filled in; rows of a question are neighbours.

    A question with any row without a class is classified again as a whole; with `again` every question is.
    """
    todo = pc.is_null(table[ANSWER_CLASS])
    unsaid = pc.and_(pc.is_null(table[CORRECT]), pc.is_valid(table[GROUND_TRUTH]))
    rows = pc.or_(todo, unsaid).to_numpy()
    again = grading.again
    if not len(table) or not (again or rows.any()):
        return Classified(table, {})
    answered = pc.and_(todo, pc.is_valid(table[ANSWER]))
    told = bool(pc.any(pc.and_(answered, pc.is_valid(table[CORRECT]))).as_py())
    starts = question_starts(table)
    answers, truths = table[ANSWER].to_pylist(), table[GROUND_TRUTH].to_pylist()
    classes, correct = table[ANSWER_CLASS].to_pylist(), table[CORRECT].to_pylist()
    names, remarks = table[QUESTION_ID], {}
    questions = table[QUESTION].to_pylist() if QUESTION in table.column_names else None
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        if not (again or rows[start:end].any()):
            continue
        truth = next((truth for truth in truths[start:end] if truth is not None), None)
        asked = "" if questions is None else questions[start] or ""
        found = grade(answers[start:end], truth, grading.same.about(asked))
        remarks[names[start].as_py()] = found.remarks
        for row, number in zip(range(start, end), found.classes.ids, strict=True):
            was = classes[row]
            # An imported `correct` of a trajectory without an answer is kept.
            is_answered = was is not None and (was >= 0 or answers[row] is not None)
            ours = again and not grading.told and is_answered
            if truth is not None and (ours or correct[row] is None):
                correct[row] = number in found.right
            classes[row] = number
    table = _replaced(table, ANSWER_CLASS, pa.array(classes, pa.int32()))
    return Classified(_replaced(table, CORRECT, pa.array(correct, pa.bool_())), remarks, told)


def read_again(table: pa.Table, kind: Kind) -> pa.Table:
    """Return the table with answers of a kind read from its texts; rows without a text are unchanged."""
    texts, ends = table[TEXT].to_pylist(), table[FINISH_REASON].to_pylist()
    if not any(text is not None for text in texts):
        return table
    answers = table[ANSWER].to_pylist()
    for at, (text, end) in enumerate(zip(texts, ends, strict=True)):
        if text is not None:
            found = kind.read(text, is_cut=end == CUT_OFF)
            answers[at] = None if found is None else found.answer
    return _replaced(table, ANSWER, pa.array(answers, pa.string()))


def _replaced(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.set_column(index, table.schema.field(name), values)
