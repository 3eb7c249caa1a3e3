"""EDGE: the sandbox itself: processes that run every program on every input, each in its own child.

Run as a script by `sandbox`, without site packages, with an empty environment. It knows nothing of
distrivote. Limits are JSON in its first argument, the input is one JSON document on standard input, and the
output is one on standard output:

    {"seconds": 2.0, "memory": bytes, "confine": "namespace" | "user" | "limits", "calls": rules}
    {"programs": [source, ...], "entry": name, "inputs": [literal, ...], "n_workers": 2}
    {"outcomes": [[outcome of program 0 on input 0, ...], ...]}

Two processes cooperate, and neither runs any code of a program. The first reads the programs and collects the
outcomes. The second is started before the first has read anything. It forks a child for each program and
input and passes descriptors on to it, without reading from them. So a child has its own program in its
memory, and nothing of the others. It gives up its privileges (`_confine_child`), then runs the program from
its beginning: no program or input can see state of another. Without an entry the program is a script. An
outcome is ["value", text], ["error"] or ["timeout"].
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import errno
import hashlib
import io
import json
import os
import platform
import resource
import select
import signal
import socket
import struct
import sys
import time
from typing import Any, NoReturn

LONGEST = 100_000
"""The maximum length of a result as text, in characters; a longer result is compared by its digest."""

NOBODY = 65534

_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET, _CLONE_NEWUTS = 0x20000000, 0x40000000, 0x04000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT = 1, 2, 4, 32
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 38, 22, 1, 4
_MNT_DETACH = 2
_CAPABILITIES_3 = 0x20080522
"""The version of the kernel's structure of capabilities."""

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Start the forking process, read the programs, run them on all inputs, and write the outcomes."""
    limits = json.loads(sys.argv[1])
    given, out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.environ.clear()
    _die_with_parent()
    if limits["confine"] == "namespace":
        _enter_namespaces()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    forker = os.fork()
    if forker == 0:
        os.dup2(null, 2)
        for fd in (null, given, out, ours.fileno()):
            os.close(fd)
        _die_with_parent()
        _fork_on_request(theirs, limits)
    theirs.close()
    with open(given, "rb") as file:
        task = json.load(file)
    outcomes = _run_all(task, limits["seconds"], ours)
    _write(out, json.dumps({"outcomes": outcomes}).encode())
    ours.close()
    os.waitpid(forker, 0)


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _check(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _enter_namespaces() -> None:
    """Enter namespaces without network, other processes and files except those of Python, read-only.

    The next process that is forked is the first of its namespace: when it ends, all others in it end.
    """
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
    _check(_libc.sethostname(b"sandbox", 7))
    _only_python()


def _only_python() -> None:
    """Make a root directory with only the folders that Python reads, read-only."""
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


def _confine_child(limits: dict[str, Any], rules: bytes) -> None:
    """Irreversibly give up all privileges with which a program could do harm."""
    seconds = max(int(limits["seconds"] + 0.999), 1)
    for name, limit in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, limits["memory"]),
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
    _die_with_parent()  # which the change of user had reset
    # The creator of a user namespace has all capabilities inside it until they are given up.
    _check(_libc.capset((ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()))
    _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _filter_system_calls(rules)


def _packed_rules(calls: dict[str, Any]) -> bytes:
    """Return a filter that refuses all system calls except those in the rules (`systemcalls`)."""
    load, jump, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, deny, kill = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
    code = [(load, 0, 0, 4), (jump, 1, 0, calls["architecture"]), (give, 0, 0, kill), (load, 0, 0, 0)]
    if platform.machine() == "x86_64":  # numbers of the x32 interface
        code += [(at_least, 0, 1, 0x40000000), (give, 0, 0, kill)]
    for number in calls["allowed"]:
        code += [(jump, 0, 1, number), (give, 0, 0, allow)]
    for number, argument, values in calls["one_of"]:
        code += [(jump, 0, 2 * len(values) + 2, number), (load, 0, 0, 16 + 8 * argument)]
        for value in values:
            code += [(jump, 0, 1, value), (give, 0, 0, allow)]
        code.append((give, 0, 0, deny))
    for number, argument, bits in calls["without"]:
        code += [(jump, 0, 4, number), (load, 0, 0, 16 + 8 * argument), (any_bit, 0, 1, bits)]
        code += [(give, 0, 0, deny), (give, 0, 0, allow)]
    code.append((give, 0, 0, deny))
    return b"".join(struct.pack("HBBI", *each) for each in code)


def _filter_system_calls(rules: bytes) -> None:
    buffer = ctypes.create_string_buffer(rules, len(rules))

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    program = Filter(len(rules) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _check(_libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0))


def _fork_on_request(requests: socket.socket, limits: dict[str, Any]) -> NoReturn:
    """Fork a child for each message with descriptors; a message without descriptors ends the child it names.

    The descriptors are those of a program, which only the child reads, and of the pipe for its outcome.
    """
    rules = _packed_rules(limits["calls"])
    children: dict[bytes, int] = {}
    while True:
        number, fds, _, _ = socket.recv_fds(requests, 64, 2)
        if not number:  # the other process has ended
            for child in children.values():
                _end(child)
            os._exit(0)
        if not fds:
            _end(children.pop(number))
            continue
        child = os.fork()
        if child == 0:
            requests.close()
            _child(fds[0], fds[1], limits, rules)
        children[number] = child
        for fd in fds:
            os.close(fd)


def _run_all(task: dict[str, Any], seconds: float, forker: socket.socket) -> list[list[list[str]]]:
    """Run every program on every input, some at a time, each with its timeout."""
    programs, inputs = task["programs"], task["inputs"]
    outcomes: list[list[list[str]]] = [[["timeout"] for _ in inputs] for _ in programs]
    waiting = [(p, i) for p in range(len(programs)) for i in range(len(inputs))][::-1]
    running: dict[int, tuple[int, int, float, bytearray]] = {}  # by descriptor
    slow: dict[int, int] = {}

    def end(fd: int) -> tuple[int, int, bytes]:
        program, position, _, held = running.pop(fd)
        os.close(fd)
        forker.send(f"{program} {position}".encode())
        return program, position, bytes(held)

    while waiting or running:
        while waiting and len(running) < task["n_workers"]:
            program, position = waiting.pop()
            if slow.get(program, 0) >= 3:
                continue  # the outcome stays a timeout: no program gets the time of several
            job, (read, write) = os.memfd_create("job"), os.pipe()
            _write(job, json.dumps([programs[program], task["entry"], inputs[position]]).encode())
            socket.send_fds(forker, [f"{program} {position}".encode()], [job, write])
            os.close(job)
            os.close(write)
            running[read] = (program, position, time.monotonic() + seconds, bytearray())
        if not running:
            continue
        left = min(deadline for _, _, deadline, _ in running.values()) - time.monotonic()
        ready, _, _ = select.select(list(running), [], [], max(left, 0.0))
        for fd in ready:
            data = os.read(fd, 65536)
            held = running[fd][3]
            held += data
            if not data or len(held) > 8 * LONGEST:
                program, position, report = end(fd)
                outcomes[program][position] = _outcome(report)
        for fd in [fd for fd, item in running.items() if item[2] <= time.monotonic()]:
            program, _, _ = end(fd)
            slow[program] = slow.get(program, 0) + 1
    return outcomes


def _end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _outcome(data: bytes) -> list[str]:
    """Return what a child reported; anything that is not a report is an error."""
    try:
        found = json.loads(data)
    except ValueError:
        return ["error"]
    is_value = (
        isinstance(found, list) and len(found) == 2 and found[0] == "value" and isinstance(found[1], str)
    )
    return ["value", found[1][:LONGEST]] if is_value else ["error"]


class _Printed(io.StringIO):
    """What a program prints, up to a maximum length."""

    def write(self, text: str, /) -> int:
        if self.tell() + len(text) > LONGEST:
            raise OSError(errno.EFBIG, "too much output")
        return super().write(text)


def _child(job: int, write: int, limits: dict[str, Any], rules: bytes) -> NoReturn:
    """Run one program on one input and report; never returns."""
    report = ["error"]
    try:
        os.setsid()
        with open(job, "rb") as file:
            file.seek(0)
            source, entry, arguments = json.load(file)
        sys.stdout = printed = _Printed()
        _confine_child(limits, rules)
        sys.setrecursionlimit(2000)
        text = _result(source, entry, arguments, printed)
        digest = f"{len(text)} characters, {hashlib.sha256(text.encode(errors='replace')).hexdigest()}"
        report = ["value", text if len(text) <= LONGEST else digest]
    except BaseException:
        pass
    try:
        _write(write, json.dumps(report).encode())
    finally:
        os._exit(0)


def _result(source: str, entry: str, arguments: str, printed: _Printed) -> str:
    """Return the value of a call as text; for a script or a call without a value, what it prints."""
    names: dict[str, Any] = {"__name__": "__program__" if entry else "__main__"}
    exec(compile(source, "<program>", "exec"), names)
    if not entry:
        if not printed.getvalue().strip():
            raise ValueError("a script that prints nothing")
        return f"printed {printed.getvalue().rstrip()!r}"
    printed.seek(0)
    printed.truncate()
    value = names[entry](*ast.literal_eval(arguments))
    said = printed.getvalue().rstrip()
    return f"None, printed {said!r}" if value is None and said else canonical(value)


_BUILT_IN = (str, bytes, int, float, complex, list, tuple, set, frozenset, dict)
_BY_REPR = ("fractions", "decimal", "datetime", "collections", "uuid", "pathlib")


def canonical(value: Any, depth: int = 0) -> str:
    """Return a value as text, the same for equal values of built-in types.

    Floats count to nine digits, a list and a tuple are different, sets and dictionaries have no order. A
    value of a class that derives from a built-in type counts as that type; any other object as its class and
    its attributes.
    """
    kind = type(value)
    if depth > 50:
        return "..."
    if kind is bool or value is None:
        return repr(value)
    kind = next((each for each in _BUILT_IN if issubclass(kind, each)), kind)
    if kind is str or kind is bytes:
        return kind.__repr__(value)[:LONGEST]
    if kind is int:
        return hex(value) if int.bit_length(value) > 4096 else int.__repr__(value)
    if kind is float or kind is complex:
        return _number(value)
    if kind is list or kind is tuple:
        inner = ", ".join(canonical(each, depth + 1) for each in kind.__iter__(value))
        return f"[{inner}]" if kind is list else f"({inner},)"
    if kind is set or kind is frozenset:
        return "{" + ", ".join(sorted(canonical(each, depth + 1) for each in value)) + "}"
    if kind is dict:
        pairs = sorted((canonical(k, depth + 1), canonical(v, depth + 1)) for k, v in dict.items(value))
        return "{" + ", ".join(f"{key}: {each}" for key, each in pairs) + "}"
    if hasattr(kind, "__next__"):
        return canonical([each for each, _ in zip(value, range(10_000))], depth + 1)  # noqa: B905
    if kind.__module__ in _BY_REPR:
        return repr(value)[:LONGEST]
    held = getattr(value, "__dict__", None)
    return f"<{kind.__name__} {canonical(held, depth + 1)}>" if held else f"<{kind.__name__}>"


def _number(value: complex | float) -> str:
    if isinstance(value, complex):
        return f"({_number(value.real)}, {_number(value.imag)}j)"
    if value == value and abs(value) < 1e15 and value == int(value):
        return str(int(value))  # equal here because 2.0 == 2 in Python
    return f"{value:.9g}"


if __name__ == "__main__":
    main()
