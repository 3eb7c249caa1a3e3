"""Method names and the pipelines that they stand for.

A name is VOTE, VOTE-FILTER or VOTE-FILTER-reject; `dis-FILTER` is short for `hier-FILTER-reject`. The
filter `top` takes its percentage in the name (`top50`) or as a parameter; `none` is no filter. Parameters
follow a colon: `wsc-top:0.1`, `dis-gmm:intervals=5`, `dis-top:fraction=0.3,intervals=5`. The parameter
`released` selects the variant of the authors' released script, in all parts where it differs:
`dis-gmm:released`, `hier:released,intervals=5`. `auto` is `dis-gmm` with trust.

A vote or a filter of one's own stands in the place of the library's (see `names`): `mine:power`,
`mine:power-gmm:p=2`, `wsc-mine:cut`, `dis-mine:cut`. A whole `Pipeline` stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias, cast

from distrivote.errors import InputError, UnknownNameError
from distrivote.names import FILTER, METHOD, Own, found, leading, misfit, parameters, unknown
from distrivote.voting.filters import GmmFilter, KMeansFilter, MeanShiftFilter, TopFilter
from distrivote.voting.own import OwnFilter, OwnVote
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
_VOTE_WORDS = ("auto", *_VOTES)
_FILTER_WORDS = ("none", "poly", "reject", *_FILTERS)


Method: TypeAlias = str | Pipeline | Vote | Callable[..., Any]
"""A name, a pipeline, a vote, or a function (classes, confidences) -> class or scores."""


def method_of(method: Method) -> Pipeline:
    """Return the pipeline that is meant.

    >>> method_of(lambda classes, confidences: classes[confidences.argmax()]).name
    'distrivote.voting.methods:<lambda>'
    """
    if isinstance(method, Pipeline):
        return method
    if isinstance(method, str):
        return parse_method(method)
    # A list has a method count as well.
    if isinstance(method, Sequence) or not (hasattr(method, "count") or callable(method)):
        raise InputError(
            f"the method is {method!r}",
            hint="give a name such as dis-gmm, a function (classes, confidences) -> class or scores, or a"
            " Pipeline",
            argument="method",
        )
    return Pipeline(cast("Vote", method))  # it makes a vote of a function


def parse_method(name: str) -> Pipeline:
    """Return the pipeline that a method name stands for.

    >>> parse_method("dis-gmm:intervals=5").vote
    HierarchicalVote(intervals=5)
    """
    words, settings = _words(name)
    trusting = words == ["auto"]
    if trusting:
        words = ["dis", "gmm"]
    if words[:2] == ["mob", "poly"]:
        words[:2] = ["mob-poly"]
    reject = words[0] == "dis"
    if words[-1] == "reject" and len(words) == 3 and not reject:
        reject = True
        words.pop()
    if words[1:] == ["none"]:
        words.pop()
    if len(words) > 2 or (reject and len(words) < 2):
        raise unknown(METHOD, name, METHODS)
    items = settings.split(",") if settings is not None else []
    vote = _VOTES.get(words[0]) or found(METHOD, words[0], _VOTE_WORDS)
    if isinstance(vote, Own) and isinstance(vote.value, Pipeline):
        if words[1:] or items:
            raise misfit(METHOD, vote, "is a whole pipeline, which takes no filter and no parameters")
        return replace(vote.value, alias=name)
    filter, percent = (None, None) if len(words) < 2 else _filter(words[1])
    if vote is None or (filter is None and len(words) == 2):
        raise unknown(METHOD, name, METHODS)
    if "released" in items:
        items.remove("released")
        filter, vote = _released(name, filter, vote)
    values = _settings(name, items, [part for part in (filter, vote) if part is not None])
    if percent is not None:
        if "fraction" in values:
            raise InputError(
                f"method {name!r} sets the share to keep twice",
                hint="write wsc-top50 or wsc-top:0.5",
                argument="method",
            )
        values["fraction"] = percent / 100
    made_filter = None if filter is None else _made(filter, values, OwnFilter)
    return Pipeline(_made(vote, values, OwnVote), made_filter, reject, Trust() if trusting else None)


def _words(name: str) -> tuple[list[str], str | None]:
    """Return the parts of a method's name, and the text after the colon; None without one."""
    rest, words = name.strip(), list[str]()
    while True:
        role, known = (FILTER, _FILTER_WORDS) if words else (METHOD, _VOTE_WORDS)
        word = re.match("[^-:]*", rest)[0]  # type: ignore[index]  # it matches everything
        if word not in known and _top(word) is None:
            word = leading(role, rest, known) or word
        words.append(word)
        rest = rest[len(word) :]
        if not rest.startswith("-"):
            return words, rest[1:] if rest else None
        rest = rest[1:]


def _top(word: str) -> int | None:
    """Return the percentage in a name such as top50."""
    is_percent = word.startswith("top") and word[3:].isdecimal() and len(word) < 12
    return int(word[3:]) if is_percent else None


def _filter(word: str) -> tuple[type[Any] | Own | None, int | None]:
    percent = _top(word)
    if percent is not None:
        return TopFilter, percent
    return _FILTERS.get(word) or found(FILTER, word, _FILTER_WORDS), None


def _made(part: type[Any] | Own, values: dict[str, Any], own: type[OwnVote | OwnFilter]) -> Any:
    names = set(parameters(part)) if isinstance(part, Own) else {field.name for field in fields(part)}
    mine = {name: value for name, value in values.items() if name in names}
    return own(part, tuple(mine.items())) if isinstance(part, Own) else part(**mine)


def _released(
    method: str, filter: type[Any] | Own | None, vote: type[Any] | Own
) -> tuple[type[Any] | None, type[Any]]:
    """Return the parts as in the authors' released script."""
    if filter is not None and filter not in RELEASED:
        raise InputError(
            f"method {method!r}: the released script splits by gmm or top only",
            hint="leave 'released' out",
            argument="method",
        )
    if (filter not in RELEASED and vote not in RELEASED) or isinstance(filter, Own) or isinstance(vote, Own):
        raise InputError(
            f"method {method!r} has no part in which the released script differs",
            hint="leave 'released' out",
            argument="method",
        )
    return (None if filter is None else RELEASED[filter]), RELEASED.get(vote, vote)


def _settings(method: str, items: Sequence[str], parts: Sequence[type[Any] | Own]) -> dict[str, Any]:
    """Return the parameters written after the colon; a value without a name is the first parameter.

    Those of a part of one's own stay texts.
    """
    if not items:
        return {}
    known: dict[str, type[Any]] = {}
    for part in parts:
        if isinstance(part, Own):
            known |= dict.fromkeys(parameters(part), str)
        else:
            known |= {f.name: type(f.default) for f in fields(part)}
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
