"""Scorers: one number for each reply of a run, from a command, a function, a server or a model."""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.scorers.run import ScoreInterrupted, ScoreProgress, ScoreResult, score_run
    from distrivote.scorers.scorer import Reply, Scored, Scorer

__all__ = ["Reply", "ScoreInterrupted", "ScoreProgress", "ScoreResult", "Scored", "Scorer", "score_run"]

__getattr__ = face(
    __name__,
    {
        "run": "ScoreInterrupted ScoreProgress ScoreResult score_run",
        "scorer": "Reply Scored Scorer",
    },
)
