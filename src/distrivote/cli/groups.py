"""Options in groups: a frozen dataclass whose fields become options of every command that takes it.

A field is annotated as a parameter of a Typer command would be. A command that is `grouped` names the group
as one parameter and gets one object; Typer sees the fields. The class of a group says in which panel of the
help its options are listed, and its methods interpret them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

from typer.models import ParameterInfo


class OptionGroup:
    """The base of all groups."""

    __slots__ = ()

    panel: ClassVar[str]
    """The heading of its options in the help of a command."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command in Typer's form: each field of its groups is a separate parameter."""
    asked = inspect.signature(command, eval_str=True).parameters
    groups = {name: each.annotation for name, each in asked.items() if _is_group(each.annotation)}
    parameters: list[inspect.Parameter] = []
    for name, each in asked.items():
        own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        parameters += _parameters(groups[name]) if name in groups else own

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, OptionGroup) and is_dataclass(annotation)


def _parameters(group: Any) -> Iterator[inspect.Parameter]:
    """Yield the fields of a group as parameters, each in the panel of the group unless it names another."""
    annotations = get_type_hints(group, include_extras=True)
    for field in fields(group):
        kind, info = get_args(annotations[field.name])
        assert isinstance(info, ParameterInfo)
        placed = copy(info)
        placed.rich_help_panel = info.rich_help_panel or group.panel
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=Annotated[kind, placed],
        )
