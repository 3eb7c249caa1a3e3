"""Replies that others have published on the Hugging Face hub, as a file that an importer can read."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from distrivote.benchmarks.hub import Home, fetch
from distrivote.errors import InputError

PREFIX = "hf:"
_NAME = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(?:/(?P<config>[\w.-]+))?(?::(?P<split>[\w.-]+))?")


def home_of(name: str) -> Home:
    """Return the address that `hf:ORG/NAME[/CONFIG][:SPLIT]` means; a folder of this machine is one too.

    >>> home_of("hf:org/replies/small:test")
    Home(repository='org/replies', config='small', split='test', revision=None, gated=False)
    """
    given = name.removeprefix(PREFIX)
    if os.path.isdir(given):
        return Home(given)
    found = _NAME.fullmatch(given)
    if found is None:
        raise InputError(
            f"the source {name!r} is not a data set of the hub", hint="write hf:ORG/NAME[/CONFIG][:SPLIT]"
        )
    return Home(found["repository"], found["config"], found["split"] or "train")


def fetched_file(name: str, folder: Path) -> Path:
    """Fetch the rows of a data set into a file of JSON Lines in a folder, and return its path."""
    home = home_of(name)
    path = folder / (re.sub(r"[^\w.-]+", "_", home.repository).strip("_.") + ".jsonl")
    with open(path, "x", encoding="utf-8") as file:
        for row in fetch(home, name).rows:
            # A column without any value would look like one that others have filled.
            values = {key: value for key, value in row.values.items() if value is not None}
            print(json.dumps(values, ensure_ascii=False, default=str), file=file)
    return path
