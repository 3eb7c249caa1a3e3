"""The schema that JSON must satisfy to be an answer: a JSON Schema, or a response_format of OpenAI's API.

    {"type": "object", ...}        a JSON Schema itself
    {"type": "json_schema", ...}   the schema in it; `name` and `strict` do not count
    {"type": "json_object"}        any object
    {"type": "text"}               no schema

The package jsonschema validates, from the extra `json`; {"type": "json_object"} does not need it. `format` is
not checked, and a schema must not refer to anything outside itself: nothing is fetched.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from distrivote.answers.structured.same import path_text
from distrivote.errors import InputError, MissingPackageError

_LONGEST = 120


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The schema that an answer must satisfy."""

    document: Mapping[str, Any]
    """The JSON Schema."""

    validator: Any = None
    """The validator of the package jsonschema; None: any object is valid."""

    def flaw(self, value: Any) -> str | None:
        """Return the first error in a value, with its path, in a few words; None if the value is valid.

        >>> schema_of({"type": "json_object"}).flaw([1])
        '$: [1] is not an object'
        """
        if self.validator is None:
            return None if isinstance(value, dict) else f"$: {_short(repr(value))} is not an object"
        try:
            error = next(self.validator.iter_errors(value), None)
        except RecursionError:
            raise _invalid("it refers to itself without end") from None
        except (ArithmeticError, ValueError) as problem:  # multipleOf a number too small for a double
            return f"$: it can't be checked ({_short(str(problem))})"
        return None if error is None else f"{path_text(tuple(error.absolute_path))}: {_short(error.message)}"

    def accepts(self, value: Any) -> bool:
        """Say whether a value satisfies the schema.

        >>> schema_of({"type": "json_object"}).accepts({})
        True
        """
        return self.flaw(value) is None


def schema_of(given: object) -> Schema | None:
    """Return the schema of a JSON Schema or a response_format, None if it asks for none.

    Raises InputError if it is neither, MissingPackageError without the package jsonschema.

    >>> schema_of({"type": "text"}) is None
    True
    """
    if not isinstance(given, Mapping):
        raise InputError(
            f"the JSON schema is a {type(given).__name__}", hint="give an object", argument="answer"
        )
    kind = given.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return Schema({"type": "object"})
    if kind == "json_schema":
        inner = given.get("json_schema", given)
        found = inner.get("schema") if isinstance(inner, Mapping) else None
        if not isinstance(found, Mapping):
            raise InputError(
                "the response_format json_schema has no schema",
                hint='give {"type": "json_schema", "json_schema": {"name": ..., "schema": {...}}}',
                argument="answer",
            )
        return _compiled(found)
    return _compiled(given)


def _compiled(document: Mapping[str, Any]) -> Schema:
    try:
        jsonschema = importlib.import_module("jsonschema")
        referencing = importlib.import_module("referencing")
    except ImportError:
        raise MissingPackageError("jsonschema", "json", "checking answers against a JSON schema") from None
    if not isinstance(document.get("$schema", ""), str):
        raise _invalid("its $schema is not a string")
    kind = jsonschema.validators.validator_for(document, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(document, format_checker=kind.FORMAT_CHECKER)
    except jsonschema.exceptions.SchemaError as error:
        raise _invalid(f"{error.message} at {path_text(tuple(error.absolute_path))}") from None
    except RecursionError:
        raise _invalid("it is nested too deep") from None
    # An empty registry of our own: the default one fetches what a $ref names from the network.
    registry = referencing.Registry()
    validator = kind(document, registry=registry)
    _check_references(document, registry, kind, referencing)
    return Schema(document, validator)


def _check_references(document: Mapping[str, Any], registry: Any, kind: Any, referencing: Any) -> None:
    """Raise InputError if the schema refers to something outside itself."""
    specification = referencing.jsonschema.specification_with(
        kind.META_SCHEMA.get("$schema", ""), default=referencing.jsonschema.DRAFT202012
    )
    resource = specification.create_resource(document)
    resolver = registry.resolver_with_root(resource)
    for reference, has_own_base in _references(document):
        try:
            if not has_own_base:
                resolver.lookup(reference)
        except referencing.exceptions.Unresolvable:
            raise _invalid(f"$ref {_short(reference)!r} is not in it") from None


def _references(node: Any, has_own_base: bool = False, is_root: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield every $ref, and whether it is in a part with its own $id."""
    if isinstance(node, Mapping):
        has_own_base = has_own_base or ("$id" in node and not is_root)
        for key, each in node.items():
            if key in ("$ref", "$dynamicRef") and isinstance(each, str):
                yield each, has_own_base
            elif key not in ("enum", "const", "default", "examples"):
                yield from _references(each, has_own_base, False)
    elif isinstance(node, list):
        for each in node:
            yield from _references(each, has_own_base, False)


def _invalid(what: str) -> InputError:
    return InputError(f"the JSON schema is invalid: {_short(what)}", argument="answer")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
