"""The help of a command: plain text, its options in panels, within the width of the terminal.

Typer's own plain help has no panels, breaks options at their hyphens and writes `QUESTION <str>`; its rich
help would take longer to load than everything else.
"""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from typer.core import TyperArgument, TyperCommand

WIDEST = 80
_NARROWEST = 40
_MOST_FOR_NAMES = 26
_MOST_FOR_NAMES_IF_NARROW = 20
_OWN = "Options"
"""The heading of options that are in no panel; they come first."""

_FEW = 10
"""Up to this number of options there are no panels."""

_DEFAULT = re.compile(r"\[default: [^\]]*\]$")


class Section(NamedTuple):
    """A heading and the entries under it: names, each with its description."""

    heading: str
    rows: Sequence[tuple[str, str]]


class Command(TyperCommand):
    """A command whose help has its options in panels."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        params = self.get_params(ctx)
        arguments = [_usage(each) for each in params if isinstance(each, TyperArgument)]
        needed = [each for each in params if each.required and not isinstance(each, TyperArgument)]
        options = [f"{min(each.opts, key=len)} {each.metavar}" for each in needed]
        return ["[OPTIONS]", *arguments, *options]

    def get_help(self, ctx: Any) -> str:
        arguments: list[tuple[str, str]] = []
        panels: dict[str, list[tuple[str, str]]] = {_OWN: []}
        *params, to_help = self.get_params(ctx)
        for each in params:
            if isinstance(each, TyperArgument):
                arguments.append((_name(each), _argument_help(each)))
            elif (record := each.get_help_record(ctx)) is not None:
                panel = getattr(each, "rich_help_panel", None) or _OWN
                panels.setdefault(panel, []).append(record)
        if sum(map(len, panels.values())) <= _FEW:
            panels = {_OWN: [row for rows in panels.values() for row in rows]}
        list(panels.values())[-1].append(to_help.get_help_record(ctx) or ("--help", ""))
        sections = [Section(*item) for item in panels.items()]
        return help_text(ctx, self.help or "", [Section("Arguments", arguments), *sections])


def help_text(ctx: Any, description: str, sections: Sequence[Section], *, aligned: bool = True) -> str:
    """Return the whole help of a command: its usage, what it does, and sections that are not empty.

    Descriptions are aligned in one column, across all sections if `aligned`, else within each.
    """
    width = width_of(ctx)
    pieces = ctx.command.collect_usage_pieces(ctx)
    usage = f"Usage: {ctx.command_path} {' '.join(pieces)}"
    lines = _wrapped(usage, width, "", "           ")
    for paragraph in inspect.cleandoc(description).split("\n\n"):
        lines += ["", *_paragraph(paragraph, width)]
    sections = [section for section in sections if section.rows]
    most = _MOST_FOR_NAMES if width >= WIDEST - 1 else _MOST_FOR_NAMES_IF_NARROW
    rows = [row for section in sections for row in section.rows]
    for section in sections:
        lines += ["", f"{section.heading}:"]
        lengths = [len(name) for name, _ in (rows if aligned else section.rows)]
        room = max((n for n in lengths if n <= most), default=0)
        for name, said in section.rows:
            lines += _row(name, said, room, width)
    return "\n".join(lines)


def width_of(ctx: Any) -> int:
    """Return the width of the help: that of the context, or of the terminal, within limits."""
    if ctx.terminal_width is not None:
        return int(ctx.terminal_width)
    return max(_NARROWEST, min(shutil.get_terminal_size().columns, WIDEST)) - 1


def _paragraph(text: str, width: int) -> list[str]:
    r"""Return the lines of a paragraph; one that begins with \b keeps its own lines."""
    if not text.startswith("\b"):
        return _wrapped(" ".join(text.split()), width, "  ", "  ")
    lines: list[str] = []
    for line in text.splitlines()[1:]:
        indent = "  " + " " * (len(line) - len(line.lstrip()))
        lines += _wrapped(line.strip().replace("  ", " \0"), width, indent, f"{indent}  ")
    return lines


def _row(name: str, said: str, room: int, width: int) -> list[str]:
    """Return a name and its description, on the same line or, if the name is long, below."""
    below = " " * (room + 4)
    said = _DEFAULT.sub(lambda found: found.group().replace(" ", "\0"), said)
    if len(name) > room:
        return [f"  {name}", *_wrapped(said, width, below, below)]
    return _wrapped(said, width, f"  {name:{room}}  ", below) or [f"  {name}"]


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    # Options and paths stay whole: --base-url is not broken at its hyphens, nor [default: 32] at its space.
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _usage(argument: Any) -> str:
    name = _name(argument) if argument.required else f"[{_name(argument)}]"
    return f"{name}..." if argument.nargs != 1 else name


def _argument_help(argument: Any) -> str:
    is_shown = argument.default is not None and argument.show_default
    return f"{argument.help}  [default: {argument.default}]" if is_shown else str(argument.help or "")
