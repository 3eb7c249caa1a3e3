"""Write docs/reference/cli.md from the commands' own help: `python docs/reference/make_cli.py`.

A test compares the page with the output of this script, so that it stays up to date.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import typer
from typer.main import get_command

from distrivote.cli.main import app

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 80
_INTRODUCTION = """\
# Command line

Generated from `distrivote --help` by `python docs/reference/make_cli.py`. Results go to standard output,
everything else to standard error; in a pipe, tables are tab-separated lines, and most commands take
`--json`. The exit code is 0 for success, 2 for invalid input, 3 for a withheld answer, 130 for Ctrl-C,
and 1 for other errors. `distrivote --install-completion` installs completion for your shell.
"""


def page() -> str:
    """Return the page."""
    root = get_command(app)
    parts = [_INTRODUCTION, _block("distrivote", root)]
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        parts.append(f"## {name}\n")
        parts.append(_block(f"distrivote {name}", command))
    return "\n".join(parts)


def _block(name: str, command: typer.core.TyperCommand) -> str:
    context = command.context_class(command, info_name=name, max_content_width=WIDTH, terminal_width=WIDTH)
    lines = inspect.cleandoc(command.get_help(context)).splitlines()
    return "\n".join(["```text", *(line.rstrip() for line in lines), "```", ""])


def main() -> None:
    PAGE.write_text(page())
    print(PAGE)


if __name__ == "__main__":
    main()
