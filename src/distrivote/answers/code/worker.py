"""EDGE: the sandbox itself: a process that runs programs, each on each input in a child of its own.

Run as a script by `sandbox`, isolated (`python -I -S`), with an empty environment. It knows nothing of
distrivote. One JSON document comes in on standard input, one goes out on standard output:

    {"programs": [source, ...], "entry": name, "inputs": [literal, ...], "seconds": 2.0, "memory": bytes,
     "n_workers": 2, "confine": "namespace" | "user" | "limits"}
    {"outcomes": [[outcome of program 0 on input 0, ...], ...]}

The process that reads this never runs a line of a program. For each program and input it forks a child,
which gives up everything (`_confine_child`) and then runs the program from its beginning: nothing that one
program or input leaves behind can be seen by the next. An outcome is ["value", text], ["error"], ["timeout"].
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import errno
import hashlib
import json
import os
import platform
import resource
import select
import signal
import struct
import sys
import time
from typing import Any, NoReturn

LONGEST = 100_000
"""Characters of a result as text; a longer one is compared by its digest."""

NOBODY = 65534

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET, _CLONE_NEWUTS = 0x20000000, 0x40000000, 0x04000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT = 1, 2, 4, 32
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 38, 22, 1, 4
_MNT_DETACH = 2


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(number) for number in text.split())


# By machine: the audit architecture, and the numbers of the system calls that a program is refused: those of
# processes, signals, connections, mounts, keys, tracing, and of everything that changes a file system.
_REFUSED = {
    "x86_64": (
        0xC000003E,
        _numbers(
            "29 30 31 41 42 43 44 45 46 47 49 50 53 56 57 58 59 62 64 65 66 68 69 70 71 76 82 83 84 85 "
            "86 87 88 90 92 93 94 101 103 132 133 155 161 165 166 169 188 189 190 200 234 235 240 248 "
            "249 250 258 259 260 261 263 264 265 266 268 272 280 288 298 307 308 310 311 316 319 321 "
            "322 323 424 425 426 427 434 435 437 438 440 452"
        ),
        {2: 1, 257: 2},
    ),
    "aarch64": (
        0xC00000B7,
        _numbers(
            "5 6 7 33 34 35 36 37 38 39 40 45 51 52 53 54 55 88 97 116 117 129 130 131 142 180 186 187 "
            "188 189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 211 212 "
            "217 218 219 220 221 241 268 270 271 276 279 280 281 282 424 425 426 427 434 435 437 438 "
            "440 452"
        ),
        {56: 2},
    ),
}

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Read the task, confine this process, run everything, write the outcomes."""
    task = json.load(sys.stdin)
    out = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if task["confine"] == "namespace":
        _enter_namespaces(out)
    outcomes = _run_all(task)
    _write(out, json.dumps({"outcomes": outcomes}).encode())


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _check(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _enter_namespaces(out: int) -> None:
    """Go into namespaces without network, other processes and files but those of Python, read-only."""
    uid, gid = os.getuid(), os.getgid()
    flags = _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWUTS
    _check(_libc.unshare(flags if uid == 0 else flags | _CLONE_NEWUSER))
    if uid != 0:
        for name, line in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(line)
    _only_python()
    child = os.fork()
    if child:
        os.close(out)
        _, status = os.waitpid(child, 0)
        os._exit(0 if status == 0 else 1)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _only_python() -> None:
    """Make a root that has the folders that Python reads, read-only, and nothing else."""
    root = b"/tmp"
    _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))
    _check(_libc.mount(b"none", root, b"tmpfs", _MS_NOSUID | _MS_NODEV, b"size=1m,mode=755"))
    folders = {
        os.path.realpath(path) for path in ("/lib", "/lib64", "/usr/lib", "/usr/lib64") if os.path.isdir(path)
    }
    folders |= {os.path.realpath(path) for path in (sys.base_prefix + "/lib", sys.base_exec_prefix + "/lib")}
    kept = [path for path in sorted(folders) if not any(path.startswith(other + "/") for other in folders)]
    for path in kept:
        if path.startswith("/tmp/"):
            continue
        place = os.fsencode("/tmp" + path)
        os.makedirs(place, exist_ok=True)
        _check(_libc.mount(os.fsencode(path), place, None, _MS_BIND | _MS_REC, None))
        locked = _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _MS_NOSUID | _MS_NODEV
        _check(_libc.mount(None, place, None, locked, None))
    for link in ("/lib", "/lib64"):
        if os.path.islink(link):
            os.symlink(os.readlink(link), "/tmp" + link)
    _check(_libc.mount(None, root, None, _MS_REMOUNT | _MS_RDONLY | _MS_NOSUID | _MS_NODEV, None))
    os.chdir(root)
    numbers = {"x86_64": 155, "aarch64": 41}
    if _libc.syscall(numbers[platform.machine()], b".", b".") != 0:
        raise OSError(ctypes.get_errno(), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH))
    os.chdir("/")


def _confine_child(task: dict[str, Any]) -> None:
    """Give up what a program could do harm with; it can't be had back."""
    seconds = max(int(task["seconds"] + 0.999), 1)
    for name, limit in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, task["memory"]),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 32),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(name, (limit, limit))
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _filter_system_calls()


