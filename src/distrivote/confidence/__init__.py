"""From log-probabilities to numbers that say how sure the model was: of a token, a step, a trajectory.

Higher always means surer, in every function here and everywhere else. The confidence of a token is
*minus* the mean log-probability of the k most probable tokens. The minus sign makes it positive; it does
not make it an uncertainty. When one token takes nearly all the probability, the other k - 1 are left
with very little, their log-probabilities are far below zero, and the confidence is high; when all k
share it evenly, the confidence is low (log k at least).
"""

from distrivote.confidence.stated import STATED, unstated
from distrivote.confidence.steps import step_confidences, step_of
from distrivote.confidence.tokens import (
    DEFAULT_K,
    TokenValues,
    entries_given,
    token_confidence,
    token_entropy,
    token_logprob,
    token_margin,
    token_self_certainty,
    token_whole,
)
from distrivote.confidence.trajectories import (
    DEFAULT_MEASURE,
    LENGTH,
    MEASURES,
    Measure,
    OwnMeasure,
    TrajectoryConfidence,
    measure_named,
    measure_of,
)

__all__ = [
    "DEFAULT_K",
    "DEFAULT_MEASURE",
    "LENGTH",
    "MEASURES",
    "STATED",
    "Measure",
    "OwnMeasure",
    "TokenValues",
    "TrajectoryConfidence",
    "entries_given",
    "measure_named",
    "measure_of",
    "step_confidences",
    "step_of",
    "token_confidence",
    "token_entropy",
    "token_logprob",
    "token_margin",
    "token_self_certainty",
    "token_whole",
    "unstated",
]
