"""The manifest of a run: the settings with which its trajectories were made.

One small JSON file. A run resumes only with its original settings; a larger budget or limit only
adds, so these two may grow. The version of the library is recorded and not compared, and neither is the
comparison that graded the stored answers: a reader grades them again if needed. The last field is a checksum
of the bytes before it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Self

from distrivote.defaults import BUDGET
from distrivote.engines.base import SamplingParams
from distrivote.errors import InputError
from distrivote.names import origins
from distrivote.prompts import same_for
from distrivote.steering import Controller
from distrivote.steering.choice import is_selfstepconf
from distrivote.steering.own import rule_of
from distrivote.store.runs.folder import MANIFEST, Place, folder_at
from distrivote.store.runs.schema import FORMAT_VERSION

NAME = MANIFEST

TOTAL = "total:"
"""The prefix of `stop_when` in a run whose questions share a total number of trajectories."""

_LATER = ("stop_when", "same", "grader", "system", "answer", "request", "origins", "merged")
"""Fields that older manifests do not have; they had the default."""

_LATER_SSC = {"released": False}
"""Settings of SelfStepConf that older manifests lack -> the value that applied."""

_CHECKSUM = b'  "checksum"'
_LARGEST = 4 << 20
"""In bytes."""

_KINDS: dict[str, type] = {
    **dict.fromkeys(
        (
            *("engine", "model", "template", "benchmark", "stop_when", "same", "system"),
            *("answer", "library_version"),
        ),
        str,
    ),
    **dict.fromkeys(("budget", "limit", "seed"), int),
    **dict.fromkeys(("sampling", "ssc", "grader", "request", "origins", "merged"), dict),
}
_OPTIONAL = ("ssc", "limit", *_LATER)
_NOT_COMPARED = ("budget", "limit", "grader", "origins", "merged", "library_version", "format_version")
_GRADER = {"same": str, "version": str, "told": bool, "n_unsure": int, "n_unsure_grades": int}
_DEEPEST = 8
_MOST_CHANGES = 8
_NOT_SAMPLED = {"import": "imported", "merge": "merged", "simulate": "simulated"}
"""Values of `engine` that are not engines -> what was done instead."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The settings of a run.

    >>> Manifest.of("embedded", "smollm2", "math", "arithmetic", SamplingParams(seed=7)).seed
    7
    """

    engine: str
    model: str
    template: str
    """The template of questions: a name or a text that holds {question}."""

    benchmark: str
    sampling: Mapping[str, Any]
    """The fields of `SamplingParams` except the seed."""

    ssc: Mapping[str, Any] | None = None
    """The controller: its kind and its fields; None for plain sampling."""

    budget: int = BUDGET
    limit: int | None = None
    """How many of the benchmark's questions; None for all."""

    seed: int = 0
    stop_when: str | None = None
    """The rule that ended the sampling of a question early, by its whole name; None: the budget alone."""

    same: str | None = None
    """When two answers are equal, a name of `answers.equality`; None in older runs: the template's."""

    grader: Mapping[str, Any] | None = None
    """What made the stored classes: the name and version of the comparison, whether `correct` was imported,
    and how many doubts there were; None while no classes are stored."""

    system: str | None = None
    """The system message before every question, None if there was none; if questions have their own, a digest
    of them."""

    answer: str | None = None
    """The kind of answer that replies were read for, by name; None: what the template says."""

    request: Mapping[str, Any] | None = None
    """What was added to every request to a server: the fields as `body`, the names of the `headers`; None if
    nothing was."""

    origins: Mapping[str, str] | None = None
    """Where engines, answers, rules and the like of the user's own came from, by name: the version of their
    package, or the digest of their source; None if there were none."""

    merged: Mapping[str, Any] | None = None
    """The settings of the runs that it was merged from, by name, if they differ; None: it is of one model."""

    library_version: str = field(default_factory=lambda: version("distrivote"))
    format_version: int = FORMAT_VERSION

    @classmethod
    def of(
        cls,
        engine: str,
        model: str,
        template: str,
        benchmark: str,
        params: SamplingParams,
        ssc: Controller | None = None,
        *,
        budget: int = BUDGET,
        limit: int | None = None,
        stop_when: str | None = None,
        same: str | None = None,
        system: str | None = None,
        answer: str | None = None,
        request: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the manifest of a run with these settings; `same` is by default the template's."""
        sampling = settings_of(params)
        seed = sampling.pop("seed")
        del sampling["kind"]
        for name in ("extra_body", "left_out"):  # fields of later versions, which most runs do not use
            if not sampling[name]:
                del sampling[name]
        controller = None if ssc is None else settings_of(rule_of(ssc))
        same = same_for(template) if same is None else same
        settings = (engine, model, template, benchmark, sampling, controller, budget, limit, seed)
        named = [engine, benchmark, stop_when, same, answer, json.dumps(controller)]
        own = origins([*named, getattr(ssc, "label", None)])
        return cls(
            *settings,
            stop_when,
            same,
            system=system,
            answer=answer,
            request=request or None,
            origins=own or None,
        )

    @classmethod
    def load(cls, run: Place) -> Self:
        """Return the manifest of the run in that directory; raise FileNotFoundError if it has none."""
        folder = folder_at(run)
        path = f"{folder.address}/{NAME}"
        with folder.open(NAME) as file:
            raw = file.read(_LARGEST + 1)
        if len(raw) > _LARGEST:
            raise InputError(f"{path} is larger than {_LARGEST >> 20} MB: it is not the manifest of a run")
        is_whole = is_sealed(raw)
        try:
            content = json.loads(raw, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not JSON ({error}): restore it from a copy") from error
        newest = content.get("format_version") if isinstance(content, dict) else None
        if not isinstance(newest, int) or isinstance(newest, bool):
            raise InputError(f"{path} has no format_version: it is not the manifest of a run")
        if newest > FORMAT_VERSION:
            raise InputError(
                f"{folder.address} has format version {newest} and this distrivote reads up to"
                f" {FORMAT_VERSION}: install a newer distrivote"
            )
        names = [f.name for f in dataclasses.fields(cls)]
        # Runs of earlier versions have no checksum, and no field that this version does not know.
        if is_whole is False or (is_whole is None and not {*content} <= {*names}):
            raise InputError(
                f"{path} is damaged or was edited (its checksum does not fit): restore it from a copy"
            )
        missing = [name for name in names if name not in content and name not in _LATER]
        if missing:
            raise InputError(f"{path} lacks {', '.join(missing)}: restore it from a copy")
        for name, kinds in _KINDS.items():
            value = content.get(name)
            fits = isinstance(value, kinds) and not isinstance(value, bool) and _is_shallow(value)
            if not fits and not (value is None and name in _OPTIONAL):
                raise InputError(f"{path}: {name} has an invalid value: restore it from a copy")
        if not _is_controller(content["ssc"]):
            raise InputError(f"{path}: ssc has no numbers alpha and delta: restore it from a copy")
        if is_selfstepconf(content["ssc"]):
            content["ssc"] = _LATER_SSC | content["ssc"]
        grader = content.get("grader")
        if grader is not None and any(type(grader.get(name)) is not kind for name, kind in _GRADER.items()):
            raise InputError(f"{path}: grader has an invalid value: restore it from a copy")
        return cls(**{name: content[name] for name in names if name in content})

    @property
    def compared_by(self) -> str:
        """When two answers are equal."""
        if self.same is None and self.engine == "simulate":
            return "text"
        return self.same or same_for(self.template)

    def going_on(self, asked: Manifest, run: str) -> Manifest:
        """Return the manifest of this run with the requested settings; raise InputError if they differ."""
        if self.engine in _NOT_SAMPLED and asked.engine != self.engine:
            raise InputError(
                f"{run} was {_NOT_SAMPLED[self.engine]} and not sampled from a model",
                hint="name another folder, or make another run with `new=True`",
            )
        changes = list(differences(self, asked))
        if changes:
            error = InputError(
                f"{run} was made with other settings",
                hint="use the settings that it was made with, or make another run with `new=True`",
            )
            for change in changes[:_MOST_CHANGES]:
                error.add_note(change)
            if len(changes) > _MOST_CHANGES:
                error.add_note(f"and {len(changes) - _MOST_CHANGES} more")
            raise error
        totals = [n for n in map(_total, (self.stop_when, asked.stop_when)) if n is not None]
        limits = (self.limit, asked.limit)
        limit = None if None in limits else max(n for n in limits if n is not None)
        return dataclasses.replace(
            self,
            budget=max(self.budget, asked.budget),
            limit=limit,
            same=self.same or asked.same,
            stop_when=f"{TOTAL}{max(totals)}" if totals else self.stop_when,
        )

    def save(self, run: Place) -> None:
        """Write it, or replace it."""
        folder_at(run).write(NAME, self._content())

    def create(self, run: Place) -> bool:
        """Write it unless another writer has done so, and return whether this one did."""
        return folder_at(run).create(NAME, self._content())

    def _content(self) -> bytes:
        return sealed(json.dumps(dataclasses.asdict(self), indent=2).encode())


def sealed(content: bytes) -> bytes:
    """Return a JSON object with a last field added: the checksum of the bytes before it.

    >>> is_sealed(sealed(b'{"a": 1}'))
    True
    """
    before = content.removesuffix(b"}").rstrip() + b",\n"
    return before + _seal(before)


def _seal(before: bytes) -> bytes:
    return b'%s: "%08x"\n}\n' % (_CHECKSUM, zlib.crc32(before))


def is_sealed(raw: bytes) -> bool | None:
    """Return whether the checksum of a manifest matches; None if there is no checksum."""
    before, found, _ = raw.rpartition(_CHECKSUM)
    return raw == before + _seal(before) if found else None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number there")


def _is_shallow(value: Any, deepest: int = _DEEPEST) -> bool:
    """Return whether a JSON value is nested no deeper than settings are."""
    if not isinstance(value, (dict, list)):
        return True
    inside = value.values() if isinstance(value, dict) else value
    return deepest > 0 and all(_is_shallow(each, deepest - 1) for each in inside)


def _is_controller(ssc: Mapping[str, Any] | None) -> bool:
    """Return whether settings of SelfStepConf have the two numbers of its threshold."""
    numbers = (type((ssc or {}).get(name)) for name in ("alpha", "delta"))
    return not is_selfstepconf(ssc) or all(kind in (int, float) for kind in numbers)


def settings_of(value: object) -> dict[str, Any]:
    """Return the kind and the fields of a settings object as JSON values, except those not compared.

    >>> from distrivote.splitting import splitter
    >>> settings_of(splitter("window:512"))
    {'kind': 'WindowSplitter', 'n_tokens': 512}
    """
    settings: dict[str, Any] = {"kind": type(value).__name__}
    if dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            if each.compare:
                settings[each.name] = _plain(getattr(value, each.name))
    return settings


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return settings_of(value)


def differences(was: Manifest, asked: Manifest) -> Iterator[str]:
    """Yield a line for each setting that may not differ and does.

    >>> was = Manifest("embedded", "a", "math", "gsm8k", {"top_p": 0.95})
    >>> list(differences(was, dataclasses.replace(was, sampling={"top_p": 1.0}, budget=64)))
    ['sampling.top_p: was 0.95, asked 1.0']
    """
    ours, theirs = dict(_flat(dataclasses.asdict(was))), dict(_flat(dataclasses.asdict(asked)))
    for name in dict.fromkeys([*ours, *theirs]):
        if name.partition(".")[0] in _NOT_COMPARED:
            continue
        if _compared(name, ours) != _compared(name, theirs):
            yield f"{name}: was {_shown(ours, name)}, asked {_shown(theirs, name)}"


def _total(stop_when: str | None) -> int | None:
    """Return how many trajectories the questions of a run share, None if each has its own."""
    number = stop_when.removeprefix(TOTAL) if stop_when is not None and stop_when.startswith(TOTAL) else ""
    return int(number) if number.isdecimal() and len(number) < 18 else None


def _compared(name: str, settings: Mapping[str, Any]) -> Any:
    """Return a setting as it is compared: a benchmark's file is the same as `q.jsonl` and `./q.jsonl`."""
    value = settings.get(name)
    if name == "stop_when" and _total(value) is not None:
        return TOTAL
    if name == "same":  # older manifests lack it
        return value or same_for(str(settings.get("template")))
    if name != "benchmark" or not isinstance(value, str):
        return value
    title, _, source = value.partition(": ")
    return title, os.path.normpath(source)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _shown(settings: Mapping[str, Any], name: str) -> str:
    return json.dumps(settings.get(name), ensure_ascii=False)
