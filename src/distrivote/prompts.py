"""The prompt templates for questions, and which of them fits a question."""

from __future__ import annotations

import re

from distrivote.defaults import SAME, TEMPLATE

_MATH = "{question}\nPlease reason step by step, and put your final answer within \\boxed{}."

# A model of 135 million parameters rarely boxes an answer unless earlier turns show it how.
_WORKED = (
    (
        "Anna has 3 pens and buys 4 more. How many pens has she?",
        "Anna starts with 3 pens.\n\nShe buys 4 more, so she has 3 + 4 = 7 pens.\n\n"
        "The answer is \\boxed{7}.",
    ),
    (
        "A box holds 6 eggs. How many eggs are in 3 boxes?",
        "Each box holds 6 eggs.\n\n3 boxes hold 3 * 6 = 18 eggs.\n\nThe answer is \\boxed{18}.",
    ),
)

_WORKED_CHOICES = (
    (
        "Which animal can fly? A) dog B) eagle C) fish D) horse",
        "An eagle can fly, and that is option B.\n\nThe answer is \\boxed{B}.",
    ),
    (
        "What do cows give? A) gold B) oil C) milk",
        "Cows give milk, and that is option C.\n\nThe answer is \\boxed{C}.",
    ),
)

_CHOICE = (
    "Return your final response within \\boxed{} and only include the letter choice (A, B, C, or D)"
    " as your final response. {question}"
)

TEMPLATES = {
    "math": _MATH,
    "choice": _CHOICE,
    "plain": "{question}",
    "worked": _MATH,
    "worked-choice": _CHOICE,
}
"""The prompt templates: `math` and `choice` are the paper's, `plain` is the unchanged question, and the
worked templates show a small model two examples."""

EXAMPLES = {"worked": _WORKED, "worked-choice": _WORKED_CHOICES}
"""Example questions and replies that precede the question, by template."""

AUTO, AUTO_WORKED = TEMPLATE, f"{TEMPLATE}-worked"
"""Chosen by the question: `choice` if it has options, `math` if it asks for a number, else `plain`; the
second name uses the templates with examples, for the built-in model."""

TEMPLATE_NAMES = (AUTO, AUTO_WORKED, *TEMPLATES)

EXTRACTORS = {"math": "boxed", "worked": "boxed", "choice": "choice", "worked-choice": "choice"}
"""How the answer is extracted if a template says how to write it; otherwise `auto`."""

DEFAULT_SAME = SAME
"""The default for when two answers are the same; `answers.equality` defines the names."""

_SAME = {"choice": "choice", "worked-choice": "choice"}


def same_for(template: str) -> str:
    """Return how answers to questions with this template are compared.

    >>> same_for("worked"), same_for("choice")
    ('math', 'choice')
    """
    return _SAME.get(template, DEFAULT_SAME)


def chosen_template(question: str, worked: bool = False) -> str:
    """Return the template for a question: by its options, or by whether it asks for a number.

    >>> chosen_template("Wie viele Beine hat eine Spinne?"), chosen_template("Which? A) a dog B) a cat")
    ('math', 'choice')
    """
    if has_options(question):
        return "worked-choice" if worked else "choice"
    if asks_for_number(question):
        return "worked" if worked else "math"
    return "plain"


_OPTION = re.compile(r"(?<![A-Za-z0-9_.'’])[(（]?(?<![A-Za-z0-9_])([A-E])([).:）．：、])")
_DRAWINGS = (("[asy]", "[/asy]"), ("\\begin{tikzpicture}", "\\end{tikzpicture}"))
_HOW_MANY = re.compile(
    r"\bhow (?:many|much)\b|\bwie ?viele?\b|\bcombien\b|\bcu[aá]nt[oa]s?\b|\bquant[ieoa]s?\b|\bсколько\b"
    r"|多少|几个|幾個|いくつ|何個|몇",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:find|calculate|compute|evaluate|solve|simplify|determine|prove|what|what's|sum of|product of"
    r"|how (?:far|long|old|tall|fast|high|big|heavy)|probability|berechne|löse|bestimme|was|welche[rs]?"
    r"|wie (?:lange|weit|alt|hoch|schnell|groß)|calcule[rz]?|résous|trouve[rz]?|quel(?:le)?s?|calcula"
    r"|resuelve|halla|cuál|qué|calcola|risolvi|trova|qual|resolva|вычисли|найди|реши)\b|计算|求|解方程|計算|等于|几",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"\d\s*[-+*/^×÷·−=]\s*[\d(a-z]|[a-z]\s*[\^=]\s*[-\d]|\d\s*(?:%|percent|prozent) (?:of|von|de|di)\b"
    r"|\d (?:plus|minus|times|mal|fois|por|divided by|geteilt durch) \d",
    re.IGNORECASE,
)
_DATE = re.compile(r"\b(?:\d{1,2}/\d{1,2}|24/7|(?:1[5-9]|20)\d\d[-–/]\d\d(?:\d\d)?)\b(?!\s*[-+*/^×÷·−=])")
"""9/11, 24/7 and 2024-25 are not arithmetic."""

