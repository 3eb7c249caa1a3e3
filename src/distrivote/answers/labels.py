"""One of a given set of labels as the answer: which label a reply gives.

The search order, after the end of thinking; case does not count, labels are whole words, longer ones first:

    boxed        \\boxed{...}
    reply        only the label
    statement    what follows "Answer:", "the sentiment is", "Kategorie:", "情感：" ...
    bold         the last bold span with a label
    sentence     the last sentence that calls something by a label ("it is rather negative"), else the last
                 one with labels; questions do not count

Labels after "not" or "rather than" do not count. If the first of these places that has labels names two of
them, the reply gives none. A label of one letter is taken from a box or statement, from the whole reply, or
from its last line ("B) ..."): "a" is also a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from distrivote.answers.extract import Extraction, boxed, reply_start
from distrivote.answers.folding import EDGES
from distrivote.answers.phrases import BOLD, CLOSER, MARKS, SENTENCE_END, STATEMENT, last_match
from distrivote.errors import InputError

_PREFIX = "label:"
_NAMES = (
    "label", "sentiment", "category", "class", "classification", "verdict", "rating", "judgment", "judgement",
    "intent", "topic", "stimmung", "kategorie", "klasse", "bewertung", "urteil", "catégorie", "étiquette",
    "categoría", "etiqueta", "sentimiento", "clase", "categoria", "etichetta",
)  # fmt: skip
_ASIAN_NAMES = ("情感", "类别", "分类", "标签", "極性", "ラベル")
_STATED = re.compile(
    rf"\b(?:{'|'.join(_NAMES)})\b"
    r"(?:[\s*_\"'“”]{0,4}(?:of|for|von|für|de|di|du|des)\s[^.:\n]{0,120}?)?[\s*_\"'“”]{0,4}"
    r"(?:[:：=]|\b(?:is|was|as|ist|lautet|als|est|es|è|é)\b\s?:?)[\s*_]{0,4}"
    rf"|(?:{'|'.join(_ASIAN_NAMES)})[\s*_]{{0,3}}(?:是|为|は)?[\s*_]{{0,3}}[:：]?[\s*_]{{0,3}}",
    re.IGNORECASE,
)
_STATEMENT = re.compile(f"{STATEMENT.pattern}|{_STATED.pattern}", STATEMENT.flags)
_MARKS = (*MARKS, *_NAMES, *_ASIAN_NAMES)
_DENIED = re.compile(
    r"(?:\b(?:not|nor|neither|rather than|instead of|than|isn['’]?t|wasn['’]?t|nicht|kein\w{0,2}|weder|statt"
    r"|anstatt|pas|plutôt que|ni|en vez de|non|não|не)\s+"
    r"(?:(?:a|an|the|really|very|entirely|eine?|un|une|una)\s+){0,2}"
    r"|(?:不是|并非|而非|不))[\s\"'“”*_]*$",
    re.IGNORECASE,
)
_OR = re.compile(r"[\s*_\"'”]*(?:/|,|\b(?:or|and|oder|und|ou|et|o|y|e)\b|[或和])[\s*_\"'“]*")
_OPTION = re.compile(r"[).:]|\*\*|\s*$")
_CALLED = re.compile(
    r"(?:\b(?:is|was|be|as|seems|appears|ist|war|wirkt|als|est|semble|comme|es|parece|como|è|come|é)\s+"
    r"(?:\w+ly\s+|(?:a|an|the|to be|rather|more|quite|very|eher|sehr|eine?|plutôt|un|una|une|muy|più)\s+)"
    r"{0,3}"
    r"|[是为])[\s\"'“”*_]*$",
    re.IGNORECASE,
)
_BEFORE = 48
_FAR = 800
"""The number of characters of a sentence that are searched; of a longer one, the end."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def labels_of(spec: str) -> tuple[str, ...]:
    """Return the labels of "label:a,b,c" or "a,b,c", as they are written.

    >>> labels_of("label: positive, negative,neutral")
    ('positive', 'negative', 'neutral')
    """
    listed = spec[len(_PREFIX) :] if spec.lower().startswith(_PREFIX) else spec
    labels: dict[str, str] = {}
    for label in (" ".join(part.split()) for part in listed.split(",")):
        if label and not re.search(r"\w", label):
            raise InputError(f"the label {label!r} has no letter or digit", argument="answer")
        if label:
            labels.setdefault(_name(label), label)
    if len(labels) < 2:
        only = f"only the label {next(iter(labels.values()))!r}" if labels else "no label"
        raise InputError(
            f"{spec!r} names {only}", hint='give two or more, as in "label:yes,no"', argument="answer"
        )
    return tuple(labels.values())


