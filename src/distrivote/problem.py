"""A question to ask, and how it is put to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from distrivote.defaults import SAME, TEMPLATE
from distrivote.errors import InputError, UnknownNameError

SYSTEM = "system"
"""The role of a message that stands before a conversation."""


class Message(NamedTuple):
    """One turn of a conversation."""

    role: str
    content: str


def plain_prompt(messages: Sequence[Message]) -> str:
    """Return a conversation as one text, for models that know no turns: the contents between empty lines.

    >>> plain_prompt([Message("user", "2 + 2?"), Message("assistant", "4"), Message("user", "3 + 3?")])
    '2 + 2?\\n\\n4\\n\\n3 + 3?\\n\\n'
    """
    return "".join(message.content + "\n\n" for message in messages)


def with_system_merged(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation for templates without a system role: its message goes before the first question.

    >>> with_system_merged([Message("system", "Be brief."), Message("user", "2 + 2?")])
    (Message(role='user', content='Be brief.\\n\\n2 + 2?'),)
    """
    if len(messages) < 2 or messages[0].role != SYSTEM:
        return tuple(messages)
    first = messages[1]
    return (Message(first.role, f"{messages[0].content.rstrip()}\n\n{first.content}"), *messages[2:])


def shows_system(prompt: str, messages: Sequence[Message]) -> bool:
    """Say whether a prompt holds the system message of its conversation, if there is one."""
    return messages[0].role != SYSTEM or messages[0].content.strip() in prompt


_MATH = "{question}\nPlease reason step by step, and put your final answer within \\boxed{}."

# A model of 135 million parameters hardly boxes an answer unless it is shown how, as earlier turns.
_WORKED = (
    (
        "Anna has 3 pens and buys 4 more. How many pens has she?",
        "Anna starts with 3 pens.\n\nShe buys 4 more, so she has 3 + 4 = 7 pens.\n\n"
        "The answer is \\boxed{7}.",
    ),
    (
        "A box holds 6 eggs. How many eggs are in 3 boxes?",
        "Each box holds 6 eggs.\n\n3 boxes hold 3 * 6 = 18 eggs.\n\nThe answer is \\boxed{18}.",
    ),
)

TEMPLATES = {
    "math": _MATH,
    "choice": (
        "Return your final response within \\boxed{} and only include the letter choice (A, B, C, or D)"
        " as your final response. {question}"
    ),
    "plain": "{question}",
    "worked": _MATH,
}
"""How a question is put: `math` and `choice` are the paper's, `worked` shows a small model two examples."""

EXTRACTORS = {"math": "boxed", "worked": "boxed", "choice": "choice"}
"""How the answer is read where a template says how to write it; `auto` elsewhere."""

DEFAULT_SAME = SAME
"""When two answers are one, everywhere where nothing else is said; `answers.equality` has the names."""

_SAME = {"choice": "choice"}


def same_for(template: str) -> str:
    """Return how answers to questions that are put with a template are compared.

    >>> same_for("worked"), same_for("choice")
    ('math', 'choice')
    """
    return _SAME.get(template, DEFAULT_SAME)


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

    template: str = TEMPLATE
    """A name from `TEMPLATES`, or a text that holds {question}."""

    system: str | None = None
    """A message that stands before the conversation; None for none."""

    def __post_init__(self) -> None:
        if self.template not in TEMPLATES and "{question}" not in self.template:
            raise UnknownNameError("template", self.template, TEMPLATES, argument="template")
        if self.system is not None and not self.system.strip():
            raise InputError("the system message is empty: say something in it, or leave it out")

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation that asks the question."""
        text = TEMPLATES.get(self.template, self.template)
        turns = [] if self.system is None else [Message(SYSTEM, self.system)]
        for question, solution in _WORKED if self.template == "worked" else ():
            turns.append(Message("user", text.replace("{question}", question)))
            turns.append(Message("assistant", solution))
        return (*turns, Message("user", text.replace("{question}", self.question)))

    @property
    def extractor(self) -> str:
        """How its answer is found in a reply."""
        return EXTRACTORS.get(self.template, "auto")

    @property
    def same(self) -> str:
        """When two answers to it are one."""
        return same_for(self.template)
