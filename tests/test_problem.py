from __future__ import annotations

import pytest

from distrivote.errors import InputError, UnknownNameError
from distrivote.problem import LONGEST, Message, Problem, plain_prompt, with_system_merged


def test_a_question_is_put_as_the_paper_puts_it() -> None:
    (message,) = Problem("What is 2 + 2?").messages()
    assert message.role == "user"
    assert message.content == (
        "What is 2 + 2?\nPlease reason step by step, and put your final answer within \\boxed{}."
    )


def test_a_choice_asks_for_a_letter_and_looks_for_one() -> None:
    problem = Problem("Which? (A) 1 (B) 2", template="choice")
    assert problem.messages()[0].content.startswith("Return your final response within \\boxed{}")
    assert problem.extractor == "choice"


def test_worked_examples_come_as_earlier_turns() -> None:
    messages = Problem("Q?", template="worked").messages()
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    assert messages[-1].content.startswith("Q?")


def test_a_template_of_ones_own_holds_the_question() -> None:
    assert Problem("a {b} c", template="<<{question}>>").messages()[0].content == "<<a {b} c>>"


def test_an_unknown_template_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"maths.*math"):
        Problem("Q?", template="maths")


def test_a_conversation_for_a_model_without_turns_is_its_contents_between_empty_lines() -> None:
    turns = [Message("user", "2 + 2?"), Message("assistant", "4"), Message("user", "3 + 3?")]
    assert plain_prompt(turns) == "2 + 2?\n\n4\n\n3 + 3?\n\n"
    assert plain_prompt([]) == ""


def test_a_system_message_stands_before_everything_else() -> None:
    messages = Problem("Q?", template="worked", system="Be brief.").messages()
    assert messages[0] == Message("system", "Be brief.")
    assert messages[1:] == Problem("Q?", template="worked").messages()


@pytest.mark.parametrize("system", ["", " \n"])
def test_a_system_message_says_something(system: str) -> None:
    with pytest.raises(InputError, match="the system message is empty: say something"):
        Problem("Q?", system=system)


@pytest.mark.parametrize(("name", "field"), [("question", "question"), ("system message", "system")])
def test_a_text_that_no_context_holds_is_refused(name: str, field: str) -> None:
    Problem(**{"question": "Q?", field: "x" * LONGEST})
    with pytest.raises(InputError, match=f"the {name} has more than 4,000,000 characters") as caught:
        Problem(**{"question": "Q?", field: "x" * (LONGEST + 1)})
    assert len(str(caught.value)) < 200


def test_without_a_system_role_its_message_goes_before_the_first_question() -> None:
    turns = Problem("Q?", template="worked", system="Be brief.\n").messages()
    merged = with_system_merged(turns)
    assert [message.role for message in merged] == ["user", "assistant", "user", "assistant", "user"]
    assert merged[0].content == "Be brief.\n\n" + turns[1].content
    assert merged[1:] == turns[2:]
    assert with_system_merged(turns[1:]) == turns[1:]
