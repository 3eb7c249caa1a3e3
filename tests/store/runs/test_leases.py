"""Which process has which work, and what becomes of it when a process dies."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from distrivote.store.runs import leases as leases_module
from distrivote.store.runs.folder import Folder
from distrivote.store.runs.leases import EXPIRY, FOLDER, Leases
from store.stores import folder_of


@pytest.fixture(params=["local", "object"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    return folder_of(request.param, tmp_path)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of this process; the others are on other machines."""
    clock = [1000.0]
    monkeypatch.setattr(leases_module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(leases_module, "_place_of", lambda _: "")
    return clock


def test_work_has_one_holder_until_it_is_returned(run: Folder) -> None:
    with Leases(run) as one, Leases(run) as other:
        assert one.take("a")
        assert one.take("a")
        assert not other.take("a")
        assert other.take("b")
        one.give_back("a")
        assert other.take("a")
        assert not one.take("a")
    with Leases(run) as third:
        assert third.take("a")
        assert third.take("b")
    assert [name for name in run.names(FOLDER) if not name.startswith(".")] == []


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"\0" * 2000, b"../../x", b"nobody"])
def test_a_damaged_lease_is_that_of_a_dead_process(run: Folder, content: bytes) -> None:
    with Leases(run) as one, Leases(run) as other:
        assert one.take("a")
        (name,) = [name for name in run.names(FOLDER) if name.endswith(".1")]
        run.write(f"{FOLDER}/{name}", content)
        assert other.take("a")


@pytest.mark.parametrize("number", ["x", "-1", "1" * 5000, "\u0661"])
def test_a_damaged_heartbeat_is_waited_for_as_one_of_another_machine(run: Folder, number: str) -> None:
    with Leases(run, beat=100.0) as one, Leases(run, beat=100.0) as other:
        assert one.take("a")
        (name,) = [name for name in run.names(FOLDER) if name.startswith("alive-")]
        with run.open(f"{FOLDER}/{name}") as file:
            words = file.read(1000).decode().split(" ")
        words[-2] = number
        run.write(f"{FOLDER}/{name}", " ".join(words).encode())
        assert not other.take("a")


def test_of_many_processes_one_gets_it(run: Folder) -> None:
    all_leases = [Leases(run) for _ in range(4)]
    for work in "abcd":
        got: list[Leases] = []
        threads = [
            threading.Thread(
                target=lambda each=each, work=work, got=got: each.take(work) and got.append(each)
            )
            for each in all_leases
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 1
    for each in all_leases:
        each.close()


def dead(run: Folder, *work: str) -> None:
    """Lease work, and die without a word."""
    gone = Leases(run, beat=10**6)
    assert all(gone.take(each) for each in work)


def test_a_silent_process_loses_its_work_by_the_clock_of_who_watches(run: Folder, now: list[float]) -> None:
    dead(run, "a", "b")
    with Leases(run, beat=10**6) as one, Leases(run, beat=10**6) as other:
        assert not one.take("a")
        now[0] += EXPIRY - 1
        assert not one.take("a")
        assert not other.take("a")  # it looks for the first time
        now[0] += 2
        assert one.take("a")
        assert not other.take("a")
        assert not other.take("b")
        now[0] += EXPIRY
        assert other.take("b")


def test_a_sign_of_life_prolongs_it(run: Folder, now: list[float]) -> None:
    holder, watcher = Leases(run, beat=10**6), Leases(run, beat=10**6)
    assert holder.take("a")
    for n in range(1, 5):
        assert not watcher.take("a")
        now[0] += EXPIRY - 1
        run.write(holder._sign, holder._life(n))
    assert not watcher.take("a")
    holder.close()
    assert watcher.take("a")
    watcher.close()


def test_only_one_takes_over(run: Folder, now: list[float]) -> None:
    dead(run, "a")
    heirs = [Leases(run, beat=10**6) for _ in range(3)]
    assert not any(heir.take("a") for heir in heirs)
    now[0] += EXPIRY
    assert [heir.take("a") for heir in heirs] == [True, False, False]
    for heir in heirs:
        heir.close()


HOLDER = """
import sys, time
from distrivote.store.runs.leases import Leases
leases = Leases(sys.argv[1])
print(leases.take("a"), flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it expires")
def test_a_killed_process_of_this_machine_is_known_at_once(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLDER, str(tmp_path / "run")]
    (tmp_path / "run").mkdir()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        with Leases(tmp_path / "run") as mine:
            assert not mine.take("a")
            # In a copy nobody works.
            shutil.copytree(tmp_path / "run", tmp_path / "copy")
            with Leases(tmp_path / "copy", expiry=0.0) as copied:
                assert copied.take("a")
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert mine.take("a")
