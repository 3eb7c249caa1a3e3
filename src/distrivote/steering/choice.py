"""Which controller is meant: by name, as an object, or as a run has stored it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from distrivote.errors import InputError, UnknownNameError
from distrivote.steering.controller import Controller
from distrivote.steering.reflection import SelfStepConf

AUTO = "auto"
"""The name of the default controller: SelfStepConf as in the paper, where an engine can."""

Steering: TypeAlias = str | Controller | None
"""`auto`, a controller, or None for plain sampling."""


def steering_of(steering: Steering) -> Controller | None:
    """Return the controller that is meant.

    >>> steering_of("auto") == SelfStepConf(), steering_of("auto").optional, steering_of(None)
    (True, True, None)
    """
    if steering is None:
        return None
    if isinstance(steering, str):
        if steering != AUTO:
            raise UnknownNameError("steering", steering, (AUTO,))
        return SelfStepConf(optional=True)
    if isinstance(steering, type) or not hasattr(steering, "start"):
        raise InputError(
            f"steering is {steering!r}", hint="give 'auto', a controller or None", argument="steering"
        )
    return steering


def stored_controller(settings: Mapping[str, Any] | None) -> Controller | None:
    """Return the controller of a run from its manifest, as far as the threshold is concerned.

    None if there was no controller, or one without a threshold for steps.
    """
    if not is_selfstepconf(settings) or settings is None:
        return None
    return SelfStepConf(settings["alpha"], settings["delta"])


def is_selfstepconf(settings: Mapping[str, Any] | None) -> bool:
    """Say whether stored settings are those of SelfStepConf."""
    return settings is not None and settings.get("kind") == SelfStepConf.__name__
