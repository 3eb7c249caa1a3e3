"""Integrity of cached files: each has a checksum file, which is compared once per state of the cached file.

A state is size, time of change and inode: hashing 270 MB takes a second, so a file that has not been touched
since it was last compared is not read again.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from distrivote.engines.llamacpp.wheels import sha256_of


def seal(path: Path) -> None:
    """Record the checksum of a valid file; skipped if the cache is not writable."""
    _write(path, sha256_of(path))


def is_intact(path: Path) -> bool:
    """Return whether a file matches its checksum; a file without one (of an older version) gets one."""
    try:
        said = json.loads(_beside(path).read_bytes())
        checksum, state = str(said["sha256"]), said["state"]
    except FileNotFoundError:
        seal(path)
        return True
    except (OSError, ValueError, TypeError, KeyError):
        return False
    if state == _state(path):
        return True
    if sha256_of(path) != checksum:
        return False
    _write(path, checksum)
    return True


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256.json")


def _state(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _write(path: Path, checksum: str) -> None:
    target = _beside(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    with suppress(OSError):
        beside.write_text(json.dumps({"sha256": checksum, "state": _state(path)}))
        beside.replace(target)