_LATEX = re.compile(r"\\(?:frac|sqrt|sum|int|binom|\[|\()|\$(?! )([^$]{1,500}+)\$")
_NOTATION = re.compile(r"[\\^=_{}]|\w\(|\([-\w]+,|-?\w{1,4}\Z")
_ARITHMETIC = re.compile(r"[\d\s.,+*/^×÷·−=?()-]*\d\s*[-+*/^×÷·−]\s*[\d(][\d\s.,+*/^×÷·−=?()-]*")
_LONGEST_ARITHMETIC = 100
_QUANTITY = re.compile(
    r"\b(?:total|sum|average|mean|median|area|volume|perimeter|speed|distance|cost|price|profit|remainder"
    r"|ratio|percent(?:age)?|value|ages?|number of|amount|score|salary|earnings|weights?|depth|length|height"
    r"|width|degrees?|minutes|hours|days|weeks|years|dollars|cents|feet|inches|miles|pounds|old|long|far"
    r"|probability|summe|durchschnitt|fläche|preis|somme|prix|precio|suma)\b",
    re.IGNORECASE,
)
_MATHEMATICS = re.compile(
    r"\b(?:integers?|primes?|digits?|perfect (?:square|cube)|fraction|decimal|polynomial|triangle|polygon"
    r"|pentagon|hexagon|probability|factor|multiple|perimeter|sum of)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d+|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|half|twice|thirds?)\b", re.IGNORECASE
)

_PROGRAM = re.compile(
    r"```|\bdef \w+\(|\b(?:python|javascript|typescript|json|yaml|html|css|sql|regex)\b|\bc\+\+"
    r"|\b(?:write|implement|create|complete|fix|debug|refactor)\b[^.?!]{0,40}\b(?:function|program|code|script"
    r"|class|method)\b|\b(?:funktion|fonction|función|funzione)\b[^.?!]{0,40}\bpython\b",
    re.IGNORECASE,
)
_VERBS = (
    r"(?:write|compose|explain|describe|summari[sz]e|translate|tell|rewrite|draft|discuss|list|suggest|introduce"
    r"|schreibe?|erkläre?|erzähle?|beschreibe?|übersetze|fasse|écris|écrivez|explique[rz]?|décris|résume|traduis"
    r"|escribe|explica|resume|traduce|scrivi|spiega|descrivi|riassumi|escreva|descreva)\b"
)
_BEGINS = r"(?:\s|hi|hello|hey|hallo|bonjour|hola|please|now|bitte|can|could|would|will|you|[,!])*\b"
_WANTS_TEXT_FIRST = re.compile(rf"{_BEGINS}{_VERBS}|写|解释|翻译|说明", re.IGNORECASE)
_WANTS_TEXT = re.compile(
    rf"(?:^|[.!?:\n]\s)(?:please |bitte )?{_VERBS}|\b(?:please|can you|could you|would you) {_VERBS}"
    r"|\b(?:who|what) are you\b|\bwer bist du\b|\bqui (?:es-tu|êtes-vous)\b|\bquién eres\b|\bchi sei\b"
    r"|\b(?:essay|poem|haiku|story|e-?mail|joke|gedicht|poème|poema)\b"
    r"|写|解释|翻译|说明|你是谁|書いて|説明|あなたは誰",
    re.IGNORECASE,
)


