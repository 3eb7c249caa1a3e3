"""The short answer in a chat reply: a bold span, "the answer is ...", the value of its last sentence.

The search order, after the end of thinking:

    boxed        \\boxed{...}, as for other kinds
    statement    what follows "answer is", "Answer:", "Die Antwort lautet", "答案是", "####" ...
    yes or no    at the beginning of the reply: "Yes, 17 is prime."
    bold         the last bold span that is a value and not a heading: "Tom has **12** pears"
    sentence     in the last sentence that does not offer more help: what follows its last "=", else its last
                 number, else the value that it states: "The capital of France is Paris.", "Paris is the
                 capital of France."; in the first sentence if that has a name and the last one is about "it"
    line         a reply of one short line, unchanged

Two such answers are compared by `folded`. Everything takes time linear in the text.
"""

from __future__ import annotations

import re

from distrivote.answers.clauses import (
    LONG_SENTENCE,
    LONGEST,
    clause_value,
    named_value,
    sentence_value,
    stretch_value,
)
from distrivote.answers.extract import Extraction, boxed, reply_start
from distrivote.answers.folding import EDGES
from distrivote.answers.folding import folded as folded
from distrivote.answers.phrases import (
    BOLD,
    CLOSER,
    CONNECTIVE,
    ENDED,
    MARKS,
    NOTHING,
    PRONOUN,
    SENTENCE_END,
    STATEMENT,
    STEP,
    WORD,
    YES_OR_NO,
    last_match,
)

_LONG_REPLY = 600
"""In longer replies (in characters) the last sentence states no answer unless it begins with "so"."""

_FEW_WORDS = 12
_FEW_BEFORE = 60
"""The maximum number of words of a reply whose first word, yes or no, is its answer."""


def short(text: str) -> Extraction | None:
    """Return the short answer that a chat reply states, None if it states none.

    >>> [short(reply).answer for reply in ("Tom has **12** pears.", "So 5 + 7 = 12.", "Die Antwort ist Rom!")]
    ['12', '12', 'Rom']
    """
    start = reply_start(text)
    found = boxed(text)
    if found is not None and found.end > start:  # not a draft in the reasoning
        return found
    end = len(text.rstrip())
    if end <= start:
        return None
    for look in (_stated, _yes_or_no, _bold, _formula, _sentences, _line):
        found = look(text, start, end)
        if found is not None:
            return found
    return None


def is_marked(text: str, found: Extraction) -> bool:
    """Say whether an answer is marked and complete: in a box, or stated in a finished sentence or line.

    >>> [is_marked(text, short(text)) for text in ("The answer is 12. So", "The answer is 12", "Tom has 5.")]
    [True, False, False]
    """
    if boxed(text) == found:
        return True
    statement = last_match(STATEMENT, MARKS, text, reply_start(text), len(text))
    if statement is None or statement.end() > found.end:
        return False
    after = ENDED.match(text, found.end)
    # A point after a digit may be a decimal point that nothing follows yet.
    return after is not None and not (after[0] == "." and text[found.end - 1].isdigit())


def _stated(text: str, start: int, end: int) -> Extraction | None:
    last = last_match(STATEMENT, MARKS, text, start, end)
    if last is None:
        return None
    line_end = text.find("\n", last.end(), end)
    if line_end == last.end() or not text[last.end() : line_end if line_end >= 0 else end].strip(EDGES):
        # "Answer:" alone on its line: the next line that is not blank.
        begin = next((m.start() for m in re.finditer(r"\S", text[last.end() : end])), None)
        if begin is None:
            return None
        begin += last.end()
        line_end = text.find("\n", begin, end)
    else:
        begin = last.end()
    return clause_value(text, begin, end if line_end < 0 else line_end)


def _yes_or_no(text: str, start: int, end: int) -> Extraction | None:
    found = YES_OR_NO.match(text, start, end)
    if found is None or len(text[start:end].split(maxsplit=_FEW_BEFORE)) > _FEW_BEFORE:
        return None
    return Extraction(found[1], found.end(1))


def _bold(text: str, start: int, end: int) -> Extraction | None:
    found = None
    for match in BOLD.finditer(text, start, end):
        group = 1 if match[1] is not None else 2
        inside, after = match[group], text[match.end() : match.end() + 1]
        near = max(start, match.start() - LONGEST)
        before = text[max(near, text.rfind("\n", near, match.start()) + 1) : match.start()]
        alone = not before.strip(" \t#-*0123456789.") and after == ":"
        heading = alone or inside.rstrip().endswith((":", "：")) or bool(STEP.match(inside))
        if not heading and len(inside.split()) <= _FEW_WORDS:
            found = (match.start(group), match.end(group))
    line = max(start, text.rfind("\n", start, end) + 1)
    if text.count("**", line, end) % 2:  # cut off within a bold span
        cut = text.rfind("**", line, end) + 2
        if len(text[cut:end].split()) <= _FEW_WORDS:
            found = (cut, end)
    if found is None:
        return None
    return clause_value(text, *found)


def _sentences(text: str, start: int, end: int) -> Extraction | None:
    """Return what the last sentence that does not offer more help states."""
    tail = max(start, end - 2 * LONG_SENTENCE)
    cuts = [cut for cut in SENTENCE_END.finditer(text, tail, end) if cut.end() < end]
    begins = [tail, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), end]
    if tail > start:  # the first is only part of a sentence
        begins, ends = begins[1:], ends[1:]
    while begins:
        sentence = text[begins[-1] : ends[-1]].strip(EDGES + "-")
        if not (sentence.endswith(("?", "？")) or CLOSER.match(sentence) or not re.search(r"\w", sentence)):
            break
        begins.pop()
        ends.pop()
    if not begins:
        return None
    if len(begins) > 1 and PRONOUN.match(text, begins[-1]) and not re.search(r"[\d=]", text[start : ends[0]]):
        first = named_value(text, begins[0], ends[0])
        if first is not None and first.answer.removeprefix("the ")[:1].isupper():
            return first
    is_long = end - start > _LONG_REPLY and not CONNECTIVE.match(text, begins[-1])
    return sentence_value(text, begins[-1], ends[-1], is_long)


def _formula(text: str, start: int, end: int) -> Extraction | None:
    """Return a reply of one line without words: "(3, 4)", "H2O"."""
    line = text[start:end].strip()
    if "\n" in line or "=" in line or len(line) > LONGEST or WORD.search(re.sub(r"\\[A-Za-z]+", "", line)):
        return None
    return stretch_value(text, start, end)


def _line(text: str, start: int, end: int) -> Extraction | None:
    line = text[start:end].strip()
    if "\n" in line or len(line.split()) > 6 or line.endswith(("?", ":")) or NOTHING.match(line):
        return None
    return stretch_value(text, start, end)
