"""User-defined names: `package.module:object`, and the entry points of installed packages.

This is the only resolver. Every place that takes a name checks its own names first, then calls `found`,
which returns the object, or None if the name is neither an entry point of that role nor written as
`package.module:object`. The place that uses the object checks its shape; a plain function is enough for
every role; `called` makes one sentence of what it raises. A module is searched on Python's path and then in
the working directory.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from functools import cache, partial
from importlib import import_module, metadata
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from distrivote.errors import DistrivoteError, InputError, OwnCodeError, UnknownNameError, suggestion

_WORD = r"[^\W\d]\w*"
SPEC = re.compile(rf"(?P<module>{_WORD}(?:\.{_WORD})*):(?P<object>{_WORD}(?:\.{_WORD})*)")
"""`package.module:object`."""

_LONGEST_TEXT = 200
"""The text of a user's exception is cut at so many characters."""

_Whole = TypeVar("_Whole")

_NEAR = 0.75
"""The similarity to a known name from which a name such as `lable:yes` is treated as a typo."""


class Role(NamedTuple):
    """The role of a named object."""

    noun: str
    group: str
    """The group of the entry points."""

    argument: str
    """The Python name of the argument that takes it, for errors."""

    shape: str
    """What the object may be; the text follows "give"."""


METHOD = Role(
    "method",
    "distrivote.methods",
    "method",
    "a function (classes, confidences) -> class or scores, a vote or a Pipeline",
)
FILTER = Role("filter", "distrivote.filters", "method", "a function (confidences) -> cut, or a filter")
MEASURE = Role("measure", "distrivote.measures", "measure", "a function (trajectory) -> number, or a Measure")
SPLITTER = Role("splitter", "distrivote.splitters", "split", "a function (step) -> bool, or a splitter")
ANSWER = Role(
    "kind of answer", "distrivote.answers", "answer", "a function (text) -> answer or None, or a Kind"
)
SAME = Role(
    "way to compare answers",
    "distrivote.equalities",
    "same",
    "a function (a, b) -> bool, a function (answer) -> key, or an Equality",
)
STEERING = Role(
    "controller",
    "distrivote.controllers",
    "steering",
    "a function (text, confidences) -> text to inject, End() or None, or a controller",
)
STOP_RULE = Role(
    "rule to stop by",
    "distrivote.stop_rules",
    "stop_when",
    "a function (ballot, n_left) -> bool, or an object with settled(ballot, n_left)",
)
ENGINE = Role(
    "engine",
    "distrivote.engines",
    "engine",
    "a function (messages, seed) -> text or Trajectory, or a class of engines",
)
BENCHMARK = Role(
    "benchmark",
    "distrivote.benchmarks",
    "benchmark",
    "a function () -> problems or pairs of question and answer, or a Benchmark",
)
IMPORTER = Role("format", "distrivote.importers", "format", "a function (path) -> rows as dicts, or a Format")
SCORER = Role(
    "scorer",
    "distrivote.scorers",
    "scorer",
    "a function (reply) -> number, or an object with score_all(replies)",
)
ROLES = (
    *(METHOD, FILTER, MEASURE, SPLITTER, ANSWER, SAME),
    *(STEERING, STOP_RULE, ENGINE, BENCHMARK, IMPORTER, SCORER),
)


class Own(NamedTuple):
    """A user's object."""

    name: str
    """The name as given; it resolves to the same object again."""

    value: Any
    home: ModuleType | metadata.EntryPoint | None = None
    """Where it was found; None for an object that was passed directly."""

    @property
    def origin(self) -> str:
        """Where it came from: the version of its package, or the digest of its source."""
        if self.home is None:
            return "given as an object"
        if isinstance(self.home, ModuleType):
            return _origin(self.home)
        package = self.home.dist
        return "" if package is None else f"{package.name} {package.version}, {self.home.value}"


_closed = ContextVar("closed", default=False)
_loaded: dict[tuple[Role, str], Own] = {}


@contextmanager
def only_loaded() -> Iterator[None]:
    """Refuse `package.module:object` unless it is already loaded: for names in requests."""
    token = _closed.set(True)
    try:
        yield
    finally:
        _closed.reset(token)


def found(role: Role, name: str, known: Collection[str] = ()) -> Own | None:
    """Return the object of a user-defined name; None if it is not such a name.

    `known` are the names of the library: text before a colon that is one of them, or very similar to one, is
    not a module.

    >>> found(MEASURE, "statistics:fmean").value([1, 3]), found(MEASURE, "mean")
    (2.0, None)
    """
    if (role, name) in _loaded:
        return _loaded[role, name]
    entry = _entry_points(role.group).get(name)
    if entry is not None:
        own = _of_entry_point(role, entry)
    else:
        match = SPEC.fullmatch(name)
        if match is None or not _is_module(match["module"], known):
            return None
        if _closed.get():
            raise InputError(
                f"the {role.noun} {name!r} is Python code, which a request can't name",
                hint="give a name that this server has, or start the server with it",
                argument=role.argument,
            )
        own = Own(name, *_imported(role, name, match))
    _loaded[role, name] = own
    return own


