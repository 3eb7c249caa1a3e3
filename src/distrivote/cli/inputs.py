"""`--inputs`: what programs are tried on, from a file or from the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from distrivote.errors import InputError

if TYPE_CHECKING:
    from distrivote.answers.code.given import Inputs

_FORMAT = "write a list of arguments in each line, such as [2, 3]"


def asked_inputs(given: str | None) -> Inputs | str | None:
    """Return what the option names: the inputs of a file, or the name `model`."""
    from distrivote.answers.code.given import FROM_MODEL

    return given if given is None or given == FROM_MODEL else inputs_of_file(given)


def inputs_of_file(path: str) -> Inputs:
    """Return the inputs of a file of JSON Lines; blank lines are skipped."""
    from distrivote.answers.code.given import FROM_MODEL, MOST_GIVEN, fault_of

    if path == FROM_MODEL:
        raise InputError("there is no model here that could be asked for inputs: name a file with --inputs")
    try:
        text = Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text: {_FORMAT}") from error
    found = []
    # Not splitlines: JSON texts may hold other characters that end lines.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number} of {path} is not JSON ({error}): {_FORMAT}") from error
        fault = fault_of(value)
        if fault is not None:
            raise InputError(f"line {number} of {path} {fault}: {_FORMAT}")
        found.append(tuple(value))
    if not 0 < len(found) <= MOST_GIVEN:
        raise InputError(f"{path} has {len(found):,} inputs: give 1 to {MOST_GIVEN}")
    return found
