"""Many questions that share an engine, and a number of trajectories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from distrivote import DistriVotingOnline, Problem, Trajectory, solve, solve_many
from distrivote.engines.base import BaseEngine, Job
from distrivote.errors import EngineError, InputError
from steered_engine import Steered


class Answering(BaseEngine):
    """Says 7 to sure questions, and something else each time to others."""

    name = model = "answering"

    def __init__(self, n_before_failing: int = 10**9) -> None:
        self.asked: list[tuple[str, int]] = []
        self._n = n_before_failing

    def sample_job(self, job: Job, controller: object, watch: object) -> Iterator[Trajectory]:  # type: ignore[override] # noqa: ARG002
        question = job.messages[-1].content
        for index in job.indices:
            if len(self.asked) == self._n:
                raise EngineError("it broke")
            self.asked.append((question, index))
            answer = 7 if "sure" in question else index % 2
            yield Trajectory(f"\\boxed{{{answer}}}", index=index)


QUESTIONS = [Problem("sure one?", template="math"), Problem("open?", template="math"), "sure two? Solve 1+6."]


def test_each_question_is_solved_as_if_it_were_alone() -> None:
    many = solve_many(Answering(), QUESTIONS, budget=6, method="sc", steering=None)
    alone = [solve(Answering(), each, budget=6, method="sc", steering=None) for each in QUESTIONS]
    assert [each.answer for each in many] == [each.answer for each in alone] == ["7", "0", "7"]
    assert [len(each.trajectories) for each in many] == [6, 6, 6]
    assert [each.problem for each in many] == [each.problem for each in alone]


def test_a_total_goes_where_it_helps() -> None:
    engine = Answering()
    many = solve_many(engine, QUESTIONS, budget=32, total=40, method="sc", steering=None)
    sizes = [len(each.trajectories) for each in many]
    assert sum(sizes) == len(engine.asked) <= 40
    assert sizes[1] > max(sizes[0], sizes[2]) >= 4


def test_a_rule_ends_each_question_by_itself() -> None:
    many = solve_many(Answering(), QUESTIONS, budget=32, method="sc", steering=None, stop_when="beta")
    assert [len(each.trajectories) for each in many] == [4, 32, 4]
    assert many[0].stopped is not None


def test_a_warm_up_is_that_of_the_question() -> None:
    steering = DistriVotingOnline(n_warmup=8)
    many = solve_many(Steered(), ["2 + 2?", "1 + 3?"], budget=16, steering=steering)
    alone = solve(Steered(), "2 + 2?", budget=16, steering=steering)
    reasons = [[each.finish_reason for each in solution.trajectories] for solution in (*many, alone)]
    assert reasons[0] == reasons[1] == reasons[2]


def test_no_questions_have_no_solutions() -> None:
    assert solve_many(Answering(), []) == []


def test_a_total_is_at_least_one_each_and_no_rule() -> None:
    with pytest.raises(InputError, match="at least one"):
        solve_many(Answering(), QUESTIONS, total=2)
    with pytest.raises(InputError, match="leave out the rule"):
        solve_many(Answering(), QUESTIONS, total=20, stop_when="beta")


def test_what_finished_before_a_failure_votes() -> None:
    many = solve_many(Answering(14), QUESTIONS, budget=6, method="sc", steering=None)
    assert [len(each.trajectories) for each in many] == [6, 6, 2]
    assert "failed after 2 of 6" in str(many[2].stopped)
    with pytest.raises(EngineError, match="it broke"):
        solve_many(Answering(12), QUESTIONS, budget=6, method="sc", steering=None)
