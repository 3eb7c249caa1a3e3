"""A worker of a cluster without the cluster: what it samples, reports, and does when it is to end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from distrivote.engines.base import Progress, SamplingParams
from distrivote.engines.choice import EngineChoice
from distrivote.errors import EngineError
from distrivote.generation.collector import Collector, Report, Reporter, StoppedError
from distrivote.generation.result import Stored
from distrivote.generation.worker import Work, Worker
from distrivote.problem import Problem
from distrivote.rounds import Todo
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.rows import Keep
from distrivote.store.runs.run import Run
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer, is_sampled, refusal

EASY, HARD, BAD = (Problem(f"{name}?", id=name) for name in ("easy", "hard", "bad"))


def answer(request: Request) -> Reply:
    text = str((request.body or {}).get("messages", ""))
    if is_sampled(request.body or {}) and "bad?" in text:
        return refusal(400, "this model's maximum context length is 5 tokens")
    says = [Token("word ")] * (1000 if "hard?" in text else 2)
    return ToyServer(lambda _: says, pause=0.2 if "hard?" in text else 0.0)(request)


@pytest.fixture
def made() -> Iterator[list[Worker]]:
    """The workers of a test, which are closed at its end."""
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        worker.close()


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    params = SamplingParams(max_tokens=2000)
    manifest = Manifest.of(
        engine="openai",
        model="toy",
        template=EASY.template,
        benchmark="q: q",
        params=params,
        ssc=None,
        budget=8,
    )
    with ScriptedServer(answer) as server:
        choice = EngineChoice("openai", "toy", (server.url,), None, {"n_parallel": 4})
        yield Work(choice, str(tmp_path / "run"), manifest, Keep(), params, None)


def test_a_piece_does_not_wait_for_another_and_is_written_when_it_ends(
    work: Work, made: list[Worker]
) -> None:
    collector = Collector()
    worker = Worker(work, 2, collector.hear)
    made.append(worker)
    ended: list[object] = []
    slow = threading.Thread(target=lambda: ended.append(worker.sample(Todo(HARD, (0, 1)))), daemon=True)
    slow.start()
    stored, error = worker.sample(Todo(EASY, (0, 1, 2)))
    assert error is None
    assert sorted(each.sample for each in stored) == [0, 1, 2]
    assert Run.open(work.run, partial=True).done() == {("easy", number) for number in range(3)}
    assert slow.is_alive()
    stored_so_far = collector.tell(is_over=True).stored
    slow.join(20)
    assert ended == [([], None)]
    told = collector.tell(is_over=True)
    assert {each.sample for each in (*stored_so_far, *told.stored)} == {0, 1, 2}
    assert told.ks == {20}
    assert worker.sample(Todo(EASY, (5,))) == ([], None)  # it is to end


def test_what_another_worker_has_stored_is_not_sampled_again(work: Work, made: list[Worker]) -> None:
    first, second = (Worker(work, 1, lambda _: False) for _ in range(2))
    made += (first, second)
    first.sample(Todo(EASY, (0, 1)))
    stored, _ = second.sample(Todo(EASY, (0, 1, 2)))
    assert [each.sample for each in stored] == [2]


def test_an_error_is_returned_with_what_was_stored_before(work: Work, made: list[Worker]) -> None:
    worker = Worker(work, 1, lambda _: False)
    made.append(worker)
    stored, error = worker.sample(Todo(BAD, (0,)))
    assert not stored
    assert isinstance(error, EngineError)
    assert [each.sample for each in worker.sample(Todo(EASY, (0,)))[0]] == [0]


def test_pieces_are_small_enough_for_all_workers_and_whole_with_a_rule(work: Work) -> None:
    items = [Todo(EASY, tuple(range(100))), Todo(HARD, tuple(range(3, 8)))]
    for n_workers in (1, 2, 50):
        pieces = work.pieces(items, n_workers)
        assert {(piece.problem.id, i) for piece in pieces for i in piece.samples} == {
            (item.problem.id, i) for item in items for i in item.samples
        }
        assert sum(len(piece.samples) for piece in pieces) == 105
        assert len(pieces) >= min(4 * n_workers, 105 // 16)
        assert max(len(piece.samples) for piece in pieces) <= 16
        assert work.n_pieces(pieces) * max(len(piece.samples) for piece in pieces) >= 5
    ruled = Work(work.choice, work.run, work.manifest, work.keep, work.params, None, stop_when="beta")
    assert ruled.pieces(items, 2) == items


def test_a_report_that_is_lost_is_made_up_for() -> None:
    heard: list[Report] = []
    is_lost = [True, False, False]

    def hear(report: Report) -> bool:
        if is_lost.pop(0):
            raise ConnectionError
        heard.append(report)
        return len(heard) == 2

    reporter = Reporter(hear, seconds=1000)
    piece = reporter.begin()
    reporter.see(piece, Progress(5, 2, 1))
    reporter.note("a note")
    reporter.add(Stored("q", 0, 5, 0, None))
    reporter.report()
    reporter.report()
    assert heard[0][1:] == (Progress(5, 2, 1), 1, frozenset(), ("a note",), (Stored("q", 0, 5, 0, None),))
    reporter.end(piece)
    reporter.report()
    assert heard[1][1:] == (Progress(5, 0, 1), 0, frozenset(), (), ())
    with pytest.raises(StoppedError):
        reporter.see(reporter.begin(), Progress(0, 0, 0))


def test_the_collector_sums_what_workers_say_and_forgets_none_that_died() -> None:
    collector = Collector()
    report = Report("a", Progress(5, 2, 1), 3, frozenset({20}), ("x",), (Stored("q", 0, 5, 0, None),))
    assert collector.hear(report) is False
    collector.hear(report._replace(worker="b", notes=("x", "y"), stored=()))
    told = collector.tell(is_over=False)
    assert told == (Progress(10, 4, 2), 6, {20}, ("x", "y"), (Stored("q", 0, 5, 0, None),))
    for _ in range(20):
        collector.hear(report._replace(worker="b", stored=()))
        told = collector.tell(is_over=True)
    assert told == (Progress(10, 2, 2), 3, {20}, ("x", "y"), ())
    assert collector.hear(report) is True
