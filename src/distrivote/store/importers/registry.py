"""Every format that can be imported, and the detection of a file's format."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from distrivote.errors import InputError
from distrivote.names import IMPORTER, found, unknown
from distrivote.store.importers.base import HEAD, Format
from distrivote.store.natural import natural_key
from distrivote.store.tables.source import cant_read, is_run

# More specific ones first: a plain table is the fallback.
_MODULES = (
    "deepconf",
    "inspect_logs",
    "lm_eval",
    "vllm_dumps",
    "openai_files",
    "nemo_skills",
    "search_and_learn",
    "self_certainty",
    "all_answers",
    "graded_answers",
    "answer_tokens",
    "scorio",
    "responses",
    "plain",
)


def formats() -> tuple[Format, ...]:
    """Return every format, in the order of detection."""
    found: list[Format] = []
    for name in _MODULES:
        module = import_module(f"distrivote.store.importers.{name}")
        found += [value for value in vars(module).values() if isinstance(value, Format)]
    return tuple(found)


class Source(NamedTuple):
    """A file and its format."""

    path: Path
    format: Format


def sources(paths: Sequence[str], name: str | None = None) -> tuple[Source, ...]:
    """Return the files of these paths with their formats; a folder is replaced by its files.

    In a folder, files of unknown formats are left out; a file that is named must have a known format.
    """
    known = formats()
    names = [each.name for each in known]
    if name is not None and name not in names:
        from distrivote.store.importers.own import own_format

        own = found(IMPORTER, name, names)
        if own is None:
            raise unknown(IMPORTER, name, names)
        known = (own_format(own),)
    files: list[Source] = []
    for given in paths:
        path = Path(given)
        if is_run(given):
            raise InputError(f"{given} is a run already: distrivote vote and show read it as it is")
        if not path.is_dir():
            files.append(Source(path, _format_of(path, known, name)))
            continue
        inside = [
            Source(file, kind) for file in _files(path) if (kind := _detected(file, known, name)) is not None
        ]
        if not inside:
            raise InputError(
                f"{given} holds no file of a known format", hint="name one with `format`", argument="format"
            )
        files += inside
    return tuple(files)


def _files(folder: Path) -> Iterator[Path]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    yield from sorted(files, key=lambda path: natural_key(str(path)))


def _format_of(path: Path, known: Sequence[Format], name: str | None) -> Format:
    found = _detected(path, known, name)
    if found is None and name is not None:
        # With an explicit format the name of a file may be anything.
        found = next(each for each in known if each.name == name)
    if found is None and not _head(path).strip():
        raise InputError(f"{path} is empty: an import needs at least one row of question and answer")
    if found is None:
        names = ", ".join(each.name for each in known)
        raise InputError(
            f"{path} is of an unknown format ({names})",
            hint="say which it is with `format`",
            argument="format",
        )
    return found


def _detected(path: Path, known: Sequence[Format], name: str | None) -> Format | None:
    head = _head(path)
    return next((each for each in known if name in (None, each.name) and each.is_one(path, head)), None)


def _head(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InputError(f"{path} is no file but a pipe or a device: write it into a file first")
        with open(path, "rb") as file:
            return file.read(HEAD)
    except (OSError, ValueError) as error:
        cant_read(str(path), error)
