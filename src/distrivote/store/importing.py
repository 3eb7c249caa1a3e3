"""Files of other tools -> a run.

The run is written under a temporary name and renamed when it is complete, so that an import that fails or is
killed leaves nothing that looks like a run.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from distrivote.answers.equality import Equality, Same, equality
from distrivote.errors import InputError
from distrivote.names import origins
from distrivote.store.importers.base import ImportOptions
from distrivote.store.importers.registry import Source
from distrivote.store.results.files import new_folder
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep, Row
from distrivote.store.runs.writer import RunWriter
from distrivote.voting.caveats import in_majority_only


@dataclass(frozen=True, slots=True)
class Imported:
    """What was imported."""

    n_files: int
    n_questions: int
    n_trajectories: int
    n_answered: int
    n_confident: int
    """How many of the answered trajectories have a confidence."""

    n_true: int
    """How many trajectories have the right answer, or say whether they are right."""

    formats: Mapping[str, int]
    """How many files of each format."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats, a sentence each."""
        notes = []
        if not self.n_answered:
            notes.append("no trajectory has an answer: choose how answers are found with `extract`")
        elif not self.n_confident:
            notes.append("there are no confidences: majority voting decides, whatever the method")
        elif self.n_confident < self.n_answered:
            notes.append(in_majority_only(self.n_answered - self.n_confident, self.n_answered))
        if not self.n_true:
            notes.append("there are no right answers: votes work, accuracies are not known")
        return tuple(notes)


def import_files(
    files: Sequence[Source],
    run: str | os.PathLike[str],
    *,
    reading: ImportOptions = ImportOptions(),  # noqa: B008
    keep: Keep = Keep(),  # noqa: B008
    model: str = "",
    benchmark: str | None = None,
    same: Same | None = None,
    question_pattern: str | None = None,
    truths: Mapping[str, str] | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Imported:
    """Read files and write them as a new run.

    Args:
        files: What to read, from `sources`.
        run: A folder that does not exist yet.
        reading: How trajectories are read if the files do not say it.
        keep: What is stored in addition to measures and steps.
        model: The name of the model, for the manifest.
        benchmark: The name of the benchmark, for the manifest; None: the formats of the files.
        same: When two answers are equal; math by default.
        question_pattern: Finds the question's id in the id in a file: its first group, or the whole match.
        truths: The right answer of each question, if the files do not have it.
        watch: Called with the bytes read and the trajectories so far.
    """
    find_question, rule = _finder(question_pattern), equality(same)
    gathered = _Gathered(truths or {}, rule)
    kinds = Counter(source.format.name for source in files)
    manifest = Manifest(
        engine="import",
        model=model,
        template="",
        benchmark=" + ".join(kinds) if benchmark is None else benchmark,
        sampling={},
        budget=0,
        same=rule.name,
        origins=origins([*kinds, rule.name]) or None,
    )
    with new_folder(run) as beside:
        with RunWriter(beside, manifest, keep=keep, max_wait=None) as writer:
            n_bytes = 0
            for path, kind in files:
                for row in kind.read(path, reading):
                    writer.add(gathered.numbered(row, find_question(row.question_id)))
                    if watch is not None and gathered.n_trajectories % 64 == 0:
                        watch(n_bytes, gathered.n_trajectories)
                n_bytes += path.stat().st_size
        if not gathered.n_trajectories:
            raise InputError(f"{files[0].path} holds no trajectory: nothing was imported")
        manifest = dataclasses.replace(manifest, budget=max(gathered.samples.values()))
        manifest.save(beside)
    return gathered.summary(kinds)


def _finder(pattern: str | None) -> Callable[[str], str]:
    if pattern is None:
        return lambda given: given
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise InputError(f"the question pattern {pattern!r} is not a regular expression: {error}") from error

    def find(given: str) -> str:
        match = compiled.search(given)
        if match is None or not match.group(1 if compiled.groups else 0):
            raise InputError(f"the question pattern {pattern!r} finds nothing in {given!r}: change it")
        return str(match.group(1 if compiled.groups else 0))

    return find


class _Gathered:
    """Numbers the samples of each question and counts them."""

    def __init__(self, truths: Mapping[str, str], same: Equality) -> None:
        self._truths, self._same = truths, same
        self.samples: Counter[str] = Counter()
        self.n_trajectories = self.n_answered = self.n_confident = self.n_true = 0

    def numbered(self, row: Row, question_id: str) -> Row:
        truth = row.ground_truth if row.ground_truth is not None else self._truths.get(question_id)
        if question_id not in self.samples:
            self._same.check_truth(truth)
        numbered = dataclasses.replace(
            row, question_id=question_id, sample=self.samples[question_id], ground_truth=truth
        )
        self.samples[question_id] += 1
        self.n_trajectories += 1
        self.n_answered += row.answer is not None
        self.n_confident += row.answer is not None and row.confidence == row.confidence
        self.n_true += truth is not None or row.correct is not None
        return numbered

    def summary(self, kinds: Mapping[str, int]) -> Imported:
        return Imported(
            sum(kinds.values()),
            len(self.samples),
            self.n_trajectories,
            self.n_answered,
            self.n_confident,
            self.n_true,
            dict(kinds),
        )
