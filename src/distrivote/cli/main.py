"""The command line: gathers the commands and turns our errors into one line.

Nothing heavy is imported before a command runs: `distrivote --help` should answer at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from distrivote.cli.ask import ask
from distrivote.cli.calibrate import calibrate
from distrivote.cli.doctor import doctor
from distrivote.cli.evaluate import evaluate
from distrivote.cli.generate import generate
from distrivote.cli.importing import import_files
from distrivote.cli.messages import say
from distrivote.cli.plan import plan
from distrivote.cli.reproduce import reproduce
from distrivote.cli.runs import compact, export, runs, show
from distrivote.cli.serve import serve
from distrivote.cli.simulate import simulate
from distrivote.cli.vote import vote
from distrivote.errors import DistrivoteError

app = typer.Typer(
    name="distrivote",
    help="Ask a language model the same question N times and believe the right answer.",
    # Rich help alone would take longer to load than everything else.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)
# What the first line of a command's help says, in as many words as fit in the list of commands.
_COMMANDS = (
    ("ask", ask, "Ask a language model the same question N times and vote."),
    ("generate", generate, "Sample a benchmark into a run."),
    ("vote", vote, "Vote on every question of a file of sampled answers."),
    ("import", import_files, "Turn files that other tools wrote into a run."),
    ("serve", serve, "Answer with votes over an OpenAI-compatible API."),
    ("evaluate", evaluate, "Compare methods on runs with known answers."),
    ("reproduce", reproduce, "Sample and evaluate the paper's grid for a model."),
    ("calibrate", calibrate, "Fit probabilities to runs with known answers."),
    ("simulate", simulate, "Draw a run without any model."),
    ("plan", plan, "Say what each budget buys."),
    ("doctor", doctor, "Say what works here, and what to install for the rest."),
    ("runs", runs, "List the stored runs in a folder."),
    ("show", show, "Show a run, a question or a trajectory."),
    ("compact", compact, "Merge the parts of a run."),
    ("export", export, "Write a run as a table, or as a copy to publish."),
)
for _name, _command, _short in _COMMANDS:
    app.command(_name, short_help=_short)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"distrivote {version('distrivote')}")
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
    """Run the command line and exit: 0 for done, 2 for input that can't be used, 1 for the rest.

    A reader that has gone away, as in `| head`, is met with silence; Typer sees to that.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without UTF-8 gets ? and not a crash
            stream.reconfigure(errors="replace")
    try:
        app(args=_with_address(sys.argv[1:] if argv is None else argv), prog_name="distrivote")
    except DistrivoteError as error:
        say(f"distrivote: error: {error}")
        for line in getattr(error, "__notes__", ()):
            say(f"  {line}")
        sys.exit(error.exit_code)
    except OSError as error:
        # A full disk or the like. Python would stumble over the unwritten rest when it exits.
        say(f"distrivote: error: {error}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _with_address(argv: Sequence[str]) -> list[str]:
    """Give `--ray` without an address one that means this machine; Typer knows no such option.

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
