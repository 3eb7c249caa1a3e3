"""The meaning of colours and marks, the same in every display; never colour alone."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Palette:
    """Rich styles by meaning, safe for the colour-blind (Okabe and Ito)."""

    kept: str = "#0072B2"
    """Likely right."""

    aside: str = "#E69F00"
    """Likely wrong."""

    rejected: str = "grey50 strike"
    right: str = "#009E73"
    wrong: str = "#D55E00"
    quiet: str = "dim"


LIGHT = Palette()
DARK = Palette(kept="#56B4E9", aside="#F0B54A")

CHECK, CROSS, CUT, ELLIPSIS = "✓", "✗", "┊", "…"


def palette() -> Palette:
    """Return the colours for the terminal's background.

    Some terminals set it in COLORFGBG ("15;0": white on black). Most terminals are dark, and the lighter
    colours are visible on white too.
    """
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if background in ("7", "15") else DARK
