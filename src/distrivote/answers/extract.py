"""Where in a reply its final answer is, and what it says.

An extractor takes a text and returns the answer and the offset just after its last character, or None. It
cuts a string out and tidies its edges; whether two answers mean the same is decided elsewhere.

    boxed    the last complete \\boxed{...}, braces nested to any depth
    choice   a letter A to E: boxed, else stated ("the answer is (C)"), else a last line that
             is an option ("C", "(C)", "C) Paris")
    number   the last number: 1,234 becomes 1234, 3/4 stays
    auto     boxed; else, in the last paragraph, what follows "answer is", "answer:", "correct option is",
             "correct choice is" or "####"; else a reply of one short line, unchanged

auto suits chat replies: it finds what was marked or stated as the answer, and otherwise nothing. It does not
fall back to the last number, because then a reply that was cut off would also vote.

Text after the last `</think>` has priority over drafts before it: they are searched only if there is no
answer after it (auto searches for boxed drafts only). Everything here takes time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from distrivote.errors import InputError, UnknownNameError


class Extraction(NamedTuple):
    """An answer and where it ends."""

    answer: str

    end: int
    """The offset in the text just after the answer's last character: it decides the answer step."""

    start: int | None = None
    """Where a long answer begins (JSON, a program, a whole reply): its confidence is that of its own tokens.
    None for a short answer, whose confidence is that of its step."""


Extractor: TypeAlias = Callable[[str], Extraction | None]

OwnExtractor: TypeAlias = Callable[[str], Extraction | str | None]
"""A caller's own function; a string that it returns is located in the text, at its last occurrence."""


def extractor(how: str | re.Pattern[str] | OwnExtractor) -> Extractor:
    """Return the extractor of that name, or an extractor made from a pattern or a function.

    A pattern needs exactly one group, which is the answer; its last match counts.

    >>> extractor("boxed")(r"So it is \\boxed{42}.")
    Extraction(answer='42', end=18, start=None)
    >>> extractor(re.compile(r"#### (.*)"))("6 * 7\\n#### 42").answer
    '42'
    """
    if isinstance(how, str):
        if how not in _EXTRACTORS:
            raise UnknownNameError("answer extraction", how, _EXTRACTORS, argument="extract")
        return _EXTRACTORS[how]
    if isinstance(how, re.Pattern):
        return _matching(how)
    if callable(how):
        return _calling(how)
    raise InputError(
        f"answer extraction {how!r} is a {type(how).__name__}: give a name"
        f" ({', '.join(_EXTRACTORS)}), a compiled pattern with one group, or a function"
    )


def boxed(text: str) -> Extraction | None:
    """Return the content of the last complete \\boxed{...} that is not blank.

    Of nested boxes the last innermost one counts.

    >>> boxed(r"\\boxed{1}, no: \\boxed{\\frac{1}{2}}").answer
    '\\\\frac{1}{2}'
    """
    return _reply_first(text, _last_boxed)


def choice(text: str) -> Extraction | None:
    """Return the letter A to E that the text chooses.

    >>> choice("A is too small, so the answer is **(C)**.").answer
    'C'
    """
    return _reply_first(text, _last_choice)


def number(text: str) -> Extraction | None:
    """Return the last number, without thousands separators.

    >>> number("It costs $1,234.50 in all.").answer
    '1234.50'
    """
    return _reply_first(text, _last_number)


def auto(text: str) -> Extraction | None:
    """Return what the text marks or states as its answer: boxed, "answer is", "####", or one short line.

    >>> auto("Let me see.\\n\\nThe answer is 42.").answer
    '42'
    """
    start = reply_start(text)
    found = _last_boxed(text, start) or _stated(text, start) or _one_line(text, start)
    return _last_boxed(text, 0) if found is None and start else found


_EXTRACTORS: dict[str, Extractor] = {
    "auto": auto,
    "boxed": boxed,
    "choice": choice,
    "number": number,
}

