"""How a trajectory is steered while it is generated: controllers, one token at a time.

`controller` is the seam between a rule and the engine that drives it, `reflection` is SelfStepConf on
it, `threshold` the rule of SelfStepConf over steps, `released` what the authors' released code does instead,
`budget` a second controller, `deepconf` one that ends trajectories early, `choice` says which of them is
meant, and `replay` makes the record of a trajectory that is finished.
"""

from distrivote.steering.budget import BudgetForcing
from distrivote.steering.choice import Steering, steering_of
from distrivote.steering.controller import ENDED, Controller, ControllerStream, End, Injection
from distrivote.steering.deepconf import DeepConfOnline
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
