"""Rows from the Hugging Face hub, through the package `datasets`, which is loaded on use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from distrivote.benchmarks.question_table import QuestionRow, QuestionTable
from distrivote.errors import DistrivoteError, MissingPackageError


@dataclass(frozen=True, slots=True)
class Home:
    """The address of a benchmark on the hub."""

    repository: str
    config: str | None = None
    split: str = "train"
    revision: str | None = None
    """The commit, tag or branch; None: the newest."""

    gated: bool = False
    """Whether users have to log in and agree to terms first."""

    @property
    def url(self) -> str:
        return f"https://huggingface.co/datasets/{self.repository}"


def fetch(home: Home, name: str) -> QuestionTable:
    """Return the rows of a benchmark, downloaded once and cached by `datasets`."""
    try:
        datasets = import_module("datasets")
    except ImportError as error:
        raise MissingPackageError("datasets", "datasets", f"fetching {name} from Hugging Face") from error
    try:
        pinned = {} if home.revision is None else {"revision": home.revision}
        table = datasets.load_dataset(home.repository, home.config, split=home.split, **pinned)
        values = [dict(row) for row in table]
    except Exception as error:
        # The package raises many kinds of errors: its own, those of requests and of the system.
        said = str(error).strip() or type(error).__name__
        raise DistrivoteError(
            f"{name} could not be fetched from {home.url} ({_first_sentence(said)}): {_advice(home, name)}"
        ) from error
    return QuestionTable(
        f"hf:{home.repository}{'' if home.revision is None else f'@{home.revision}'}",
        [QuestionRow(f"{home.repository}, row {number}", row) for number, row in enumerate(values, 1)],
    )


def _first_sentence(text: str) -> str:
    line = text.splitlines()[0].split(". ")[0].rstrip(".: ")
    return line if len(line) <= 200 else line[:199] + "…"


def _advice(home: Home, name: str) -> str:
    local = "give a local copy" if name.startswith("hf:") else f"give a local copy as {name}=FILE"
    if home.gated:
        return (
            f"check the network, agree to its terms on that page and log in with `hf auth login`, or {local}"
        )
    return f"check the network, or {local}"
