"""A filter of your own: which trajectories are likely right? Here the more confident half."""

import numpy as np

import distrivote
from distrivote.voting.votes import HierarchicalVote


def median(confidences):
    """Return the lowest confidence that is likely right; confidences are in ascending order."""
    return np.median(confidences)


if __name__ == "__main__":
    method = distrivote.Pipeline(HierarchicalVote(), median, reject=True)
    tally = distrivote.vote(["12", "35", "35", "12"], [9.0, 4.0, 4.5, 8.0], method=method)
    print(tally.method, tally.answer, tally.n_kept)
