"""Which controller somebody means: by a word, as an object, or as a run has stored it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from distrivote.errors import InputError, UnknownNameError
from distrivote.steering.controller import Controller
from distrivote.steering.reflection import SelfStepConf

AUTO = "auto"
"""The word for the controller that steers if nothing else is said: SelfStepConf as the paper has it."""

Steering: TypeAlias = str | Controller | None
"""`auto`, a controller, or None for plain sampling."""


def steering_of(steering: Steering) -> Controller | None:
    """Return the controller that is meant.

    >>> steering_of("auto") == SelfStepConf(), steering_of(None)
    (True, None)
    """
    if steering is None:
        return None
    if isinstance(steering, str):
        if steering != AUTO:
            raise UnknownNameError("steering", steering, (AUTO,))
        return SelfStepConf()
    if isinstance(steering, type) or not hasattr(steering, "start"):
        raise InputError(
            f"steering is {steering!r}", hint="give 'auto', a controller or None", argument="steering"
        )
    return steering


def stored_controller(settings: Mapping[str, Any] | None) -> Controller | None:
    """Return the controller of a run by what its manifest says, as far as its threshold goes.

    None if there was no controller, or one that holds steps against no threshold.
    """
    if not is_selfstepconf(settings) or settings is None:
        return None
    return SelfStepConf(settings["alpha"], settings["delta"])


def is_selfstepconf(settings: Mapping[str, Any] | None) -> bool:
    """Say whether stored settings are those of SelfStepConf."""
    return settings is not None and settings.get("kind") == SelfStepConf.__name__
