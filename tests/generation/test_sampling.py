"""The flow of a run, on trajectories that are played back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from distrivote import Problem, SamplingParams, SelfStepConf, Trajectory
from distrivote.benchmarks import Benchmark
from distrivote.engines.base import Job, Progress, Sampled
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import InputError
from distrivote.evaluation.loading import load_pool_sets
from distrivote.generation.run import RunResult, generate_run
from distrivote.generation.sampling import Made, generate, question_seed, settled_questions, todo
from distrivote.steering import ENDED, Controller, DeepConfOnline, DistriVotingOnline
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep
from distrivote.store.runs.run import Run
from distrivote.store.runs.writer import RunWriter
from distrivote.voting.stopping import BetaRule
from steered_engine import Steered

PROBLEMS = [Problem("1 + 1?", "a", "2"), Problem("1 + 2?", "b", "3"), Problem("Who?", "c")]
PARAMS = SamplingParams(seed=7)


def reply(number: int) -> Trajectory:
    text = f"It is \\boxed{{{2 + number % 2}}}."
    return Trajectory(text, (text,), np.full((1, 20), -9.0 - number), np.array([-0.1]), "stop")


ENGINE = ReplayEngine([reply(number) for number in range(8)])


def manifest(budget: int) -> Manifest:
    return Manifest.of("replay", "replay", "math", "made up", PARAMS, SelfStepConf(), budget=budget)


def run(path: Path, budget: int, **options: int) -> list[Made]:
    with RunWriter(path, manifest(budget)) as writer:
        work = todo(PROBLEMS, budget, writer.done())
        return list(generate(ENGINE, work, writer, PARAMS, **options))  # type: ignore[arg-type]


def test_every_question_gets_its_budget(tmp_path: Path) -> None:
    made = run(tmp_path / "run", 4)
    assert len(made) == 12
    assert Run.open(tmp_path / "run").done() == {(q, i) for q in "abc" for i in range(4)}
    assert [item.correct for item in made[:2]] == [True, False]
    assert {item.correct for item in made if item.problem.id == "c"} == {None}


def test_what_is_stored_is_not_sampled_again_and_a_larger_budget_adds(tmp_path: Path) -> None:
    run(tmp_path / "run", 2)
    assert run(tmp_path / "run", 2) == []
    assert sorted((m.problem.id, m.trajectory.index) for m in run(tmp_path / "run", 3)) == [
        ("a", 2),
        ("b", 2),
        ("c", 2),
    ]


def whole(trajectory: Trajectory) -> Trajectory:
    return replace(trajectory, entropies=np.full(1, 2.0), self_certainties=np.full(1, 2.0))


def test_a_run_goes_on_with_entropies_of_the_distribution_that_it_began_with(tmp_path: Path) -> None:
    engines = {"older": ENGINE, "newer": ReplayEngine([whole(reply(number)) for number in range(8)])}
    for name, engine in engines.items():
        for budget, now in ((2, engine), (4, engines["newer"])):
            with RunWriter(tmp_path / name, manifest(budget)) as writer:
                list(generate(now, todo(PROBLEMS, budget, writer.done()), writer, PARAMS))
        run = Run.open(tmp_path / name)
        sources = run.table(["entropy", "whole_distribution"])["whole_distribution"].to_pylist()
        assert sources == [name == "newer"] * 12
        assert run.notes == ()


def test_a_run_does_not_go_on_with_confidences_of_another_k(tmp_path: Path) -> None:
    run(tmp_path / "run", 2)
    fewer = [replace(reply(number), top_logprobs=np.full((1, 5), -9.0)) for number in range(8)]
    with (
        RunWriter(tmp_path / "run", manifest(4)) as writer,
        pytest.raises(InputError, match="of the 20 most probable tokens, and the replies now come with 5: "),
    ):
        list(generate(ReplayEngine(fewer), todo(PROBLEMS, 4, writer.done()), writer, PARAMS))
    assert len(Run.open(tmp_path / "run").done()) == 6


def test_a_flawed_reply_is_kept_whatever_its_k(tmp_path: Path) -> None:
    flawed = replace(reply(1), top_logprobs=np.full((1, 5), -9.0), flaw="5 instead of 20")
    with RunWriter(tmp_path / "run", manifest(3)) as writer:
        engine = ReplayEngine([reply(0), flawed, reply(2)])
        assert len(list(generate(engine, todo(PROBLEMS, 3, set()), writer, PARAMS))) == 9


def test_a_limit_of_tokens_stops_in_good_order(tmp_path: Path) -> None:
    assert len(run(tmp_path / "run", 4, max_tokens_total=5)) == 5
    assert len(Run.open(tmp_path / "run").done()) == 5
    assert len(run(tmp_path / "run", 4)) == 7


def test_a_limit_of_tokens_holds_for_replies_without_tokens_that_their_server_counted(tmp_path: Path) -> None:
    engine = ReplayEngine([Trajectory("It is \\boxed{2}.", n_reply_tokens=10)] * 4)
    with RunWriter(tmp_path / "run", manifest(4)) as writer:
        work = todo(PROBLEMS, 4, writer.done())
        assert len(list(generate(engine, work, writer, PARAMS, max_tokens_total=45))) == 5


def test_an_engine_that_fails_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    class Failing(ReplayEngine):
        def sample(self, *args: object, **kwargs: object) -> Iterator[Trajectory]:  # type: ignore[override]
            samples = super().sample(*args, **kwargs)  # type: ignore[arg-type]
            yield next(samples)
            yield next(samples)
            raise RuntimeError("the engine died")

    with (
        pytest.raises(RuntimeError, match="died"),
        RunWriter(tmp_path / "run", manifest(4)) as writer,
    ):
        list(generate(Failing([reply(0)] * 8), todo(PROBLEMS, 4, writer.done()), writer, PARAMS))
    assert Run.open(tmp_path / "run").done() == {("a", 0), ("a", 1)}


def test_seeds_depend_on_run_and_question_and_are_pinned() -> None:
    assert question_seed(0, "a") != question_seed(1, "a") != question_seed(1, "b")
    assert question_seed(7, "arithmetic-0001") == 154919522225955


def test_a_budget_that_nobody_means_is_an_error() -> None:
    with pytest.raises(InputError, match="budget"):
        todo(PROBLEMS, 0, set())


def test_jobs_in_turn_add_up_their_progress() -> None:
    jobs = [Job(problem.messages(), PARAMS, (0, 1)) for problem in PROBLEMS]
    seen: list[Progress] = []
    assert [number for number, _ in ENGINE.sample_all(jobs, watch=seen.append)] == [0, 0, 1, 1, 2, 2]
    assert [progress.n_tokens for progress in seen] == [1, 2, 3, 4, 5, 6]


# Stopping early


def same(n: int) -> list[Trajectory]:
    return [reply(0)] * n


def stopping_run(
    path: Path, budget: int, engine: ReplayEngine, rule: str | None = "beta", **options: int
) -> list[Made]:
    settings = replace(manifest(budget), stop_when=rule)
    with RunWriter(path, settings) as writer:
        return list(
            generate(engine, todo(PROBLEMS, budget, writer.done()), writer, PARAMS, stop_when=rule, **options)  # type: ignore[arg-type]
        )


def test_each_question_stops_once_it_is_settled(tmp_path: Path) -> None:
    stopping_run(tmp_path / "run", 40, ReplayEngine(same(40)))
    assert Run.open(tmp_path / "run").done() == {(q, i) for q in "abc" for i in range(4)}


def test_a_settled_question_lacks_nothing_when_the_run_goes_on(tmp_path: Path) -> None:
    rule = BetaRule()
    stopping_run(tmp_path / "run", 40, ReplayEngine(same(40)), max_tokens_total=6)
    run = Run.open(tmp_path / "run")
    assert settled_questions(run, rule, 40) == {"a"}
    lacking = todo(PROBLEMS, 40, run.done(), settled_questions(run, rule, 40))
    assert [item.problem.id for item in lacking] == ["b", "c"]
    made = stopping_run(tmp_path / "run", 40, ReplayEngine(same(40)))
    assert [(m.problem.id, m.trajectory.index) for m in made] == [
        *(("b", i) for i in (2, 3)),
        *(("c", i) for i in range(4)),
    ]
    assert stopping_run(tmp_path / "run", 64, ReplayEngine(same(64))) == []


@pytest.mark.slow
def test_a_run_that_was_stopped_ends_where_one_that_was_not_does(tmp_path: Path) -> None:
    engine = ReplayEngine([reply(number) for number in [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]])
    stopping_run(tmp_path / "whole", 12, engine, "vote")
    while stopping_run(tmp_path / "parts", 12, engine, "vote", max_tokens_total=1):
        pass
    whole, parts = (Run.open(tmp_path / name).done() for name in ("whole", "parts"))
    assert whole == parts
    assert len(whole) < 3 * 12


def test_a_run_does_not_go_on_by_another_rule(tmp_path: Path) -> None:
    stopping_run(tmp_path / "run", 8, ReplayEngine(same(8)))
    with pytest.raises(InputError, match="stop_when"):
        stopping_run(tmp_path / "run", 8, ReplayEngine(same(8)), "vote")


def test_what_comes_after_a_question_is_settled_is_not_stored(tmp_path: Path) -> None:
    class Eager(ReplayEngine):
        def sample_all(self, jobs: Sequence[Job], *_args: object, **_options: object) -> Iterator[Sampled]:  # type: ignore[override]
            for number, job in enumerate(jobs):
                for index in job.indices:
                    yield Sampled(number, replace(reply(0), index=index))

    made = stopping_run(tmp_path / "run", 8, Eager([]))
    assert len(made) == len(Run.open(tmp_path / "run").done()) == 12


def test_a_job_that_is_over_is_not_begun_and_one_under_way_is_closed() -> None:
    seen: list[int] = []
    jobs = [
        Job(PROBLEMS[0].messages(), PARAMS, range(8), lambda: len(seen) >= 2),
        Job(PROBLEMS[1].messages(), PARAMS, range(8), lambda: True),
        Job(PROBLEMS[2].messages(), PARAMS, range(2)),
    ]
    for number, _ in ENGINE.sample_all(jobs):
        seen.append(number)
    assert seen == [0, 0, 2, 2]


ONLINE = DistriVotingOnline(n_warmup=8)


def online_run(path: Path, controller: Controller, keep: Keep = Keep(), **options: int) -> list[Made]:  # noqa: B008
    settings = manifest(16)
    with RunWriter(path, settings, keep=keep) as writer:
        work = todo(PROBLEMS, 16, writer.done())
        return list(generate(Steered(), work, writer, PARAMS, controller, **options))  # type: ignore[arg-type]


def ends(path: Path) -> list[tuple[str, int, str | None, str | None]]:
    columns = ("question_id", "sample", "finish_reason", "answer")
    rows = Run.open(path).table(columns).to_pylist()
    return sorted((row["question_id"], row["sample"], row["finish_reason"], row["answer"]) for row in rows)


def test_a_run_warms_up_each_question_and_then_ends_trajectories(tmp_path: Path) -> None:
    online_run(tmp_path / "run", ONLINE)
    found = ends(tmp_path / "run")
    assert [(name, sample) for name, sample, reason, _ in found if reason == ENDED] == [
        (name, sample) for name in "abc" for sample in (9, 11, 13, 15)
    ]
    assert all((answer is None) == (reason == ENDED) for *_, reason, answer in found)


@pytest.mark.parametrize("controller", [ONLINE, DeepConfOnline(50, window=2, n_warmup=8)])
def test_a_stopped_run_ends_the_same_trajectories(tmp_path: Path, controller: Controller) -> None:
    keep = Keep(token_confidences=True)
    online_run(tmp_path / "whole", controller, keep)
    while online_run(tmp_path / "parts", controller, keep, max_tokens_total=13):
        pass
    assert ends(tmp_path / "whole") == ends(tmp_path / "parts")
    assert ENDED in [reason for *_, reason, _ in ends(tmp_path / "whole")]


def test_a_run_says_how_many_were_ended_in_all_its_calls(tmp_path: Path) -> None:
    run = tmp_path / "run"
    benchmark = Benchmark("made", tuple(PROBLEMS), "here")

    def sampled(controller: Controller | None, budget: int, path: Path = run) -> RunResult:
        return generate_run(Steered(), benchmark, str(path), budget, params=PARAMS, steering=controller)

    few = sampled(ONLINE, 8)
    assert few.n_ended == 0
    assert any("ends nothing here" in note for note in few.notes)
    whole = sampled(ONLINE, 16)
    assert (whole.n_added, whole.n_ended, whole.notes) == (24, 12, ())
    again = sampled(ONLINE, 16)
    assert (again.n_added, again.n_ended) == (0, 12)
    assert sampled(None, 2, tmp_path / "plain").n_ended is None


def test_a_replay_says_that_trajectories_were_ended(tmp_path: Path) -> None:
    online_run(tmp_path / "run", ONLINE)
    notes = load_pool_sets([str(tmp_path / "run")], reads=("lengths", "steps")).notes
    assert any("12 of 48 trajectories were ended early" in note for note in notes)


def test_a_warm_up_by_windows_needs_the_tokens(tmp_path: Path) -> None:
    controller = DeepConfOnline(50, window=2, n_warmup=8)
    online_run(tmp_path / "run", controller, max_tokens_total=13)
    with pytest.raises(InputError, match="token_confidences=True"):
        online_run(tmp_path / "run", controller)
