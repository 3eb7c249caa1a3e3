"""Ask a language model the same question N times and believe the right answer."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distrivote.answers.equality import Equality, equality
    from distrivote.ballots import ballot_of, from_openai, from_vllm
    from distrivote.engines.base import SamplingParams
    from distrivote.errors import (
        DistrivoteError,
        EngineError,
        InputError,
        MissingPackageError,
        UnknownNameError,
    )
    from distrivote.problem import Problem
    from distrivote.selfstepconf import BudgetForcing, DeepConfOnline, SelfStepConf
    from distrivote.solve import Solution, sample, solution_of, solve
    from distrivote.solve_async import asample, asolve
    from distrivote.stopping import StopRule
    from distrivote.trajectory import Trajectory
    from distrivote.voting.ballot import Ballot, Outcome, Split, Tally
    from distrivote.voting.methods import METHODS, parse_method
    from distrivote.voting.pipeline import Pipeline
    from distrivote.voting.vote import elect, vote, vote_batch

_HOMES = {
    "METHODS": "voting.methods",
    "Ballot": "voting.ballot",
    "BudgetForcing": "selfstepconf",
    "DeepConfOnline": "selfstepconf",
    "DistrivoteError": "errors",
    "EngineError": "errors",
    "Equality": "answers.equality",
    "InputError": "errors",
    "MissingPackageError": "errors",
    "Outcome": "voting.ballot",
    "Pipeline": "voting.pipeline",
    "Problem": "problem",
    "SamplingParams": "engines.base",
    "SelfStepConf": "selfstepconf",
    "Solution": "solve",
    "Split": "voting.ballot",
    "StopRule": "stopping",
    "Tally": "voting.ballot",
    "Trajectory": "trajectory",
    "UnknownNameError": "errors",
    "asample": "solve_async",
    "asolve": "solve_async",
    "ballot_of": "ballots",
    "elect": "voting.vote",
    "equality": "answers.equality",
    "from_openai": "ballots",
    "from_vllm": "ballots",
    "parse_method": "voting.methods",
    "sample": "solve",
    "solution_of": "solve",
    "solve": "solve",
    "vote": "voting.vote",
    "vote_batch": "voting.vote",
}

__all__ = [
    "METHODS",
    "Ballot",
    "BudgetForcing",
    "DeepConfOnline",
    "DistrivoteError",
    "EngineError",
    "Equality",
    "InputError",
    "MissingPackageError",
    "Outcome",
    "Pipeline",
    "Problem",
    "SamplingParams",
    "SelfStepConf",
    "Solution",
    "Split",
    "StopRule",
    "Tally",
    "Trajectory",
    "UnknownNameError",
    "asample",
    "asolve",
    "ballot_of",
    "elect",
    "equality",
    "from_openai",
    "from_vllm",
    "parse_method",
    "sample",
    "solution_of",
    "solve",
    "vote",
    "vote_batch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'distrivote' has no attribute {name!r}")
    value = getattr(import_module(f"distrivote.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


# In a program everything is loaded at once, so that the first vote is as fast as the next. The command
# answers --help before NumPy is in memory (it takes half of the time), so there names load on use.
if not getattr(sys, "argv", [""])[0].endswith(("/distrivote", "\\distrivote.exe")):
    for _name in __all__:
        __getattr__(_name)
