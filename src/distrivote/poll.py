"""One question in progress: what to sample next, what the trajectories say, when it is settled, what wins.

A `Poll` knows no engine, clock, thread or file. The caller asks it for the next batch, adds the trajectories
as they finish, stops when it is settled, and calls `finish`: `flow` does this for Python, and in the same way
the command line, the server and its page. The order in which trajectories finish makes no difference.

    while (batch := poll.next_batch()) is not None:
        for trajectory in engine.sample(poll.problem.messages(), ..., batch.steering, indices=batch.indices):
            poll.add(trajectory)
            if poll.settled:
                break
    solution = poll.finish()
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from distrivote.answers.code.given import AskInputs, Inputs
from distrivote.answers.equality import Equality, Same
from distrivote.answers.extract import OwnExtractor
from distrivote.answers.judging import (
    Embed,
    JudgeOf,
)
from distrivote.answers.kinds.asked import AskedKind
from distrivote.answers.kinds.composing import composed
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.names import OwnAnswer
from distrivote.answers.structured.fields import Composed
from distrivote.confidence import DEFAULT_K, DEFAULT_MEASURE, STATED, Measure, OwnMeasure
from distrivote.defaults import (
    ANSWER,
    BUDGET,
    MAX_BUDGET,
    METHOD,
    MIN_PROBABILITY,
    STOP_FIRST_ROUND,
    TEMPLATE,
)
from distrivote.errors import InputError, OwnCodeError
from distrivote.nouns import count
from distrivote.problem import Problem
from distrivote.reading import Pool, Reader, Reading
from distrivote.solution import Solution
from distrivote.splitting import DelimiterSplitter
from distrivote.steering import Controller, Steering, steering_of
from distrivote.trajectory import CUT_OFF, Trajectory
from distrivote.voting.abstaining import asked_probability
from distrivote.voting.ballot import Ballot
from distrivote.voting.filters import mixture_cut
from distrivote.voting.kernels.pools import FloatArray, IntArray
from distrivote.voting.methods import Method, method_of
from distrivote.voting.probability import Calibration
from distrivote.voting.stopping import OwnStopRule, StopRule, stop_rule
from distrivote.voting.tally import Outcome, Tally
from distrivote.voting.vote import elect, vote


class Batch(NamedTuple):
    """What to sample next."""

    indices: range
    """The numbers of the trajectories."""

    steering: Controller | None


class Poll:
    """The trajectories of one question as they finish, and the vote on them.

    Args:
        problem: A question, or a `Problem` with its own template.
        budget: How many trajectories to sample.
        method: How to vote.
        steering: The controller; None for plain sampling.
        stop_when: A rule that says when no more are needed, such as gain (docs/stopping.md).
        answer: What an answer is, by name or a `Kind`; `auto` chooses by the problem, else by the replies.
        run_code: Whether programs that the model wrote may be run, to compare them by what they do.
        inputs: Argument tuples to test programs on besides the examples of the question. `model`: the model
            given to `judge_with` is asked for some after all trajectories have finished.
        same: When two answers are the same, by name or an `Equality`; by default as the kind says. `judge`:
            the model given to `judge_with` decides after all trajectories have finished. `embeddings`:
            texts are grouped by the embeddings of its server.
        measure: What a confidence is; by default the controller's own measure, else answer-step.
        extract: How the answer is found in a text; by default as the kind says.
        k: How many of the most probable tokens a confidence is computed from.
        calibration: The source of probabilities; by default the built-in calibration.
        min_probability: An answer below it is withheld.
        max_error: Withhold answers such that at most this share of the others is wrong: a promise with
            conditions (`voting.promises`), for which the calibration needs labelled questions.
        eager: Whether a trajectory is read when it is added. Then other threads may call `tally` and
            `reading` meanwhile. Otherwise all are read together on demand, which is faster. A poll with a
            rule or a warm-up is always eager.

    >>> poll = Poll("What is 2 + 2?", budget=8, method="sc", stop_when="beta:0.8")
    >>> for index in range(2):
    ...     _ = poll.take(Trajectory("It is \\\\boxed{4}.", index=index))
    >>> poll.settled, poll.finish().answer
    (True, '4')
    """

    def __init__(
        self,
        problem: Problem | str,
        *,
        budget: int = BUDGET,
        method: Method = METHOD,
        steering: Steering = "auto",
        stop_when: str | StopRule | OwnStopRule | None = None,
        answer: str | Kind | OwnAnswer = ANSWER,
        run_code: bool = False,
        inputs: Inputs | str | None = None,
        same: Same | None = None,
        measure: str | Measure | OwnMeasure | None = None,
        extract: str | re.Pattern[str] | OwnExtractor | None = None,
        k: int = DEFAULT_K,
        calibration: Calibration | None = None,
        min_probability: float = MIN_PROBABILITY,
        max_error: float | None = None,
        eager: bool = False,
    ) -> None:
        self.problem = problem_of(problem)
        self.budget = check_budget(budget)
        self.method = method_of(method)
        self.rule = stop_rule(stop_when, self.method.name)
        self._asked = AskedKind(self.problem, answer, same, extract, run_code, inputs)
        controller = steering_of(steering)
        self.steering = None if controller is None else controller.answering(self._asked.find)
        own = None if self.steering is None else self.steering.measure
        asked = (own or DEFAULT_MEASURE) if measure is None else measure
        if asked == STATED:
            self.problem = replace(self.problem, states_confidence=True)
        steps = None if self.steering is None else self.steering.split
        warms_up = self.steering is not None and self.steering.n_warmup > 0
        self.eager = eager or warms_up or self.rule is not None
        self._pool = Pool(
            Reader.of(
                self.kind,
                [asked] if own in (None, asked) else [asked, own],
                DelimiterSplitter() if steps is None else steps,
                k,
                steered_by=steps,
            ),
            eager=self.eager,
        )
        self._calibration = calibration
        self._min_probability = asked_probability(min_probability, max_error, calibration, self.method.name)
        if max_error is not None and self.rule is not None:
            raise InputError(
                "a promise about errors holds for a fixed number of trajectories, and a rule ends them early",
                hint="leave out `max_error` or `stop_when`",
                argument="max_error",
            )
        self._others: list[Reading] = []
        self._n_begun = 0
        self._verdict = (0, False)

    def next_batch(self) -> Batch | None:
        """Return what to sample next; None if nothing more is needed. Each trajectory is requested once.

        With a controller that needs a warm-up the first batch is the warm-up, and the next batch is
        returned after all of it was added. The same holds for a rule: each batch doubles the number of
        trajectories, since what is in progress when a vote is settled is lost.
        """
        begun = self._n_begun
        if begun >= self.budget or self.settled:
            return None
        n_warmup = 0 if self.steering is None else self.steering.n_warmup
        end = n_warmup if begun == 0 and n_warmup else self._round_end(begun)
        self._n_begun = min(end, self.budget)
        return Batch(range(begun, self._n_begun), self.steering_from(begun))

    def steering_from(self, number: int) -> Controller | None:
        """Return the controller of the trajectories from this number on, adjusted after a warm-up."""
        steering = self.steering
        if steering is None or not 0 < steering.n_warmup <= number:
            return steering
        readings = sorted(self._readings(), key=lambda reading: reading.index)
        warm = [reading for reading in readings if reading.index < steering.n_warmup]
        values = [reading.confidences[-1].value for reading in warm]
        return steering.after(values, [reading.record for reading in warm], mixture_cut(values))

    def _round_end(self, begun: int) -> int:
        """Return the end (exclusive) of the next round."""
        return self.budget if self.rule is None else max(STOP_FIRST_ROUND, 2 * begun)

    @property
    def kind(self) -> Kind:
        """What an answer is, as far as the replies show it."""
        return self._asked.kind

    @property
    def same(self) -> Equality:
        """When two answers are the same."""
        return self._asked.same

    @property
    def is_kind_open(self) -> bool:
        """Whether the replies determine the kind of answer, so that it may still change."""
        return self._asked.is_open

    @property
    def asks_engine(self) -> bool:
        """Whether `finish` asks an engine, so that it may take long."""
        return self._asked.asks_engine

    def judge_with(
        self, judge_of: JudgeOf, embed: Embed | None = None, ask_inputs: AskInputs | None = None
    ) -> None:
        """Set what asks the engine: which answers are the same, or for inputs of programs."""
        self._asked.judge_with(judge_of, embed, ask_inputs)

    def add(self, trajectory: Trajectory) -> Trajectory:
        """Add a trajectory, and return it in the form in which it is read."""
        trajectory = self._pool.add(trajectory)
        if self._asked.changed_by(trajectory.text, trajectory.finish_reason == CUT_OFF):
            self._pool.read_by(replace(self._pool.reader, kind=self.kind))
        return trajectory

    def take(self, trajectory: Trajectory) -> Reading:
        """Add a trajectory and return its reading."""
        self.add(trajectory)
        return self.reading(trajectory.index)

    def accept(self, reading: Reading) -> None:
        """Add the reading of a trajectory that was read elsewhere, such as a row of a run."""
        self._others.append(reading)

    def reading(self, index: int) -> Reading:
        """Return the reading of the trajectory with this number; of several, the last."""
        return next(reading for _, reading in reversed(self._pool.read()) if reading.index == index)

    @property
    def settled(self) -> bool:
        """Whether the rule needs no more trajectories; never before the first one.

        The rule sees only trajectories with no missing number before them: those that finish first are
        short, and not a fair sample.
        """
        if self.rule is None:
            return False
        n_readings = len(self._readings())
        if n_readings != self._verdict[0]:
            ballot = self.ballot()
            n_left = max(self.budget - len(ballot.classes), 0)
            settled = len(ballot.classes) > 0 and self.rule.settled(ballot, n_left)
            self._verdict = (n_readings, settled)
        return self._verdict[1]

    def ballot(self) -> Ballot:
        """Return the votes of the trajectories with no missing number before them, in order."""
        return self._ballot(in_order(self._readings()))

    def _readings(self) -> list[Reading]:
        return [*self._others, *(reading for _, reading in self._pool.read())]

    @property
    def n_taken(self) -> int:
        """The number of trajectories so far."""
        return len(self._readings())

    def tally(self) -> Tally:
        """Return the vote on the trajectories so far."""
        return self.so_far().tally

    def so_far(self, n: int | None = None) -> Solution:
        """Return the answer of the trajectories so far, or of the first n that were added."""
        return self._solution(None, is_settled=False, n=n)

    def finish(self, failure: Exception | None = None) -> Solution:
        """Return the answer, and what it is based on.

        Args:
            failure: What ended the sampling early. It is raised if no trajectory has finished; else the
                vote uses those that have, and a note says so.

        Raises:
            OwnCodeError: A function of the user's failed in the vote; `trajectories` are what was sampled.
        """
        try:
            return self._finished(failure)
        except OwnCodeError as error:
            error.trajectories = self._pool.trajectories
            raise

    def _finished(self, failure: Exception | None) -> Solution:
        try:
            self._pool.read()
        except OwnCodeError as error:
            failure = failure or error
        is_settled = failure is None and self.settled
        if self.asks_engine and self._pool.read():
            self._asked.judge(lambda: [each.vote for each in self._readings() if each.vote is not None])
        solution = self._solution(failure, is_settled=is_settled)
        if failure is not None and not solution.trajectories:
            raise failure
        return solution

    def _solution(self, failure: Exception | None, is_settled: bool, n: int | None = None) -> Solution:
        pairs = sorted(self._pool.read()[:n], key=lambda pair: pair[1].index)
        readings = tuple(reading for _, reading in pairs)
        is_settled = is_settled and len(pairs) < self.budget
        stopped = self._stopped(len(pairs), is_settled, failure)
        notes = [*self._pool.notes_on(pairs), *self.kind.notes]
        ballot = self._ballot(readings, notes if failure is None else [str(stopped), *notes])
        tally = vote(ballot, method=self.method, calibration=self._calibration)
        if self.kind.pick is not None and tally.answer is not None:
            best = next(at for at, reading in enumerate(readings) if reading.vote == tally.answer)
            tally = replace(tally, best=best)
        tally = tally.without_probability(self.kind.no_probability)
        made = self._composed(pairs, tally)
        if made is not None and made.note is not None:
            tally = replace(tally, notes=(*tally.notes, made.note))
        return Solution(
            self.problem,
            tally,
            ballot,
            tuple(trajectory for trajectory, _ in pairs),
            readings,
            self.budget,
            is_settled,
            stopped,
            self._min_probability,
            self.kind,
            made,
        )

    def _composed(self, pairs: Sequence[tuple[Trajectory, Reading]], tally: Tally) -> Composed | None:
        """Return the result of the votes on single fields, if the kind has them."""
        if not self.kind.by_field or tally.best is None:
            return None
        name = self.method.name

        def held(classes: IntArray, confidences: FloatArray) -> Outcome:
            offsets = np.arange(len(classes) + 1) * classes.shape[1]
            flat = classes.ravel(), confidences.ravel(), offsets
            calibration = self._calibration or Calibration()
            return elect(*flat, [name], calibration=calibration, trust=self.method.trust)[name]

        spans = [(reading.vote, reading.answer_start) for _, reading in pairs]
        return composed([trajectory for trajectory, _ in pairs], spans, held, tally.best, self.kind.schema)

    def _stopped(self, n: int, is_settled: bool, failure: Exception | None) -> str | None:
        """Say why there are fewer trajectories than the budget, None if there is no reason."""
        so_far = f"after {n} of {count(self.budget, 'trajectory')}"
        if isinstance(failure, OwnCodeError):
            return f"the sampling ended {so_far}, which the vote rests on: {failure}"
        if failure is not None:
            return f"the engine failed {so_far}, which the vote rests on: {failure}"
        if not is_settled or self.rule is None:
            return None
        ballot, reason = self.ballot(), getattr(self.rule, "reason", None)
        why = reason(ballot, self.budget - len(ballot.classes)) if reason is not None else None
        return f"{why or 'the vote was settled'} {so_far} ({self.rule.name})"

    def _ballot(self, readings: Sequence[Reading], notes: Sequence[str] = ()) -> Ballot:
        answers = [reading.vote for reading in readings]
        confidences = [reading.confidence for reading in readings]
        ballot = Ballot.from_answers(answers, confidences, same=self.same, notes=notes)
        if any(reading.model is not None for reading in readings):
            ballot = replace(ballot, models=tuple(reading.model or "" for reading in readings))
        pick = self.kind.pick
        if pick is None:
            return ballot
        labels = []
        for number in range(len(ballot.labels)):
            members = np.flatnonzero(ballot.classes == number).tolist()
            place = pick([str(answers[at]) for at in members], [confidences[at] for at in members])
            labels.append(answers[members[place]])
        return replace(ballot, labels=tuple(labels))


def in_order(readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings with no missing number before them, in order."""
    there = {reading.index for reading in readings}
    missing = next(number for number in range(len(there) + 1) if number not in there)
    return sorted((each for each in readings if each.index < missing), key=lambda each: each.index)


def check_budget(budget: int) -> int:
    """Return a budget; raises InputError unless it is a plausible number of trajectories."""
    if not isinstance(budget, (int, np.integer)) or not 1 <= budget <= MAX_BUDGET:
        raise InputError(
            f"budget is {budget!r}", hint=f"give a whole number from 1 to {MAX_BUDGET:,}", argument="budget"
        )
    return int(budget)


def problem_of(problem: Problem | str, template: str = TEMPLATE) -> Problem:
    """Return a problem; a plain question is turned into one, by the template."""
    if isinstance(problem, Problem):
        return problem
    if not problem.strip():
        raise InputError("the question is empty: ask something")
    return Problem(problem, template=template)
