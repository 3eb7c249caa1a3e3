"""What a stopping rule is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from distrivote.defaults import STOP_SHARE
from distrivote.errors import InputError
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


def check_share(share: float) -> None:
    """Raise InputError unless it is a share to stop at."""
    if not 0 < share <= 1:
        raise InputError(
            f"the share to stop at is {share}",
            hint="give a number above 0 and up to 1, such as 0.95",
            argument="stop_when",
        )
