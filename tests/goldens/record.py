"""Records the goldens anew: what the program does now is what it has to do from now on.

    python tests/goldens/record.py [NAME ...]

A name may be a pattern, as in `commands/vote*`. Read the difference in git before you commit it.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")]

from goldens.cases import NAMES, RECORDED, path_of, text_of  # noqa: E402
from goldens.warm import Warm  # noqa: E402


def main(patterns: list[str]) -> int:
    wanted = [name for name in NAMES if not patterns or any(fnmatch(name, each) for each in patterns)]
    if not wanted:
        print(f"no golden is called {' or '.join(patterns)}", file=sys.stderr)
        return 2
    n_changed = 0
    with Warm() as warm:
        for name in wanted:
            path, text = path_of(name), text_of(name, warm)
            if not path.exists() or path.read_text() != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                n_changed += 1
                print(name)
    for path in sorted(RECORDED.rglob("*.txt")):
        if path.relative_to(RECORDED).with_suffix("").as_posix() not in NAMES:
            path.unlink()
            print(f"removed {path.relative_to(RECORDED)}")
    size = sum(path.stat().st_size for path in RECORDED.rglob("*.txt"))
    print(f"{len(wanted)} goldens, {n_changed} changed; {size / 1000:.0f} kB in all")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