def find_label(text: str, labels: Sequence[str]) -> Extraction | None:
    """Return the label that a reply gives, as it is written in `labels`, None if it gives none or several.

    >>> find_label("I would say this is **negative**.", ("positive", "negative"))
    Extraction(answer='negative', end=30, start=None)
    >>> find_label("It may be positive or negative.", ("positive", "negative")) is None
    True
    """
    known = _Labels.of(tuple(labels))
    start = reply_start(text)
    first_place = known.first_place(text, start)
    if first_place is None:
        return None
    box = boxed(text)
    if box is not None and box.end > start:
        return known.only(text, known.within(text, max(start, box.end - len(box.answer)), box.end))
    whole = known.whole(text, start, len(text))
    if whole is not None:
        return whole
    statement = last_match(_STATEMENT, _MARKS, text, start, len(text))
    if statement is not None:
        line = text.find("\n", statement.end())
        end = len(text) if line < 0 else line
        begin = statement.end()
        if not text[begin:end].strip(EDGES):  # "Answer:" alone on its line
            begin, end = end, len(text)
        first = known.pattern.match(text, _past_edges(text, begin, end), end)
        if first is not None and not known.goes_on(text, first.end()):
            return known.found(first)
        if stated := known.within(text, begin, end):
            return known.only(text, stated)
    bolds = list(BOLD.finditer(text, start)) if "**" in text or "__" in text else []
    for bold in reversed(bolds):
        group = 1 if bold[1] is not None else 2
        if marked := known.within(text, bold.start(group), bold.end(group)):
            return known.only(text, marked)
    return _last_sentence(text, start, first_place, known)


class _Labels:
    """The labels of a question, compiled for the search."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.labels = sorted(labels, key=lambda label: (-len(label), label))
        self.pattern = re.compile("|".join(map(_pattern, self.labels)), re.IGNORECASE)
        self._heads = tuple({re.split(r"[\s_-]+", label)[0].lower() for label in labels})

    @staticmethod
    @lru_cache(maxsize=64)
    def of(labels: tuple[str, ...]) -> _Labels:
        return _Labels(labels)

    def first_place(self, text: str, start: int) -> int | None:
        """Return the first offset where a label may be, None if nowhere; much faster than the pattern."""
        if not text.isascii():
            return start
        small = text.lower()
        return min((at for head in self._heads if (at := small.find(head, start)) >= 0), default=None)

    def found(self, match: re.Match[str]) -> Extraction:
        assert match.lastindex is not None
        return Extraction(self.labels[match.lastindex - 1], match.end())

    def whole(self, text: str, start: int, end: int) -> Extraction | None:
        """Return the label that is the whole text."""
        match = self.pattern.match(text, _past_edges(text, start, end), end)
        if match is None or text[match.end() : end].strip(EDGES + ".!,;:。！"):
            return None
        return self.found(match)

    def goes_on(self, text: str, end: int) -> bool:
        """Say whether a label is followed by another one: "positive or negative"."""
        joined = _OR.match(text, end)
        other = None if joined is None else self.pattern.match(text, joined.end())
        return other is not None and (len(other[0]) > 1 or other[0] in self.labels)

    def only(self, text: str, matches: Iterable[re.Match[str]]) -> Extraction | None:
        """Return the only label among matches that are not negated, at its last place."""
        last: dict[int | None, re.Match[str]] = {}
        for match in matches:
            if not _DENIED.search(text[max(0, match.start() - _BEFORE) : match.start()]):
                last[match.lastindex] = match
        return self.found(last.popitem()[1]) if len(last) == 1 else None

    def within(self, text: str, start: int, end: int) -> list[re.Match[str]]:
        return list(self.pattern.finditer(text, start, end))

    def in_prose(self, text: str, start: int, end: int) -> list[re.Match[str]]:
        """Return the labels in a sentence except single letters, which are words there."""
        found = self.within(text, start, end)
        return [match for match in found if len(match[0]) > 1 or not match[0].isascii()]


def _past_edges(text: str, start: int, end: int) -> int:
    return end - len(text[start:end].lstrip(EDGES))


def _name(label: str) -> str:
    return re.sub(r"[\s_-]+", " ", label.casefold()).strip()


def _pattern(label: str) -> str:
    spelled = r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s_-]+", label) if word)
    before = "" if _CJK.match(label) else r"(?<![\w-])"
    after = "" if _CJK.match(label[-1]) else r"(?!\w|-\w)"
    return f"{before}({spelled}){after}"


def _last_sentence(text: str, start: int, first: int, known: _Labels) -> Extraction | None:
    end = len(text.rstrip())
    line = max(start, text.rfind("\n", start, end) + 1)
    option = known.pattern.match(text, _past_edges(text, line, end), end)
    if option is not None and len(option[0]) == 1 and _OPTION.match(text, option.end(), end):
        return known.found(option)
    everywhere = known.in_prose(text, first, end)
    mentioned = None
    for begin, stop in _backwards(text, start, end) if everywhere else ():
        if stop <= everywhere[0].start():
            break
        matches = known.in_prose(text, begin, stop)
        sentence = text[begin:stop].strip(EDGES)
        if not matches or sentence.endswith(("?", "？")) or CLOSER.match(sentence):
            continue
        called = [match for match in matches if _is_called(text, match, begin)]
        if called:
            return None if known.goes_on(text, called[-1].end()) else known.only(text, called)
        mentioned = mentioned or matches
    return None if mentioned is None else known.only(text, mentioned)


def _is_called(text: str, match: re.Match[str], start: int) -> bool:
    if not _CALLED.search(text[max(start, match.start() - _BEFORE) : match.start()]):
        return False
    return len(match[0]) > 3 or not text[match.end() : match.end() + 2].strip()[:1].isalpha()  # "is no doubt"


def _backwards(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences, the last first."""
    while end > start:
        begin = max(start, end - _FAR)
        cuts = [cut.end() for cut in SENTENCE_END.finditer(text, begin, end) if begin < cut.end() < end]
        yield from reversed(list(pairwise([*cuts, end])))
        if cuts and begin > start:
            end = cuts[0]  # the text before it is part of a sentence
        else:
            yield begin, cuts[0] if cuts else end
            end = begin
