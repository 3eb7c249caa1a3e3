"""The options of votes, files and output that commands share: single ones, and groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.defaults import ANSWER, MAX_SPOOL, MEASURE, METHOD, MIN_PROBABILITY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distrivote.answers.equality import Equality
    from distrivote.answers.kinds import Kind
    from distrivote.answers.structured.schema import Schema
    from distrivote.benchmarks import Benchmark
    from distrivote.errors import InputError
    from distrivote.store.runs.rows import Keep
    from distrivote.store.tables.source import Columns
    from distrivote.voting.pipeline import Pipeline
    from distrivote.voting.probability import Calibration

WITHHELD = 3
"""The exit code if at least one answer was not probable enough to be given."""

OUTPUT = "Output"
"""The panel of the options for output."""

_VOTE, _STORAGE = "Vote", "Storage"

Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="How to vote: auto is the careful choice, dis-gmm the paper's, sc the majority,"
        " package.module:function your own.",
        rich_help_panel=_VOTE,
    ),
]
Same = Annotated[
    str | None,
    typer.Option(
        "--same",
        metavar="NAME",
        help="When two answers are the same: text (as written), notation, math (formulas too), choice, short,"
        " json, tool, program or content; ask, serve: judge (the model decides), embeddings or"
        " embeddings:MODEL (texts only, by --base-url); ask, serve, vote, show, evaluate: command:CMD (a"
        " program decides); package.module:function; by default that of the kind of answer.",
        show_default=False,
        rich_help_panel=_VOTE,
    ),
]
Answer = Annotated[
    str,
    typer.Option(
        "--answer",
        metavar="KIND",
        help="What an answer is: math, number, choice, short, label:A,B, json, json:fields, tool, code or"
        " text, or package.module:function; auto goes by the question, else by the replies (see"
        " docs/answers.md).",
        rich_help_panel=_VOTE,
    ),
]
FileAnswer = Annotated[
    str | None,
    typer.Option(
        "--answer",
        metavar="KIND",
        help="Read answers as this kind: from the texts of a run that has them, else only to compare them.",
        show_default=False,
        rich_help_panel=_VOTE,
    ),
]
RunCode = Annotated[
    bool,
    typer.Option(
        "--run-code",
        help="Run the programs that the model writes in a sandbox, to compare them by what they do.",
        rich_help_panel=_VOTE,
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="FILE",
        help="With --run-code: also try the programs on these inputs, JSON Lines with a list of arguments"
        " each; ask: model asks the model for some, once.",
        show_default=False,
        rich_help_panel=_VOTE,
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
        rich_help_panel=_VOTE,
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

    panel: ClassVar[str] = _VOTE

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
class AnswerOptions(OptionGroup):
    """What counts as an answer."""

    panel: ClassVar[str] = _VOTE

    answer: Answer = ANSWER
    same: Same = None
    schema: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A JSON schema that answers must satisfy.", show_default=False),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="json: a path to ignore in comparisons, such as items[].id; repeat for several.",
            show_default=False,
        ),
    ] = None
    run_code: RunCode = False
    inputs: Inputs = None

    def kind(self) -> str | Kind:
        """Return the kind of answer that the options describe, `auto` if they name none."""
        from distrivote.answers.kinds import asked_kind, json_kind
        from distrivote.errors import InputError

        if self.schema is None and not self.ignore:
            return asked_kind(self.answer) or self.answer
        if self.answer not in (ANSWER, "json", "json:fields"):
            raise InputError(
                f"--schema and --ignore are for JSON, and the answer is {self.answer}: leave them out"
            )
        by_field = self.answer == "json:fields"
        return json_kind(_read_schema(self.schema), ignore=self.ignore or (), by_field=by_field)


def compared_by(
    answer: str | None, same: str | None, run_code: bool = False, inputs: str | None = None
) -> str | Kind | Equality | None:
    """Return the rule by which the answers of a file are read and compared; None: the file's own."""
    if answer is None and same is None and inputs is None:
        return None  # without the imports that the other rules need
    from distrivote.answers.judging import asked_same, needs_engine, no_model

    if answer is not None:
        return read_as(answer, same, run_code, inputs)
    if inputs is not None:
        raise _no_inputs()
    if needs_engine(same):
        raise no_model()
    rule = asked_same(same)
    return same if rule is None or rule.is_named else rule


def read_as(answer: str, same: str | None, run_code: bool = False, inputs: str | None = None) -> Kind:
    """Return the kind that the answers of a file are read as."""
    from distrivote.answers.judging import asked_same, needs_engine, no_model
    from distrivote.answers.kinds import asked_kind, code_kind
    from distrivote.cli.inputs import inputs_of_file
    from distrivote.errors import InputError

    kind = asked_kind(answer)
    if kind is None:
        raise InputError("--answer auto needs a question and its replies: name a kind, such as short")
    if needs_engine(same):
        raise no_model()
    if inputs is not None and (kind.name != "code" or not run_code or same is not None):
        raise _no_inputs()
    if kind.name == "code" and run_code:
        kind = code_kind(run=True, inputs=() if inputs is None else inputs_of_file(inputs))
    rule = asked_same(same)
    return kind if rule is None else kind.with_same(rule)


def _no_inputs() -> InputError:
    from distrivote.errors import InputError

    return InputError("--inputs is for programs that are run: add --answer code --run-code, without --same")


def _read_schema(path: str | None) -> Schema | None:
    if path is None:
        return None
    import json
    from pathlib import Path

    from distrivote.answers.structured.schema import schema_of
    from distrivote.errors import InputError

    try:
        schema = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}): give a JSON schema") from error
    return schema_of(schema)


@dataclass(frozen=True, slots=True)
class BeliefOptions(OptionGroup):
    """How probable an answer must be."""

    panel: ClassVar[str] = _VOTE

    min_probability: Annotated[
        float, typer.Option(metavar="P", help="Withhold an answer that is less probable than this, 0 to 1.")
    ] = MIN_PROBABILITY
    max_error: Annotated[
        float | None,
        typer.Option(
            metavar="A",
            help="Withhold so much that at most this share of the given answers is wrong: proven for"
            " questions like those of distrivote calibrate --max-error, whose file --calibration names.",
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
        bool, typer.Option("--token-confidences/--no-token-confidences", help="Store one per token.")
    ] = False

    def keep(self) -> Keep:
        from distrivote.store.runs.rows import Keep

        return Keep(self.texts, self.token_confidences)


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
            help="logprob: the confidences are mean log-probabilities, and exp of them counts; logit: their"
            " sigmoid does.",
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
