"""Every kind of answer: what it finds, when two are one, and laws that hold for all of them."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote import Problem, Trajectory, solution_of
from distrivote.answers.equivalence import classify
from distrivote.answers.extract import is_finished
from distrivote.answers.kinds import KINDS, asked_kind, code_kind, json_kind, kind_named, tool_kind
from distrivote.answers.kinds.kind import Kind
from distrivote.answers.kinds.naming import names_of
from distrivote.answers.structured.schema import schema_of
from distrivote.errors import InputError
from distrivote.report.documents import solution_document
from strategies import LAW, MANY

TEXTS = [
    "",
    "12",
    "Tom has **12** pears.",
    "It is \\boxed{12}.",
    "\\boxed{\\frac{24}{2}}",
    "So 35",
    "The answer is (B).",
    "B) Jupiter",
    "Paris",
    "It is Paris, of course.",
    "<think>Rome \\boxed{7}?</think>The capital is **Paris**.",
    '{"a": 1, "b": [1, 2]}',
    '```json\n{"b": [1, 2], "a": 1.0}\n```',
    '{"a": 2}',
    '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>',
    '<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}</tool_call>',
    "```python\ndef f(x):\n    return x\n```",
    "```python\ndef f(x):\n    return x  # as it is\n```",
    "def f(:",
    "```python\ndef f(:\n```",
    "I would say positive.",
    "negative",
]
NAMES = [*KINDS, "label:positive,negative"]


def partition(ids: tuple[int, ...], order: list[int]) -> set[frozenset[int]]:
    return {
        frozenset(order[at] for at, each in enumerate(ids) if each == one) for one in set(ids) if one >= 0
    }


@MANY
@given(
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(TEXTS), max_size=10),
    st.randoms(use_true_random=False),
)
def test_equality_is_a_partition_in_any_order(name: str, texts: list[str], rng: random.Random) -> None:
    kind = kind_named(name)
    found = [kind.read(text, is_cut=False) for text in texts]
    answers = [None if each is None else each.answer for each in found]
    order = list(range(len(answers)))
    classes = classify(answers, kind.same)
    assert [each < 0 for each in classes.ids] == [not (answer or "").strip() for answer in answers]
    rng.shuffle(order)
    moved = classify([answers[at] for at in order], kind.same)
    assert partition(moved.ids, order) == partition(classes.ids, list(range(len(answers))))
    for answer, number in zip(answers, classes.ids, strict=True):
        assert all(
            number == other for same, other in zip(answers, classes.ids, strict=True) if same == answer
        )


@MANY
@given(st.sampled_from(NAMES), st.sampled_from(TEXTS) | st.text(max_size=60), st.booleans())
def test_an_answer_is_at_its_place_and_never_in_the_thinking(name: str, text: str, is_cut: bool) -> None:
    found = kind_named(name).read(f"<think>perhaps Oslo, 77?</think>{text}", is_cut=is_cut)
    if found is None:
        return
    assert found.answer.strip()
    assert found.end <= len(text) + 33
    assert "Oslo" not in found.answer
    assert found.answer != "77" or "77" in text
    line = kind_named(name).line(found.answer)
    assert "\n" not in line
    assert len(line) <= 60


leaves = st.sampled_from([1, 1.0, 2, "x", "y", None, True, [], {}])
objects = st.dictionaries(
    st.sampled_from("abc"),
    leaves | st.lists(leaves, max_size=3) | st.dictionaries(st.sampled_from("de"), leaves),
)


def leaf_pairs(value: object, path: str = "") -> set[tuple[str, str]]:
    if isinstance(value, dict) and value:
        return {pair for key, each in value.items() for pair in leaf_pairs(each, f"{path}.{key}")}
    if isinstance(value, list) and value:
        return {pair for each in value for pair in leaf_pairs(each, f"{path}[]")}
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    return {(path, json.dumps(number))}


@LAW
@given(st.lists(objects, min_size=1, max_size=7), st.randoms(use_true_random=False))
def test_votes_on_fields_never_invent_a_value(given: list[dict[str, object]], rng: random.Random) -> None:
    def made(values: list[tuple[int, dict[str, object]]]) -> str | None:
        replies = [Trajectory(json.dumps(value), index=at) for at, value in values]
        found = solution_of("?", replies, answer="json:fields", steering=None, method="sc")
        return None if found.answer is None else str(found.answer)

    numbered = list(enumerate(given))
    answer = made(numbered)
    assert answer is not None
    said = {pair for value in given for pair in leaf_pairs(value)}
    assert leaf_pairs(json.loads(answer)) <= said
    rng.shuffle(numbered)
    assert made(numbered) == answer


@pytest.mark.parametrize(
    ("text", "answer", "is_whole"),
    [
        ("Tom has 5", "5", False),
        ("Tom has 5.", "5", False),  # 5.7 may have been meant
        ("Tom has 5. So", "5", True),
        ("Tom has 5\nThen", "5", True),
        ("It is \\boxed{12}", "12", True),
        ("It is **12** pears", "12", False),
        ("It is **12**\n", "12", True),
        ("它是 12。", "12", True),
        ("Is it 12? Yes", "12", True),
    ],
)
def test_an_answer_is_whole_if_its_sentence_or_box_has_ended(text: str, answer: str, is_whole: bool) -> None:
    assert is_finished(text, text.index(answer) + len(answer)) == is_whole


def test_three_tokens_of_a_sentence_are_no_answer() -> None:
    cut = [Trajectory("Tom has 5", finish_reason="length", index=at) for at in range(4)]
    for answer in ("auto", "short", "number", "math"):
        found = solution_of(Problem("How many?", template="plain"), cut, answer=answer, steering=None)
        assert (found.answer, found.reply, found.tally.n_unanswered) == (None, "Tom has 5", 4)


# Bad input


@pytest.mark.parametrize(
    "name",
    ["label:", "label", "label:yes", "label:yes,yes", "label:,", "lable:a,b", "numbr", "json:field", ""],
)
def test_a_kind_that_is_none_is_one_sentence(name: str) -> None:
    with pytest.raises(InputError) as raised:
        asked_kind(name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("given", [{"type": "objekt"}, {"properties": 3}, {"$ref": "#/nowhere"}, 3, "x"])
def test_a_schema_that_is_invalid_is_one_sentence(given: object) -> None:
    with pytest.raises(InputError) as raised:
        schema_of(given)
    assert "\n" not in str(raised.value)


def test_json_against_a_schema_is_no_answer() -> None:
    kind = json_kind(schema_of({"type": "object", "required": ["a"]}))
    assert kind.find('{"a": 1}') is not None
    assert kind.find('{"b": 1}') is None
    assert kind.find("[1]") is None


def test_paths_that_are_ignored_do_not_count() -> None:
    kind = json_kind(ignore=["id", "items[].at"])
    texts = [
        '{"id": 1, "items": [{"at": 1, "n": 2}]}',
        '{"id": 2, "items": [{"at": 9, "n": 2}]}',
        '{"id": 1}',
    ]
    assert classify(texts, kind.same).ids == (0, 0, 1)


def test_tools_that_do_not_exist_are_no_answer_and_excluded_arguments_do_not_count() -> None:
    kind = tool_kind(["weather"], exclude=["id"])
    calls = [f'<tool_call>{{"name": "weather", "arguments": {{"id": {n}}}}}</tool_call>' for n in (1, 2)]
    found = [kind.find(call) for call in calls]
    answers = [each.answer for each in found if each is not None]
    assert classify(answers, kind.same).ids == (0, 0)
    assert kind.find('<tool_call>{"name": "rain", "arguments": {}}</tool_call>') is None


ADD = 'def add(a, b):\n    """Return the sum.\n\n    >>> add(2, 3)\n    5\n    """'


def programs(*bodies: str) -> list[Trajectory]:
    return [
        Trajectory(f"```python\ndef add(a, b):\n    {body}\n```", index=at) for at, body in enumerate(bodies)
    ]


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_kind_of_the_library_stays_itself(kind: Kind) -> None:
    """Whether programs run, and which replies are embedded, goes by the identity of a kind."""
    assert asked_kind(kind) is kind
    assert asked_kind(kind.name) is kind


def test_programs_run_only_where_somebody_says_so() -> None:
    replies = programs("return a + b", "return b + a", "return a - b", "return a +")
    how = {"answer": "code", "steering": None, "method": "sc"}
    unrun = solution_of(Problem(ADD, template="plain"), replies, **how)  # type: ignore[arg-type]
    assert max(unrun.tally.votes.values()) == 1
    assert any("were not run" in note for note in unrun.tally.notes)
    ran = solution_of(Problem(ADD, template="plain"), replies, run_code=True, **how)  # type: ignore[arg-type]
    assert list(ran.tally.votes.values()) == [2]
    assert ran.tally.n_unanswered == 2
    assert any("does not give what the question's examples state" in note for note in ran.tally.notes)


@pytest.mark.parametrize("answer", ["auto", "short", "number", "text", "json", "code"])
def test_a_thought_that_was_cut_off_is_neither_answer_nor_reply(answer: str) -> None:
    thoughts = ["<think>Lyon? Rome has 77.\n", '\n<think>{"a": 1}\n```python\nx = 1\n```\n']
    for thought in thoughts:
        found = solution_of("?", [Trajectory(thought, finish_reason="length")], answer=answer, steering=None)
        assert (found.answer, found.reply) == (None, "")


def test_an_input_tells_programs_apart_that_all_pass() -> None:
    replies = programs("return a + b", "return b + a", "return a + abs(b)")
    found = solution_of(
        Problem(ADD, template="plain"), replies, answer=code_kind(run=True), steering=None, method="sc"
    )
    assert sorted(found.tally.votes.values()) == [1, 2]
    (note,) = (each for each in found.tally.notes if "on which they differ" in each)
    assert "(2 programs)" in note
    assert "(1 program)" in note


# Names in tables


def test_objects_are_named_by_what_differs_and_programs_by_a_line_of_their_own() -> None:
    objects = ['{"a": {"b": 1}, "c": [1, 2]}', '{"a": {"b": 2}, "c": [1]}', '{"a": {"b": 1}}']
    assert list(names_of(KINDS["json"], objects, objects[0]).values())[1:] == ["a.b: 2, 1 of c", "no c"]
    sources = ["def f(x):\n    return x", "def f(x):\n    return -x"]
    assert list(names_of(KINDS["code"], sources, sources[0]).values()) == ["return x", "return -x"]


@MANY
@given(st.sampled_from(["json", "code", "text", "short"]), st.lists(st.text(max_size=30), unique=True))
def test_no_two_answers_have_the_same_name(name: str, answers: list[str]) -> None:
    names = names_of(KINDS[name], answers, answers[0] if answers else "")
    assert len(set(names.values())) == len(answers)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "boxed"])
@pytest.mark.parametrize("end", ["</think>", "</think>\n\n", "</think>Let me stop here!", ""])
def test_a_draft_in_the_thinking_is_no_answer(name: str, end: str) -> None:
    draft = f"<think>It is \\boxed{{7}}. The answer is B. {{}} ```python\nx = 1\n```{end}"
    found = kind_named(name).read(draft, is_cut=False)
    assert found is None or found.answer not in ("7", "B", "{}", "x = 1")
    read = kind_named("boxed").read(draft, is_cut=False)
    assert read is not None  # the paper's way looks everywhere
    assert read.answer == "7"


def test_a_text_has_no_probability_and_is_not_withheld() -> None:
    replies = [Trajectory(text, index=at) for at, text in enumerate(["Rain falls.", "Rain falls.", "No."])]
    found = solution_of("Sing.", replies, answer="text", steering=None, method="sc", min_probability=0.99)
    assert found.tally.probability is None
    assert found.withheld is None
    assert "no probability of being right" in found.tally.explain()
    document = solution_document(found, 0.0)
    assert document["probability"] is None
    assert document["probabilities"] == {}
    assert document["no_probability"] == found.tally.no_probability


@pytest.mark.parametrize(
    "text", ["Die Antwort ist B.", "La réponse est B.", "La respuesta es **B**.", "B) Jupiter"]
)
def test_a_letter_counts_in_any_language(text: str) -> None:
    question = Problem("Welcher Planet ist der größte? A) Mars B) Jupiter", template="plain")
    assert solution_of(question, [Trajectory(text)], method="sc", steering=None).answer == "B"
