"""Every error that distrivote raises on purpose, and the names of arguments in their messages.

    DistrivoteError
    ├── InputError            an argument or a file can't be used (also a ValueError); exit code 2
    │   └── UnknownNameError  a method or option that does not exist; lists the nearest names
    ├── OwnCodeError          a function or an object of the user's failed; exit code 2
    ├── EngineError           a model or its server failed; says whether trying again may help
    │   ├── RefusedError      a server refuses this request; another one may be accepted
    │   ├── SetupError        nothing works until a key, an address, a model or credit is changed
    │   └── SpentError        a limit of tokens or cost is reached
    └── MissingPackageError   an optional package is not installed; names the extra (also an ImportError)

An error has three parts: its `message` says what is wrong and where, its `hint` what to do next, and its
`argument` is the Python name of the wrong argument. A hint names arguments in backticks, as in Python:
`budget`, `steering=None`, `same="math"`. Python shows that unchanged; the command line translates it into
options (`cli/words.py`), the server into fields (`server/words.py`). The same holds for notes, the sentences
about a result. Additional lines of an error are its notes (`add_note`).

Bugs in our own code are not in this tree: their exceptions are not converted.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_MOST_NAMES = 24
_LONGEST_NAME = 200
"""Longer names are cut where they are quoted, and nothing is like them."""

_ARGUMENT = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")

Spell = Callable[[str, str | None], str | None]
"""A door's words for an argument and the value to give it, if any; None: no argument, so it stays."""


def reworded(text: str, spell: Spell) -> str:
    """Return a hint or a note with its arguments in the words of a door.

    >>> reworded("lower `max_tokens`, not `x`", lambda name, _: "--max-tokens" if "_" in name else None)
    'lower --max-tokens, not `x`'
    """
    return _ARGUMENT.sub(lambda found: spell(found[1], found[2]) or found[0], text)


class DistrivoteError(Exception):
    """The root: catch it to catch everything that distrivote raises on purpose.

    >>> error = InputError("the budget is 0", hint="give 1 or more", argument="budget")
    >>> str(error), error.argument
    ('the budget is 0: give 1 or more', 'budget')
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None, argument: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        """What is wrong, and where."""

        self.hint = hint
        """What to do, with arguments in backticks; None: the message says it, or nothing can be done."""

        self.argument = argument
        """The Python name of the wrong argument, if there is one."""

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}: {self.hint}"

    def in_words(self, spell: Spell) -> str:
        """Return the sentence in the words of a door; only the hint is our own to reword."""
        return self.message if self.hint is None else f"{self.message}: {reworded(self.hint, spell)}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross processes; their constructors take other arguments than those kept in `args`.
        return _revived, (type(self), self.args), self.__dict__


def _revived(kind: type[DistrivoteError], args: tuple[Any, ...]) -> DistrivoteError:
    return kind.__new__(kind, *args)


class InputError(DistrivoteError, ValueError):
    """An argument or a file can't be used."""

    exit_code = 2


class UnknownNameError(InputError):
    """A name that does not exist; the hint lists the nearest ones that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, argument: str | None = None) -> None:
        hint = suggestion(name, [each for each in known if each != name])
        shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        super().__init__(f"unknown {kind} {shown!r}", hint=hint, argument=argument)


def suggestion(name: str, known: Sequence[str], most: int = _MOST_NAMES) -> str:
    """Return the names that may have been meant, or the existing ones if none is near.

    >>> suggestion("tial", ["tail", "mean"]), suggestion("x", ["tail", "mean"], most=1)
    ('did you mean tail?', 'there are tail and 1 more')
    """
    nearest = difflib.get_close_matches(name, known, n=3, cutoff=0.4) if len(name) <= _LONGEST_NAME else []
    if nearest:
        return f"did you mean {', '.join(nearest)}?"
    more = f" and {len(known) - most:,} more" if len(known) > most else ""
    return f"there are {', '.join(known[:most])}{more}"


class OwnCodeError(DistrivoteError):
    """A function or an object of the user's raised something, or returned what can't be used."""

    exit_code = 2

    trajectories: tuple[Any, ...] = ()
    """What was sampled before: `solution_of` votes on it."""


class EngineError(DistrivoteError):
    """A model or its server failed."""

    def __init__(
        self, message: str, *, retryable: bool = False, hint: str | None = None, argument: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, argument=argument)
        self.retryable = retryable
        """Whether the same call may work later."""


class RefusedError(EngineError):
    """A server refuses this request, or can't do what it asks for; another one may be accepted."""


class SetupError(EngineError):
    """A server refuses every request until its key, address, model or credit is changed."""


class SpentError(EngineError):
    """A limit of tokens or cost is reached."""


ENDS_SAMPLING = (EngineError, OwnCodeError)
"""What ends the sampling of a question early: the trajectories that have finished vote (`Poll.finish`)."""


class MissingPackageError(DistrivoteError, ImportError):
    """An optional package is not installed; the hint is the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed",
            hint=f"{install_command(extra)} in the project's folder",
        )


def install_command(extra: str, options: str = "") -> str:
    """Return what installs an extra, in the folder of the project: no package index has it yet.

    >>> install_command("math"), install_command("math", "-U ")
    ("pip install '.[math]'", "pip install -U '.[math]'")
    """
    return f"pip install {options}'.[{extra}]'"