_EXPLAINS = re.compile(
    rf"{_BEGINS}(?:explain|describe|discuss|summari[sz]e|compare|translate|erkläre?|beschreibe?|übersetze|fasse"
    r"|explique[rz]?|décris|résume|traduis|explica|describe|resume|traduce|spiega|descrivi|riassumi)\b"
    r"|解释|说明|翻译|説明",
    re.IGNORECASE,
)
_EITHER = re.compile(r"\b(?:or|oder|ou|o|или|either)\b|还是|或", re.IGNORECASE)


def wants_explanation(question: str) -> bool:
    """Say whether a question asks for a text about something, which may have programs as examples.

    >>> wants_explanation("Explain recursion."), wants_explanation("Write a sort in Python.")
    (True, False)
    """
    return _EXPLAINS.match(question) is not None


def names_answers(question: str) -> bool:
    """Say whether a question names the answers that it may have: "France or Brazil?".

    >>> names_answers("Who won, France or Brazil?"), names_answers("What is love?")
    (True, False)
    """
    return _EITHER.search(question) is not None or has_options(question)


def wants_text(question: str) -> bool:
    """Say whether a question asks for a text and not for a value.

    >>> wants_text("Write a haiku about rain."), wants_text("What is the capital of France?")
    (True, False)
    """
    return _WANTS_TEXT.search(question) is not None


def _without_drawings(text: str) -> str:
    """Return a question without the source code of its drawings; in time linear in the text."""
    for opening, closing in _DRAWINGS:
        parts = text.split(opening)
        # The text after the closing mark counts again, if there is one.
        kept = [part.partition(closing)[2] if closing in part else opening + part for part in parts[1:]]
        text = " ".join([parts[0], *kept])
    return text


def has_options(question: str) -> bool:
    """Say whether a question names at least the options A and B.

    >>> has_options("Which planet is the largest? A) Mars B) Jupiter"), has_options("Plan B: what is it?")
    (True, False)
    """
    return bool(options_of(question))


def options_of(question: str) -> dict[str, str]:
    """Return the options that a question names, from A without a gap; none if there is only one.

    >>> options_of("Which is the largest? A) Mars B) Jupiter")
    {'A': 'Mars', 'B': 'Jupiter'}
    """
    question = _without_drawings(question)
    found: list[re.Match[str]] = []
    for match in _OPTION.finditer(question):
        if match[1] == "A":
            # The last list of options is the question's own.
            found = [match] if match[2] in ")）、" or _begins_list(question, match.start(1)) else []
        elif found and ord(match[1]) == ord(found[-1][1]) + 1:
            found.append(match)
    if len(found) < 2:
        return {}
    ends = [*(match.start() for match in found[1:]), len(question)]
    texts = [question[match.end() : end].strip() for match, end in zip(found, ends, strict=True)]
    if not all(texts):
        return {}
    return {match[1]: text for match, text in zip(found, texts, strict=True)}


def _begins_list(question: str, at: int) -> bool:
    """Say whether a letter is at the start of a line or after a punctuation mark.

    "Plan A: cheap" and "A. B. Smith" are not options.
    """
    before = question[max(at - 16, 0) : at].rstrip(" \t(（")
    return not before or not before[-1].isalnum()


def asks_for_number(question: str) -> bool:
    """Say whether a question asks for a number or a formula.

    >>> asks_for_number("What is 12 * 7?"), asks_for_number("What is love?")
    (True, False)
    """
    if _PROGRAM.search(question):
        return False
    if any(found[1] is None or _NOTATION.search(found[1]) for found in _LATEX.finditer(question)):
        return True
    if _HOW_MANY.search(question):
        return _WANTS_TEXT_FIRST.match(question) is None
    if wants_text(question):
        return False
    if len(question) <= _LONGEST_ARITHMETIC and _ARITHMETIC.fullmatch(question.strip()):
        return True
    has_task = _TASK.search(question) is not None
    if _SUM.search(_DATE.sub(" ", question)):
        return has_task or question.rstrip().endswith(("?", "=", ".", "？", "。"))
    n_numbers = len(_NUMBER.findall(question))
    if not has_task or not n_numbers:
        return False
    return _MATHEMATICS.search(question) is not None or (
        n_numbers > 1 and _QUANTITY.search(question) is not None
    )
