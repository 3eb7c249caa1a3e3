"""Ask a language model the same question N times and believe the right answer.

Every public name, with the module it comes from. Each is loaded on first use, and so are the packages that
have a face of their own: `distrivote.store`, `distrivote.evaluation` and others.
"""

from typing import TYPE_CHECKING

from distrivote.faces import face

if TYPE_CHECKING:
    from distrivote import benchmarks as benchmarks
    from distrivote import engines as engines
    from distrivote import evaluation as evaluation
    from distrivote import pools as pools
    from distrivote import report as report
    from distrivote import scorers as scorers
    from distrivote import simulation as simulation
    from distrivote import steering as steering
    from distrivote import store as store
    from distrivote.answers.equality import Equality, equality
    from distrivote.engines.base import SamplingParams
    from distrivote.engines.choice import open
    from distrivote.errors import (
        DistrivoteError,
        EngineError,
        InputError,
        MissingPackageError,
        OwnCodeError,
        UnknownNameError,
    )
    from distrivote.flow import sample, solution_of, solve
    from distrivote.flow_async import asample, asolve
    from distrivote.flow_many import solve_many
    from distrivote.generation.run import RunInterrupted, RunResult, generate_run
    from distrivote.poll import Poll
    from distrivote.problem import Problem
    from distrivote.reading import Reading
    from distrivote.scorers.run import ScoreResult, score_run
    from distrivote.scorers.scorer import Reply
    from distrivote.solution import Solution
    from distrivote.steering import BudgetForcing, DeepConfOnline, DistriVotingOnline, SelfStepConf
    from distrivote.trajectory import Trajectory
    from distrivote.version import __version__ as __version__
    from distrivote.voting.ballot import Ballot, ballot_of, from_openai, from_vllm
    from distrivote.voting.methods import METHODS, parse_method
    from distrivote.voting.pipeline import Pipeline
    from distrivote.voting.stopping import StopRule
    from distrivote.voting.tally import Outcome, Split, Tally
    from distrivote.voting.vote import elect, vote, vote_batch

__all__ = [
    "METHODS",
    "Ballot",
    "BudgetForcing",
    "DeepConfOnline",
    "DistriVotingOnline",
    "DistrivoteError",
    "EngineError",
    "Equality",
    "InputError",
    "MissingPackageError",
    "Outcome",
    "OwnCodeError",
    "Pipeline",
    "Poll",
    "Problem",
    "Reading",
    "Reply",
    "RunInterrupted",
    "RunResult",
    "SamplingParams",
    "ScoreResult",
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
    "generate_run",
    "open",
    "parse_method",
    "sample",
    "score_run",
    "solution_of",
    "solve",
    "solve_many",
    "vote",
    "vote_batch",
]

__getattr__ = face(
    __name__,
    {
        "answers.equality": "Equality equality",
        "engines.base": "SamplingParams",
        "engines.choice": "open",
        "errors": "DistrivoteError EngineError InputError MissingPackageError OwnCodeError UnknownNameError",
        "flow": "sample solution_of solve",
        "flow_async": "asample asolve",
        "flow_many": "solve_many",
        "generation.run": "RunInterrupted RunResult generate_run",
        "poll": "Poll",
        "problem": "Problem",
        "reading": "Reading",
        "scorers.run": "ScoreResult score_run",
        "scorers.scorer": "Reply",
        "solution": "Solution",
        "steering": "BudgetForcing DeepConfOnline DistriVotingOnline SelfStepConf",
        "trajectory": "Trajectory",
        "version": "__version__",
        "voting.ballot": "Ballot ballot_of from_openai from_vllm",
        "voting.methods": "METHODS parse_method",
        "voting.pipeline": "Pipeline",
        "voting.stopping": "StopRule",
        "voting.tally": "Outcome Split Tally",
        "voting.vote": "elect vote vote_batch",
    },
    packages="benchmarks engines evaluation pools report scorers simulation steering store",
)
