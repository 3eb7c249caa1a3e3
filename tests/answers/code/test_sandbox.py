"""Programs that attack: each is refused, ends in time, and leaves nothing behind."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from distrivote.answers.code.sandbox import Sandbox, best_confinement
from distrivote.answers.kinds.programs import Behaviour
from distrivote.errors import InputError

try:
    best_confinement()
except InputError:
    pytest.skip("this system confines no programs", allow_module_level=True)

SANDBOX = Sandbox(seconds=20.0)
"""For programs that end by themselves, on the busiest machine too."""

BRIEF = Sandbox(seconds=3.0)
"""For programs that do not."""

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
    "recursion without a limit": "import sys\ndef f(x):\n    sys.setrecursionlimit(10**9)\n    return f(x)",
    "a value that holds itself": "def f(x):\n    x = []\n    x.extend([x] * 10)\n    return x",
    "a symbolic link": "import os\ndef f(x):\n    os.symlink('/etc/passwd', '/made')",
    "a hard link": "import os\ndef f(x):\n    os.link('/lib', '/made')",
    "rights of a file": "import os\ndef f(x):\n    os.chmod('/', 0o777)",
    "its own environment": "def f(x):\n    return open('/proc/self/environ').read()",
    "the list of processes": "import os\ndef f(x):\n    return os.listdir('/proc/1')",
    "devices": "import os\ndef f(x):\n    return os.listdir('/dev/shm')",
    "a file in memory": "import os\ndef f(x):\n    os.memfd_create('made')",
    "a large map of memory": "import mmap\ndef f(x):\n    return len(mmap.mmap(-1, 600 << 20))",
    "a lock that others wait for": "import fcntl, os\ndef f(x):\n    fcntl.flock(open(os.__file__), 2)",
    "a limit of its parent": "import os, resource\ndef f(x):\n    resource.prlimit(os.getppid(), 0, (1, 1))",
    "its own limit": "import resource\ndef f(x):\n    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "a priority": "import os\ndef f(x):\n    os.setpriority(os.PRIO_USER, 0, 19)",
    "a process by descriptor": "import os\ndef f(x):\n    os.pidfd_open(1)",
    "another root": "import os\ndef f(x):\n    os.chroot('/usr')",
    "a terminal's input": "import fcntl\ndef f(x):\n    fcntl.ioctl(0, 0x5412, b'x')",
    "its own end": "import os\ndef f(x):\n    os.abort()",
    "a crash": "import ctypes\ndef f(x):\n    ctypes.string_at(0)",
    "signals that are ignored": "import signal\ndef f(x):\n    for n in (1, 2, 3, 14, 15, 24):\n"
    "        signal.signal(n, signal.SIG_IGN)\n    while True:\n        pass",
    "alarms without end": "import signal\ndef f(x):\n    signal.signal(signal.SIGALRM, lambda *_: None)\n"
    "    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n    while True:\n        pass",
    "a report without end": "import os\ndef f(x):\n    for fd in range(3, 32):\n        try:\n"
    "            while True:\n                os.write(fd, b'x' * 65536)\n        except OSError:\n"
    "            pass\n    return 1",
    "a report that comes slowly": "import os, time\ndef f(x):\n    for fd in range(3, 32):\n        try:\n"
    "            while True:\n                os.write(fd, b'x')\n                time.sleep(0.01)\n"
    "        except OSError:\n            pass",
    "much printed": "def f(x):\n    for _ in range(100):\n        print('a' * 10**6)",
    "a script without output": "import os",
    "no such function": "def g(x):\n    return 1",
    "no program": "def f(x:",
}


@pytest.mark.parametrize("source", ATTACKS.values(), ids=ATTACKS.keys())
def test_an_attack_gives_nothing_and_the_next_program_runs(source: str) -> None:
    found = BRIEF.run([source, "def f(x): return x + 1"], "f", [(1,)])
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


_CALL = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ndef f(*words):\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")
def test_system_calls_that_python_has_no_function_for_are_refused() -> None:
    names = {
        "fork": 57, "vfork": 58, "clone": 56, "clone3": 435, "execve": 59, "execveat": 322, "unshare": 272,
        "setns": 308, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kill": 62,
        "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424,
        "io_uring_setup": 425, "openat2": 437, "open_by_handle_at": 304, "mount": 165, "open_tree": 428,
        "move_mount": 429, "fsopen": 430, "mount_setattr": 442, "keyctl": 250, "bpf": 321, "socket": 41,
        "userfaultfd": 323, "perf_event_open": 298, "mq_open": 240, "shmget": 29, "reboot": 169,
        "setxattrat": 463, "a call of the future": 999, "inotify_init": 253, "sync": 162, "timer_create": 222,
    }  # fmt: skip
    source = _CALL + "    return libc.syscall(*words, 0, 0, 0, 0, 0), ctypes.get_errno()"
    (found,) = SANDBOX.run([source], "f", [(number,) for number in names.values()])
    assert dict(zip(names, found, strict=True)) == dict.fromkeys(names, ("value", "(-1, 1,)"))


def test_no_right_is_left_from_making_namespaces() -> None:
    source = _CALL + (
        "    held = (ctypes.c_uint32 * 6)()\n"
        "    libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), held)\n    return list(held)"
    )
    # Even this call is refused; what it would fill in stays as it was.
    assert SANDBOX.run([source], "f", [()]) == [[("value", "[0, 0, 0, 0, 0, 0]")]]


def test_a_descriptor_can_not_be_told_to_send_signals() -> None:
    source = (
        "import fcntl, os\ndef f():\n    n = 0\n    for fd in range(32):\n        try:\n"
        "            fcntl.fcntl(fd, fcntl.F_SETOWN, os.getppid())\n            n += 1\n"
        "        except OSError:\n            pass\n    return n"
    )
    assert SANDBOX.run([source], "f", [()]) == [[("value", "0")]]


def test_no_descriptor_is_inherited_but_that_of_the_report(tmp_path: Path) -> None:
    source = (
        "import os, stat\ndef f():\n    found = []\n    for fd in range(64):\n        try:\n"
        "            found.append(stat.S_ISFIFO(os.fstat(fd).st_mode))\n"
        "        except OSError:\n            pass\n    return found"
    )
    with (tmp_path / "ours").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        assert SANDBOX.run([source], "f", [()]) == [[("value", "[False, False, False, True]")]]


def test_a_program_can_not_read_the_others() -> None:
    # It looks through the variables of its callers and the top megabyte of its heap, for a mark that it does
    # not hold itself in one piece.
    spy = _CALL + (
        "    import sys\n    frame, seen = sys._getframe(), []\n    while frame:\n"
        "        seen.append(repr(list(frame.f_locals.values())).encode())\n        frame = frame.f_back\n"
        "    libc.sbrk.restype = ctypes.c_size_t\n    size = 1 << 20\n"
        "    seen.append(ctypes.string_at(libc.sbrk(0) - size, size))\n"
        "    after = [part for text in seen for part in text.split(b'a mark ')[1:]]\n"
        "    return any(part.startswith(words[0]) for part in after)"
    )
    other = "def f(word): return b'a mark of another'"
    assert SANDBOX.run([other, spy, other], "f", [(b"of another",)])[1] == [("value", "False")]
    own = f"{spy}  # a mark of another"
    assert SANDBOX.run([own], "f", [(b"of another",)]) == [[("value", "True")]]


def test_the_order_of_sets_is_the_same_in_every_run() -> None:
    source = "def f(words): return list(set(words))"
    words = ([str(number) for number in range(50)],)
    assert SANDBOX.run([source], "f", [words]) == SANDBOX.run([source], "f", [words])


def test_a_function_that_prints_is_known_by_what_it_prints() -> None:
    prints = "print('loaded')\ndef f(x):\n    print(x + 1)"
    returns = "def f(x):\n    print('a trace')\n    return x + 1"
    assert SANDBOX.run([prints, returns], "f", [(1,)]) == [[("value", "None, printed '2'")], [("value", "2")]]


def test_a_script_is_known_by_what_it_prints() -> None:
    scripts = ["print(2 + 2)", "if __name__ == '__main__':\n    print(4)", "import math", "print(input())"]
    found = SANDBOX.run(scripts, "", [()])
    assert found == [[("value", "printed '4'")]] * 2 + [[("error",)]] * 2


def test_there_is_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    source = "import os\ndef f(): return dict(os.environ)"
    assert SANDBOX.run([source], "f", [()]) == [[("value", "{}")]]


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
        ("__import__('collections').Counter('aab')", "{'a': 2, 'b': 1}"),
        ("__import__('fractions').Fraction(1, 2)", "Fraction(1, 2)"), ("type('S', (str,), {})('a')", "'a'"),
        ("(s := type('S', (), {})(), setattr(s, 'x', 1))[0]", "<S {'x': 1}>"), ("10**2000", hex(10**2000)),
    ],
)  # fmt: skip
def test_a_result_is_written_the_same_way_for_equal_values(expression: str, text: str) -> None:
    assert SANDBOX.run([f"def f(): return {expression}"], "f", [()]) == [[("value", text)]]


def test_the_interpreter_of_the_worker_is_this_one() -> None:
    source = "import sys\ndef f(): return list(sys.version_info[:2])"
    assert SANDBOX.run([source], "f", [()]) == [[("value", str(list(sys.version_info[:2])))]]


def test_scripts_are_the_same_if_they_print_the_same() -> None:
    scripts = ["print(2 + 2)", "x = 4\nprint(x)", "print(5)", "print(input())"]
    found = Behaviour()("Print the sum of 2 and 2.", scripts)
    assert tuple(found.ids) == (0, 0, 1, -1)
    assert found.notes == (
        "4 different programs ran, and what they print was compared",
        "1 of them fails: no answer",
        "the programs differ in what they print: printed '4' (2 programs), printed '5' (1 program)",
    )


def test_programs_without_a_function_or_output_are_told_apart_by_reading_them() -> None:
    found = Behaviour()("Set x.", ["x = 4", "x = 2 + 2", "print(input())"])
    assert tuple(found.ids) == (0, 1, 2)
