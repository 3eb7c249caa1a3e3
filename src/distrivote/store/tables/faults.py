"""Errors about a table's values: one sentence each, the same for every format.

`where` is the position: "answers.csv, line 17" or "answers.parquet, row 16".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from distrivote.errors import InputError
from distrivote.voting.scales import not_permitted

FLAGS = {"true": True, "1": True, "false": False, "0": False}
"""The values of the column `correct`, as lower-case labels."""

HEAVIEST = 3 << 30
"""Bytes of memory that the JSON values of one line or document may take, by a cautious estimate."""

LONGEST_HEADER = 1_000_000
"""Characters of a line with the names of columns."""

_LIGHT = 16 << 20
_MOST_LISTED = 20


def missing_id(where: str, column: str) -> InputError:
    return InputError(f"{where}: {column} is missing, and every row needs one: fill it in or drop the row")


def not_text(where: str, what: str) -> InputError:
    return InputError(f"{where}: {what} is not UTF-8 text: write the file again as UTF-8")


def decoded(line: bytes, where: Callable[[], str], first: bool = False) -> str:
    """Return a line as text, without a byte order mark; raise InputError with its position otherwise."""
    if b"\0" in line:
        raise InputError(f"{where()} holds a NUL byte: write the file again as plain UTF-8 text")
    try:
        return line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise not_text(where(), f"byte {error.start + 1}") from error


def delimiter_of(header: str, where: str) -> str:
    """Return the separator of a CSV header; raise InputError if the line is too long for one."""
    if len(header) > LONGEST_HEADER:
        raise InputError(
            f"{where} is a header of more than {LONGEST_HEADER // 1_000_000} MB: write the names of the"
            " columns there"
        )
    return max(",\t;", key=header.count)


def check_fields(n_fields: int, n_names: int, where: str, delimiter: str) -> None:
    """Raise InputError if a line of CSV has another number of fields than its header."""
    if n_fields != n_names:
        raise InputError(
            f"{where} has {n_fields} fields where the header has {n_names}: quote fields that hold the"
            f" separator {delimiter!r}"
        )


def not_csv(where: str, error: Exception) -> InputError:
    return InputError(
        f"{where} is not valid CSV ({error}): a field with quotes must be quoted, and its quotes doubled"
    )


def check_names(names: Sequence[str], source: str) -> None:
    """Raise InputError if two columns have the same name."""
    name, n = max(Counter(names).items(), key=lambda each: each[1], default=("", 0))
    if n > 1:
        raise InputError(f"{source} has {n} columns called {name[:200]!r}: rename all but one")


def listed(names: Sequence[str]) -> str:
    """Return names of columns as a list, shortened if there are many."""
    shown = [name if len(name) <= 40 else name[:39] + "…" for name in names[:_MOST_LISTED]]
    # A line end in a name would break the sentence into two lines.
    shown = [name if name.isprintable() else repr(name)[1:-1] for name in shown]
    return ", ".join(shown) + (f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else "")


def not_a_number(where: str, value: object) -> InputError:
    return InputError(
        f"{where}: confidence is {quoted(value)}, which is not a number: write one there, or leave it blank"
    )


def not_a_flag(where: str, value: object) -> InputError:
    return InputError(f"{where}: correct is {quoted(value)}: write true or false there")


def not_a_confidence(where: str, value: float, positive_for: str | None) -> InputError:
    """Return the error for a number that is infinite, or not positive where that is needed."""
    return not_permitted(f"{where}: confidence", value, positive_for)


def quoted(value: object, longest: int = 60) -> str:
    """Return the value as a Python literal, shortened."""
    text = repr(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def check_weight(content: bytes, where: str) -> None:
    """Raise InputError if JSON would take far more memory than it has bytes, as millions of {} do."""
    if len(content) > _LIGHT:
        weight = 200 * content.count(b"{") + 64 * content.count(b"[") + 60 * content.count(b",")
        if weight > HEAVIEST:
            raise InputError(
                f"{where} holds JSON values that would take more than {HEAVIEST >> 30} GB of"
                " memory: write fewer of them at once"
            )


def json_object(text: str, where: Callable[[], str], fields: str) -> dict[str, Any]:
    """Return the object on one line of JSON; the error names the `fields` that it should have."""
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where()} is not valid JSON ({error.msg} at character {error.pos + 1}): write one"
            " JSON object per line"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where()} can't be read as JSON ({str(error).split(';')[0]}): write one flat JSON"
            " object per line"
        ) from error
    if not isinstance(record, dict):
        # A long one may be too deep to show.
        shown = "a list" if isinstance(record, list) and len(text) > 200 else quoted(record, 40)
        raise InputError(
            f"{where()} is not a JSON object but {shown}: write one object with {fields} per line"
        )
    return record
