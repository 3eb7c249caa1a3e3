"""One sampled reply as data: its text, its tokens, and their log-probabilities.

Every engine and importer makes these, and every measure reads them.

Log-probabilities are natural logarithms of the model's own distribution. The end-of-text token is not among
the tokens: engines and importers leave it out, so that measures need not handle it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from distrivote.errors import InputError

CUT_OFF = "length"
"""The finish reason of a reply that reached its longest before its end."""

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Insertion:
    """One text that was injected, as far as it was injected."""

    start: int
    """The index of its first token in the trajectory."""

    n_tokens: int


@dataclass(frozen=True, slots=True)
class Interventions:
    """What a controller saw and did in one trajectory."""

    insertions: tuple[Insertion, ...] = ()

    step_ends: tuple[int, ...] = ()
    """The exclusive end of every step, in tokens, as in `splitting.step_ends`; empty if the controller uses
    no steps."""

    step_confidences: tuple[float, ...] = ()
    """The confidence by which each step was judged, NaN if none of its tokens had one. White space after the
    last boundary belongs to the last step but is not counted in it."""

    unfinished: bool = False
    """Whether no boundary ended the last step, so that it was not judged."""

    @property
    def n_reflections(self) -> int:
        """How often a text was injected."""
        return len(self.insertions)

    def up_to(self, n_tokens: int) -> Interventions:
        """Return the record of the trajectory truncated to `n_tokens` tokens.

        A truncated step keeps the confidence by which it was judged.
        """
        ends = (*self.step_ends, *(insertion.start + insertion.n_tokens for insertion in self.insertions))
        if max(ends, default=0) <= n_tokens:
            return self
        n_whole = sum(end <= n_tokens for end in self.step_ends)
        all_whole = n_whole == len(self.step_ends)
        is_cut = not all_whole and n_tokens > (self.step_ends[n_whole - 1] if n_whole else 0)
        return Interventions(
            tuple(
                Insertion(insertion.start, min(insertion.n_tokens, n_tokens - insertion.start))
                for insertion in self.insertions
                if insertion.start < n_tokens
            ),
            (*self.step_ends[:n_whole], n_tokens) if is_cut else self.step_ends[:n_whole],
            self.step_confidences[: n_whole + is_cut],
            self.unfinished if all_whole else is_cut,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A reply; with only a text, one without tokens and log-probabilities.

    >>> Trajectory("The answer is 4.").n_tokens
    0
    >>> Trajectory("4!", ("4", "!"), np.log([[0.9, 0.1], [0.6, 0.3]]), np.log([0.9, 0.6])).n_tokens
    2
    """

    text: str
    """The whole reply, including thinking if it is known."""

    tokens: tuple[str, ...] = ()
    """The text of each token; joined they are `text`. Empty if the reply came without tokens."""

    top_logprobs: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """(n_tokens, width) The most probable entries at each token, in any order, padded with NaN.

    A row may hold one entry more than requested: that of the sampled token, if it is not among the most
    probable. An unusable value is kept, -inf or a sentinel such as -9999, so that it can be counted.
    Width 0: there are none.
    """

    logprobs: Floats = field(default_factory=lambda: np.empty(0))
    """(n_tokens,) The log-probability of the sampled token, NaN if unknown."""

    finish_reason: str | None = None
    """Why the reply ended, as the engine reports it: "stop", "length", ..."""

    index: int = 0
    """Its number among the samples of its question, which with the seed determines its random numbers."""

    interventions: Interventions | None = None
    """What a controller saw and did; None if there was none."""

    server: str | None = None
    """The server that sampled it, if there are several."""

    n_prompt_tokens: int | None = None
    """The number of tokens of its prompt, as counted by the engine; None if unknown."""

    flaw: str | None = None
    """What is wrong with it, if the engine noticed: missing log-probabilities or end; None: nothing."""

    seconds: float | None = None
    """How long the engine took, from its start in a slot or its request to its end; None if unknown. It
    differs from run to run."""

    entropies: Floats | None = None
    """(n_tokens,) The entropy in nats of the whole distribution at each token, NaN where unknown; None if
    the engine sees only its most probable entries."""

    self_certainties: Floats | None = None
    """(n_tokens,) How far that distribution is from uniform, as KL(uniform || p) in nats; None likewise."""

    n_reply_tokens: int | None = None
    """The number of tokens that the server reports; None if unknown. Of several replies to one request the
    last has those of all."""

    stated: float | None = None
    """The confidence that the model stated itself, from 0 to 1; None if it was not asked or did not."""

    model: str | None = None
    """The model that sampled it, if several models share the question; None: there is only one."""

    def __post_init__(self) -> None:
        n = len(self.tokens)
        if self.top_logprobs.ndim != 2 or self.top_logprobs.shape[0] != n:
            raise InputError(
                f"{n} tokens but top_logprobs of shape {self.top_logprobs.shape}: give one row per"
                f" token, ({n}, 0) if there are none"
            )
        if self.logprobs.shape != (n,):
            raise InputError(
                f"{n} tokens but logprobs of shape {self.logprobs.shape}: give one per token, NaN"
                " where unknown"
            )
        whole = [values for values in (self.entropies, self.self_certainties) if values is not None]
        if len(whole) == 1:
            raise InputError(
                "there are entropies or self-certainties of the whole distribution, and the others are"
                " missing: give both or neither"
            )
        if any(values.shape != (n,) for values in whole):
            raise InputError(
                f"{n} tokens but entropies and self-certainties of shapes"
                f" {' and '.join(str(values.shape) for values in whole)}: give one of each per token"
            )
        if self.tokens and "".join(self.tokens) != self.text:
            raise InputError("the tokens joined are not the text: give tokens that spell it")

    @property
    def n_tokens(self) -> int:
        """The number of its tokens; without tokens, the number that the server reports."""
        return len(self.tokens) or self.n_reply_tokens or 0
