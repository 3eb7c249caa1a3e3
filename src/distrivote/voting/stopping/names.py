"""The rules by name, as runs, requests and options spell them.

gain[:0.002[:auto]]      the rest of the budget is expected to add less than 0.2 points
sure[:0.95[:auto]]       the answer is right with 95%, or has no hope of becoming that sure
anytime[:0.95]           it is the majority's of the whole budget with 95%: a theorem
vote[:0.95[:dis-gmm]]    it stays the method's answer in the likely completions of the budget
beta[:0.95]              it is the more frequent of the first two with 95% (Adaptive-Consistency)
dirichlet[:0.95]         it is the most frequent of the first three with 95% (2602.05395)
consensus[:0.95[:16]]    it has 95% of the votes, of 16 trajectories or more (DeepConf)
esc[:5]                  5 neighbouring trajectories agree (ESC)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from distrivote.defaults import METHOD, PAPER_METHOD, STOP_GAIN, STOP_SHARE
from distrivote.errors import InputError
from distrivote.names import STOP_RULE, Own, found, given_name, is_ours, own_of, unknown
from distrivote.voting.stopping.anytime import Anytime
from distrivote.voting.stopping.completing import VoteHolds
from distrivote.voting.stopping.counting import BetaRule, Consensus, DirichletRule, Windows
from distrivote.voting.stopping.probable import Gain, Sure
from distrivote.voting.stopping.rule import OwnStopRule, StopRule, own_rule

RULES: dict[str, str] = {
    "gain": "the rest of the budget is expected to add less than 0.2 points of probability",
    "sure": "the answer is right with 95%, or has no hope of becoming that sure within the budget",
    "anytime": "the answer is the majority's of the whole budget with 95%, however often one looks",
    "vote": "95% of the likely completions of the budget leave the answer as it is",
    "beta": "the leading answer is the more frequent of the first two with 95% (Adaptive-Consistency)",
    "dirichlet": "the leading answer is the most frequent of the first three with 95%",
    "consensus": "the leading answer has 95% of the votes, of 16 or more (DeepConf)",
    "esc": "5 neighbouring trajectories agree (ESC)",
}
"""The names of the rules, with what they mean."""

_ONE_NUMBER: dict[str, Callable[[float], StopRule]] = {
    "anytime": Anytime,
    "beta": BetaRule,
    "dirichlet": DirichletRule,
}


def stop_rule(rule: str | StopRule | OwnStopRule | None, method: str | None = None) -> StopRule | None:
    """Return the rule of that name; a rule unchanged, and a function (ballot, n_left) -> bool as a rule.

    `method` is what `vote`, `gain` and `sure` vote by if the name does not say it; None for their own.

    >>> stop_rule("vote:0.99", method="wsc")
    VoteHolds(share=0.99, method='wsc', n_completions=128, seed=0)
    """
    if not isinstance(rule, str):
        is_rule = hasattr(rule, "settled") and not isinstance(rule, type)
        if rule is None or (is_rule and is_ours(rule)):
            return cast("StopRule | None", rule)
        if is_rule:
            return own_rule(Own(getattr(rule, "name", given_name(rule)), rule))
        if isinstance(rule, type) or not callable(rule):
            raise InputError(
                f"stop_when is {rule!r}",
                hint="give a name such as gain:0.002, a rule, a function (ballot, n_left) -> bool, or None",
                argument="stop_when",
            )
        return own_rule(own_of(STOP_RULE, rule))
    name, *settings = rule.strip().split(":", 2)
    if name not in RULES:
        own = found(STOP_RULE, rule.strip(), RULES)
        if own is None:
            raise unknown(STOP_RULE, rule, RULES)
        return own_rule(own)
    try:
        return _made(name, settings, rule, method)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        example = "esc:5" if name == "esc" else "gain:0.002" if name == "gain" else f"{name}:0.95"
        raise InputError(
            f"the rule {rule!r} has a part that is not a number",
            hint=f"write {example}",
            argument="stop_when",
        ) from None


def _made(name: str, settings: list[str], rule: str, method: str | None) -> StopRule:
    """Return the rule of a known name; ValueError if a number is none."""
    more = settings[1] if len(settings) > 1 else ""
    if more and (name in _ONE_NUMBER or name == "esc"):
        example = "esc:5" if name == "esc" else f"{name}:0.95"
        raise InputError(f"the rule {rule!r} takes one number", hint=f"write {example}", argument="stop_when")
    if name == "esc":
        return Windows(*map(int, settings[:1]))
    share = float(settings[0]) if settings else STOP_GAIN if name == "gain" else STOP_SHARE
    if name in _ONE_NUMBER:
        return _ONE_NUMBER[name](share)
    if name == "consensus":
        return Consensus(share, int(more)) if more else Consensus(share)
    if name == "vote":
        return VoteHolds(share, more or method or PAPER_METHOD)
    made = Gain if name == "gain" else Sure
    return made(share, more or method or METHOD)
