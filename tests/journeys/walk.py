"""An empty folder and the commands that a person types there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


class Walk:
    """Runs commands one after the other in one folder; every one of them has to work."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = str(Path(sys.executable).parent)
        self.environment = os.environ | {"PATH": programs + os.pathsep + os.environ["PATH"]}

    def types(self, command: str, code: int = 0) -> str:
        """Run a command and return what it printed on standard output."""
        done = subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == code, f"{command}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}"
        return done.stdout


def mentioned(*words: str) -> None:
    """Check that the README names what a journey uses: nobody has to know it from elsewhere."""
    for word in words:
        assert re.search(re.escape(word), README), f"the README does not say {word!r}"