# Every repetition below is possessive or bounded: no input makes these patterns backtrack.
_BRACE = re.compile(r"\\boxed\s*+\{|\\(?!\\?boxed)[\\{}]|[{}]")
_LETTER = r"[\s*_$({\[]*+(?:\\(?:text|textbf|mathbf|mathrm)\s*+\{)?[\s*(\[]*+(%s)(?=\s*+(?:$|[).\]:,}*$]))"
_OPTION = re.compile(_LETTER % "[A-E]")
_BOXED_OPTION = re.compile(_LETTER % "[A-Ea-e]")
_STATEMENT = re.compile(
    r"\b(?:answer|correct (?:option|choice))[\s*_]*+(?:is\b|:|=)[\s:*_]*+(?:(?:option|choice)\s++)?"
    r"|^####[ \t]++",  # as GSM8K marks it
    re.IGNORECASE | re.MULTILINE,
)
_STATED_LETTER = re.compile(r"[\s*_$({\[]*+([A-E])(?![A-Za-z0-9'’])")
_OPTION_LINE = re.compile(r"[\W_]*+([A-E])(?:[).:][*_]*+(?:\s.*)?|[\W_]*+)")
_NUMBER = re.compile(
    r"(?:(?<![\w)\]}])[-+−])?"
    r"(?:[0-9]{1,3}(?:,[0-9]{3}(?![0-9]))++|[0-9]++|(?<![0-9])(?=\.[0-9]))"
    r"(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?(?:/[0-9]++)?"
)
_SENTENCE_END = re.compile(r"\.(?=\s|\*|$)")
_THINK_END = "</think>"
_THINK = re.compile(r"\s*+<think>")
_EDGES = " \t\r\n*_$."
_LEADING_EDGES = re.compile(r"(?:[ \t\r\n*_$]|\.(?![0-9])|(?<=\.)\.)++")
_SHORT_LINE = 40
"""In characters: a longer line is prose rather than an answer."""


def reply_start(text: str) -> int:
    """Return the offset after the end of thinking, 0 without thinking; the end of the text if it never ends.

    >>> reply_start("<think>So</think>12"), reply_start("12"), reply_start("<think>So 12")
    (17, 0, 12)
    """
    at = text.rfind(_THINK_END)
    if at >= 0:
        return at + len(_THINK_END)
    return len(text) if _THINK.match(text) else 0


def thinking_of(text: str) -> str:
    """Return the thinking before a reply, without its tags; "" if there is none.

    >>> thinking_of("<think>2 + 2</think>4"), thinking_of("4")
    ('2 + 2', '')
    """
    start = reply_start(text)
    if not start:
        return ""
    return text[: start - len(_THINK_END)].strip().removeprefix("<think>").strip()


_ENDED = re.compile(r"""[ \t\r*_`$)\]"'”»]*+(?:\n|\}|[.!?;](?=\s)|[。！？])""")


def is_finished(text: str, end: int) -> bool:
    """Say whether an answer that ends at this offset in a truncated reply is complete.

    It is if the box that holds it is closed, or if its sentence or its line ends just after it. "12" at the
    very end of the text may be the beginning of 120.

    >>> is_finished(r"\\boxed{12} and", 9), is_finished("It is 12. So", 8), is_finished("It is 12", 8)
    (True, True, False)
    """
    return _ENDED.match(text, end) is not None


def _reply_first(text: str, last: Callable[[str, int], Extraction | None]) -> Extraction | None:
    """Search after the end of thinking, then everywhere."""
    start = reply_start(text)
    found = last(text, start)
    return last(text, 0) if found is None and start else found


def _last_boxed(text: str, start: int) -> Extraction | None:
    first = text.find("\\boxed", start)
    if first < 0:
        return None
    best_start, best_end = -1, -1
    opened: list[int] = []  # for each open brace: where the content of its box begins, -1 without a box
    for match in _BRACE.finditer(text, first):
        brace = match.group()
        if brace == "}":
            content = opened.pop() if opened else -1
            # Outer boxes close later but begin earlier: skipping them keeps nested boxes linear.
            if content > best_start and text[content : match.start()].strip():
                best_start, best_end = content, match.start()
        elif brace == "{":
            opened.append(-1)
        elif brace.endswith("{") and len(brace) > 2:
            opened.append(match.end())
    return _trimmed(text, best_start, best_end) if best_start >= 0 else None


