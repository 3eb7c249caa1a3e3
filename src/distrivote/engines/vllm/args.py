"""How a request to a vLLM server configures SelfStepConf: `vllm_xargs` <-> controller.

    {"ssc": 1, "ssc_alpha": 0.8, "ssc_delta": 0.8, "ssc_reflection": "wait", "ssc_split": "paragraph",
     "ssc_guard": 0}

`ssc` switches it on, `ssc_released` selects the published behaviour, everything else has the controller's
default. The client writes these and the plugin reads them; keys that do not begin with `ssc` belong to
others and are ignored. Neither vLLM nor any tokenizer is known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from distrivote.defaults import SPLIT
from distrivote.errors import InputError, UnknownNameError
from distrivote.names import only_loaded
from distrivote.splitting import DelimiterSplitter, EntropySplitter, Splitter, WindowSplitter, splitter
from distrivote.steering import Controller, SelfStepConf

Xargs: TypeAlias = dict[str, str | int | float]

KEYS = ("ssc", "ssc_alpha", "ssc_delta", "ssc_reflection", "ssc_split", "ssc_guard", "ssc_released")


def xargs_of(controller: Controller) -> Xargs:
    """Return the arguments of a request that is to be steered by this controller.

    >>> xargs_of(SelfStepConf(delta=0.5))["ssc_delta"]
    0.5
    """
    settings = controller.plugin_settings()
    if settings is None:
        raise InputError(
            f"vLLM's plugin supports only SelfStepConf, and the controller is {controller!r}: use another"
            " engine, or no controller"
        )
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


def controller_of(xargs: Mapping[str, object] | None) -> SelfStepConf | None:
    """Return the controller that a request asks for, None if there is none.

    >>> controller_of({"ssc": 1, "ssc_delta": 0.5}).delta
    0.5
    """
    given = {key: value for key, value in (xargs or {}).items() if key == "ssc" or key.startswith("ssc_")}
    for key in given:
        if key not in KEYS:
            raise UnknownNameError("argument of SelfStepConf", key, KEYS)
    if not given:
        return None
    if "ssc" not in given:
        raise InputError(f'{next(iter(given))} without ssc: add "ssc": 1 to switch SelfStepConf on')
    if not _switch(given, "ssc"):
        return None
    default = SelfStepConf()
    return SelfStepConf(
        _number(given, "ssc_alpha", default.alpha),
        _number(given, "ssc_delta", default.delta),
        _text(given, "ssc_reflection", default.reflection),
        _requested(_text(given, "ssc_split", SPLIT)),
        _switch(given, "ssc_guard"),
        _switch(given, "ssc_released"),
    )


def _requested(split: str) -> Splitter:
    with only_loaded():  # it came in a request
        return splitter(split)


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
