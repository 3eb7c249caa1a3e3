"""What sampling may cost: the options that limit it, and the estimate that is printed first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.errors import InputError

if TYPE_CHECKING:
    from distrivote.engines.base import Engine
    from distrivote.engines.choice import EngineChoice

LIMITS = "Limits"
_MANY = 100_000
"""Number of tokens from which an estimate is printed before a server is used."""

Price = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Price of a million tokens, for --max-cost and for the estimate before sampling.",
        show_default=False,
        rich_help_panel=LIMITS,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Stop at this cost and keep what is finished; needs --price.",
        show_default=False,
        rich_help_panel=LIMITS,
    ),
]


def affordable(max_cost: float | None, price: float | None) -> int | None:
    """Return how many tokens a cost buys, None for any number.

    >>> affordable(0.5, 10.0), affordable(None, 10.0)
    (50000, None)
    """
    if max_cost is None:
        return None
    if price is None or price <= 0 or max_cost <= 0:
        raise InputError("--max-cost needs a cost above 0, and --price, what a million tokens cost")
    return max(1, int(max_cost / price * 1e6))


@dataclass(frozen=True, slots=True)
class CostOptions(OptionGroup):
    """What sampling may cost."""

    panel: ClassVar[str] = LIMITS

    price: Price = None
    max_cost: MaxCost = None

    def limited(self, engine: Engine) -> Engine:
        """Return the engine with a limit at which it stops."""
        from distrivote.engines.limited import limited

        n_tokens = affordable(self.max_cost, self.price)
        return engine if n_tokens is None else limited(engine, n_tokens)

    def most(self, choice: EngineChoice, n: int, max_tokens: int) -> str | None:
        """Return a sentence with the highest cost of n trajectories, None if it is too small to mention."""
        from distrivote.nouns import count

        most = n * max_tokens
        if self.price is None and (choice.engine != "openai" or most < _MANY):
            return None
        said = f"at most {count(n, 'trajectory')} of {max_tokens:,} tokens: {count(most, 'token')}"
        if self.price is None:
            return f"{said}; --max-tokens lowers that, --price and --max-cost bound what it costs"
        cost = most / 1e6 * self.price
        bound = "" if self.max_cost is None or self.max_cost >= cost else f", stopped at {self.max_cost:,.2f}"
        return f"{said}, {cost:,.2f} at {self.price:g} per million{bound}"
