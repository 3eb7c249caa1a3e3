"""A question to ask, and how it is put to a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from distrivote.errors import UnknownNameError


class Message(NamedTuple):
    """One turn of a conversation."""

    role: str
    content: str


# A model of 135 million parameters hardly boxes an answer unless it is shown how.
_WORKED = """\
Solve the problem. Write one short step per paragraph and put the final answer within \\boxed{}.

Problem: Anna has 3 pens and buys 4 more. How many pens has she?

Anna starts with 3 pens.

She buys 4 more, so she has 3 + 4 = 7 pens.

The answer is \\boxed{7}.

Problem: A box holds 6 eggs. How many eggs are in 3 boxes?

Each box holds 6 eggs.

3 boxes hold 3 * 6 = 18 eggs.

The answer is \\boxed{18}.

Problem: {question}
"""

TEMPLATES = {
    "math": "{question}\nPlease reason step by step, and put your final answer within \\boxed{}.",
    "choice": (
        "Return your final response within \\boxed{} and only include the letter choice (A, B, C, or D)"
        " as your final response. {question}"
    ),
    "plain": "{question}",
    "worked": _WORKED,
}
"""How a question is put: `math` and `choice` are the paper's, `worked` shows a small model two examples."""

EXTRACTORS = {"choice": "choice"}
"""How the answer is read where a template asks for something else than `auto` finds."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A question with, where it is known, its answer.

    >>> Problem("What is 2 + 2?").messages()[0].content.splitlines()[0]
    'What is 2 + 2?'
    """

    question: str
    id: str = ""
    answer: str | None = None
    """The right answer, None if nobody knows."""

    template: str = "math"
    """A name from `TEMPLATES`, or a text that holds {question}."""

    def __post_init__(self) -> None:
        if self.template not in TEMPLATES and "{question}" not in self.template:
            raise UnknownNameError("template", self.template, TEMPLATES)

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation that asks the question."""
        text = TEMPLATES.get(self.template, self.template)
        return (Message("user", text.replace("{question}", self.question)),)

    @property
    def extractor(self) -> str:
        """How its answer is found in a reply."""
        return EXTRACTORS.get(self.template, "auto")
