"""Downloads a published file: checked by its checksum, and under its name only when it is complete."""

from __future__ import annotations

import hashlib
import http.client
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from distrivote.errors import DistrivoteError

_CHUNK = 1 << 20
LARGEST = 64 << 30
"""In bytes."""

_TIMEOUT = 60.0
"""In seconds, for each read."""


def download(
    address: str,
    target: Path,
    sha256: str | None,
    *,
    watch: Callable[[int], None] | None = None,
    most: int = LARGEST,
) -> None:
    """Write what is at an address to a file.

    Args:
        sha256: Its checksum; None: not known, nothing is checked.
        watch: Called with the bytes so far.
        most: The most bytes that are fetched.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    digest, n_bytes = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer, beside.open("wb") as file:
            while chunk := answer.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
                n_bytes += len(chunk)
                if n_bytes > most:
                    raise DistrivoteError(f"{address} has more than {most:,} bytes, which is the limit")
                if watch is not None:
                    watch(n_bytes)
        if sha256 is not None and digest.hexdigest() != sha256:
            raise DistrivoteError(
                f"{address} is not the file that was published (sha256 {digest.hexdigest()[:12]}..., not"
                f" {sha256[:12]}...)"
            )
        beside.replace(target)
    except (OSError, http.client.HTTPException) as error:  # URLError and timeouts are OSErrors
        raise DistrivoteError(f"{address} could not be fetched ({_reason(error)})") from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # it holds the connection
        return f"HTTP {error.code}"
    reason = getattr(error, "reason", None) or error
    return str(getattr(reason, "strerror", None) or reason or type(error).__name__)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
