"""Method names and the pipelines that they stand for.

A name is VOTE, VOTE-FILTER or VOTE-FILTER-reject; `dis-FILTER` is short for `hier-FILTER-reject`. The
filter `top` takes its percentage in the name (`top50`) or as a parameter; `none` is no filter. Parameters
follow a colon: `wsc-top:0.1`, `dis-gmm:intervals=5`, `dis-top:fraction=0.3,intervals=5`. The parameter
`released` selects the variant of the authors' released script, in all parts where it differs:
`dis-gmm:released`, `hier:released,intervals=5`. `auto` is `dis-gmm` with trust.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from distrivote.errors import InputError, UnknownNameError
from distrivote.voting.filters import Filter, GmmFilter, KMeansFilter, MeanShiftFilter, TopFilter
from distrivote.voting.pipeline import RELEASED, Pipeline
from distrivote.voting.trust import Trust
from distrivote.voting.votes import (
    BestOfN,
    BordaVote,
    HierarchicalVote,
    MajorityOfBests,
    MajorityVote,
    PolynomialMajorityOfBests,
    RootVote,
    Vote,
    WeightedVote,
)

METHODS: dict[str, str] = {
    "sc": "majority voting (self-consistency)",
    "wsc": "each trajectory votes with its confidence",
    "bon": "best of N: the answer of the most confident trajectory",
    "borda": "votes weighted by rank of confidence",
    "root": "the root of an answer's count times its mean confidence",
    "mob": "majority of the bests, m chosen by the pool",
    "mob-poly": "majority of the bests, m = floor(sqrt n)",
    "hier": "hierarchical vote over intervals of confidence",
    "wsc-top50": "weighted vote of the more confident half (DeepConf)",
    "wsc-gmm": "weighted vote of the likely right Gaussian",
    "wsc-kmeans": "weighted vote of the upper of two means",
    "wsc-meanshift": "weighted vote of the upper mean-shift clusters",
    "dis-top50": "DistriVoting with the more confident half",
    "dis-gmm": "DistriVoting: two Gaussians, rejection, hierarchical vote (the paper's)",
    "auto": "DistriVoting, unless votes and confidences together speak for another answer (ours)",
    "dis-kmeans": "DistriVoting with two means",
    "dis-meanshift": "DistriVoting with mean-shift",
    "hier-top50": "hierarchical vote of the more confident half",
    "hier-gmm": "hierarchical vote of the likely right Gaussian",
    "wsc-top50-reject": "weighted vote with rejection, more confident half",
    "wsc-gmm-reject": "weighted vote with rejection, likely right Gaussian",
}
"""The names that the paper and its readers use, with what they mean. More can be composed."""

_VOTES: dict[str, type[Any]] = {
    "sc": MajorityVote,
    "wsc": WeightedVote,
    "bon": BestOfN,
    "borda": BordaVote,
    "root": RootVote,
    "mob": MajorityOfBests,
    "mob-poly": PolynomialMajorityOfBests,
    "hier": HierarchicalVote,
    "dis": HierarchicalVote,
}
_FILTERS: dict[str, type[Any]] = {
    "gmm": GmmFilter,
    "kmeans": KMeansFilter,
    "meanshift": MeanShiftFilter,
    "top": TopFilter,
}


def method_of(method: str | Pipeline) -> Pipeline:
    """Return a pipeline unchanged, or the one that a name stands for."""
    if isinstance(method, str):
        return parse_method(method)
    if not isinstance(method, Pipeline):
        raise InputError(
            f"the method is {method!r}", hint="give a name such as dis-gmm, or a Pipeline", argument="method"
        )
    return method


def parse_method(name: str) -> Pipeline:
    """Return the pipeline that a method name stands for.

    >>> parse_method("dis-gmm:intervals=5").vote
    HierarchicalVote(intervals=5)
    """
    base, colon, settings = name.strip().partition(":")
    trusting = base == "auto"
    words = ["dis", "gmm"] if trusting else base.split("-")
    if words[:2] == ["mob", "poly"]:
        words[:2] = ["mob-poly"]
    reject = words[0] == "dis"
    if words[-1] == "reject" and len(words) == 3 and not reject:
        reject = True
        words.pop()
    if words[1:] == ["none"]:
        words.pop()
    if words[0] not in _VOTES or len(words) > 2 or (reject and len(words) < 2):
        raise UnknownNameError("method", name, METHODS, argument="method")
    vote_type, percent = _VOTES[words[0]], None
    filter_type: type[Any] | None = None
    if len(words) == 2:
        filter_name = words[1]
        if filter_name.startswith("top") and filter_name[3:].isdecimal() and len(filter_name) < 12:
            filter_name, percent = "top", int(filter_name[3:])
        if filter_name not in _FILTERS:
            raise UnknownNameError("method", name, METHODS, argument="method")
        filter_type = _FILTERS[filter_name]
    items = settings.split(",") if colon else []
    if "released" in items:
        items.remove("released")
        filter_type, vote_type = _released(name, filter_type, vote_type)
    values = _settings(name, items, filter_type, vote_type)
    if percent is not None:
        if "fraction" in values:
            raise InputError(
                f"method {name!r} sets the share to keep twice",
                hint="write wsc-top50 or wsc-top:0.5",
                argument="method",
            )
        values["fraction"] = percent / 100
    vote: Vote = vote_type(**_belonging(values, vote_type))
    filter: Filter | None = None
    if filter_type is not None:
        filter = filter_type(**_belonging(values, filter_type))
    return Pipeline(vote, filter, reject, Trust() if trusting else None)


def _belonging(values: dict[str, Any], part: type[Any]) -> dict[str, Any]:
    names = {field.name for field in fields(part)}
    return {name: value for name, value in values.items() if name in names}


def _released(method: str, filter: type[Any] | None, vote: type[Any]) -> tuple[type[Any] | None, type[Any]]:
    """Return the parts as in the authors' released script."""
    if filter is not None and filter not in RELEASED:
        raise InputError(
            f"method {method!r}: the released script splits by gmm or top only",
            hint="leave 'released' out",
            argument="method",
        )
    if filter not in RELEASED and vote not in RELEASED:
        raise InputError(
            f"method {method!r} has no part in which the released script differs",
            hint="leave 'released' out",
            argument="method",
        )
    return (None if filter is None else RELEASED[filter]), RELEASED.get(vote, vote)


def _settings(method: str, items: Sequence[str], filter: type[Any] | None, vote: type[Any]) -> dict[str, Any]:
    """Return the parameters written after the colon; a value without a name is the first parameter."""
    if not items:
        return {}
    parts = [part for part in (filter, vote) if part is not None]
    known: dict[str, type[Any]] = {f.name: type(f.default) for part in parts for f in fields(part)}
    if not known:
        raise InputError(
            f"method {method!r} takes no parameters",
            hint=f"write it without {':' + ','.join(items)!r}",
            argument="method",
        )
    values: dict[str, Any] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            key, value = next(iter(known)), item
        key = key.strip()
        if key not in known:
            raise UnknownNameError(f"parameter of {method!r},", key, known, argument="method")
        if key in values:
            raise InputError(f"method {method!r} sets {key} twice", hint="give it once", argument="method")
        try:
            values[key] = known[key](value)
        except ValueError:
            kind = "a whole number" if known[key] is int else "a number"
            raise InputError(
                f"method {method!r}: {key} is {value!r}, not {kind}", argument="method"
            ) from None
    return values
