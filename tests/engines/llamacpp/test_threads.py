from __future__ import annotations

from distrivote.engines.llamacpp.threads import ThreadTuner


def run(tuner: ThreadTuner, seconds: dict[int, float], n_steps: int) -> list[int]:
    used = []
    for _ in range(n_steps):
        used.append(tuner.n_threads)
        tuner.observe(seconds[used[-1]])
    return used


def test_the_faster_number_of_threads_is_used_between_trials() -> None:
    assert run(ThreadTuner(4), {4: 1.0, 2: 2.0}, 20)[4:] == [4] * 16
    assert run(ThreadTuner(4), {4: 9.0, 2: 2.0}, 20)[4:] == [2] * 16


def test_a_machine_that_becomes_free_is_noticed() -> None:
    tuner = ThreadTuner(2)
    assert run(tuner, {2: 9.0, 1: 1.0}, 52)[-1] == 1
    assert run(tuner, {2: 0.5, 1: 1.0}, 52)[-1] == 2


def test_a_single_thread_is_left_alone() -> None:
    assert run(ThreadTuner(1), {1: 1.0}, 10) == [1] * 10
