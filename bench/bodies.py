"""What the costliest requests of four megabytes cost the server: processor time and memory; prints JSON.

    python bench/bodies.py

The exit code is 1 if one of them takes 100 ms or 50 MB (tests/faults/bodies.py has them).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from distrivote.engines.replay import ReplayEngine
from distrivote.server.app import create_app
from distrivote.server.settings import Settings
from faults.bodies import answered, bodies
from serving import POOL

MOST_MS, MOST_MB = 100.0, 50.0


def main() -> int:
    app = create_app(ReplayEngine(POOL), "dis-gmm", Settings(budget=4))
    costs = {}
    for body in bodies():
        begun = time.process_time()
        answered(app, body)
        spent = time.process_time() - begun
        peak = answered(app, body, counted=True).peak
        costs[body.name] = {"ms": round(spent * 1e3, 1), "mb": round(peak / 1e6, 1)}
    most = {unit: max(cost[unit] for cost in costs.values()) for unit in ("ms", "mb")}
    print(json.dumps({"bodies": costs, "n": len(costs), "most": most}, indent=2))
    return 1 if most["ms"] >= MOST_MS or most["mb"] >= MOST_MB else 0


if __name__ == "__main__":
    sys.exit(main())
