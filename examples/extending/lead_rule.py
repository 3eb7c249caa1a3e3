"""A stopping rule of your own: when are no more trajectories needed? Here: at a lead of three."""

import numpy as np

import distrivote
from distrivote.engines import ReplayEngine


def lead(ballot, n_left):
    """Say whether the vote is settled although n_left trajectories may still come."""
    votes = sorted(np.bincount(ballot.classes[ballot.classes >= 0]), reverse=True)
    return bool(votes) and votes[0] - sum(votes[1:2]) > min(2, n_left)


if __name__ == "__main__":
    engine = ReplayEngine([distrivote.Trajectory("It is \\boxed{4}.")] * 16)
    solution = distrivote.solve(engine, "What is 2 + 2?", budget=16, steering=None, stop_when=lead)
    print(solution.answer, f"after {len(solution.trajectories)} of {solution.n_asked}")
