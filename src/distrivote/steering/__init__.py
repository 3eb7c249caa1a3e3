"""Controllers, which steer a trajectory while it is generated, one token at a time.

`controller` is the interface between a rule and the engine that runs it. `reflection` is SelfStepConf,
`threshold` its rule over steps, `released` its variant in the authors' released code. `budget` is budget
forcing. `deepconf` and `distrivoting` end trajectories early; the latter uses `course`. `choice` resolves
names, and `replay` computes the record of a finished trajectory.
"""

from distrivote.steering.budget import BudgetForcing
from distrivote.steering.choice import Steering, steering_of
from distrivote.steering.controller import ENDED, Controller, ControllerStream, End, Injection
from distrivote.steering.deepconf import DeepConfOnline
from distrivote.steering.distrivoting import DistriVotingOnline
from distrivote.steering.reflection import SelfStepConf
from distrivote.steering.released import ReleasedStream
from distrivote.steering.replay import replay
from distrivote.steering.threshold import lowest_ratio, thresholds

__all__ = [
    "ENDED",
    "BudgetForcing",
    "Controller",
    "ControllerStream",
    "DeepConfOnline",
    "DistriVotingOnline",
    "End",
    "Injection",
    "ReleasedStream",
    "SelfStepConf",
    "Steering",
    "lowest_ratio",
    "replay",
    "steering_of",
    "thresholds",
]
