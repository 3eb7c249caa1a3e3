"""A calibration <-> a JSON file: what `distrivote calibrate` writes and `--calibration` reads.

    {"format": "distrivote calibration", "version": 1, "intercept": ..., "evidence": ..., "share": ...,
     "fewest": 8, "most": 64, "n_questions": 120, "source": "..."}

Files are small and every field is checked; anything else is refused in one sentence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any, NoReturn

from distrivote.errors import InputError
from distrivote.store.results.files import check_place, whole_file
from distrivote.store.tables.source import cant_read
from distrivote.voting.probability import Calibration
from distrivote.voting.promises import THRESHOLDS, Promise, Risk

FORMAT = "distrivote calibration"
VERSION = 1
_PROMISE = "promise"
"""The optional field."""

_MOST_BYTES = 65_536
_LARGEST = 1e6
"""The largest valid parameter."""


def check_calibration_place(path: str, sources: Sequence[str]) -> None:
    """Raise InputError before the work starts if the file can't be written."""
    if not path.endswith(".json"):
        raise InputError(f"{path}: a calibration is a JSON file, so give it a name that ends in .json")
    for source in sources:
        check_place(path, source)


def write_calibration(calibration: Calibration, path: str) -> None:
    """Write a calibration atomically."""
    document = {"format": FORMAT, "version": VERSION, **asdict(calibration)}
    with whole_file(path) as file:
        file.write(json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n")


def read_calibration(path: str) -> Calibration:
    """Read a calibration; raise InputError if the file is not one."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        cant_read(path, error)
    if len(data) > _MOST_BYTES:
        _refuse(path, "it is too large")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        _refuse(path, "it is not JSON")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        _refuse(path, f'it does not say "format": "{FORMAT}"')
    if document.get("version") != VERSION:
        raise InputError(
            f"{path} is a calibration of version {str(document.get('version'))[:40]} and this distrivote"
            f" reads version {VERSION}: update distrivote, or fit it again with distrivote calibrate"
        )
    names = [field.name for field in fields(Calibration) if field.name != _PROMISE]
    missing = [name for name in names if name not in document]
    if missing:
        _refuse(path, f"it has no {missing[0]}")
    values = {name: _value(path, name, document[name]) for name in names}
    if values["fewest"] > values["most"]:
        _refuse(path, "its fewest is more than its most")
    told = document.get(_PROMISE)
    return Calibration(**values, promise=None if told is None else _promise(path, told))


def _promise(path: str, told: object) -> Promise:
    wrong = "its promise is invalid"
    if not isinstance(told, dict) or {*told} != {field.name for field in fields(Promise)}:
        _refuse(path, wrong)
    risks, numbers = told["risks"], [told[name] for name in ("fewest", "most", "n_questions")]
    if not isinstance(told["method"], str) or not isinstance(risks, list) or len(risks) != len(THRESHOLDS):
        _refuse(path, wrong)
    for least, row in zip(THRESHOLDS, risks, strict=True):
        if not isinstance(row, list) or len(row) != 3 or row[0] != least:
            _refuse(path, wrong)
        numbers += row[1:]
    if any(type(number) is not int or not 0 <= number <= 10**12 for number in numbers):
        _refuse(path, wrong)
    if any(n_wrong > n_given for _, n_given, n_wrong in risks):
        _refuse(path, wrong)
    return Promise(**told | {"risks": tuple(Risk(*row) for row in risks)})


def _value(path: str, name: str, value: object) -> Any:
    if name == "source":
        if not isinstance(value, str) or len(value) > 10_000:
            _refuse(path, "its source is not a text")
        return value
    if name in ("fewest", "most", "n_questions"):
        if type(value) is not int or not 1 <= value <= 10**12:
            _refuse(path, f"its {name} is not a whole number from 1 up")
        return value
    if type(value) not in (int, float):
        _refuse(path, f"its {name} is not a number")
    number = float(value) if abs(value) <= _LARGEST else math.nan  # type: ignore[arg-type]
    if math.isnan(number) or (name != "intercept" and number < 0):
        _refuse(path, f"its {name} is out of range")
    return number


def _refuse(path: str, why: str) -> NoReturn:
    raise InputError(f"{path} is not a calibration ({why}): give a file that distrivote calibrate wrote")
