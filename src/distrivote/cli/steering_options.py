"""The options that say how trajectories are steered, and which of them are ended early."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.defaults import (
    ALPHA,
    DELTA,
    REFLECTION,
    SPLIT,
)

if TYPE_CHECKING:
    from distrivote.steering import Controller, SelfStepConf

Split = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where steps end: paragraph (the default), line, exact, window:N, entropy, or"
        " package.module:function.",
        show_default=False,
    ),
]
Ssc = Annotated[
    bool | None,
    typer.Option(
        "--ssc/--no-ssc",
        help="Reflect where confidence drops (SelfStepConf). On by default if the engine supports it; with"
        " --ssc an engine that does not is an error.",
        show_default=False,
    ),
]
Guard = Annotated[
    bool, typer.Option("--guard/--no-guard", help="Reflect once instead of ending with low confidence.")
]
AsPublished = Annotated[
    bool,
    typer.Option(
        "--as-published",
        help="Reflect as the authors' released code does, to compare with their numbers (see"
        " docs/method.md). --split is then exact by default. Not for servers.",
    ),
]
SteeringName = Annotated[
    str | None,
    typer.Option(
        "--steering",
        metavar="NAME",
        help="A custom controller instead of SelfStepConf: package.module:object.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class SteeringOptions(OptionGroup):
    """How SelfStepConf reflects."""

    panel: ClassVar[str] = "SelfStepConf"

    ssc: Ssc = None
    alpha: Annotated[
        float, typer.Option(metavar="X", help="The share of the threshold kept at each step.")
    ] = ALPHA
    delta: Annotated[float, typer.Option(metavar="X", help="Reflect below this share of the threshold.")] = (
        DELTA
    )
    reflection: Annotated[str, typer.Option(metavar="TEXT", help="The text to inject.")] = REFLECTION
    split: Split = None
    guard: Guard = False
    as_published: AsPublished = False
    steering: SteeringName = None

    def controller(self) -> Controller | None:
        """Return the controller that the options describe; None without --ssc."""
        from distrivote.errors import InputError
        from distrivote.steering import steering_of

        if self.steering is not None:
            if self.ssc or self.as_published:
                raise InputError(
                    "--steering takes the place of SelfStepConf: leave out --ssc and --as-published, or"
                    " --steering"
                )
            return steering_of(self.steering)
        return self.reflecting(self.ssc)

    def reflecting(self, ssc: bool | None) -> SelfStepConf | None:
        """Return SelfStepConf with these options; None if it is off."""
        from distrivote.errors import InputError
        from distrivote.splitting import splitter
        from distrivote.steering import SelfStepConf

        if self.as_published and ssc is False:
            raise InputError(
                "--as-published says how SelfStepConf reflects, and SelfStepConf is off: leave it or --no-ssc"
                " and --deepconf out"
            )
        steps = splitter(self.split or ("exact" if self.as_published else SPLIT))
        if ssc is False:
            return None
        settings = (self.alpha, self.delta, self.reflection, self.split, self.guard, self.as_published)
        is_usual = settings == (ALPHA, DELTA, REFLECTION, None, False, False)
        return SelfStepConf(
            *(self.alpha, self.delta, self.reflection, steps, self.guard, self.as_published),
            optional=ssc is None and is_usual,
        )


@dataclass(frozen=True, slots=True)
class OnlineOptions(SteeringOptions):
    """How trajectories are steered: by SelfStepConf, DeepConf or online DistriVoting."""

    panel: ClassVar[str] = "SelfStepConf, and ending trajectories"

    deepconf: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="End trajectories that are less confident than those of a warm-up: low or high, low:512 for"
            " windows of 512 tokens. It replaces SelfStepConf (see docs/stopping.md).",
            show_default=False,
        ),
    ] = None

    online: Annotated[
        bool,
        typer.Option(
            "--online",
            help="End trajectories that fall below the likely right ones of a warm-up (online DistriVoting);"
            " with --ssc they reflect first.",
        ),
    ] = False

    def chosen(self) -> Controller | None:
        """Return the controller of the trajectories; None for plain sampling."""
        from distrivote.errors import InputError
        from distrivote.splitting import splitter
        from distrivote.steering import DistriVotingOnline, SelfStepConf
        from distrivote.steering.deepconf import online_rule

        deepconf = online_rule(self.deepconf)
        if deepconf is not None and self.online:
            raise InputError(
                "online DistriVoting and DeepConf both end trajectories",
                hint="leave out `online` or `deepconf`",
                argument="online",
            )
        ends = deepconf is not None or self.online
        if ends and self.steering is not None:
            other = "deepconf" if self.online is False else "online"
            raise InputError(
                f"`steering` and `{other}` both steer trajectories",
                hint="leave out one of them",
                argument="steering",
            )
        if not ends:
            return self.controller()
        reflecting = self.reflecting(bool(self.ssc) and deepconf is None)
        if deepconf is not None:
            return deepconf
        plain = SelfStepConf(delta=0.0, split=splitter(self.split or SPLIT))
        return DistriVotingOnline(steps=reflecting or plain)
