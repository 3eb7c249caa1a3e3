"""Check that a tag is the version of pyproject.toml and CITATION.cff and has a section in CHANGELOG.md.

python .ci/release.py vX.Y.Z
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Exit with one sentence if something does not fit the tag."""
    tag = sys.argv[1].removeprefix("v")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    if tag != version:
        sys.exit(f"the tag is {tag}, but pyproject.toml has version {version}")
    if cited is None or cited[1] != version:
        sys.exit(f"CITATION.cff does not have version {version}")
    if f"\n## {version}" not in (ROOT / "CHANGELOG.md").read_text():
        sys.exit(f"CHANGELOG.md has no section {version}: rename Unreleased, with the date")


if __name__ == "__main__":
    main()
