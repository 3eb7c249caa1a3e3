"""The evaluation of votes on runs whose right answers are known.

`load_pool_sets` reads runs and tables, `evaluate` runs experiments on them and returns a `Report`: tables and
charts as data. `calibrate` fits the probability of a winner to runs.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote.evaluation.calibrating import Fitted, calibrate
    from distrivote.evaluation.driver import evaluate
    from distrivote.evaluation.experiments.registry import EXPERIMENTS, experiments_named, reads_of
    from distrivote.evaluation.loading import Loaded, load_pool_sets
    from distrivote.evaluation.pools import Pool, PoolSet
    from distrivote.evaluation.results import Axis, Cell, Chart, Column, Report, Result, Row, Rule, Table
    from distrivote.evaluation.winners import Votes, votes_of

__all__ = [
    "EXPERIMENTS",
    "Axis",
    "Cell",
    "Chart",
    "Column",
    "Fitted",
    "Loaded",
    "Pool",
    "PoolSet",
    "Report",
    "Result",
    "Row",
    "Rule",
    "Table",
    "Votes",
    "calibrate",
    "evaluate",
    "experiments_named",
    "load_pool_sets",
    "reads_of",
    "votes_of",
]

__getattr__ = face(
    __name__,
    {
        "calibrating": "Fitted calibrate",
        "driver": "evaluate",
        "experiments.registry": "EXPERIMENTS experiments_named reads_of",
        "loading": "Loaded load_pool_sets",
        "pools": "Pool PoolSet",
        "results": "Axis Cell Chart Column Report Result Row Rule Table",
        "winners": "Votes votes_of",
    },
)
