"""The options of votes, files and output that commands share: single ones, and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.defaults import MEASURE, METHOD, MIN_PROBABILITY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distrivote.benchmarks import Benchmark
    from distrivote.store.runs.rows import Keep
    from distrivote.voting.pipeline import Pipeline
    from distrivote.voting.probability import Calibration

WITHHELD = 3
"""The exit code if at least one answer was not probable enough to be given."""

OUTPUT = "Output"
"""The panel of the options for output."""

VOTE = "Vote"
"""The panel of the options for a vote."""

_STORAGE = "Storage"

Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="How to vote: auto is the careful choice, dis-gmm the paper's, sc the majority,"
        " package.module:function your own.",
        rich_help_panel=VOTE,
    ),
]
FileSignal = Annotated[
    str | None,
    typer.Option(
        "--signal",
        metavar="NAME",
        help="The measure to vote with: answer-step, mean, tail, lowest-group, entropy, logprob,"
        " self-certainty, length, a column (of a run: one of distrivote score), or auto for a mix weighed by"
        " what each is worth.",
        show_default=False,
        rich_help_panel=VOTE,
    ),
]
Partial = Annotated[
    bool, typer.Option("--partial", help="Use the existing parts of a run if others are missing.")
]
Data = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="A folder with copies of published pools; otherwise DISTRIVOTE_DATA names it.",
        show_default=False,
    ),
]
Texts = Annotated[bool, typer.Option("--texts/--no-texts", help="Store the texts.", rich_help_panel=_STORAGE)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.", rich_help_panel=OUTPUT)]


@dataclass(frozen=True, slots=True)
class MethodOptions(OptionGroup):
    """How one question is voted on."""

    panel: ClassVar[str] = VOTE

    method: Method = METHOD
    signal: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The measure to vote with, {MEASURE} by default: mean, tail, lowest-group,"
            " bottom-groups, logprob, perplexity, entropy, self-certainty, length, stated, which asks each"
            " reply how sure it is, or package.module:function.",
            show_default=False,
        ),
    ] = None

    def pipeline(self) -> Pipeline:
        from distrivote.voting.methods import parse_method

        return parse_method(self.method)

    def measure(self) -> str | None:
        """Return the name of the measure; None for the default."""
        from distrivote.store.signal_columns import measure_of

        return None if self.signal is None else measure_of(self.signal)


@dataclass(frozen=True, slots=True)
class BeliefOptions(OptionGroup):
    """How probable an answer must be."""

    panel: ClassVar[str] = VOTE

    min_probability: Annotated[
        float, typer.Option(metavar="P", help="Withhold an answer that is less probable than this, 0 to 1.")
    ] = MIN_PROBABILITY
    max_error: Annotated[
        float | None,
        typer.Option(
            metavar="A",
            help="Withhold answers so that at most this share of the others is wrong. This needs the"
            " --calibration of distrivote calibrate --max-error, and holds for questions like its own.",
            show_default=False,
        ),
    ] = None
    calibration: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where probabilities come from: a file of distrivote calibrate; by default the one that"
            " ships.",
            show_default=False,
        ),
    ] = None

    def read(self) -> Calibration:
        """Return the calibration that is named; an invalid probability raises an error here too."""
        from distrivote.voting.abstaining import check_min_probability
        from distrivote.voting.probability import Calibration
        from distrivote.voting.promises import check_max_error

        check_min_probability(self.min_probability)
        if self.max_error is not None:
            check_max_error(self.max_error)
        if self.calibration is None:
            return Calibration()
        from distrivote.store.calibrations import read_calibration

        return read_calibration(self.calibration)

    def least(self, calibration: Calibration, methods: Iterable[str]) -> float:
        """Return how probable an answer of these methods must be."""
        from distrivote.voting.abstaining import asked_probability

        return max(
            asked_probability(self.min_probability, self.max_error, calibration, name) for name in methods
        )


@dataclass(frozen=True, slots=True)
class QuestionOptions(OptionGroup):
    """How the prompt is made from a question."""

    panel: ClassVar[str] = "Question"

    template: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Prompt template: auto (by the question: arithmetic, choice, else plain), math,"
            " choice, plain, worked (with two examples), or a file that holds {question}.",
            show_default=False,
        ),
    ] = None
    system: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="A system message before every question.", show_default=False),
    ] = None

    def template_or(self, usual: str) -> str:
        """Return the given template, its name or the text of its file; else the default."""
        from pathlib import Path

        from distrivote.errors import InputError
        from distrivote.prompts import TEMPLATE_NAMES

        given = self.template
        if given is None:
            return usual
        if given in TEMPLATE_NAMES or not Path(given).is_file():
            return given
        text = Path(given).read_text(errors="replace")
        if "{question}" not in text:
            raise InputError(f"the template {given} has no {{question}} in it: put it where it belongs")
        return text

    def put(self, benchmark: Benchmark) -> Benchmark:
        """Return the questions of a benchmark with the template and system message of the options."""
        if self.template is not None:
            benchmark = benchmark.put_with(self.template_or(""))
        return benchmark if self.system is None else benchmark.told(self.system)


@dataclass(frozen=True, slots=True)
class StorageOptions(OptionGroup):
    """What a run stores of each trajectory."""

    panel: ClassVar[str] = _STORAGE

    texts: Texts = True
    token_confidences: Annotated[
        bool,
        typer.Option(
            "--token-confidences/--no-token-confidences", help="Store a confidence for every token."
        ),
    ] = False

    def keep(self) -> Keep:
        from distrivote.store.runs.rows import Keep

        return Keep(self.texts, self.token_confidences)
