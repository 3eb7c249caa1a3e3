"""Tool calls: a table of replies as models write them, and laws of their comparison."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.structured.replies import read_calls
from distrivote.answers.structured.same import paths
from distrivote.answers.structured.tools import (
    Call,
    Problem,
    calls_from,
    calls_json,
    calls_key,
    calls_of_message,
    calls_text,
    find_calls,
    tool_names,
)
from distrivote.errors import InputError
from strategies import MANY

ADD = Call("add", {"a": 1})
SUB = Call("sub", {"b": "x"})
ADD_JSON = '{"name": "add", "arguments": {"a": 1}}'
SUB_JSON = '{"name": "sub", "arguments": {"b": "x"}}'
WRONG_JSON = '{"name": "ADD", "arguments": {}}'

REPLIES: list[tuple[str, tuple[Call, ...] | Problem]] = [
    # Hermes and Qwen
    (f"<tool_call>\n{ADD_JSON}\n</tool_call>", (ADD,)),
    (f"I will add.\n<tool_call>{ADD_JSON}</tool_call>\n", (ADD,)),
    (f"<tool_call>{ADD_JSON}</tool_call>\n<tool_call>{SUB_JSON}</tool_call>", (ADD, SUB)),
    (f"<tool_call>{ADD_JSON}\n{SUB_JSON}</tool_call>", (ADD, SUB)),
    (f"<tool_call>[{ADD_JSON}, {SUB_JSON}]</tool_call>", (ADD, SUB)),
    (f"<tool_call>{ADD_JSON}", (ADD,)),
    (f"<think>Maybe <tool_call>{SUB_JSON}</tool_call></think><tool_call>{ADD_JSON}</tool_call>", (ADD,)),
    ('<tool_call>{"name": "add", "arguments": "{\\"a\\": 1}"}</tool_call>', (ADD,)),
    ('<tool_call>{"name": "now", "arguments": {}}</tool_call>', (Call("now", {}),)),
    ('<tool_call>{"name": "now"}</tool_call>', (Call("now", {}),)),
    ('<tool_call>{"name": "now", "arguments": ""}</tool_call>', (Call("now", {}),)),
    # Llama 3
    ('<|python_tag|>{"name": "add", "parameters": {"a": 1}}', (ADD,)),
    ('<|python_tag|>{"type": "function", "name": "add", "parameters": {"a": 1}}<|eom_id|>', (ADD,)),
    (f"<|python_tag|>{ADD_JSON}; {SUB_JSON}", (ADD, SUB)),
    ('{"name": "add", "parameters": {"a": 1}}; {"name": "sub", "parameters": {"b": "x"}}', (ADD, SUB)),
    ('{"name": "add", "parameters": {"a": 1}}\n{"name": "sub", "parameters": {"b": "x"}}', (ADD, SUB)),
    # Mistral
    (f"[TOOL_CALLS][{ADD_JSON}]", (ADD,)),
    (f"[TOOL_CALLS] [{ADD_JSON}, {SUB_JSON}]", (ADD, SUB)),
    ('[TOOL_CALLS]add[ARGS]{"a": 1}', (ADD,)),
    ('[TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]sub[ARGS]{"b": "x"}', (ADD, SUB)),
    ('[TOOL_CALLS]add[CALL_ID]a1[ARGS]{"a": 1}', (ADD,)),
    # JSON
    (ADD_JSON, (ADD,)),
    (f"[{ADD_JSON}, {SUB_JSON}]", (ADD, SUB)),
    (f"```json\n{ADD_JSON}\n```", (ADD,)),
    (f"To add, call:\n```json\n{ADD_JSON}\n```\nThat is all.", (ADD,)),
    (f"I call {ADD_JSON} now.", (ADD,)),
    ('{"type": "function", "function": {"name": "add", "arguments": "{\\"a\\": 1}"}}', (ADD,)),
    # none
    ("It is 3.", Problem.NO_CALL),
    ("", Problem.NO_CALL),
    ('{"result": 3}', Problem.NO_CALL),
    ('{"name": "Ann", "age": 3}', Problem.NO_CALL),
    (f"<think>{ADD_JSON}</think>It is 3.", Problem.NO_CALL),
    # that can't be read
    ('<tool_call>{"name": "add", "arguments": {"a": ', Problem.UNREADABLE),
    ("<tool_call>", Problem.UNREADABLE),
    (f"<tool_call>{ADD_JSON}</tool_call><tool_call>", Problem.UNREADABLE),
    ('<tool_call>{"name": "add", "arguments": {"a": 1,}}</tool_call>', Problem.UNREADABLE),
    ('<tool_call>{"name": "add", "arguments": "{a: 1}"}</tool_call>', Problem.UNREADABLE),
    ('<tool_call>{"name": "add", "arguments": [1]}</tool_call>', Problem.UNREADABLE),
    ('<tool_call>{"name": "", "arguments": {}}</tool_call>', Problem.UNREADABLE),
    ('<tool_call>{"arguments": {}}</tool_call>', Problem.UNREADABLE),
    ('<tool_call><function=add><parameter=a>1</parameter></function></tool_call>', Problem.UNREADABLE),
    ('<|python_tag|>brave_search.call(query="x")', Problem.UNREADABLE),
    (f"[TOOL_CALLS][{ADD_JSON}, ", Problem.UNREADABLE),
    (f"[{ADD_JSON}, 3]", Problem.UNREADABLE),
    ('{"name": "add", "arguments": {"a"', Problem.UNREADABLE),
    # with a tool that does not exist
    ('{"name": "mul", "arguments": {"a": 1}}', Problem.UNKNOWN_TOOL),
    (f"<tool_call>{ADD_JSON}</tool_call><tool_call>{WRONG_JSON}</tool_call>", Problem.UNKNOWN_TOOL),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "expected"), REPLIES)
def test_the_calls_of_a_reply_are_found(reply: str, expected: tuple[Call, ...] | Problem) -> None:
    found = find_calls(reply, ["add", "sub", "now"])
    if isinstance(expected, Problem):
        assert (found.calls, found.problem, found.extraction) == ((), expected, None)
    else:
        assert (found.calls, found.problem) == (expected, None)
        assert found.extraction is not None
        assert calls_from(found.extraction.answer) == expected
        assert reply[: found.extraction.end].rstrip().endswith(("}", "]"))


def test_without_a_list_of_tools_every_name_counts() -> None:
    assert find_calls('{"name": "mul", "arguments": {}}').calls == (Call("mul", {}),)


def message(*calls: tuple[str, Any], content: str | None = None) -> dict[str, Any]:
    made = [
        {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": content, "tool_calls": made}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (message(("add", '{"a": 1}')), (ADD,)),
        (message(("add", '{"a": 1}'), ("sub", '{"b": "x"}'), content="Now:"), (ADD, SUB)),
        (message(("add", {"a": 1})), (ADD,)),
        (message(("add", "")), (Call("add", {}),)),
        (message(content=ADD_JSON), (ADD,)),
        ({"role": "assistant", "content": ADD_JSON}, (ADD,)),
        ({"role": "assistant", "content": None, "tool_calls": None}, Problem.NO_CALL),
        ({"role": "assistant", "content": "Hello!"}, Problem.NO_CALL),
        (message(("add", '{"a": ')), Problem.UNREADABLE),
        (message(("add", "3")), Problem.UNREADABLE),
        (message(("mul", "{}")), Problem.UNKNOWN_TOOL),
        ({"tool_calls": ["x"]}, Problem.UNREADABLE),
    ],
)
def test_the_calls_of_a_message_are_found(given: dict[str, Any], expected: Any) -> None:
    found = calls_of_message(given, {"add", "sub"})
    assert (found.problem if isinstance(expected, Problem) else found.calls) == expected


def test_names_come_from_the_tools_of_a_request() -> None:
    tools = [{"type": "function", "function": {"name": "add", "parameters": {}}}, {"name": "sub"}]
    assert tool_names(tools) == {"add", "sub"}
    for wrong in (None, [3], [{"type": "function"}], [{"function": {"name": ""}}], "add"):
        with pytest.raises(InputError, match="tool 0 has no name") as caught:
            tool_names(wrong)
        assert caught.value.argument == "tools"


ARGUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "unit price"]),
    st.sampled_from([0, 1, 1.0, True, "x", " x", None, [1], {"k": 2}]),
    max_size=3,
)
CALLS = st.lists(st.builds(Call, st.sampled_from(["f", "g"]), ARGUMENTS), min_size=1, max_size=3)


@MANY
@given(CALLS, st.data())
def test_the_order_of_calls_and_arguments_does_not_count(calls: list[Call], data: st.DataObject) -> None:
    other = [
        Call(call.name, dict(data.draw(st.permutations(list(call.arguments.items())))))
        for call in data.draw(st.permutations(calls))
    ]
    assert calls_key(calls) == calls_key(other)
    assert calls_text(calls) == calls_text(other)


@MANY
@given(CALLS, CALLS)
def test_lines_are_equal_where_keys_are(a: list[Call], b: list[Call]) -> None:
    assert (calls_key(a) == calls_key(b)) is (calls_text(a) == calls_text(b))


@MANY
@given(CALLS)
def test_calls_survive_as_an_answer_and_in_a_message(calls: list[Call]) -> None:
    assert calls_key(calls_from(calls_json(calls))) == calls_key(calls)
    sent = message(*((call.name, json.dumps(call.arguments)) for call in calls))
    assert calls_key(calls_of_message(sent).calls) == calls_key(calls)


def test_a_call_twice_is_not_a_call_once() -> None:
    assert calls_key([ADD, ADD]) != calls_key([ADD])


def test_excluded_arguments_do_not_count() -> None:
    a, b = (
        Call("f", {"q": "x", "why": "1", "o": {"id": 1}}),
        Call("f", {"o": {"id": 2}, "q": "x", "why": "2"}),
    )
    assert calls_key([a]) != calls_key([b])
    assert calls_key([a], paths(["why", "o.id"])) == calls_key([b], paths(["why", "o.id"]))
    assert calls_key([a], paths(["why", "o"])) != calls_key([Call("g", {"q": "x"})], paths(["why", "o"]))


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        ([Call("get_weather", {"city": "Paris"})], 'get_weather(city="Paris")'),
        ([Call("now", {})], "now()"),
        ([Call("f", {"b": [1, 2.0], "a": None})], "f(a=null, b=[1, 2])"),
        ([Call("f", {"unit price": True})], 'f("unit price"=true)'),
        ([Call("g", {}), Call("f", {"a": "é"})], 'f(a="é"); g()'),
    ],
)
def test_calls_as_a_line(calls: list[Call], line: str) -> None:
    assert calls_text(calls) == line


def test_replies_without_calls_are_counted() -> None:
    texts = [ADD_JSON, "no", "<tool_call>{", '{"name": "mul", "arguments": {}}', f"Sure: {ADD_JSON}", "no"]
    replies = read_calls(texts, {"add"})
    assert replies.keys == (calls_key([ADD]), None, None, None, calls_key([ADD]), None)
    assert replies.notes == (
        "2 replies call no tool: no answer",
        "1 reply has a tool call that can't be read: no answer",
        "1 reply calls a tool that does not exist: no answer",
    )


@pytest.mark.parametrize("answer", ["", "x", "3", "[]", '{"a": 1}', '[{"name": 3}]'])
def test_what_is_not_an_answer_of_calls_has_none(answer: str) -> None:
    assert calls_from(answer) == ()
