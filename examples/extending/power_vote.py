"""A vote of your own: every trajectory votes with a power of its confidence."""

import numpy as np

import distrivote


def power(classes, confidences, p=2.0):
    """Return a score per class; classes are numbers from 0, and the highest score wins."""
    return np.bincount(classes, weights=confidences**p)


if __name__ == "__main__":
    tally = distrivote.vote(["12", "35", "35"], [9.0, 4.0, 4.5], method=power)
    print(tally.answer, tally.scores)
    print(distrivote.vote(["12", "35", "35"], [9.0, 4.0, 4.5], method=lambda classes: classes[0]).answer)
