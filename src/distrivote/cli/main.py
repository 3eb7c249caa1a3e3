"""The command line: runs a command and turns our errors into one line."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from distrivote.cli.commands import Root
from distrivote.cli.messages import say
from distrivote.cli.words import worded
from distrivote.errors import DistrivoteError

app = typer.Typer(
    name="distrivote",
    cls=Root,
    help="Ask a language model the same question N times and believe the right answer.",
    # Rich help alone would take longer to load than everything else.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT)


def _print_version(wanted: bool) -> None:
    if wanted:
        from distrivote.version import __version__

        print(f"distrivote {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Ask a language model the same question N times and believe the right answer."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 for success, 2 for invalid input, 1 for other errors.

    A closed pipe, as in `| head`, prints no error; Typer handles that.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without UTF-8 gets ? and not a crash
            stream.reconfigure(errors="replace")
    try:
        app(args=_with_address(sys.argv[1:] if argv is None else argv), prog_name="distrivote")
    except DistrivoteError as error:
        say(f"distrivote: error: {worded(error)}")
        for line in getattr(error, "__notes__", ()):
            say(f"  {worded(line)}")
        sys.exit(error.exit_code)
    except OSError as error:
        if error.filename is not None and error.errno in _NOT_WRITABLE:
            place = os.path.dirname(os.fsdecode(error.filename)) or "."
            say(
                f"distrivote: error: can't write to {place} ({error.strerror}):"
                " check the folder and its space"
            )
            sys.exit(2)
        # A full disk or the like. Python would raise again at exit when it flushes the rest.
        say(f"distrivote: error: {error}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _with_address(argv: Sequence[str]) -> list[str]:
    """Add the address `local` to a `--ray` without one; Typer has no options with an optional value.

    >>> _with_address(["generate", "x", "--ray", "-o", "run"])
    ['generate', 'x', '--ray=local', '-o', 'run']
    """
    following = [*argv, "-"][1:]
    return [
        "--ray=local" if word == "--ray" and after.startswith("-") else word
        for word, after in zip(argv, following, strict=True)
    ]


if __name__ == "__main__":
    main()
