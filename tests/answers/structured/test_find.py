"""The JSON of replies: a table of awkward ones, and laws."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.structured.find import find_json, json_answer
from strategies import MANY

CUT = "cut off"
A1 = {"a": 1}

REPLIES: list[tuple[str, Any]] = [
    # fenced
    ('```json\n{"a": 1}\n```', A1),
    ('```\n{"a": 1}\n```', A1),
    ('```JSON\n{"a": 1}\n```', A1),
    ('~~~json\n{"a": 1}\n~~~', A1),
    ('````json\n{"a": 1}\n````', A1),
    ('Sure! Here you go:\n\n```json\n{"a": 1}\n```\n\nLet me know [if it helps].', A1),
    ('  ```json\n  {"a": 1}\n  ```', A1),
    ('1. Result:\n   ```json\n   {\n     "a": 1\n   }\n   ```', A1),
    ('```json {"a": 1}```', A1),
    ('`{"a": 1}`', A1),
    ('```json\n[{"a": 1}, {"a": 2}]\n```', [A1, {"a": 2}]),
    ('```json\n{"a": 1}', A1),
    ('```json\n{"a": 1}\n``', A1),
    ('```json\r\n{"a": 1}\r\n```\r\n', A1),
    # several blocks
    ('```json\n{"a": 0}\n```\nNo, rather:\n```json\n{"a": 1}\n```', A1),
    ('```json\n{"a": 1}\n```\nRun it:\n```bash\ncurl -d \'{"a": 9}\' x\n```', A1),
    ('```python\nx = {"a": 9}\n```\n```json\n{"a": 1}\n```', A1),
    ('```json\n{"a": 1}\n```\nIn one line: {"a": 2}', A1),
    ('```json\n{"a": 1}\n```\n```json\n{"a": 2,}\n```', A1),
    ('```json\n{"a": 1}\n{"a": 2}\n```', {"a": 2}),
    ('```python\n{"a": 1}\n```', A1),
    # bare
    ('{"a": 1}', A1),
    ('\n\n  {"a": 1}\n', A1),
    ('Here: {"a": [1, 2]} and done.', {"a": [1, 2]}),
    ('{"a": 0} no, {"a": 1}', A1),
    ('{"a": 1} see [1]', A1),
    ('{"a": 1} as in [1, 2] and {}', A1),
    ('The tags are ["x", "y"].', ["x", "y"]),
    ("{}", {}),
    ("[]", []),
    ('[{"a": 1}] for {"b": 2}', {"b": 2}),
    ('{"b": 2} then [{"a": 1}]', [A1]),
    ("\\frac{1}{2} and $x^{2}$ give {\"a\": 1}", A1),
    ("{{" * 200 + ' {"a": 1}', A1),
    ("[see below: " + '{"a": 1}]', A1),
    ("Use {name} and {place}: " + '{"a": 1}', A1),
    ('Answer: {"a": {"b": {"c": []}}}.', {"a": {"b": {"c": []}}}),
    # strings
    ('{"a": "he said \\"{no}\\" and left"}', {"a": 'he said "{no}" and left'}),
    ('{"a": "```json"}', {"a": "```json"}),
    ('{"a": "} ] { ["}', {"a": "} ] { ["}),
    ('{"a": "C:\\\\"}', {"a": "C:\\"}),
    ('{"a": "\\u00e9\\n"}', {"a": "é\n"}),
    ('{"a": "日本語 🍐"}', {"a": "日本語 🍐"}),
    ('{"a": "{\\"b\\": 1}"}', {"a": '{"b": 1}'}),
    # a reply that is one value
    ("42", 42),
    ('"Paris"', "Paris"),
    (" null ", None),
    ("true", True),
    # thinking
    ('<think>{"a": 0}</think>{"a": 1}', A1),
    ('<think>Maybe {"a": </think>\n{"a": 1}', A1),
    ('<think>{"a": 1}</think>I do not know.', ...),
    # none
    ("", ...),
    ("nothing", ...),
    ("The answer is 42.", ...),
    ("<think>x</think>   ", ...),
    ("{a: 1}", ...),
    ("{'a': 1}", ...),
    ('{"a": 1,}', ...),
    ('{"a": {"b": 1},}', ...),
    ('{"a": 1, "a": 2, "b": {"c": 1}}', ...),
    ('{"a": NaN, "b": {"c": 1}}', ...),
    ('{"a": {"b": 1} // note\n}', ...),
    ("```json\n{'a': 1}\n```", ...),
    ('```json\n{"a": 1, ...}\n```', ...),
    # cut off
    ('{"a": ', CUT),
    ("{{{{", CUT),
    ('{"a": 1', CUT),
    ('{"a": tru', CUT),
    ('{"a": "it is', CUT),
    ('{"a": "x\\', CUT),
    ('{"a": "x\\u00', CUT),
    ('{"a": -', CUT),
    ('{"a": 1.', CUT),
    ('{"a": 1,', CUT),
    ('{"a": {"b": 1}', CUT),
    ('[{"a": 1}, {"a": 2}', CUT),
    ('```json\n{"a": 1, "b": [', CUT),
    ('Draft: {"a": 0}. Final: {"a": ', CUT),
    ('```json\n{"a": 0}\n```\nBetter:\n```json\n{"a": ', CUT),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "value"), REPLIES)
def test_the_json_of_a_reply_is_found(reply: str, value: Any) -> None:
    found = find_json(reply)
    assert found.is_cut is (value is CUT)
    assert json_answer(reply) == found.extraction
    if found.extraction is None:
        assert value in (..., CUT)
        return
    answer, end, start = found.extraction
    assert start == found.start
    assert type(found.value) is type(value)
    assert found.value == value
    assert reply[found.start : end] == answer
    assert json.loads(answer) == value


OBJECTS = st.dictionaries(
    st.text(max_size=3),
    st.integers() | st.text(max_size=6) | st.lists(st.integers(), max_size=3),
    min_size=1,
    max_size=4,
)
PROSE = st.text(alphabet=st.characters(blacklist_characters="{}[]`~"), max_size=20)


@MANY
@given(OBJECTS, PROSE, PROSE, st.booleans(), st.sampled_from([None, 2]))
def test_prose_around_does_not_matter(
    value: dict[str, Any], before: str, after: str, is_fenced: bool, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    reply = f"{before}\n```json\n{text}\n```\n{after}" if is_fenced else f"{before} {text} {after}"
    found = find_json(reply)
    assert found.value == value
    assert found.extraction is not None
    assert found.extraction.answer == text


@MANY
@given(st.text(alphabet='{}[]",:1a\\ \n`', max_size=60))
def test_whatever_is_found_is_json_in_the_reply(reply: str) -> None:
    found = find_json(reply)
    if found.extraction is not None:
        assert json.loads(found.extraction.answer) == found.value
        assert reply[found.start : found.extraction.end] == found.extraction.answer
    else:
        assert found.value is None


@pytest.mark.parametrize(
    "unit", ["[", "{", '{"a":', '{"', "```json\n", '{"a": 1, x', "[[1],", '[1 "', "[1, x "]
)
def test_a_long_reply_of_openings_ends(unit: str) -> None:
    assert find_json(unit * 20_000).extraction is None
