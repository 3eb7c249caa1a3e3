"""The options that say which columns of a file hold what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.cli.options import Partial
from distrivote.defaults import MAX_SPOOL

if TYPE_CHECKING:
    from distrivote.store.tables.source import Columns


@dataclass(frozen=True, slots=True)
class ColumnOptions(OptionGroup):
    """Which columns of a file hold what."""

    panel: ClassVar[str] = "Columns of a file"

    question_column: Annotated[str, typer.Option(metavar="NAME", help="The question's id.")] = "question_id"
    answer_column: Annotated[str, typer.Option(metavar="NAME", help="The answer; blank means none.")] = (
        "answer"
    )
    confidence_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The confidence, higher is more confident; confidence by default.",
            show_default=False,
        ),
    ] = None
    confidence_scale: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="logprob: the confidences are mean log-probabilities, and votes use their exp; logit: votes"
            " use their sigmoid.",
            show_default=False,
        ),
    ] = None
    truth_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The right answer; ground_truth or correct by default, if there.",
            show_default=False,
        ),
    ] = None

    def columns(self, by: str | None = None, *, positive_for: str | None = None) -> Columns:
        """Return what the options say about the columns of a file."""
        from distrivote.store.columns import CONFIDENCE
        from distrivote.store.tables.source import Columns
        from distrivote.voting.scales import converter

        return Columns(
            question=self.question_column,
            answer=self.answer_column,
            confidence=self.confidence_column or CONFIDENCE,
            by=by,
            truth=self.truth_column,
            named=self.confidence_column is not None,
            positive_for=positive_for,
            convert=converter(self.confidence_scale),
        )


@dataclass(frozen=True, slots=True)
class TableOptions(ColumnOptions):
    """The same, for input that may be piped."""

    length_column: Annotated[
        str, typer.Option(metavar="NAME", help="How many tokens the trajectory has.")
    ] = "n_tokens"
    max_spool: Annotated[
        float, typer.Option(metavar="GB", help="Maximum size of the temporary file for piped input.")
    ] = MAX_SPOOL / 1e9

    partial: Partial = False

    def columns(self, by: str | None = None, *, positive_for: str | None = None) -> Columns:
        read = ColumnOptions.columns(self, by, positive_for=positive_for)
        max_spool = int(self.max_spool * 1e9)
        return replace(read, length=self.length_column, max_spool=max_spool, partial=self.partial)


By = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The column that tells models or runs apart.",
        show_default=False,
        rich_help_panel=ColumnOptions.panel,
    ),
]
