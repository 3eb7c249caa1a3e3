"""Resolves a controller: from a name, an object, or the settings that a run has stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from distrivote.errors import InputError
from distrivote.names import STEERING, Own, found, given_name, own_of, unknown
from distrivote.steering.controller import Controller
from distrivote.steering.own import Decide, own_controller
from distrivote.steering.reflection import SelfStepConf

AUTO = "auto"
"""The name of the default controller: SelfStepConf as in the paper, if the engine supports it."""

Steering: TypeAlias = str | Controller | Decide | None
"""`auto`, a user-defined name, a controller, a function, or None for plain sampling."""


def steering_of(steering: Steering) -> Controller | None:
    """Return the controller for a name or an object.

    >>> steering_of("auto") == SelfStepConf(), steering_of("auto").optional, steering_of(None)
    (True, True, None)
    """
    if steering is None:
        return None
    if isinstance(steering, str):
        if steering == AUTO:
            return SelfStepConf(optional=True)
        own = found(STEERING, steering, (AUTO,))
        if own is None:
            raise unknown(STEERING, steering, (AUTO,))
        return own_controller(own)
    if hasattr(steering, "start") and not isinstance(steering, type):
        return own_controller(Own(given_name(steering), steering))
    if isinstance(steering, type) or not callable(steering):
        raise InputError(
            f"steering is {steering!r}",
            hint=f"give 'auto', None, or {STEERING.shape}",
            argument="steering",
        )
    return own_controller(own_of(STEERING, steering))


def stored_controller(settings: Mapping[str, Any] | None) -> Controller | None:
    """Return the controller of a run from its manifest, with the settings of the threshold only.

    None if there was no controller, or one without a threshold for steps.
    """
    if not is_selfstepconf(settings) or settings is None:
        return None
    return SelfStepConf(settings["alpha"], settings["delta"])


def is_selfstepconf(settings: Mapping[str, Any] | None) -> bool:
    """Say whether stored settings are those of SelfStepConf."""
    return settings is not None and settings.get("kind") == SelfStepConf.__name__