def _last_choice(text: str, start: int) -> Extraction | None:
    box = _last_boxed(text, start)
    if box is not None:
        letter = _BOXED_OPTION.match(box.answer)
        if letter:
            return Extraction(letter[1].upper(), box.end)
    stated = None
    for statement in _STATEMENT.finditer(text, start):
        stated = _STATED_LETTER.match(text, statement.end()) or stated
    if stated:
        return Extraction(stated[1], stated.end(1))
    end = len(text.rstrip())
    line = _OPTION_LINE.fullmatch(text, max(text.rfind("\n", 0, end) + 1, start), max(end, start))
    return Extraction(line[1], line.end(1)) if line else None


def _last_number(text: str, start: int) -> Extraction | None:
    last = _last(_NUMBER.finditer(text, start))
    if last is None:
        return None
    digits = last.group().replace(",", "").replace("−", "-").removeprefix("+")
    return Extraction(digits, last.end())


def _stated(text: str, start: int) -> Extraction | None:
    """Return the rest of the sentence after the last "answer is" of the last paragraph."""
    end = len(text.rstrip())
    paragraph = max(text.rfind("\n\n", start, end), start)
    last = _last(_STATEMENT.finditer(text, paragraph, max(end, start)))
    if last is None:
        return None
    letter = _OPTION.match(text, last.end())
    if letter:
        return Extraction(letter[1], letter.end(1))
    line_end = text.find("\n", last.end(), end)
    line_end = end if line_end < 0 else line_end
    sentence = _SENTENCE_END.search(text, last.end(), line_end)
    return _unboxed(text, last.end(), sentence.start() if sentence else line_end)


def _one_line(text: str, start: int) -> Extraction | None:
    line = _unboxed(text, start, len(text))
    if line is None or len(line.answer) > _SHORT_LINE or "\n" in line.answer:
        return None
    return None if _STATEMENT.search(line.answer) else line


def _last(matches: Iterable[re.Match[str]]) -> re.Match[str] | None:
    found = None
    for match in matches:
        found = match
    return found


def _unboxed(text: str, start: int, end: int) -> Extraction | None:
    """Return a span of the text without its edges, None if a box in it is empty or was cut off."""
    end = start + len(text[start:end].rstrip(_EDGES))
    edges = _LEADING_EDGES.match(text, start, end)
    found = _trimmed(text, edges.end() if edges else start, end)
    return None if found is None or "\\boxed" in found.answer else found


def _trimmed(text: str, start: int, end: int) -> Extraction | None:
    """Return a span of the text without blank edges, None if nothing is left."""
    answer = text[start:end].rstrip()
    end = start + len(answer)
    answer = answer.lstrip()
    return Extraction(answer, end) if answer else None


def _matching(pattern: re.Pattern[str]) -> Extractor:
    if pattern.groups != 1:
        raise InputError(
            f"the answer pattern {pattern.pattern!r} has {pattern.groups} groups: give it exactly one,"
            " around the answer"
        )

    def last(text: str, start: int) -> Extraction | None:
        matches = pattern.finditer(text, start)
        found = _last(match for match in matches if match[1] and match[1].strip())
        return _trimmed(text, found.start(1), found.end(1)) if found else None

    return lambda text: _reply_first(text, last)


def _calling(own: OwnExtractor) -> Extractor:
    def call(text: str) -> Extraction | None:
        found = own(text)
        if isinstance(found, str):
            at = text.rfind(found)
            found = Extraction(found, at + len(found) if at >= 0 else len(text))
        if found is not None and not isinstance(found, Extraction):
            raise InputError(
                f"the extraction function returned {found!r}: return a string, an Extraction, or None"
            )
        return found if found is not None and found.answer.strip() else None

    return call
