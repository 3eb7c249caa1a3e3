"""JSON records of other people's files: told by their first bytes, faults named with their place."""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.errors import InputError
from distrivote.store.importers import records as module
from distrivote.store.importers.base import HEAD, Format
from distrivote.store.importers.records import count, document, first_fields, number, records
from foreign_files import FILES, TEXT, chat, chat_logprobs, lines, nemo, vllm, written
from strategies import FEW

MODULES = (
    "openai_files", "vllm_dumps", "lm_eval", "inspect_logs", "nemo_skills", "search_and_learn",
    "self_certainty", "all_answers", "graded_answers", "answer_tokens", "scorio", "responses",
)  # fmt: skip
FORMATS: list[Format] = [import_module(f"distrivote.store.importers.{name}").FORMAT for name in MODULES]
CASES = [(name, *file) for name, files in FILES.items() for file in files]

OTHERS = [
    ("table.jsonl", b'{"question_id": "q1", "answer": "4", "confidence": 1.5}\n'),
    (
        "table.jsonl",
        b'{"question_id": 1, "answer": "A", "confidence": 1.5, "choices": ["A", "B"], "text": "x"}\n',
    ),
    ("table.csv", b"question_id,answer,confidence\nq1,4,1.5\n"),
    ("questions.jsonl", b'{"question": "2 + 2?", "choices": ["4", "5"], "answer": "A"}\n'),
    ("deepthink_offline_qid0_rid0_20261115_120000.pkl", b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94"),
    ("results_2026-11-15T23-46-50.130395.json", b'{"results": {"sums": {"alias": "sums"}}, "config": {}}'),
    ("run.parquet", b"PAR1\x15\x04"),
    ("other.zip", b"PK\x03\x04\x14\x00\x00\x00\x08\x00hello.txt"),
    ("empty.jsonl", b""),
    ("blank.jsonl", b"\n \n"),
    ("cut.json", b'{"choi'),
    ("list.json", b"[1, 2]"),
    ("text.json", b'"choices"'),
    ("bad.jsonl", b'{"a": }}}}]]]{"choices": [{"text": 1'),
    ("bytes.jsonl", b"\xff\xfe\x00{"),
]


def claims(name: str, content: bytes) -> list[str]:
    return [each.name for each in FORMATS if each.is_one(Path(name), content[:HEAD])]


@pytest.mark.parametrize(("kind", "name", "content"), CASES)
def test_a_file_is_claimed_by_exactly_its_format(kind: str, name: str, content: bytes) -> None:
    assert claims(name, content) == [kind]


@pytest.mark.parametrize(("name", "content"), OTHERS)
def test_what_is_of_another_kind_is_claimed_by_none(name: str, content: bytes) -> None:
    assert claims(name, content) == []


def test_a_first_line_longer_than_the_head_is_still_told() -> None:
    assert claims("a.jsonl", lines(chat(TEXT * 10_000))) == ["openai"]
    assert claims("a.jsonl", lines(vllm("why? " * 30_000))) == []  # nothing but the prompt is to be seen
    assert claims("a.jsonl", lines(vllm(None, TEXT * 10_000))) == ["vllm"]
    assert claims("output-rs3.jsonl", lines(nemo() | {"generation": TEXT * 10_000})) == ["nemo-skills"]


@FEW
@given(st.sampled_from(CASES), st.data())
def test_a_head_cut_anywhere_raises_nothing_and_names_no_other_format(case, data) -> None:
    kind, name, content = case
    assert claims(name, content[: data.draw(st.integers(0, len(content)))]) in ([], [kind])


@FEW
@given(st.binary(max_size=200))
def test_detection_never_raises(content: bytes) -> None:
    for start in (b"", b"{", b'[{"a"', b"PK\x03\x04"):
        claims("x.json", start + content)


def test_fields_have_their_path() -> None:
    assert first_fields(b'\xef\xbb\xbf [{"a": {"b": [1, {"c\\"d": "}"}]}, "e": 1}, {"f": 1}]') == {
        "a", "a.b", 'a.b.c\\"d', "e",
    }  # fmt: skip
    assert first_fields(lines({"a": []}, {"b": 1})) == {"a"}
    assert first_fields(lines(chat(logprobs=chat_logprobs()))) >= {"choices.logprobs.content"}


@pytest.mark.parametrize("indent", [None, 2])
def test_objects_lists_and_lines_give_the_same_records(tmp_path: Path, indent: int | None) -> None:
    items = [{"a": 1, "é": "\u2028"}, {"a": {"b": 2}}]
    files = {
        "one.json": json.dumps(items[0], indent=indent).encode(),
        "list.json": b"\xef\xbb\xbf\n " + json.dumps(items, indent=indent).encode(),
        "lines.jsonl": b"\xef\xbb\xbf" + lines(items[0]) + b"\r\n" + lines(items[1]),
        "lines.json": lines(*items),
    }
    read = {
        name: [each.fields for each in records(written(tmp_path, name, content), "a")]
        for name, content in files.items()
    }
    assert read.pop("one.json") == items[:1]
    assert all(each == items for each in read.values())


DEEP = 100_000


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"", "is empty"),
        ("a.json", b" \n", "is empty"),
        ("a.json", b"[]", "is empty"),
        ("a.jsonl", b'{"a": 1}\n{"a": ', "line 2 is not valid JSON"),
        ("a.jsonl", b'{"a": 1}\n\n[1]\n', "line 3 is not a JSON object"),
        ("a.jsonl", b'{"a": 1}\n{"a": "\0"}\n', "line 2 holds a NUL byte"),
        ("a.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "line 2: byte 8 is not UTF-8"),
        ("a.jsonl", b'{"a": 1}\n' + b"[" * DEEP + b"]" * DEEP, "line 2"),
        ("a.jsonl", b'{"a": ' + b"1" * 5000 + b"}", "line 1"),
        ("a.json", b'[{"a": 1},', "is not valid JSON"),
        ("a.json", b'{\n"a": 1', "line 2, column"),
        ("a.json", b'[{"a": 1}, 3]', "item 2 is 3"),
        ("a.json", b'[{"a": "\0"}]', "NUL byte"),
        ("a.json", b'[{"a": "\xff"}]', "is not UTF-8"),
        ("a.json", b"[" * DEEP + b"]" * DEEP, "can't be read as JSON"),
        ("a.json", b"3", "is not a JSON object"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(InputError, match=said) as caught:
        list(records(path, "a"))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("depth", [50, 500, 800, 900, 950, 980])
def test_nesting_that_can_be_parsed_can_be_complained_about(tmp_path: Path, depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    path = written(tmp_path, "a.jsonl", b'{"generation": ' + deep + b"}\n")
    for each in FORMATS:
        with pytest.raises(InputError):
            list(each.read(path, module.ImportOptions()))
    with pytest.raises(InputError):
        list(records(written(tmp_path, "b.jsonl", deep), "a"))


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    for name in ("no.json", "no.jsonl", "no.eval"):
        for each in FORMATS:
            with pytest.raises(InputError, match="can't read"):
                list(each.read(tmp_path / name, module.ImportOptions()))


def test_too_much_at_once_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 1000)
    small = {"a": "x" * 900}
    assert len(list(records(written(tmp_path, "a.jsonl", lines(small, small)), "a"))) == 2
    with pytest.raises(InputError, match="line 2 is longer than"):
        list(records(written(tmp_path, "a.jsonl", lines(small, {"a": "x" * 1000})), "a"))
    with pytest.raises(InputError, match="write it as JSON Lines"):
        document(written(tmp_path, "a.json", json.dumps([small, small]).encode()))


def test_numbers_and_counts_are_checked() -> None:
    assert number(3, "x") == 3.0
    assert math.isnan(number(None, "x"))
    assert (count(None, "x"), count(-1, "x"), count(7, "x")) == (None, None, 7)
    for bad in (True, "3", [], 10**400):
        with pytest.raises(InputError, match="a number is needed"):
            number(bad, "x")
        with pytest.raises(InputError, match="a whole number is needed"):
            count(bad, "x")
