"""When is a vote settled? Rules that say so while trajectories come in, to stop sampling early.

A rule looks at the ballot so far, in the order of the trajectories' numbers, and at how many may still come,
and nothing else: the same ballot, the same verdict, whoever asks and whenever. `poll` keeps the ballot of
one question under a rule; `names` has the rules by name.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.voting.stopping.anytime import Anytime, e_value
    from distrivote.voting.stopping.completing import VoteHolds, completions
    from distrivote.voting.stopping.counting import (
        BetaRule,
        Consensus,
        DirichletRule,
        Windows,
        first_of_three,
        half_beta,
    )
    from distrivote.voting.stopping.names import RULES, stop_rule
    from distrivote.voting.stopping.outlooks import Outlook, outlook
    from distrivote.voting.stopping.probable import Gain, Sure
    from distrivote.voting.stopping.rule import OwnStopRule, StopRule

__all__ = [
    "RULES",
    "Anytime",
    "BetaRule",
    "Consensus",
    "DirichletRule",
    "Gain",
    "Outlook",
    "OwnStopRule",
    "StopRule",
    "Sure",
    "VoteHolds",
    "Windows",
    "completions",
    "e_value",
    "first_of_three",
    "half_beta",
    "outlook",
    "stop_rule",
]

__getattr__ = face(
    __name__,
    {
        "anytime": "Anytime e_value",
        "completing": "VoteHolds completions",
        "counting": "BetaRule Consensus DirichletRule Windows first_of_three half_beta",
        "names": "RULES stop_rule",
        "outlooks": "Outlook outlook",
        "probable": "Gain Sure",
        "rule": "OwnStopRule StopRule",
    },
)
