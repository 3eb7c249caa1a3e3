"""What a chat reply states in plain words: a bold span, "the answer is ...", the value of its last sentence.

Looked for in this order, after the end of thinking:

    boxed        \\boxed{...}, as everywhere
    statement    what follows "answer is", "Answer:", "Die Antwort lautet", "答案是", "####" ...
    bold         the last bold span that is a value and not a heading: "Tom has **12** pears"
    sentence     of the last sentence: what follows its last "=", else its last number, else what follows
                 "is", "ist", "est", "es", "是" ...: "The capital of France is Paris."
    line         a reply of one short line, as it stands

`folded` is what two such answers are compared by: markdown, case, articles, punctuation, quotes and a unit
after a number do not count, and numbers count as numbers. Everything takes time linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from distrivote.answers.extract import Extraction, boxed, reply_start
from distrivote.answers.forms import normal_form

_LONGEST = 120
"""Characters of an answer; a longer span is a text about something and not a short answer."""

_FEW_WORDS = 12

# Every repetition below is possessive or bounded: no input makes these patterns back up.
_ANSWER = (
    r"(?:final |correct |right |short )?answer|result|solution"
    r"|(?:richtige |endgültige |korrekte )?antwort|ergebnis|lösung"
    r"|(?:bonne )?réponse(?: finale)?|résultat|respuesta(?: final| correcta)?|resultado"
    r"|risposta(?: finale| corretta)?|risultato|resposta(?: final| correta)?|antwoord|ответ|wynik|odpowiedź"
)
_IS = r"is|was|are|would be|ist|lautet|beträgt|sind|est|sont|es|son|è|sono|é|são|равен|это|to"
_STATEMENT = re.compile(
    rf"\b(?:{_ANSWER})\b[\s*_]{{0,4}}(?:\([^()\n]{{0,40}}\)[\s*_]{{0,3}})?"
    rf"(?:(?:to|for|of|auf|à|a|di|de|van)\b[^.:\n]{{0,120}}?)?"
    rf"(?:[:：=][\s*_]{{0,4}}|\b(?:{_IS})\b(?:[\s*_]{{0,3}}[:：])?[\s*_]{{0,4}})"
    r"|(?:答案|结果|結果|答え|正解|정답)[\s*_]{0,3}(?:是|为|為|は|은|는)?[\s*_]{0,3}[:：]?[\s*_]{0,3}"
    r"|^####[ \t]+",
    re.IGNORECASE | re.MULTILINE,
)
_BOLD = re.compile(r"\*\*(?!\s)([^*\n]{1,200}?)(?<!\s)\*\*|__(?!\s)([^_\n]{1,200}?)(?<!\s)__")
_OPEN_BOLD = re.compile(r"\*\*(?!\s)([^*\n]{1,200})$", re.MULTILINE)
_COPULA = re.compile(
    rf"\b(?:{_IS}|called|named|heißt|s'appelle|se llama|si chiama|equals)\b[\s:]{{1,3}}|[是为為は][：:]?",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?:(?<![\w)\]}])[-+−])?(?:[$€£¥]\s?)?"
    r"(?:[0-9]{1,3}(?:[,\u00a0\u202f'’ ][0-9]{3}(?![0-9]))++|[0-9]++)(?:\.[0-9]++|,[0-9]{1,2}(?![0-9]))?"
    r"(?:\s?/\s?[0-9]++)?(?:\s?%)?"
)
_EQUALS = re.compile(r"[=≈]\s*+([^=≈\n]{1,80})$")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”»)*_]{0,3}\s++(?=\S)|(?<=[。！？])|\n++")
_STEP = re.compile(r"(?:step|schritt|étape|paso|passo)\s*\d+|\d+[.)]", re.IGNORECASE)
_EDGES = " \t\r\n*_`\"'“”„«»‘’()[]$"
_ARTICLES = frozenset(
    [
        "a",
        "an",
        "the",
        "der",
        "die",
        "das",
        "den",
        "dem",
        "ein",
        "eine",
        "einen",
        "le",
        "la",
        "les",
        "l",
        "un",
        "une",
        "des",
        "el",
        "los",
        "las",
        "una",
        "il",
        "lo",
        "gli",
        "i",
        "o",
        "os",
        "as",
        "um",
        "uma",
        "de",
        "het",
    ]
)
_UNIT = r"(?:%|°?\s?[^\W\d_]+(?:[ -][^\W\d_]+){0,2}\.?)?"
_UNITED = re.compile(rf"(?:[$€£¥]\s?)?([-+−]?[0-9][0-9., '’\u00a0\u202f/]*)\s*{_UNIT}")


def short(text: str) -> Extraction | None:
    """Return what a chat reply states, None if it is a text that states nothing short.

    >>> [short(reply).answer for reply in ("Tom has **12** pears.", "So 5 + 7 = 12.", "Die Antwort ist Rom!")]
    ['12', '12', 'Rom']
    """
    found = boxed(text)
    if found is not None:
        return found
    start = reply_start(text)
    end = len(text.rstrip())
    if end <= start:
        return None
    for look in (_stated, _bold, _last_sentence, _line):
        found = look(text, start, end)
        if found is not None:
            return found
    return None


def folded(answer: str) -> Fraction | str:
    """Return what a short answer is compared by.

    >>> folded("**12 pears**"), folded("The Eiffel Tower."), folded("€1.250")
    (Fraction(12, 1), 'eiffel tower', Fraction(5, 4))
    """
    text = unicodedata.normalize("NFKC", answer).replace("−", "-").strip(_EDGES + ".,;:!?。！？")
    united = _UNITED.fullmatch(text)
    if united is not None:
        value = normal_form(united[1].strip(" ,.'’"))
        if isinstance(value, Fraction):
            return value
    value = normal_form(text)
    if isinstance(value, Fraction):
        return value
    words = re.sub(r"[^\w\s+\-./%°]", " ", text.casefold()).split()
    while len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return " ".join(word.strip(".-/") for word in words) or text.casefold()


def _stated(text: str, start: int, end: int) -> Extraction | None:
    last = None
    for match in _STATEMENT.finditer(text, start, end):
        last = match
    if last is None:
        return None
    line_end = text.find("\n", last.end(), end)
    if line_end == last.end() or not text[last.end() : line_end if line_end >= 0 else end].strip(_EDGES):
        # "Answer:" alone on its line: the next line that has something.
        begin = next((m.start() for m in re.finditer(r"\S", text[last.end() : end])), None)
        if begin is None:
            return None
        begin += last.end()
        line_end = text.find("\n", begin, end)
    else:
        begin = last.end()
    return _value(text, begin, end if line_end < 0 else line_end)


def _bold(text: str, start: int, end: int) -> Extraction | None:
    found = None
    for match in _BOLD.finditer(text, start, end):
        group = 1 if match[1] is not None else 2
        inside, after = match[group], text[match.end() : match.end() + 1]
        before = text[text.rfind("\n", start, match.start()) + 1 : match.start()]
        alone = not before.strip(" \t#-*0123456789.") and after == ":"
        heading = alone or inside.rstrip().endswith((":", "：")) or bool(_STEP.match(inside))
        if not heading and len(inside.split()) <= _FEW_WORDS:
            found = (match.start(group), match.end(group))
    cut = _OPEN_BOLD.search(text, max(start, text.rfind("\n", start, end)), end)
    if cut is not None and len(cut[1].split()) <= _FEW_WORDS and (found is None or cut.start(1) > found[1]):
        found = (cut.start(1), cut.end(1))
    return None if found is None else _value(text, *found)


def _last_sentence(text: str, start: int, end: int) -> Extraction | None:
    begin = start
    for cut in _SENTENCE_END.finditer(text, start, end):
        if cut.end() < end:
            begin = cut.end()
    sentence = text[begin:end]
    if sentence.rstrip().endswith("?") or len(sentence) > 400:
        return None
    equals = _EQUALS.search(sentence.rstrip(" .*$"))
    if equals is not None:
        return _value(text, begin + equals.start(1), begin + equals.end(1))
    numbers = list(_NUMBER.finditer(text, begin, end))
    if numbers:
        return _value(text, numbers[-1].start(), numbers[-1].end())
    copulas = list(_COPULA.finditer(text, begin, end))
    if copulas and len(text[copulas[-1].end() : end].split()) <= 5:
        return _value(text, copulas[-1].end(), end)
    return None


def _line(text: str, start: int, end: int) -> Extraction | None:
    line = text[start:end].strip()
    if "\n" in line or len(line.split()) > 6 or line.endswith(("?", ":")):
        return None
    return _value(text, start, end)


def _value(text: str, start: int, end: int) -> Extraction | None:
    """Return a stretch without markup at its edges and without a second sentence, None if it is no value."""
    sentence = re.compile(r"[.!?](?=\s|\*|$)|[。！？]").search(text, start, end)
    if sentence is not None and text[start : sentence.start()].strip(_EDGES):
        end = sentence.start()
    while end > start and text[end - 1] in _EDGES + ".,;:!":
        end -= 1
    while start < end and text[start] in _EDGES + ":：":
        start += 1
    answer = _BOLD.sub(lambda m: m[1] or m[2], text[start:end]).strip(_EDGES)
    if not answer or len(answer) > _LONGEST or not re.search(r"\w|[^\x00-\x7f]", answer):
        return None
    return Extraction(answer, end)
