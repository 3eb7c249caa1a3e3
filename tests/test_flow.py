"""The flow from an engine to a solution, on trajectories that are played back."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from distrivote import (
    DeepConfOnline,
    Equality,
    Poll,
    Problem,
    SamplingParams,
    SelfStepConf,
    Solution,
    Trajectory,
    asample,
    asolve,
    sample,
    solution_of,
    solve,
    solve_many,
)
from distrivote.confidence import measure_named
from distrivote.engines.base import Progress
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import EngineError, InputError, UnknownNameError
from distrivote.problem import Message
from distrivote.splitting import EntropySplitter
from distrivote.steering import Controller, replay
from distrivote.voting.probability import Calibration
from distrivote.voting.stopping import BetaRule


def reply(answer: str | None, confidence: float) -> Trajectory:
    """Return a trajectory whose last step has this confidence."""
    text = "I do not know." if answer is None else f"It is \\boxed{{{answer}}}."
    tokens = ("Let me see.\n\n", text)
    top = np.full((2, 20), -5.0)
    top[1] = -confidence
    return Trajectory("".join(tokens), tokens, top, np.array([-0.5, -0.5]), "stop")


RIGHT, WRONG, SILENT = reply("12", 10.0), reply("35", 7.0), reply(None, 3.0)
ENGINE = ReplayEngine([RIGHT] * 8 + [WRONG] * 10 + [SILENT] * 2)


@pytest.mark.parametrize("function", [solve, asolve, sample, asample, solution_of])
def test_a_poll_has_every_keyword_with_the_same_type_and_default(function: Callable[..., Any]) -> None:
    ours, polls = (inspect.signature(each).parameters for each in (function, Poll))
    keywords = ours.keys() - {"engine", "question", "trajectories", "params", "watch", "n_asked"}
    assert {name: str(ours[name]) for name in keywords} == {name: str(polls[name]) for name in keywords}


def test_a_solution_holds_answer_tally_and_trajectories() -> None:
    solution = solve(ENGINE, "How many?", method="dis-gmm", budget=20)
    assert solution.answer == "12"
    assert solution.tally.majority == "35"
    assert solution.tally.n_unanswered == 2
    assert [trajectory.index for trajectory in solution.trajectories] == list(range(20))
    assert solution.n_tokens == 40
    assert solution.best is not None
    assert solution.best.text == RIGHT.text


def test_another_method_decides_otherwise() -> None:
    assert solve(ENGINE, "How many?", method="sc", budget=20).answer == "35"


def test_trajectories_can_be_watched_and_voted_on_before_all_are_there() -> None:
    problem = Problem("How many?")
    stream = sample(ENGINE, problem, budget=20)
    some = [next(stream) for _ in range(4)]
    assert solution_of(problem, some).answer == "12"


def test_the_order_in_which_trajectories_finish_does_not_matter() -> None:
    found = list(sample(ENGINE, "How many?", budget=20))
    assert solution_of("How many?", found[::-1]).tally.scores == solution_of("How many?", found).tally.scores


def test_one_reply_without_log_probabilities_does_not_cost_the_others() -> None:
    silent = Trajectory("It is \\boxed{35}.")
    solution = solve(
        ReplayEngine([RIGHT] * 8 + [WRONG] * 8 + [silent]), "How many?", method="dis-gmm", budget=17
    )
    assert (solution.answer, solution.tally.majority, solution.tally.method) == ("12", "35", "dis-gmm")
    assert (solution.tally.n_unmeasured, solution.tally.fallback) == (1, False)
    said = "1 of 17 answers has no confidence: it counts in the majority only."
    assert said in solution.tally.notes
    measured = solve(ReplayEngine([RIGHT] * 8 + [WRONG] * 8), "How many?", method="dis-gmm", budget=16)
    assert solution.tally.scores == measured.tally.scores
    assert solve(ENGINE, "How many?", method="dis-gmm", budget=20).tally.n_unmeasured == 0


def test_replies_without_any_log_probabilities_are_counted() -> None:
    silent = [Trajectory(f"It is \\boxed{{{n}}}.") for n in (35, 12, 35)]
    tally = solve(ReplayEngine(silent), "How many?", method="dis-gmm", budget=3).tally
    assert (tally.answer, tally.method, tally.fallback, tally.n_unmeasured) == ("35", "dis-gmm", True, 3)
    assert "No answer has a confidence, so majority voting decides, not dis-gmm." in tally.notes
    assert "(majority voting, not dis-gmm)" in tally.explain()


@pytest.mark.parametrize("way", ["solve", "asolve"])
def test_the_measure_and_the_extractor_can_be_named(way: str) -> None:
    def solved(**how: Any) -> Solution:
        if way == "asolve":
            return asyncio.run(asolve(ENGINE, "How many?", method="bon", budget=20, **how))
        return solve(ENGINE, "How many?", method="bon", budget=20, **how)

    assert solved().ballot.confidences[0] == 10.0
    assert solved(measure="mean").ballot.confidences[0] == 7.5
    assert solved(measure=measure_named("logprob")).ballot.confidences[0] == pytest.approx(np.exp(-0.5))
    assert solved(measure="length").ballot.confidences[0] == 500.0
    assert solved(extract=lambda text: text[:3]).answer == "Let"
    found = solved(extract="number", stop_when="beta:0.9")
    assert found.ballot.labels == ("12",)
    with pytest.raises(UnknownNameError, match="did you mean length"):
        solved(measure="lenght")


def test_another_spelling_of_a_method_is_that_method() -> None:
    usual = solve(ENGINE, "How many?", method="wsc-top50", budget=20).tally
    assert solve(ENGINE, "How many?", method="wsc-top:0.5", budget=20).tally.notes == usual.notes


def test_probabilities_come_from_the_calibration_that_is_given() -> None:
    found = list(sample(ENGINE, "How many?", budget=20))
    doubtful = Calibration(intercept=-3.0, evidence=0.0, share=0.0)
    usual = solution_of("How many?", found).tally.probability
    assert solution_of("How many?", found, calibration=doubtful).tally.probability < usual


def test_equal_forms_of_an_answer_are_one_answer() -> None:
    engine = ReplayEngine([reply("0.5", 9.0), reply("\\frac12", 9.1), reply("7", 9.2)])
    assert solve(engine, "How much?", method="sc", budget=3).tally.votes == {"0.5": 2, "7": 1}


def test_answers_can_be_compared_by_ones_own_rule() -> None:
    engine = ReplayEngine([reply("Paris", 9.0), reply("PARIS, France", 9.0), reply("Rome", 9.5)])
    by_word = solve(
        engine, "Where?", method="sc", budget=3, same=Equality("word", key=lambda a: a.lower().split(",")[0])
    )
    assert by_word.tally.votes == {"Paris": 2, "Rome": 1}
    by_pair = solve(
        engine, "Where?", method="sc", budget=3, same=Equality("letter", equal=lambda a, b: a[0] == b[0])
    )
    assert by_pair.tally.votes == {"Paris": 2, "Rome": 1}


def test_nothing_answered_still_has_a_reply_the_surest_one() -> None:
    replies = [SILENT, reply(None, 9.0), replace(reply(None, 10.0), finish_reason="length")]
    solution = solve(ReplayEngine(replies), "How many?", budget=3)
    assert solution.answer is None
    assert solution.best is not None
    assert solution.best.index == 1
    assert solution.reply == "Let me see.\n\nI do not know."


@pytest.mark.parametrize("budget", [0, -1, 10**6])
def test_a_budget_that_nobody_means_is_an_error(budget: int) -> None:
    with pytest.raises(InputError, match="budget"):
        solve(ENGINE, "How many?", budget=budget)


def test_an_empty_question_is_an_error() -> None:
    with pytest.raises(InputError, match="question is empty"):
        solve(ENGINE, " ")


def test_more_than_what_is_stored_is_an_error() -> None:
    with pytest.raises(InputError, match="20 are stored"):
        solve(ENGINE, "How many?", budget=21)


def test_the_asynchronous_twin_gives_the_same() -> None:
    solution = asyncio.run(asolve(ENGINE, "How many?", method="dis-gmm", budget=20, steering=SelfStepConf()))
    assert solution.tally.scores == solve(ENGINE, "How many?", method="dis-gmm", budget=20).tally.scores


def test_the_asynchronous_twin_hands_errors_on() -> None:
    with pytest.raises(InputError, match="stored"):
        asyncio.run(asolve(ENGINE, "How many?", budget=30))


class Failing(ReplayEngine):
    """Fails after so many trajectories."""

    def __init__(self, n: int) -> None:
        super().__init__([RIGHT] * 8)
        self._n_good = n

    def sample(self, *args: object, **kwargs: object) -> Generator[Trajectory]:  # type: ignore[override]
        for number, trajectory in enumerate(super().sample(*args, **kwargs)):  # type: ignore[arg-type]
            if number == self._n_good:
                raise EngineError("the server is gone")
            yield trajectory


def test_what_finished_before_an_engine_failed_votes() -> None:
    said = "the engine failed after 3 of 8 trajectories, which the vote rests on: the server is gone"
    for solution in (
        solve(Failing(3), "How many?", method="sc", budget=8),
        asyncio.run(asolve(Failing(3), "How many?", method="sc", budget=8)),
    ):
        assert (solution.answer, len(solution.trajectories), solution.n_asked) == ("12", 3, 8)
        assert said in solution.tally.notes
    with pytest.raises(EngineError, match="the server is gone"):
        solve(Failing(0), "How many?", method="sc", budget=8)
    with pytest.raises(EngineError, match="the server is gone"):
        asyncio.run(asolve(Failing(0), "How many?", method="sc", budget=8))


def test_leaving_the_loop_cancels_what_is_under_way() -> None:
    class Endless:
        name = model = "endless"
        closed = False

        def sample(self, *_args: object, watch: object = None, **_kwargs: object) -> object:
            try:
                while True:
                    yield RIGHT
                    watch(None)  # type: ignore[operator]
            finally:
                self.closed = True

    engine = Endless()

    async def first() -> Trajectory:
        async with aclosing(asample(engine, "How many?", budget=10)) as stream:  # type: ignore[arg-type, type-var]
            async for trajectory in stream:
                return trajectory
        raise AssertionError

    assert asyncio.run(first()) is RIGHT
    assert engine.closed


class Asynchronous(ReplayEngine):
    """An engine with an asynchronous generator of its own; the other one must not be used."""

    n_made, closed = 0, False

    def sample(self, *_args: object, **_kwargs: object) -> Generator[Trajectory]:
        raise AssertionError("sampled in a thread")

    async def asample(
        self,
        messages: Sequence[Message],
        n: int,
        params: SamplingParams,
        controller: Controller | None = None,
        *,
        indices: Sequence[int] | None = None,
        watch: Callable[[Progress], None] | None = None,
    ) -> AsyncGenerator[Trajectory]:
        assert threading.current_thread() is threading.main_thread()
        assert indices is not None
        assert len(indices) == n
        try:
            for trajectory in ReplayEngine.sample(
                self, messages, n, params, controller, indices=indices, watch=watch
            ):
                await asyncio.sleep(0)
                self.n_made += 1
                yield trajectory
        finally:
            self.closed = True


def test_an_asynchronous_engine_is_driven_in_the_event_loop() -> None:
    engine = Asynchronous([RIGHT] * 8 + [WRONG] * 10 + [SILENT] * 2)
    seen: list[Progress] = []
    solution = asyncio.run(asolve(engine, "How many?", method="dis-gmm", budget=20, watch=seen.append))
    assert solution.tally.scores == solve(ENGINE, "How many?", method="dis-gmm", budget=20).tally.scores
    assert seen[-1].n_tokens == solution.n_tokens


def test_an_asynchronous_engine_is_stopped_by_a_rule_and_warmed_up() -> None:
    engine = Asynchronous([RIGHT] * 40)
    solution = asyncio.run(asolve(engine, "How many?", budget=40, stop_when="beta"))
    assert (engine.n_made, engine.closed, solution.n_saved) == (4, True, 36)
    warmed = Asynchronous([RIGHT] * 8)
    seen: list[Progress] = []
    steering = DeepConfOnline(n_warmup=3)
    found = asyncio.run(asolve(warmed, "How many?", budget=8, steering=steering, watch=seen.append))
    assert len(found.trajectories) == 8
    assert seen[-1].n_tokens == found.n_tokens


def test_leaving_the_loop_closes_an_asynchronous_engine() -> None:
    engine = Asynchronous([RIGHT] * 8)

    async def first() -> Trajectory:
        async with aclosing(asample(engine, "How many?", budget=8)) as stream:
            async for trajectory in stream:
                return trajectory
        raise AssertionError

    assert asyncio.run(first()).text == RIGHT.text
    assert engine.closed


def test_an_asynchronous_engine_that_fails_leaves_what_finished() -> None:
    class Broken(Asynchronous):
        async def asample(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Trajectory]:
            async for trajectory in super().asample(*args, **kwargs):
                if trajectory.index == 3:
                    raise EngineError("the server is gone")
                yield trajectory

    solution = asyncio.run(asolve(Broken([RIGHT] * 8), "How many?", method="sc", budget=8))
    assert (solution.answer, len(solution.trajectories)) == ("12", 3)
    assert "the engine failed after 3 of 8" in str(solution.stopped)


# Stopping early


class Counted(ReplayEngine):
    """Plays back, and says how far it was asked to go and whether it was closed."""

    n_made, closed = 0, False

    def sample(self, *args: object, **kwargs: object) -> Generator[Trajectory]:  # type: ignore[override]
        try:
            for trajectory in super().sample(*args, **kwargs):  # type: ignore[arg-type]
                self.n_made += 1
                yield trajectory
        finally:
            self.closed = True


@pytest.mark.parametrize(
    ("rule", "n"), [("beta", 4), ("consensus", 16), ("consensus:0.9:5", 5), (BetaRule(0.99), 6), (None, 40)]
)
def test_sampling_stops_once_the_vote_is_settled(rule: str | BetaRule | None, n: int) -> None:
    engine = Counted([RIGHT] * 40)
    solution = solve(engine, "How many?", budget=40, stop_when=rule)
    assert solution.answer == "12"
    assert len(solution.trajectories) == engine.n_made == n
    assert engine.closed
    assert (solution.n_asked, solution.n_saved) == (40, 40 - n)
    assert solution.n_tokens_saved == 2 * (40 - n)


def test_the_vote_rule_goes_by_the_method_of_the_vote() -> None:
    engine = Counted([reply(str(i % 2), 9.0 + i % 2) for i in range(40)])
    assert solve(engine, "How many?", method="bon", budget=40, stop_when="vote").n_saved > 0
    assert solve(engine, "How many?", method="sc", budget=40, stop_when="vote:0.95").n_saved < 10


ANY_CASE = Equality("any case", key=str.lower)


def test_answers_that_are_one_by_ones_own_rule_are_counted_as_one() -> None:
    engine = ReplayEngine([reply(a, 9.0) for a in ("Paris", "PARIS", "paris", "pARIS", "Rome", "Rome")])
    solution = solve(engine, "Where?", method="sc", budget=6, stop_when="beta", same=ANY_CASE)
    assert solution.tally.votes == {"Paris": 4}


def test_a_sample_without_answers_spends_the_budget() -> None:
    solution = solve(ReplayEngine([SILENT] * 20), "How many?", budget=20, stop_when="beta")
    assert (solution.answer, solution.n_saved, solution.n_tokens_saved) == (None, 0, 0)


def test_an_unknown_rule_is_an_error_before_anything_is_sampled() -> None:
    engine = Counted([RIGHT])
    with pytest.raises(UnknownNameError, match="did you mean beta"):
        solve(engine, "How many?", budget=1, stop_when="betta")
    assert engine.n_made == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"method": "dis-gm"}, "did you mean dis-gmm"),
        ({"method": None}, "the method is None"),
        ({"stop_when": 0.95}, "stop_when is 0.95"),
        ({"budget": 1.5}, "budget is 1.5"),
        ({"budget": "4"}, "budget is '4'"),
        ({"budget": None}, "budget is None"),
    ],
)
def test_what_can_not_be_is_an_error_before_anything_is_sampled(given: dict[str, object], says: str) -> None:
    engine = Counted([RIGHT])
    given = {"budget": 1, **given}
    with pytest.raises(InputError, match=says):
        solve(engine, "How many?", **given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=says):
        asyncio.run(asolve(engine, "How many?", **given))  # type: ignore[arg-type]
    assert engine.n_made == 0


def test_the_asynchronous_twin_stops_too() -> None:
    engine = Counted([RIGHT] * 40)
    solution = asyncio.run(asolve(engine, "How many?", budget=40, stop_when="beta"))
    assert (engine.n_made, engine.closed, solution.n_saved) == (4, True, 36)


def test_the_step_of_an_answer_is_one_that_the_controller_judged() -> None:
    tokens = ["Sure", ".\n\n", "Hm", "\n\n", "wait", " So", r" \boxed{4}"]
    confidences = [10.0, 9.0, 9.0, 10.0, 3.0, 2.0, 1.0]
    # What the engine saw of the whole distribution, not what the most probable tokens show.
    entropies = [0.0, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0]
    ssc = SelfStepConf(split=EntropySplitter(0.5, 2))
    record = replay(ssc, tokens, confidences, entropies)
    top = np.array(confidences)[:, None] * np.linspace(-0.5, -1.5, 20)
    found = Trajectory("".join(tokens), tuple(tokens), top, top[:, 0], interventions=record)
    assert (record.step_ends, record.step_confidences) == ((4, 7), (9.5, 2.0))
    assert solution_of("How many?", [found], method="sc", steering=ssc).ballot.confidences[
        0
    ] == pytest.approx(2.0)
    plain = replace(found, interventions=None)
    assert solution_of("How many?", [plain], method="sc", steering=ssc).ballot.confidences[
        0
    ] != pytest.approx(2.0)


def test_a_plain_question_is_put_as_suits_the_model_and_a_problem_as_it_says() -> None:
    class Small(ReplayEngine):
        template = "auto-worked"
        put: list[str]

        def sample(self, messages, *args: object, **kwargs: object):  # type: ignore[no-untyped-def, override]
            self.put = [message.role for message in messages]
            yield from super().sample(messages, *args, **kwargs)  # type: ignore[arg-type]

    small = Small([Trajectory("It is \\boxed{4}.")] * 2)
    assert solve(small, "What is 2 + 2?", budget=2, steering=None).problem.template == "worked"
    assert small.put == ["user", "assistant", "user", "assistant", "user"]
    assert solve_many(small, ["What is 2 + 2?"], budget=2, steering=None)[0].problem.template == "worked"
    assert asyncio.run(asolve(small, "What is 2 + 2?", budget=2, steering=None)).problem.template == "worked"
    assert solve(small, Problem("What is 2 + 2?"), budget=2, steering=None).problem.template == "math"
    usual = ReplayEngine([Trajectory("It is \\boxed{4}.")] * 2)
    assert solve(usual, "What is 2 + 2?", budget=2, steering=None).problem.template == "math"
