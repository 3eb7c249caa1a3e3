"""Server-sent events: every chunking gives what the standard says of the whole."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from distrivote.engines.openai.events import BOM, EventDecoder
from strategies import LAW

EVENTS = (
    b': ping\r\n\r\ndata: {"a": 1}\r\n\r\nevent: x\ndata:{"b": "\xf0\x9f\xa4\x94"}\n\n\n\ndata: [DONE]\n\n'
)


@given(st.lists(st.integers(0, len(EVENTS)), max_size=12))
def test_events_are_the_same_for_every_chunking(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(EVENTS)]
    decoder = EventDecoder()
    found = [event for start, end in pairwise(edges) for event in decoder.push(EVENTS[start:end])]
    assert found == [b'{"a": 1}', '{"b": "🤔"}'.encode(), b"[DONE]"]
    assert decoder.flush() == []


@pytest.mark.parametrize("tail", [b"data: {}", b"data: {}\n"])
def test_a_last_line_needs_no_newline(tail: bytes) -> None:
    decoder = EventDecoder()
    assert decoder.push(tail) + decoder.flush() == [b"{}"]


def test_an_error_that_stands_beside_the_data_is_an_event() -> None:
    assert EventDecoder().push(b'error: {"code": 400}\n\n') == [b'{"error": {"code": 400}}']


PIECES = [
    b"data: x",
    b"data:y",
    b"data: ",
    b"data",
    b": z",
    b"event: e",
    b" ",
    b"\r\n",
    b"\n",
    b"\r",
    b"\n\n",
    BOM,
]


def by_the_standard(stream: bytes) -> list[bytes]:
    """Return the data of all events, from the whole stream; the last needs no blank line."""
    text = stream.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events, data = [], []
    for line in (text + b"\n\n").split(b"\n"):
        name, _, value = line.partition(b":")
        if not line and data:
            events.append(b"\n".join(data))
            data = []
        elif name == b"data" and b":" in line:
            data.append(value.removeprefix(b" "))
    return events


@LAW
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), st.lists(st.integers(0, 60), max_size=8))
@example(b"data: a\r\n\r\n", [8, 9, 10])
@example(BOM + b"data: a\n\n", [1, 2])
def test_events_are_those_of_the_standard(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    decoder = EventDecoder()
    found = [event for start, end in pairwise(edges) for event in decoder.push(stream[start:end])]
    assert found + decoder.flush() == by_the_standard(stream)


def test_the_lines_of_an_event_are_joined() -> None:
    assert EventDecoder().push(b'data: {"a":\ndata: 1}\n\n') == [b'{"a":\n1}']
