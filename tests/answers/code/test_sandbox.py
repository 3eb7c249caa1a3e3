"""Programs that attack: each is refused, ends in time, and leaves nothing behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from distrivote.answers.code.sandbox import Sandbox, best_confinement
from distrivote.errors import InputError

try:
    best_confinement()
except InputError:
    pytest.skip("this system confines no programs", allow_module_level=True)

SANDBOX = Sandbox(seconds=1.0)
ATTACKS = {
    "an endless loop": "def f(x):\n    while True:\n        pass",
    "a fork bomb": "import os\ndef f(x):\n    while True:\n        os.fork()",
    "a thread": "import threading\ndef f(x):\n    threading.Thread(target=print).start()",
    "a connection": "import socket\ndef f(x):\n    socket.create_connection(('127.0.0.1', 80))",
    "a socket": "import socket\ndef f(x):\n    socket.socketpair()",
    "the passwords": "def f(x):\n    return open('/etc/passwd').read()",
    "a file that is written": "def f(x):\n    open('made', 'w').write('x')",
    "a folder": "import os\ndef f(x):\n    os.mkdir('made')",
    "a file that is removed": "import os\ndef f(x):\n    os.unlink('/etc/hostname')",
    "ten gigabytes of memory": "def f(x):\n    return len('a' * 10**10)",
    "much output": "import sys\ndef f(x):\n    while True:\n        sys.stdout.write('a' * 10**6)",
    "a signal to its parent": "import os\ndef f(x):\n    os.kill(os.getppid(), 9)",
    "a signal to all": "import os\ndef f(x):\n    os.kill(-1, 9)",
    "another program": "import subprocess\ndef f(x):\n    return subprocess.check_output(['true'])",
    "an exit": "import os\ndef f(x):\n    os._exit(0)",
    "an interrupt": "def f(x):\n    raise KeyboardInterrupt",
    "deep recursion": "def f(x):\n    return f(x)",
    "no such function": "def g(x):\n    return 1",
    "no program": "def f(x:",
}


@pytest.mark.parametrize("source", ATTACKS.values(), ids=ATTACKS.keys())
def test_an_attack_gives_nothing_and_the_next_program_runs(source: str) -> None:
    found = SANDBOX.run([source, "def f(x): return x + 1"], "f", [(1,)])
    assert found[0][0][0] in ("error", "timeout")
    assert found[1] == [("value", "2")]


@pytest.mark.skipif(best_confinement() != "namespace", reason="this system has no namespaces")
def test_no_file_but_those_of_python_can_be_seen() -> None:
    source = (
        "import os\ndef f(path):\n    seen = [n for _, _, names in os.walk(path) for n in names]\n"
        "    return len(seen)"
    )
    home, here = str(Path.home()), str(Path(__file__).parent)
    found = SANDBOX.run([source], "f", [("/etc",), ("/proc",), ("/var",), (here,)])
    assert found == [[("value", "0")] * 4]
    assert home


def test_there_is_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    source = "import os\ndef f(): return 'secret' in str(dict(os.environ))"
    assert SANDBOX.run([source], "f", [()]) == [[("value", "False")]]


def test_nothing_is_kept_between_programs_and_inputs() -> None:
    source = "import math\ndef f(x):\n    math.seen = getattr(math, 'seen', 0) + 1\n    return math.seen"
    assert SANDBOX.run([source, source], "f", [(1,), (2,)]) == [[("value", "1")] * 2] * 2


def test_a_forged_report_changes_only_the_program_itself() -> None:
    forge = (
        "import os\ndef f(x):\n    for fd in range(3, 32):\n        try:\n            os.write(fd, b'[]')\n"
    )
    forge += "        except OSError:\n            pass\n    os._exit(0)"
    assert SANDBOX.run([forge, "def f(x): return x"], "f", [(7,)]) == [[("error",)], [("value", "7")]]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("2.0", "2"), ("0.1 + 0.2", "0.3"), ("{2, 1}", "{1, 2}"), ("(1, [2])", "(1, [2],)"), ("True", "True"),
        ("{'b': 1, 'a': None}", "{'a': None, 'b': 1}"), ("iter([1, 2])", "[1, 2]"), ("object()", "<object>"),
        ("float('nan')", "nan"), ("'a'", "'a'"),
    ],
)  # fmt: skip
def test_a_result_is_written_the_same_way_for_equal_values(expression: str, text: str) -> None:
    assert SANDBOX.run([f"def f(): return {expression}"], "f", [()]) == [[("value", text)]]


def test_the_interpreter_of_the_worker_is_this_one() -> None:
    source = "import sys\ndef f(): return list(sys.version_info[:2])"
    assert SANDBOX.run([source], "f", [()]) == [[("value", str(list(sys.version_info[:2])))]]
