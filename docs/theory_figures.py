"""The pictures of the two theorems in docs/simulation.md: `python docs/theory_figures.py`, half a minute.

They are the charts of `distrivote.evaluation.theory.theory`; nothing in them comes from a language model.
The same numbers every time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import vl_convert

from distrivote.evaluation.theory import theory
from distrivote.report.charts import VEGA_LITE, figure

DOCS = Path(__file__).parent


def main() -> None:
    for chart in theory(np.random.default_rng(0), n_draws=20_000).charts:
        for dark in (False, True):
            drawn = figure(chart, dark=dark)
            assert drawn is not None
            name = f"{chart.name}-dark.svg" if dark else f"{chart.name}.svg"
            (DOCS / "img" / name).write_text(vl_convert.vegalite_to_svg(drawn, vl_version=VEGA_LITE))
            print(f"docs/img/{name}")


if __name__ == "__main__":
    main()
