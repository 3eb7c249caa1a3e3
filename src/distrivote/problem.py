"""A question, and the messages that ask a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from distrivote.defaults import TEMPLATE
from distrivote.errors import InputError, UnknownNameError
from distrivote.prompts import (
    AUTO,
    AUTO_WORKED,
    EXAMPLES,
    EXTRACTORS,
    TEMPLATE_NAMES,
    TEMPLATES,
    chosen_template,
    same_for,
)

SYSTEM = "system"
"""The role of the message before a conversation."""


class Message(NamedTuple):
    """One turn of a conversation."""

    role: str
    content: str
    more: str = ""
    """Other fields of a turn for an OpenAI-compatible server, as a JSON object: tool calls and the like."""

    def fields(self) -> dict[str, Any]:
        """Return the message as a request contains it.

        >>> Message("tool", "21", '{"tool_call_id": "a"}').fields()
        {'role': 'tool', 'content': '21', 'tool_call_id': 'a'}
        """
        plain: dict[str, Any] = {"role": self.role, "content": self.content}
        return plain | json.loads(self.more) if self.more else plain


def plain_prompt(messages: Sequence[Message]) -> str:
    """Return a conversation as one text, for models without turns: the contents, separated by empty lines.

    >>> plain_prompt([Message("user", "2 + 2?"), Message("assistant", "4"), Message("user", "3 + 3?")])
    '2 + 2?\\n\\n4\\n\\n3 + 3?\\n\\n'
    """
    return "".join(message.content + "\n\n" for message in messages)


def with_system_merged(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation for templates without a system role: that message joins the first question.

    >>> with_system_merged([Message("system", "Be brief."), Message("user", "2 + 2?")])
    (Message(role='user', content='Be brief.\\n\\n2 + 2?', more=''),)
    """
    if len(messages) < 2 or messages[0].role != SYSTEM:
        return tuple(messages)
    first = messages[1]
    return (Message(first.role, f"{messages[0].content.rstrip()}\n\n{first.content}"), *messages[2:])


def shows_system(prompt: str, messages: Sequence[Message]) -> bool:
    """Say whether a prompt contains the system message of its conversation, if there is one."""
    return messages[0].role != SYSTEM or messages[0].content.strip() in prompt


CONFIDENCE_REQUEST = (
    "\n\nThen end your reply with one more line that says how likely your answer is to be right, as a whole"
    " number from 0 to 100:\nConfidence: N"
)
"""The instruction to state a confidence; `confidence.stated` parses the reply."""


def asking_confidence(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation whose last message also asks for a confidence.

    >>> asking_confidence([Message("user", "2 + 2?")])[0].content.splitlines()[-1]
    'Confidence: N'
    """
    *before, last = messages
    return (*before, Message(last.role, last.content + CONFIDENCE_REQUEST))


LONGEST = 4_000_000
"""Characters of a question: a million tokens, which is what the longest contexts hold."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A question, with its answer if that is known.

    >>> Problem("What is 2 + 2?").template, Problem("Who are you?").template
    ('math', 'plain')
    """

    question: str
    id: str = ""
    answer: str | None = None
    """The right answer, None if it is unknown."""

    template: str = TEMPLATE
    """A name from `TEMPLATE_NAMES`, or a text with {question}; `auto` is replaced by the chosen template."""

    system: str | None = None
    """The system message before the conversation; None for none."""

    states_confidence: bool = field(default=False, repr=False)
    """Whether the model is asked to state its confidence."""

    def __post_init__(self) -> None:
        for name, text in (("question", self.question), ("system message", self.system or "")):
            if len(text) > LONGEST:
                raise InputError(
                    f"the {name} has more than {LONGEST:,} characters, which is the limit: shorten it"
                )
        if self.template in (AUTO, AUTO_WORKED):
            # Resolved here although frozen, so that the template is known from the start.
            object.__setattr__(self, "template", chosen_template(self.question, self.template == AUTO_WORKED))
        elif self.template not in TEMPLATES and "{question}" not in self.template:
            raise UnknownNameError("template", self.template, TEMPLATE_NAMES, argument="template")
        if self.system is not None and not self.system.strip():
            raise InputError("the system message is empty: say something in it, or leave it out")

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation that asks the question."""
        text = TEMPLATES.get(self.template, self.template)
        turns = [] if self.system is None else [Message(SYSTEM, self.system)]
        for question, solution in EXAMPLES.get(self.template, ()):
            turns.append(Message("user", text.replace("{question}", question)))
            turns.append(Message("assistant", solution))
        turns.append(Message("user", text.replace("{question}", self.question)))
        return asking_confidence(turns) if self.states_confidence else tuple(turns)

    @property
    def extractor(self) -> str:
        """How its answer is extracted from a reply."""
        return EXTRACTORS.get(self.template, "auto")

    @property
    def same(self) -> str:
        """When two answers to it are the same."""
        return same_for(self.template)
