"""Options that several commands share, so that they mean and say the same everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from distrivote.selfstepconf import SelfStepConf

Model = Annotated[
    str,
    typer.Option(metavar="MODEL", help="A GGUF file, hf:ORG/REPO/FILE, or the built-in smollm2-135m."),
]
Method = Annotated[str, typer.Option("--method", "-m", metavar="NAME", help="How to vote.")]
Ssc = Annotated[bool, typer.Option("--ssc/--no-ssc", help="Reflect where confidence drops.")]
Alpha = Annotated[
    float, typer.Option(metavar="X", help="SelfStepConf: how much of the threshold stays per step.")
]
Delta = Annotated[
    float, typer.Option(metavar="X", help="SelfStepConf: reflect below this share of the threshold.")
]
Reflection = Annotated[str, typer.Option(metavar="TEXT", help="SelfStepConf: the text to inject.")]
Split = Annotated[
    str,
    typer.Option(metavar="NAME", help="Where steps end: paragraph, line, exact, window:N, entropy."),
]
Temperature = Annotated[float, typer.Option(metavar="X", help="Sampling temperature.")]
TopP = Annotated[float, typer.Option(metavar="X", help="Nucleus of the sampling.")]
TopK = Annotated[int, typer.Option(metavar="N", help="Sample among so many tokens; 0: all.")]
MinP = Annotated[float, typer.Option(metavar="X", help="Leave out tokens below this share of the likeliest.")]
MaxTokens = Annotated[int, typer.Option(metavar="N", help="The longest trajectory.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed, the same trajectories.")]
Slots = Annotated[int, typer.Option(metavar="N", help="Trajectories that advance together.")]
Threads = Annotated[
    int | None,
    typer.Option(metavar="N", help="Threads for decoding; all or half of the processors if not said."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def controller_of(ssc: bool, alpha: float, delta: float, reflection: str, split: str) -> SelfStepConf | None:
    """Return the controller that the options describe; None without --ssc."""
    from distrivote.selfstepconf import SelfStepConf
    from distrivote.splitting import splitter

    return SelfStepConf(alpha, delta, reflection, splitter(split)) if ssc else None