def leading(role: Role, text: str, known: Collection[str]) -> str | None:
    """Return the user-defined name at the start of a text such as `mine:vote-gmm:p=2`; None without one.

    >>> leading(METHOD, "mine.votes:power-gmm:p=2", ["hier"]), leading(METHOD, "hier:released", ["hier"])
    ('mine.votes:power', None)
    """
    installed = [name for name in _entry_points(role.group) if re.match(rf"{re.escape(name)}(?![\w.])", text)]
    if installed:
        return max(installed, key=len)
    match = SPEC.match(text)
    return match[0] if match is not None and _is_module(match["module"], known) else None


def installed(role: Role) -> tuple[str, ...]:
    """Return the names that installed packages add to a role."""
    return tuple(_entry_points(role.group))


def unknown(role: Role, name: str, known: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that is neither the library's nor an installed package's."""
    others = [each for each in (*known, *installed(role)) if each != name]
    return UnknownNameError(role.noun, name, others, argument=role.argument)


def misfit(role: Role, own: Own, what: str | None = None) -> InputError:
    """Return the error for an object without the shape of its role."""
    is_said = what or f"is {_shown(own.value)}"
    return InputError(
        f"the {role.noun} {own.name!r} {is_said}", hint=f"give {role.shape}", argument=role.argument
    )


def misgiven(role: Role, own: Own, what: str) -> OwnCodeError:
    """Return the error for a result without the shape of its role."""
    return OwnCodeError(
        f"the {role.noun} {own.name!r} {what}", hint=f"give {role.shape}", argument=role.argument
    )


def called(role: Role, name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Return what a user's function returns; what it raises becomes an OwnCodeError, which says where.

    Errors of this library pass through.
    """
    try:
        return function(*given)
    except DistrivoteError:
        raise
    except Exception as error:  # a user's function may raise anything
        raise _mistake(role, name, error) from error


def _mistake(role: Role, name: str, error: Exception) -> OwnCodeError:
    return OwnCodeError(f"the {role.noun} {name!r} raised {raised(error)}", argument=role.argument)


def guarded(role: Role, own: Own) -> Callable[..., Any]:
    """Return a user's function as one whose errors are OwnCodeErrors."""
    return partial(called, role, own.name, own.value)


def guarded_whole(role: Role, name: str, value: _Whole) -> _Whole:
    """Return a dataclass with the user's functions in its fields guarded; those of the library stay as is."""
    parts = {each.name: getattr(value, each.name) for each in fields(value)}  # type: ignore[arg-type]
    own = {
        field: partial(called, role, name, part)
        for field, part in parts.items()
        if callable(part) and not any(map(is_ours, (part, *type(part).__mro__)))
    }
    return replace(value, **own) if own else value  # type: ignore[type-var]


def is_ours(value: object) -> bool:
    """Say whether a function or an object is the library's own.

    >>> is_ours(found), is_ours(str.lower), is_ours(METHOD)
    (True, False, True)
    """
    target = value.func if isinstance(value, partial) else value
    home = getattr(target, "__module__", None) or type(target).__module__
    return home.partition(".")[0] == "distrivote"


def each_of(role: Role, own: Own, values: Iterable[Any]) -> Iterator[Any]:
    """Yield what a user's iterable yields; what it raises becomes an OwnCodeError."""
    rest = called(role, own.name, iter, values)
    while (value := called(role, own.name, next, rest, _END)) is not _END:
        yield value


_END = object()


def raised(error: Exception) -> str:
    """Return an exception of user code in words: its type, its text, and the line that raised it.

    That is the last line of the file that this library called; a module below it may have raised it.
    """
    text = " ".join(str(error).split())
    text = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    places = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("distrivote", "importlib")
    ]
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    if not places:
        return said
    file = places[0][0]
    line = next(line for place, line in reversed(places) if place == file)
    return f"{said} ({file}:{line})"


def own_of(role: Role, value: Any) -> Own:
    """Return an object that was passed directly, with the name by which it could be imported."""
    if not callable(value):
        raise misfit(role, Own(type(value).__name__, value))
    return Own(given_name(value), value)


def given_name(value: object) -> str:
    """Return the name by which an object that was passed directly could be imported, or that of its class."""
    target = value.func if isinstance(value, partial) else value
    home = getattr(target, "__module__", None) or "?"
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    return f"{home}:{name}"


def check_call(role: Role, own: Own, *numbers: int) -> int:
    """Return which of these numbers of arguments a function accepts; raise if none."""
    if not callable(own.value):
        raise misfit(role, own)
    try:
        signature = inspect.signature(own.value)
    except (TypeError, ValueError):  # some functions in C have no signature
        return numbers[0]
    for n in numbers:
        try:
            signature.bind(*[None] * n)
        except TypeError:
            continue
        return n
    raise misfit(role, own, f"takes {signature}")


