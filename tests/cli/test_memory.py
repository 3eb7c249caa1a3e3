"""Freed memory is used again, not fetched anew from the system."""

import platform
import subprocess
import sys

import pytest

CODE = """
import resource, sys
import numpy as np
from distrivote.cli.memory import keep_freed
if sys.argv[1] == "keep":
    keep_freed()
for _ in range(400):
    some = [np.ones(2**17) for _ in range(4)]
    del some
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", CODE, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such setting")
def test_arrays_that_are_made_again_and_again_take_few_pages_from_the_system() -> None:
    assert faults("keep") < faults("give back") / 5


def test_other_systems_keep_their_own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    from distrivote.cli.memory import keep_freed

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "ctypes", None)
    keep_freed()
