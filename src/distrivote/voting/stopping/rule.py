"""What a stopping rule is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

from distrivote.defaults import STOP_SHARE
from distrivote.errors import InputError
from distrivote.names import STOP_RULE, Own, called, check_call
from distrivote.voting.ballot import Ballot


class StopRule(Protocol):
    """Says when no more trajectories are needed.

    A rule may also have `reason(ballot, n_left) -> str | None`: why it stopped, where that is not that the
    vote is settled.
    """

    @property
    def name(self) -> str:
        """What a run keeps among its settings; `stop_rule` makes a rule of that name from it again."""

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        """Say whether the vote is settled although `n_left` trajectories may still come."""


@dataclass(frozen=True, slots=True)
class ShareRule:
    """What rules with one number have in common: a share to stop at, which is their level."""

    share: float = STOP_SHARE
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        check_share(self.share)

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.share!r}"


OwnStopRule: TypeAlias = Callable[[Ballot, int], Any]
"""A function of one's own: the ballot so far and how many may still come -> whether the vote is settled."""


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """A function as a rule."""

    name: str
    function: OwnStopRule = field(compare=False)
    why: Callable[[Ballot, int], str | None] | None = field(default=None, compare=False)
    """The `reason` of the object that it was made from."""

    def settled(self, ballot: Ballot, n_left: int) -> bool:
        return bool(called(STOP_RULE, self.name, self.function, ballot, n_left))

    def reason(self, ballot: Ballot, n_left: int) -> str | None:
        return None if self.why is None else called(STOP_RULE, self.name, self.why, ballot, n_left)


def own_rule(own: Own) -> StopRule:
    """Return the rule that an object of the user's is: a rule, a class of them, or a function."""
    value: Any = called(STOP_RULE, own.name, own.value) if isinstance(own.value, type) else own.value
    if hasattr(value, "settled"):
        return FunctionRule(own.name, value.settled, getattr(value, "reason", None))
    check_call(STOP_RULE, own, 2)
    return FunctionRule(own.name, value)


def check_share(share: float) -> None:
    """Raise InputError unless it is a share to stop at."""
    if not 0 < share <= 1:
        raise InputError(
            f"the share to stop at is {share}",
            hint="give a number above 0 and up to 1, such as 0.95",
            argument="stop_when",
        )
