"""What made an added column of a run: one small JSON file with a checksum, as a manifest has."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from distrivote.errors import InputError
from distrivote.store.runs.folder import Folder
from distrivote.store.runs.manifest import is_sealed, sealed

NAME = "scorer.json"
FORMAT_VERSION = 1
_LARGEST = 1 << 20
"""In bytes."""


@dataclass(frozen=True, slots=True)
class ScorerRecord:
    """The scorer of a column."""

    scorer: str
    """Its name, as given."""

    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What else decides the numbers: the model, the fields of requests, ..."""

    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where a scorer of the user's own came from; not compared."""

    format_version: int = FORMAT_VERSION

    @classmethod
    def load(cls, folder: Folder) -> Self:
        """Return the record of a column; raise FileNotFoundError if there is none."""
        path = f"{folder.address}/{NAME}"
        with folder.open(NAME) as file:
            raw = file.read(_LARGEST)
        try:
            content = json.loads(raw) if is_sealed(raw) else None
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict) or not isinstance(content.get("format_version"), int):
            raise InputError(f"{path} is damaged or was edited: restore it from a copy, or remove its folder")
        if content["format_version"] > FORMAT_VERSION:
            raise InputError(f"{path} is of a newer distrivote: install a newer distrivote")
        names = [each.name for each in dataclasses.fields(cls)]
        try:
            return cls(**{name: content[name] for name in names})
        except KeyError as error:
            raise InputError(f"{path} lacks {error}: restore it from a copy") from error

    def create(self, folder: Folder) -> bool:
        """Write it unless another writer has done so, and return whether this one did."""
        return folder.create(NAME, sealed(json.dumps(dataclasses.asdict(self), indent=2).encode()))

    def is_same(self, other: ScorerRecord) -> bool:
        """Return whether two columns were made by the same scorer with the same settings."""
        return (self.scorer, dict(self.settings)) == (other.scorer, dict(other.settings))
