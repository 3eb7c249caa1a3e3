"""Inspect AI: the epochs of a sample end once its vote is settled, and its log viewer shows the votes.

    Task(..., scorer=with_confidence(match(numeric=True)), epochs=Epochs(32, distrivote()),
         early_stopping=StopWhenSettled("gain"))

Inspect asks before it starts an epoch, and reports the scores of each that has ended. The rule sees the
epochs with no missing one before them: those that finish first are short, and not a fair sample. Epochs in
progress when the vote is settled still run; `max_samples` bounds them.

Its viewer does not show reduced scores. It does show what an early stopping manager reports at the end, on
the page of the task, so the vote on each sample is reported there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distrivote.answers.equality import equality
from distrivote.defaults import METHOD
from distrivote.errors import InputError, MissingPackageError
from distrivote.integrations.inspect_ai import vote_on_scores
from distrivote.prompts import DEFAULT_SAME
from distrivote.voting.methods import parse_method
from distrivote.voting.stopping import OwnStopRule, StopRule, stop_rule

try:
    from inspect_ai.util import EarlyStop
except ImportError as error:
    raise MissingPackageError("inspect-ai", "inspect", "voting in Inspect") from error


class StopWhenSettled:
    """An `EarlyStopping` of Inspect that ends the epochs of a sample once its vote is settled."""

    def __init__(
        self,
        rule: str | StopRule | OwnStopRule = "gain",
        *,
        method: str = METHOD,
        same: str = DEFAULT_SAME,
        scorer: str | None = None,
    ) -> None:
        """Accept the settings.

        Args:
            rule: A name such as "gain", "anytime:0.99" or "beta", a rule, or a function.
            method: What votes, as in `distrivote(method)`; rules that vote use it too.
            same: When two answers are equal: text, notation, math or choice.
            scorer: The name of the scorer whose answers are voted on; by default the first.
        """
        self._method, self._same = parse_method(method), equality(same)
        made = stop_rule(rule, self._method.name)
        if made is None:
            raise InputError("there is no rule", hint="give one such as gain", argument="rule")
        self._rule, self._scorer = made, scorer
        self._n_epochs = 0
        self._scores: dict[str | int, dict[int, Any]] = {}
        self._settled: dict[str | int, int] = {}

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:  # noqa: ARG002
        """Forget an earlier task, and return the name that the log has."""
        self._n_epochs = epochs
        self._scores, self._settled = {}, {}
        return f"distrivote {self._rule.name}"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Say that an epoch is not needed, once the vote on its sample is settled."""
        n = self._settled.get(id)
        if n is None:
            return None
        reason = f"the vote was settled after {n} of {self._n_epochs} epochs ({self._rule.name})"
        return EarlyStop(id=id, epoch=epoch, reason=reason)

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, Any]) -> None:
        """Take the scores of an epoch."""
        if self._scorer is not None and self._scorer not in scores:
            raise InputError(
                f"there is no scorer {self._scorer!r} among {', '.join(scores)}",
                hint="leave it out, or give one of these",
                argument="scorer",
            )
        name = self._scorer or next(iter(scores), None)
        if name is None:
            return
        seen = self._scores.setdefault(id, {})
        seen[epoch] = scores[name].score
        if id in self._settled:
            return
        n = next(n for n in range(len(seen) + 1) if n + 1 not in seen)
        if not n:
            return
        ballot = vote_on_scores([seen[at + 1] for at in range(n)], self._method, self._same).ballot
        if self._rule.settled(ballot, self._n_epochs - n):
            self._settled[id] = n

    async def complete_task(self) -> dict[str, Any]:
        """Return the vote on every sample, for the log and its viewer."""
        return {"rule": self._rule.name, "votes": {str(id): self._vote(id) for id in self._scores}}

    def _vote(self, id: str | int) -> dict[str, Any]:
        seen = self._scores[id]
        tally = vote_on_scores([seen[epoch] for epoch in sorted(seen)], self._method, self._same).tally
        return {
            "answer": None if tally.answer is None else str(tally.answer),
            "explanation": tally.explain(),
            "majority": None if tally.majority is None else str(tally.majority),
            "n_epochs": len(seen),
            "settled_after": self._settled.get(id),
        }
