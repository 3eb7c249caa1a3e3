"""What the entry points in pyproject.toml name: `-m power` and `--signal brevity` once it is installed."""

import numpy as np


def power(classes, confidences, p=2.0):
    """A vote: every trajectory votes with a power of its confidence."""
    return np.bincount(classes, weights=confidences**p)


def brevity(trajectory):
    """A measure: short replies are sure."""
    return 100 / (1 + len(trajectory.text))
