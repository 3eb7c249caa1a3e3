"""The rounds in which a run samples what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from distrivote import Ballot, Problem, SamplingParams, Trajectory
from distrivote.benchmarks.benchmark import Benchmark
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import InputError
from distrivote.generation.run import RunResult, generate_run
from distrivote.rounds import Todo, by_doubling, by_worth
from distrivote.store.runs import Manifest, Run


def todos(n: int, budget: int) -> list[Todo]:
    return [Todo(Problem("?", id=f"q{i}"), tuple(range(budget))) for i in range(n)]


def test_rounds_double_for_those_that_are_not_settled() -> None:
    settled: set[str] = set()
    sizes = []
    for some in by_doubling(todos(2, 40), 40, settled.__contains__):
        sizes.append([(item.problem.id, item.samples[0], len(item.samples)) for item in some])
        settled.add("q0")
    assert sizes == [
        [("q0", 0, 8), ("q1", 0, 8)],
        [("q1", 8, 8)],
        [("q1", 16, 16)],
        [("q1", 32, 8)],
    ]


def test_a_run_that_goes_on_begins_with_the_round_that_it_lacks() -> None:
    work = [Todo(Problem("?", id="q"), (5, 9, 10))]
    rounds = [some[0].samples for some in by_doubling(work, 16, lambda _: False)]
    assert rounds == [(5,), (9, 10)]


def test_a_total_goes_where_it_helps() -> None:
    """The first question is settled, the second is a tie for ever: it gets the rest."""
    votes: dict[str, list[str]] = {"q0": [], "q1": []}

    def ballot(name: str) -> Ballot | None:
        return Ballot.of(votes[name]) if votes[name] else None

    for some in by_worth(todos(2, 64), 60, lambda: sum(map(len, votes.values())), ballot):
        for item in some:
            assert item.samples[0] == len(votes[item.problem.id])
            votes[item.problem.id] += ["ab"[n % 2 and item.problem.id == "q1"] for n in item.samples]
    assert len(votes["q0"]) + len(votes["q1"]) == 60
    assert len(votes["q0"]) <= 12


def run(path: Path, total: int, **kwargs: object) -> RunResult:
    problems = tuple(Problem(f"{i}?", id=f"q{i}", answer="4") for i in range(3))
    engine = ReplayEngine([Trajectory(f"It is \\boxed{{{4 + n % 2}}}.") for n in range(16)])
    asked = Benchmark("made", problems, "made")
    return generate_run(
        engine,
        asked,
        path,
        16,
        params=SamplingParams(),
        steering=None,
        total=total,
        **kwargs,  # type: ignore[arg-type]
    )


def test_a_run_with_a_total_has_that_many_and_goes_on_to_a_larger_one(tmp_path: Path) -> None:
    assert run(tmp_path / "run", 20).n_added == 20
    assert Manifest.load(tmp_path / "run").stop_when == "total:20"
    assert run(tmp_path / "run", 20).n_todo == 0
    assert run(tmp_path / "run", 30).n_added == 10
    assert Manifest.load(tmp_path / "run").stop_when == "total:30"
    done = Run.open(tmp_path / "run").done()
    assert len(done) == 30
    for name in ("q0", "q1", "q2"):
        numbers = sorted(number for question, number in done if question == name)
        assert numbers == list(range(len(numbers)))


def test_a_run_with_a_total_that_was_stopped_goes_on(tmp_path: Path) -> None:
    for _ in range(40):
        run(tmp_path / "run", 20, max_tokens_total=1)
    assert len(Run.open(tmp_path / "run").done()) == 20


def test_a_run_without_a_total_is_another_run(tmp_path: Path) -> None:
    run(tmp_path / "run", 20)
    with pytest.raises(InputError, match="other settings"):
        run(tmp_path / "run", None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("total", "more", "says"),
    [(2, {}, "3 questions"), (20, {"stop_when": "gain"}, "leave out"), (20, {"shard": "1/2"}, "leave out")],
)
def test_a_total_that_makes_no_sense_is_refused(
    tmp_path: Path, total: int, more: dict[str, str], says: str
) -> None:
    with pytest.raises(InputError) as caught:
        run(tmp_path / "run", total, **more)
    assert says in f"{caught.value} {caught.value.hint}"
