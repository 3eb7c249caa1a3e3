"""Programs, the examples of a question, inputs, and which programs behave the same."""

from __future__ import annotations

import pytest

from distrivote.answers.code.behaviour import sort_by_behaviour
from distrivote.answers.code.examples import Example, entry_of, examples_in
from distrivote.answers.code.inputs import inputs_for
from distrivote.answers.code.program import program_in

ONE, TWO, ERROR = ("value", "1"), ("value", "2"), ("error",)


@pytest.mark.parametrize(
    ("reply", "source"),
    [
        ("```python\ndef f():\n    pass\n    return 1\n```\nDone.", "def f():\n    pass\n    return 1"),
        ("```\nx = 1\n```", "x = 1"),
        ("First\n```py\na = 1\n```\nthen\n```py\nb = 2\n```", "b = 2"),
        ("```python\na = 1\n```\nRun it:\n```bash\npython a.py\n```", "a = 1"),
        ("def f(x):\n    return x", "def f(x):\n    return x"),
        ("<think>```python\na = 1\n```</think>\n```python\nb = 1\n```", "b = 1"),
        ("```python\ndef f(x):\n    return", None),
        ("```python\ndef f(x:\n```", None),
        ("Paris", None),
        ("", None),
    ],
)
def test_the_last_whole_program_of_a_reply_is_found(reply: str, source: str | None) -> None:
    found = program_in(reply)
    assert (None if found is None else found.source) == source
    assert found is None or reply[found.start : found.end] == found.source


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (">>> f(1)\n2", Example((1,), 2, True)),
        ("f(1) == 2", Example((1,), 2, True)),
        ("f(1) ➞ 2", Example((1,), 2, True)),
        ("f(1) => true", Example((1,), True, True)),
        ("f(1) should return [1, 2].", Example((1,), [1, 2], True)),
        ("f([1, (2)], 'a)') # => 'b', since", Example(([1, 2], "a)"))),
        ("f(x) == 2", None),
        ("f(n=1) == 2", None),
    ],
)
def test_calls_with_literal_arguments_are_examples(line: str, expected: Example | None) -> None:
    found = examples_in(f"def f(a, b):\n    '''\n    {line}\n    '''", "f")
    assert found == ([] if expected is None else [expected])


def test_the_last_function_that_a_question_defines_is_asked_for() -> None:
    assert entry_of("def a(): ...\ndef b():\n", []) == "b"
    assert entry_of("Write a function add", ["def help(): ...\ndef add(x): ..."]) == "add"
    assert entry_of("Write something", []) is None


def test_inputs_begin_with_the_examples_and_keep_their_types() -> None:
    found = inputs_for([([1, 2], "ab")], [], "f", 12)
    assert found[0] == ([1, 2], "ab")
    assert len(found) == 12
    assert all(isinstance(numbers, list) and isinstance(text, str) for numbers, text in found)
    assert inputs_for([], ["def f(x: str, n: int): ..."], "f", 3)[0] == ("abcab", 3)


def test_programs_that_fail_an_example_are_set_aside() -> None:
    found = sort_by_behaviour([[ONE, TWO], [TWO, TWO], [ONE, TWO]], ["1", None])
    assert (found.classes, found.n_failed) == ((0, -1, 0), 1)


def test_where_all_fail_the_examples_none_is_set_aside() -> None:
    assert sort_by_behaviour([[TWO], [TWO], None], ["1"]).classes == (0, 0, -1)


def test_an_input_on_which_most_fail_does_not_count() -> None:
    found = sort_by_behaviour([[ONE, ERROR], [ONE, ERROR], [ONE, TWO]], [None, None])
    assert (found.classes, found.n_inputs) == ((0, 0, 0), 1)


def test_a_program_that_never_works_has_no_class() -> None:
    found = sort_by_behaviour([[ERROR, ERROR], [ONE, ERROR]], [None, None])
    assert (found.classes, found.n_broken) == ((-1, 0), 1)
