"""Rows from the Hugging Face hub, through the package `datasets`, which is loaded on use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from distrivote.benchmarks.question_table import QuestionRow, QuestionTable
from distrivote.errors import DistrivoteError, MissingPackageError


@dataclass(frozen=True, slots=True)
class Home:
    """Where on the hub a benchmark lives."""

    repository: str
    config: str | None = None
    split: str = "train"
    gated: bool = False
    """Whether one must log in and agree to terms first."""

    @property
    def url(self) -> str:
        return f"https://huggingface.co/datasets/{self.repository}"


def fetch(home: Home, name: str) -> QuestionTable:
    """Return the rows of a benchmark, downloaded once and kept by `datasets` in its own cache."""
    try:
        datasets = import_module("datasets")
    except ImportError as error:
        raise MissingPackageError("datasets", "datasets", f"fetching {name} from Hugging Face") from error
    try:
        table = datasets.load_dataset(home.repository, home.config, split=home.split)
        values = [dict(row) for row in table]
    except Exception as error:
        # The package raises errors of many kinds, its own, requests' and the system's.
        said = str(error).strip() or type(error).__name__
        raise DistrivoteError(
            f"{name} could not be fetched from {home.url} ({_first_sentence(said)}): {_advice(home, name)}"
        ) from error
    return QuestionTable(
        f"hf:{home.repository}",
        [QuestionRow(f"{home.repository}, row {number}", row) for number, row in enumerate(values, 1)],
    )


def _first_sentence(text: str) -> str:
    line = text.splitlines()[0].split(". ")[0].rstrip(".: ")
    return line if len(line) <= 200 else line[:199] + "…"


def _advice(home: Home, name: str) -> str:
    local = f"give a local copy as {name}=FILE"
    if home.gated:
        return (
            f"check the network, agree to its terms on that page and log in with `hf auth login`, or {local}"
        )
    return f"check the network, or {local}"
