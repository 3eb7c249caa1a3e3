"""The options that say what an answer is, and when two of them are the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from distrivote.cli.groups import OptionGroup
from distrivote.cli.options import VOTE
from distrivote.defaults import ANSWER

if TYPE_CHECKING:
    from distrivote.answers.equality import Equality
    from distrivote.answers.kinds import Kind
    from distrivote.answers.structured.schema import Schema
    from distrivote.errors import InputError

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
        rich_help_panel=VOTE,
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
        rich_help_panel=VOTE,
    ),
]
FileAnswer = Annotated[
    str | None,
    typer.Option(
        "--answer",
        metavar="KIND",
        help="Read answers as this kind: from the texts of a run that has them, else only to compare them.",
        show_default=False,
        rich_help_panel=VOTE,
    ),
]
RunCode = Annotated[
    bool,
    typer.Option(
        "--run-code",
        help="Run the programs that the model writes in a sandbox, to compare them by what they do.",
        rich_help_panel=VOTE,
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="FILE",
        help="With --run-code: also try the programs on these inputs, JSON Lines with a list of arguments"
        " each. For ask, --inputs model asks the model for some.",
        show_default=False,
        rich_help_panel=VOTE,
    ),
]


@dataclass(frozen=True, slots=True)
class AnswerOptions(OptionGroup):
    """What counts as an answer."""

    panel: ClassVar[str] = VOTE

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
