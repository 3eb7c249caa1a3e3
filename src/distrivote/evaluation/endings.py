"""Rules that end single trajectories, on trajectories that are there already: what would have been left.

A rule is named as online[:WARM-UP[:WINDOW]] or deepconf-low[:WINDOW], deepconf-high[:WINDOW], and with a
stopping rule beside it as online+gain. A trajectory that would have been ended has no vote, and costs the
tokens that it had by then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from distrivote.confidence import measure_named
from distrivote.errors import InputError
from distrivote.evaluation.pools import Floats, Ints, Pool, Steps
from distrivote.steering import Controller, DistriVotingOnline
from distrivote.steering.deepconf import ONLINE, online_rule
from distrivote.trajectory import Interventions
from distrivote.voting.filters import mixture_cut

ENDING = "online"
DEEPCONF = "deepconf-"


class Ender(NamedTuple):
    """A rule that ends trajectories."""

    controller: Controller
    window: int | None = None
    """The number of tokens of a step; None: steps as they were recorded."""


class Left(NamedTuple):
    """What would have been left of a question's trajectories, in the order in which they come."""

    classes: Ints
    confidences: Floats
    costs: Floats


def is_ender(name: str) -> bool:
    """Say whether a name is that of a rule which ends trajectories."""
    return name.split(":")[0] == ENDING or name.startswith(DEEPCONF)


def ender_named(name: str) -> Ender:
    """Return the rule of that name.

    >>> ender_named("deepconf-high:64").controller.measure, ender_named("online:8:4").window
    ('lowest-group:64', 4)
    """
    if name.startswith(DEEPCONF):
        controller = online_rule(name.removeprefix(DEEPCONF))
        assert controller is not None
        return Ender(controller)
    numbers = name.split(":")[1:]
    if len(numbers) > 2 or not all(each.isdecimal() and 0 < int(each) < 10**6 for each in numbers):
        raise InputError(
            f"the rule {name!r} has a part that is not a number",
            hint="write online, online:16 for the warm-up, or online:16:64 with the tokens of a step",
            argument="rules",
        )
    online = DistriVotingOnline()
    if numbers:
        online = replace(online, n_warmup=int(numbers[0]))
    return Ender(online, int(numbers[1]) if len(numbers) > 1 else None)


def usual_enders(pools: tuple[Pool, ...], budget: int) -> tuple[str, ...]:
    """Return what is compared by default; groups are a quarter of a usual reply, at most 2,048."""
    lengths = [len(steps.tokens) for pool in pools for steps in pool.steps or ()]
    if not lengths:
        return ()
    window = min(max(int(np.median(lengths)) // 4, 2), 2048)
    n_warmup = min(16, max(budget // 4, 2))
    online = f"{ENDING}:{n_warmup}"
    return online, f"{online}+gain", *(f"{DEEPCONF}{name}:{window}" for name in ONLINE)


def left_of(pool: Pool, order: Ints, costs: Floats, ender: Ender) -> Left:
    """Return what a rule would have left of trajectories that come in an order; `costs` of the whole pool."""
    assert pool.steps is not None
    steps = [pool.steps[number] for number in order.tolist()]
    if ender.window is not None:
        steps = [each.by_window(ender.window) for each in steps]
    classes, confidences = pool.classes[order].copy(), pool.confidence[order].copy()
    spent = costs[order].copy()
    n_warmup = min(ender.controller.n_warmup, len(order))
    records = [
        Interventions((), tuple(each.ends.tolist()), tuple(each.confidences.tolist())) for each in steps
    ]
    warm = _values(ender.controller, steps[:n_warmup], confidences[:n_warmup])
    rule = ender.controller.after(warm.tolist(), records[:n_warmup], mixture_cut(warm.tolist()))
    for place in range(n_warmup, len(order)):
        end = rule.ended_at(records[place], steps[place].tokens)
        if end is not None:
            spent[place] *= end / len(steps[place].tokens)
            classes[place], confidences[place] = -1, np.nan
    return Left(classes, confidences, spent)


def _values(controller: Controller, steps: list[Steps], confidences: Floats) -> Floats:
    """Return the confidences of a warm-up by the controller's own measure, or by that of the vote."""
    if controller.measure is None:
        return confidences
    reduce = measure_named(controller.measure).reduce
    known = [each.tokens[~np.isnan(each.tokens)] for each in steps]
    return np.array([reduce(values) if len(values) else np.nan for values in known])
