"""What an answer to one question is, and when two are the same: as asked, by the replies, or by a model.

An `AskedKind` is settled in up to three steps: by the arguments, by the replies as they arrive if the
question leaves the kind open, and by the engine's model after all replies, if that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from distrivote.answers.code.given import FROM_MODEL, AskInputs, Inputs, checked_inputs
from distrivote.answers.equality import Equality, Same
from distrivote.answers.extract import OwnExtractor, extractor
from distrivote.answers.judging import (
    MODEL,
    Embed,
    JudgeOf,
    asked_same,
    embedded_equality,
    judged_equality,
    needs_engine,
    no_model,
    uses_embeddings,
)
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.looks import Look, kind_of_replies, look_of
from distrivote.answers.kinds.names import OwnAnswer, asked_kind
from distrivote.answers.kinds.own import own_kind
from distrivote.answers.kinds.programs import CODE, code_kind, code_kind_asking
from distrivote.answers.kinds.prose import TEXT
from distrivote.answers.kinds.values import CHOICE, MATH, choice_kind
from distrivote.defaults import ANSWER
from distrivote.errors import InputError
from distrivote.problem import Problem
from distrivote.prompts import has_options


class AskedKind:
    """The kind of the answers to one question, which replies and an engine may still change.

    The arguments are those of `Poll`.
    """

    def __init__(
        self,
        problem: Problem,
        answer: str | Kind | OwnAnswer = ANSWER,
        same: Same | None = None,
        extract: str | re.Pattern[str] | OwnExtractor | None = None,
        run_code: bool = False,
        inputs: Inputs | str | None = None,
    ) -> None:
        self._question = problem.question
        self._asked_same = asked_same(same)
        self._by_engine = same if isinstance(same, str) and needs_engine(same) else None
        self._judge_of: JudgeOf | None = None
        self._embed: Embed | None = None
        self._judged: tuple[str, Equality] | None = None
        self._ask_inputs: AskInputs | None = None
        asked = own_kind(extract) if extract is not None else asked_kind(answer)
        given = checked_inputs(inputs)
        if given:
            _check_inputs_count(asked, run_code, same)
        self._asks_inputs = given == FROM_MODEL
        self._code = code_kind(run=run_code, inputs=[] if isinstance(given, str) else given)
        # A controller looks for a marked answer: a statement in a chat reply may be an intermediate result.
        self.find = extractor(problem.extractor) if asked is None else asked.find
        if asked is None:
            asked = kind_of(problem)
        if uses_embeddings(same) and asked is not None and asked is not TEXT:
            raise InputError(
                f"embeddings group texts, and the answers are of the kind {asked.name}: embeddings hardly"
                " distinguish 1914 and 1915",
                hint="leave out `same`, or give `same` as judge",
                argument="same",
            )
        self._looks: list[Look] | None = [] if asked is None else None
        self._set(kind_of_replies(self._question, ()) if asked is None else asked)

    def _set(self, kind: Kind) -> None:
        kind = (self._code if kind is CODE else kind).about(self._question)
        same = self._asked_same
        self.kind = kind if same is None else kind.with_same(same.about(self._question))
        # All answers are compared again with each trajectory, so comparisons are cached.
        self.same = self.kind.same.for_pool().remembering()

    @property
    def is_open(self) -> bool:
        """Whether the replies determine the kind, so that it may still change."""
        return self._looks is not None

    def changed_by(self, text: str, is_cut: bool) -> bool:
        """Take a reply into account; return whether the kind is another one now."""
        if self._looks is None:
            return False
        self._looks.append(look_of(text, is_cut=is_cut))
        kind = kind_of_replies(self._question, self._looks)
        if kind.name == self.kind.name:
            return False
        self._set(kind)
        return True

    @property
    def asks_engine(self) -> bool:
        """Whether `judge` asks an engine, so that it may take long."""
        return self._by_engine is not None or self._asks_inputs

    def judge_with(
        self, judge_of: JudgeOf, embed: Embed | None = None, ask_inputs: AskInputs | None = None
    ) -> None:
        """Set what asks the engine: which answers are the same, or for inputs of programs."""
        if uses_embeddings(self._by_engine) and embed is None:
            raise InputError(
                "this engine makes no embeddings",
                hint="use a server that has /v1/embeddings (`base_urls`), or leave out `same`",
                argument="same",
            )
        self._judge_of, self._embed, self._ask_inputs = judge_of, embed, ask_inputs

    def judge(self, answers: Callable[[], Sequence[str]]) -> None:
        """Let the engine decide from now on, if that was asked for. It is not asked during sampling."""
        if self._asks_inputs:
            self._set_inputs(answers)
        elif uses_embeddings(self._by_engine):
            self._set_embedded()
        elif self._by_engine is not None:
            if self._judged is None or self._judged[0] != self.kind.name:
                if self._judge_of is None:
                    raise no_model()
                self._judged = self.kind.name, judged_equality(MODEL, self._judge_of, self.kind.same)
            self.same = self._judged[1].about(self._question)

    def _set_inputs(self, answers: Callable[[], Sequence[str]]) -> None:
        if self._ask_inputs is None:
            raise InputError(
                "there is no model here that could be asked for inputs",
                hint="give `inputs` as a list of argument tuples",
                argument="inputs",
            )
        if self.kind.name == CODE.name:
            self._code = code_kind_asking(self._ask_inputs, self._question, answers())
            self._set(CODE)

    def _set_embedded(self) -> None:
        if self._embed is None:
            raise no_model()
        if self.kind.name != TEXT.name:
            note = f"embeddings group texts only: answers of the kind {self.kind.name} were compared as usual"
            self.kind = replace(self.kind, notes=(*self.kind.notes, note))
            return
        rule = embedded_equality(str(self._by_engine), self._embed, self.kind.same)
        self.same = rule.about(self._question)


def _check_inputs_count(kind: Kind | None, run_code: bool, same: Same | None) -> None:
    """Raise InputError if inputs are given, and no program would be tried on them."""
    if not run_code:
        why, hint = "programs are not run", "add `run_code=True`, or leave out `inputs`"
    elif same is not None:
        why, hint = "another rule says when two of them are one", "leave out `same` or `inputs`"
    elif kind is not None and kind is not CODE:
        why, hint = f"the answers are of the kind {kind.name}", "give `answer` as code, or leave out `inputs`"
    else:
        return
    raise InputError(f"inputs are what programs are tried on, and {why}", hint=hint, argument="inputs")


def kind_of(problem: Problem) -> Kind | None:
    """Return the kind of answer that a problem asks for, None if its replies determine it.

    >>> kind_of(Problem("What is 2 + 2?")).name, kind_of(Problem("Who are you?"))
    ('math', None)
    """
    if problem.extractor == ANSWER:  # the template does not say how to answer
        return choice_kind(problem.question) if has_options(problem.question) else None
    return choice_kind(problem.question) if problem.extractor == CHOICE.name else MATH