def parameters(own: Own) -> dict[str, Any]:
    """Return the parameters of a function or a class that have a default, with their defaults."""
    try:
        signature = inspect.signature(own.value)
    except (TypeError, ValueError):
        return {}
    empty = inspect.Parameter.empty
    return {name: each.default for name, each in signature.parameters.items() if each.default is not empty}


def made_with(role: Role, own: Own, settings: Mapping[str, str]) -> Own:
    """Return a function with these values of its keyword parameters, or an instance of a class.

    The values are texts; they are converted to the type of the parameter's default.
    """
    if not settings and not isinstance(own.value, type):
        return own
    known = parameters(own)
    values = {}
    for name, text in settings.items():
        if name not in known:
            if not known:
                raise misfit(role, own, f"takes no parameters, and {name}={text} was given")
            raise UnknownNameError(f"parameter of {own.name!r},", name, known, argument=role.argument)
        values[name] = _value(role, own, name, text, type(known[name]))
    if not isinstance(own.value, type):
        return own._replace(value=partial(own.value, **values))
    try:
        return own._replace(value=own.value(**values))
    except TypeError as error:
        raise misfit(role, own, f"can't be made ({error})") from error
    except Exception as error:
        raise _mistake(role, own.name, error) from error


def origins(texts: Iterable[str | None]) -> dict[str, str]:
    """Return the origin of the objects that settings name, by name; a run records it."""
    named = [text for text in texts if text]
    return {
        own.name: own.origin
        for own in _loaded.values()
        if any(re.search(rf"(?<![\w.]){re.escape(own.name)}(?![\w.])", text) for text in named)
    }


def _value(role: Role, own: Own, name: str, text: str, kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        return kind(text) if kind in (int, float, str) else float(text)
    except (ValueError, KeyError):
        wanted = {int: "a whole number", bool: "true or false"}.get(kind, "a number")
        raise InputError(
            f"{role.noun} {own.name!r}: {name} is {text!r}, not {wanted}", argument=role.argument
        ) from None


def _is_module(name: str, known: Collection[str]) -> bool:
    heads = {each.partition(":")[0] for each in known}
    near = [] if "." in name else difflib.get_close_matches(name, heads, n=1, cutoff=_NEAR)
    return name not in heads and (not near or _spec_of(name) is not None)


def _spec_of(module: str) -> object | None:
    from importlib.util import find_spec

    with _working_folder():
        return find_spec(module)


@contextmanager
def _working_folder() -> Iterator[None]:
    """Search the working directory too, after all others, while a named module is imported.

    Only then: a file there with the name of a missing optional package must not be run.
    """
    sys.path.append("")
    try:
        yield
    finally:
        sys.path.remove("")


def _imported(role: Role, name: str, match: re.Match[str]) -> tuple[Any, ModuleType]:
    def refused(why: str, hint: str | None = None) -> InputError:
        return InputError(
            f"the {role.noun} {name!r} can't be loaded: {why}", hint=hint, argument=role.argument
        )

    module_name, path = match["module"], match["object"]
    try:
        with _working_folder():
            module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise refused(f"importing {module_name} needs {error.name}, which is not installed") from error
        plain = module_name.removesuffix(".py")
        hint = f"write {plain}:{path}" if plain != module_name else "install it, or run where it is"
        raise refused(f"there is no module {error.name!r}", hint) from error
    except Exception as error:  # a user's module may raise anything
        raise refused(f"importing {module_name} failed, {raised(error)}") from error
    value: Any = module
    for part in path.split("."):
        if not hasattr(value, part):
            there = [each for each in dir(value) if each[0] != "_" and callable(getattr(value, each))]
            raise refused(f"{module_name} has no {path!r}", suggestion(path, there) if there else None)
        value = getattr(value, part)
    return value, module


def _of_entry_point(role: Role, entry: metadata.EntryPoint) -> Own:
    try:
        return Own(entry.name, entry.load(), entry)
    except Exception as error:  # a third-party package may raise anything
        raise InputError(
            f"the {role.noun} {entry.name!r} ({entry.value} of an installed package) can't be loaded,"
            f" {raised(error)}",
            hint="repair or remove that package",
            argument=role.argument,
        ) from error


def _origin(module: ModuleType) -> str:
    """Return the version of the package that a module belongs to, else the digest of its source."""
    top = module.__name__.partition(".")[0]
    for package in metadata.packages_distributions().get(top, ()):
        return f"{package} {metadata.version(package)}"
    loader: Any = getattr(module.__spec__, "loader", None)
    source = loader.get_source(module.__name__) if hasattr(loader, "get_source") else None
    if source is None:
        return f"module {module.__name__}"
    digest = hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"module {module.__name__}, source {digest}"


@cache
def _entry_points(group: str) -> dict[str, metadata.EntryPoint]:
    return {each.name: each for each in metadata.entry_points(group=group)}


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
