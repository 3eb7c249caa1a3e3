"""How a request to a vLLM server configures the plugin: `vllm_xargs` <-> controller.

    {"ssc": 1, "ssc_alpha": 0.8, "ssc_delta": 0.8, "ssc_reflection": "wait", "ssc_split": "paragraph",
     "ssc_guard": 0}
    {"ssc": 1, "ssc_delta": 0.0, ..., "online_floor": "120:14.5 240:15.25"}
    {"deepconf_threshold": 17.0, "deepconf_window": 2048}

`ssc` switches SelfStepConf on, `ssc_released` selects the published behaviour, everything else has the
controller's default. `online_floor` is the line of online DistriVoting, tokens and the lowest score there: a
trajectory ends at a step whose score is below it. `deepconf_threshold` ends a trajectory where the mean
confidence of a window of tokens falls below it. The client writes these and the plugin reads them; other keys
belong to others and are ignored. Neither vLLM nor any tokenizer is known here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from distrivote.defaults import SPLIT
from distrivote.errors import InputError, UnknownNameError
from distrivote.names import only_loaded
from distrivote.splitting import DelimiterSplitter, EntropySplitter, Splitter, WindowSplitter, splitter
from distrivote.steering import Controller, DeepConfOnline, DistriVotingOnline, SelfStepConf
from distrivote.steering.course import Line

Xargs: TypeAlias = dict[str, str | int | float]
Watched: TypeAlias = SelfStepConf | DeepConfOnline | DistriVotingOnline

KEYS = ("ssc", "ssc_alpha", "ssc_delta", "ssc_reflection", "ssc_split", "ssc_guard", "ssc_released")
ONLINE_KEYS = ("online_floor",)
DEEPCONF_KEYS = ("deepconf_threshold", "deepconf_window")

MAX_WINDOW = 16_384
"""The largest window of DeepConf: the plugin keeps as many numbers for each request."""

MAX_PLACES = 256
"""The largest number of places of a line of online DistriVoting."""


class Probe(NamedTuple):
    """How to find out whether a server runs a rule: its plugin refuses these arguments and names the rule."""

    xargs: Xargs
    rule: str


SSC_PROBE = Probe({"ssc": 1, "ssc_probe": 1}, "SelfStepConf")
ONLINE_PROBE = Probe({"online_floor": "1:1.0", "online_probe": 1}, "DistriVoting")
DEEPCONF_PROBE = Probe({"deepconf_threshold": 1.0, "deepconf_probe": 1}, "DeepConf")


def probe_of(controller: Controller) -> Probe:
    """Return how to find out whether a server runs a controller that `xargs_of` accepts."""
    settings = controller.plugin_settings()
    if isinstance(settings, DistriVotingOnline):
        return ONLINE_PROBE
    return DEEPCONF_PROBE if isinstance(settings, DeepConfOnline) else SSC_PROBE


def xargs_of(controller: Controller) -> Xargs:
    """Return the arguments of a request that is to be steered by this controller.

    >>> xargs_of(SelfStepConf(delta=0.5))["ssc_delta"]
    0.5
    >>> xargs_of(DeepConfOnline(window=64, threshold=17.0))
    {'deepconf_threshold': 17.0, 'deepconf_window': 64}
    """
    settings = controller.plugin_settings()
    if settings is None:
        raise InputError(
            f"vLLM's plugin supports only SelfStepConf, DistriVoting online and DeepConf online, and the"
            f" controller is {controller!r}: use another engine, or no controller"
        )
    if isinstance(settings, DeepConfOnline):
        _check_window(settings.window)
        if settings.threshold is None:
            return {}  # a warm-up, which runs to its end
        return {"deepconf_threshold": float(settings.threshold), "deepconf_window": settings.window}
    if isinstance(settings, DistriVotingOnline):
        steps, floor = settings.steps, settings.floor
        if not floor.tokens and not steps.delta and not steps.guard:
            return {}  # nothing is ended, and nothing reflects
        return _ssc_xargs(steps) | ({"online_floor": _told_line(floor)} if floor.tokens else {})
    return _ssc_xargs(settings)


def _ssc_xargs(settings: SelfStepConf) -> Xargs:
    xargs: Xargs = {
        "ssc": 1,
        "ssc_alpha": float(settings.alpha),
        "ssc_delta": float(settings.delta),
        "ssc_reflection": settings.reflection,
        "ssc_split": _name_of(settings.split),
        "ssc_guard": int(settings.guard),
    }
    # Only if set: older plugins do not know it.
    return xargs | {"ssc_released": 1} if settings.released else xargs


def controller_of(xargs: Mapping[str, object] | None) -> Watched | None:
    """Return the controller that a request asks for, None if there is none.

    >>> controller_of({"ssc": 1, "ssc_delta": 0.5}).delta
    0.5
    """
    ending = _given(xargs, "deepconf", DEEPCONF_KEYS, "DeepConf")
    online = _given(xargs, "online", ONLINE_KEYS, "DistriVoting")
    given = _given(xargs, "ssc", KEYS, "SelfStepConf")
    if online and not (given and _switch(given, "ssc")):
        raise InputError(f'{next(iter(online))} without ssc: add "ssc": 1, and "ssc_delta": 0 not to reflect')
    if not given:
        return _deepconf(ending) if ending else None
    if "ssc" not in given:
        raise InputError(f'{next(iter(given))} without ssc: add "ssc": 1 to switch SelfStepConf on')
    if not _switch(given, "ssc"):
        return _deepconf(ending) if ending else None
    if ending:
        raise InputError(f"ssc and {next(iter(ending))}: give the arguments of one of them")
    default = SelfStepConf()
    steps = SelfStepConf(
        _number(given, "ssc_alpha", default.alpha),
        _number(given, "ssc_delta", default.delta),
        _text(given, "ssc_reflection", default.reflection),
        _requested(_text(given, "ssc_split", SPLIT)),
        _switch(given, "ssc_guard"),
        _switch(given, "ssc_released"),
    )
    return DistriVotingOnline(steps=steps, floor=_line(online["online_floor"])) if online else steps


def _told_line(line: Line) -> str:
    pairs = zip(line.tokens, line.scores, strict=True)
    return " ".join(f"{float(tokens)!r}:{float(score)!r}" for tokens, score in pairs)


def _line(told: object) -> Line:
    """Return the line that `_told_line` wrote."""
    try:
        if not isinstance(told, str):
            raise ValueError
        places = [tuple(map(float, place.split(":"))) for place in told.split(" ", MAX_PLACES)]
        tokens, scores = zip(*((tokens, score) for tokens, score in places), strict=True)
    except ValueError:
        tokens, scores = (), ()
    rises = all(before < after for before, after in pairwise((0.0, *tokens)))
    if not tokens or len(tokens) > MAX_PLACES or not rises or not all(map(math.isfinite, (*tokens, *scores))):
        raise InputError(
            f"online_floor is {str(told)[:80]!r}: give up to {MAX_PLACES} places, such as 120:14.5 240:15.25"
        )
    return Line(tokens, scores)


def _requested(split: str) -> Splitter:
    with only_loaded():  # it came in a request
        return splitter(split)


def _given(
    xargs: Mapping[str, object] | None, prefix: str, keys: tuple[str, ...], rule: str
) -> dict[str, object]:
    given = {
        key: value for key, value in (xargs or {}).items() if key == prefix or key.startswith(f"{prefix}_")
    }
    for key in given:
        if key not in keys:
            raise UnknownNameError(f"argument of {rule}", key, keys)
    return given


def _deepconf(given: Mapping[str, object]) -> DeepConfOnline:
    if "deepconf_threshold" not in given:
        raise InputError(f"{next(iter(given))} without deepconf_threshold: give the confidence to end below")
    window = given.get("deepconf_window", DeepConfOnline().window)
    if isinstance(window, bool) or not isinstance(window, (int, float)) or window % 1:
        raise InputError(f"deepconf_window is {window!r}: give a number of tokens, such as 2048")
    _check_window(int(window))
    threshold = _number(given, "deepconf_threshold", 17.0)
    if not math.isfinite(threshold):
        raise InputError(f"deepconf_threshold is {threshold}: give a confidence, such as 17.0")
    return DeepConfOnline(window=int(window), threshold=threshold)


def _check_window(window: int) -> None:
    if not 1 <= window <= MAX_WINDOW:
        raise InputError(f"a window of {window} tokens: vLLM's plugin takes 1 to {MAX_WINDOW:,}")


def _name_of(split: Splitter) -> str:
    if isinstance(split, WindowSplitter):
        return f"window:{split.n_tokens}"
    if isinstance(split, EntropySplitter) and split.min_tokens == EntropySplitter().min_tokens:
        return f"entropy:{float(split.threshold)!r}"
    for name in ("paragraph", "line", "exact"):
        if isinstance(split, DelimiterSplitter) and split == splitter(name):
            return name
    raise InputError(
        f"{split!r} can't be sent to a vLLM server: use paragraph, line, exact, window:N or entropy:NATS"
    )


def _number(given: Mapping[str, object], key: str, default: float) -> float:
    value = given.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{key} is {value!r}: give a number, such as {default}")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{key} is too large: give a number such as {default}") from None


def _text(given: Mapping[str, object], key: str, default: str) -> str:
    value = given.get(key, default)
    if not isinstance(value, str):
        raise InputError(f"{key} is {value!r}: give a text, such as {default!r}")
    return value


def _switch(given: Mapping[str, object], key: str) -> bool:
    value = given.get(key, 0)
    if not isinstance(value, (int, float)) or value not in (0, 1):
        raise InputError(f"{key} is {value!r}: give 1 (on) or 0 (off)")
    return bool(value)