def _filter_system_calls() -> None:
    """Refuse system calls that make processes, connections or harm: they fail with EPERM."""
    machine = platform.machine()
    architecture, refused, opening = _REFUSED[machine]
    load, jump, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    allow, deny, kill = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
    code = [(load, 0, 0, 4), (jump, 1, 0, architecture), (give, 0, 0, kill), (load, 0, 0, 0)]
    if machine == "x86_64":  # numbers of the x32 interface
        code += [(at_least, 0, 1, 0x40000000), (give, 0, 0, kill)]
    for number in sorted(refused):
        code += [(jump, 0, 1, number), (give, 0, 0, deny)]
    for number, argument in opening.items():  # opening a file, but for reading
        code += [(jump, 0, 3, number), (load, 0, 0, 16 + 8 * argument), (any_bit, 0, 1, writing)]
        code += [(give, 0, 0, deny), (load, 0, 0, 0)]
    code.append((give, 0, 0, allow))
    packed = b"".join(struct.pack("HBBI", *each) for each in code)
    buffer = ctypes.create_string_buffer(packed, len(packed))

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    program = Filter(len(code), ctypes.cast(buffer, ctypes.c_void_p))
    _check(_libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0))


def _run_all(task: dict[str, Any]) -> list[list[list[str]]]:
    """Run every program on every input, some at a time; give each its time."""
    programs, inputs = task["programs"], task["inputs"]
    outcomes: list[list[list[str]]] = [[["timeout"] for _ in inputs] for _ in programs]
    waiting = [(p, i) for p in range(len(programs)) for i in range(len(inputs))][::-1]
    running: dict[int, tuple[int, int, int, float, bytearray]] = {}  # by descriptor
    slow: dict[int, int] = {}
    while waiting or running:
        while waiting and len(running) < task["n_workers"]:
            number, position = waiting.pop()
            if slow.get(number, 0) >= 3:
                continue  # it stays a timeout: no program gets the time of many
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(read)
                _child(programs[number], task["entry"], inputs[position], write, task)
            os.close(write)
            running[read] = (number, position, child, time.monotonic() + task["seconds"], bytearray())
        if not running:
            continue
        left = min(deadline for *_, deadline, _ in running.values()) - time.monotonic()
        ready, _, _ = select.select(list(running), [], [], max(left, 0.0))
        for fd in ready:
            data = os.read(fd, 65536)
            held = running[fd][4]
            held += data
            if not data or len(held) > 8 * LONGEST:
                number, position, child, _, held = running.pop(fd)
                os.close(fd)
                _end(child)
                outcomes[number][position] = _outcome(bytes(held))
        for fd in [fd for fd, item in running.items() if item[3] <= time.monotonic()]:
            number, position, child, _, _ = running.pop(fd)
            os.close(fd)
            _end(child)
            slow[number] = slow.get(number, 0) + 1
    return outcomes


def _end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _outcome(data: bytes) -> list[str]:
    """Return what a child reported; whatever is not a report is an error."""
    try:
        found = json.loads(data)
    except ValueError:
        return ["error"]
    is_value = (
        isinstance(found, list) and len(found) == 2 and found[0] == "value" and isinstance(found[1], str)
    )
    return ["value", found[1][:LONGEST]] if is_value else ["error"]


def _child(source: str, entry: str, arguments: str, write: int, task: dict[str, Any]) -> NoReturn:
    """Run one program on one input and report; never returns."""
    report = ["error"]
    try:
        os.setsid()
        for fd in range(3, 256):
            if fd != write:
                with contextlib.suppress(OSError):
                    os.close(fd)
        _confine_child(task)
        sys.setrecursionlimit(2000)
        names: dict[str, Any] = {"__name__": "__program__"}
        exec(compile(source, "<program>", "exec"), names)
        text = canonical(names[entry](*ast.literal_eval(arguments)))
        digest = f"{len(text)} characters, {hashlib.sha256(text.encode(errors='replace')).hexdigest()}"
        report = ["value", text if len(text) <= LONGEST else digest]
    except BaseException:
        pass
    try:
        _write(write, json.dumps(report).encode())
    finally:
        os._exit(0)


def canonical(value: Any, depth: int = 0) -> str:
    """Return a value as text, the same for equal values of built-in types.

    Floats count to nine digits, a list and a tuple are two things, sets and dictionaries have no order.
    """
    kind = type(value)
    if depth > 50:
        return "..."
    if kind is bool or value is None or kind is str or kind is bytes:
        return repr(value)[:LONGEST]
    if kind is int:
        return hex(value) if value.bit_length() > 4096 else str(value)
    if kind is float or kind is complex:
        return _number(value)
    if kind is list or kind is tuple:
        inner = ", ".join(canonical(each, depth + 1) for each in value)
        return f"[{inner}]" if kind is list else f"({inner},)"
    if kind is set or kind is frozenset:
        return "{" + ", ".join(sorted(canonical(each, depth + 1) for each in value)) + "}"
    if kind is dict:
        pairs = sorted((canonical(k, depth + 1), canonical(v, depth + 1)) for k, v in value.items())
        return "{" + ", ".join(f"{key}: {each}" for key, each in pairs) + "}"
    if hasattr(kind, "__next__"):
        return canonical([each for each, _ in zip(value, range(10_000))], depth + 1)  # noqa: B905
    return f"<{kind.__name__}>"


def _number(value: complex | float) -> str:
    if isinstance(value, complex):
        return f"({_number(value.real)}, {_number(value.imag)}j)"
    if value == value and abs(value) < 1e15 and value == int(value):
        return str(int(value))  # 2.0 == 2 in Python, and so here
    return f"{value:.9g}"


if __name__ == "__main__":
    main()
