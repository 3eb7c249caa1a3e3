"""Which system calls a program in the sandbox may make; every other one fails with EPERM.

An allow list stays safe when a kernel adds new calls. Reading, memory, time and clean exits are
allowed. Processes, threads, signals to others, sockets, locks, mounts, and everything that changes a file, an
owner, a priority or a limit of another process are not.
"""

from __future__ import annotations

from typing import Any

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""By machine: its constant in the kernel's system call filters."""

_ALLOWED = """
    read 0 63, pread64 17 67, readv 19 65, preadv 295 69, preadv2 327 286, write 1 64, pwrite64 18 68,
    writev 20 66, pwritev 296 70, close 3 57, close_range 436 436, lseek 8 62, sendfile 40 71,
    fadvise64 221 223, stat 4 -, fstat 5 80, lstat 6 -, newfstatat 262 79, statx 332 291, statfs 137 43,
    fstatfs 138 44,
    access 21 -, faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents64 217 61,
    getcwd 79 17, chdir 80 49, fchdir 81 50, umask 95 166, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -,
    pipe2 293 59, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create1 291 20,
    epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22, eventfd2 290 19,
    mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216, msync 26 227, mincore 27 232, madvise 28 233,
    brk 12 214, futex 202 98, set_robust_list 273 99, set_tid_address 218 96, rseq 334 293,
    membarrier 324 283, arch_prctl 158 -, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
    rt_sigpending 127 136,
    rt_sigtimedwait 128 137, rt_sigsuspend 130 133, sigaltstack 131 132, restart_syscall 219 128, pause 34 -,
    nanosleep 35 101, clock_nanosleep 230 115, clock_gettime 228 113, clock_getres 229 114, time 201 -,
    gettimeofday 96 169, times 100 153, getitimer 36 102, setitimer 38 103, alarm 37 -, sched_yield 24 124,
    sched_getaffinity 204 123, getcpu 309 168, getrandom 318 278, uname 63 160, sysinfo 99 179,
    getpid 39 172, getppid 110 173, gettid 186 178, getpgrp 111 -, getpgid 121 155, getsid 124 156,
    getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150,
    getgroups 115 158, getrusage 98 165, getrlimit 97 163, exit 60 93, exit_group 231 94
"""
"""Names, with the numbers on x86_64 and aarch64; - if a machine does not have the call."""

_TERMINAL = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)
"""Allowed requests of ioctl: is it a terminal, its size, bytes to read, close on exec."""

_DESCRIPTOR = (0, 1, 2, 3, 4, 1030)
"""Allowed commands of fcntl: duplicate, flags. Not those that send signals to an owner, or lock."""

_ONE_OF = {"fcntl": (1, _DESCRIPTOR), "ioctl": (1, _TERMINAL), "prlimit64": (0, (0,))}
"""Calls that are allowed if this argument has one of these values."""

_CHECKED = {
    "x86_64": {"fcntl": 72, "ioctl": 16, "prlimit64": 302, "open": 2, "openat": 257},
    "aarch64": {"fcntl": 25, "ioctl": 29, "prlimit64": 261, "openat": 56},
}
_OPENING = {"open": 1, "openat": 2}
"""Calls that open a file, and the argument with the flags: for reading only."""

_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND: the same on both machines, whichever this is."""


def rules_for(machine: str) -> dict[str, Any]:
    """Return the rules for a machine, as `worker` takes them."""
    column = list(ARCHITECTURES).index(machine) + 1
    rows = [row.split() for row in _ALLOWED.split(",")]
    numbers = _CHECKED[machine]
    return {
        "architecture": ARCHITECTURES[machine],
        "allowed": sorted(int(row[column]) for row in rows if row[column] != "-"),
        "one_of": [[numbers[name], at, values] for name, (at, values) in _ONE_OF.items()],
        "without": [[numbers[name], at, _WRITING] for name, at in _OPENING.items() if name in numbers],
    }
