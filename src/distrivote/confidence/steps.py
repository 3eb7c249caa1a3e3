"""From token values to one value per step, given where the steps end.

    C_step = mean of the confidences of the step's tokens

Tokens without a value are left out of the mean; a step without any value is NaN. How a text is split into
steps is decided elsewhere: `step_ends` are exclusive token indices, ascending, the last one being the number
of tokens.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from distrivote.errors import InputError
from distrivote.trajectory import Floats

StepEnds = npt.NDArray[np.int64]


def step_confidences(values: Floats, step_ends: StepEnds) -> Floats:
    """Return the mean of the values in each step, NaN for a step without values.

    >>> step_confidences(np.array([1.0, 3.0, np.nan, 8.0]), np.array([2, 3, 4])).tolist()
    [2.0, nan, 8.0]
    """
    check_step_ends(step_ends, len(values))
    if len(step_ends) == 0:
        return np.empty(0)
    starts = np.concatenate(([0], step_ends[:-1]))
    known = ~np.isnan(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    counts = np.add.reduceat(known.astype(np.int64), starts)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def step_of(token: int, step_ends: StepEnds) -> slice:
    """Return the tokens of the step that contains the given token.

    >>> step_of(3, np.array([2, 5, 9]))
    slice(2, 5, None)
    """
    step = int(np.searchsorted(step_ends, token, side="right"))
    return slice(int(step_ends[step - 1]) if step else 0, int(step_ends[step]))


def check_step_ends(step_ends: StepEnds, n_tokens: int) -> None:
    """Raise InputError unless the ends divide `n_tokens` tokens into steps of at least one token."""
    ends = np.asarray(step_ends)
    if not len(ends):
        fits = n_tokens == 0
    else:
        fits = bool(ends[0] > 0 and ends[-1] == n_tokens and (ends[1:] > ends[:-1]).all())
    if not fits:
        raise InputError(
            f"step ends {ends.tolist()[:8]} do not cut {n_tokens} tokens into steps: give ascending"
            " exclusive ends, the last one being the number of tokens"
        )
