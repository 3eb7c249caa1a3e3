"""Write docs/speed.md from docs/speed.template and bench/recorded.json: `python docs/speed.py`.

`{{BENCH/FIGURE/FORMAT}}` in the template is a figure that bench/record.py recorded, in a format of Python's;
`{{loads}}` is the load of the machine before each of these benchmarks.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RECORDED = DOCS.parent / "bench" / "recorded.json"
_FIGURE = re.compile(r"\{\{(?:(?P<loads>loads)|(?P<bench>[a-z_]+)/(?P<figure>[^}]+)/(?P<format>[^/}]+))\}\}")


def page(template: str, recorded: Mapping[str, Any]) -> str:
    """Return the page with every figure filled in; exit with the names of those that are not recorded.

    >>> recorded = {"voting": {"load_average": 0.2, "figures": {"grid.seconds": 2.44}}}
    >>> page("{{voting/grid.seconds/.1f}} s ({{loads}})", recorded)
    '2.4 s (voting 0.2)'
    """
    found = list(_FIGURE.finditer(template))
    benches = list(dict.fromkeys(match["bench"] for match in found if match["bench"]))
    asked = [(match["bench"], match["figure"]) for match in found if match["bench"]]
    missing = [f"{b}: {f}" for b, f in asked if f not in recorded.get(b, {}).get("figures", {})]
    if missing:
        sys.exit("bench/record.py BENCH has to record\n  " + "\n  ".join(dict.fromkeys(missing)))

    def filled(match: re.Match[str]) -> str:
        if match["loads"]:
            return ", ".join(f"{bench} {_load(recorded[bench])}" for bench in benches)
        return format(recorded[match["bench"]]["figures"][match["figure"]], match["format"])

    return _FIGURE.sub(filled, template)


def _load(record: Mapping[str, Any]) -> str:
    load = record["load_average"]
    return "not known" if load is None else f"{load:.1f}"


if __name__ == "__main__":
    text = page((DOCS / "speed.template").read_text(), json.loads(RECORDED.read_text()))
    (DOCS / "speed.md").write_text(text)
