"""What an answer means, independent of its notation: text -> form.

The plain rules know notation, not mathematics. In the order in which they apply:

    edges      $...$, \\(...\\), \\text{...}, \\boxed{...}, {...}, (...) without a comma, **...**, spaces,
               \\left, \\right and a final full stop do not count
    numbers    0.50 = .5 = 1/2 = \\frac12 = 5\\cdot10^{-1}, 1,234 = 1{,}234 = 1234, x = 5 is 5; exact, except
               that a decimal with six or more places and digits equals what rounds to it: 0.333333 = 1/3.
               A comma with a space beside it makes a list: 1, 234. In a chain of equations, and in a sum
               with its result, the last side counts: f(3) = 1/3 + 1/6 = 1/2 and 1/3 + 1/6 = 1/2 are 1/2
    units      %, a degree sign and a currency sign do not count: 50\\% is 50 and not 1/2, as in the grader
               of MATH. Calling it both would make 50 and 1/2 equal as soon as one reply has a %
    words      case and commas between them do not count; the case of choice letters does:
               (C) = C) = C, and c is different
    lists      by their elements under these rules; the order counts except between braces
    the rest   \\dfrac = \\frac, \\frac12 = \\frac{1}{2}, x^{2} = x^2, \\cdot = \\times = *, − = -, spaces

Nothing here raises or takes more than linear time, whatever the text: answers that are too long or too deeply
nested are compared as they are written.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


class Form(NamedTuple):
    """What the plain rules make of one answer."""

    key: Fraction | str
    """Answers with the same key are equal: the value of a number, else the tidied text."""

    latex: str
    """The answer without its wrapping, for a parser."""

    numbers: tuple[Fraction, ...] = ()
    """The value of a number, or the values of a list that has only numbers."""

    size: float = 0.0
    """A number's approximate value; infinite if it exceeds a float."""

    places: int = 0
    """How many decimal places a number was written with."""

    is_text: bool = False
    """Words, or too long or deep to be parsed as mathematics: equal only to the same key."""

    @property
    def is_open(self) -> bool:
        """Whether answers with other keys may be equal to it as mathematics, not only as numbers."""
        return isinstance(self.key, str) and not self.is_text


def normal_form(answer: str) -> Fraction | str:
    """Return the key of an answer under the plain rules.

    >>> normal_form(r"$\\dfrac{1}{2}$."), normal_form("(C)"), normal_form(r"x^{2} \\cdot 3")
    (Fraction(1, 2), 'C', 'x^2*3')
    """
    return form_of(answer).key


def is_formula(answer: str) -> bool:
    """Say whether an answer is more than a number, a letter or words, so that mathematics may be needed.

    >>> is_formula(r"\\sqrt{2}"), is_formula("(1, 2)"), is_formula(r"\\frac12"), is_formula("Paris, France")
    (True, True, False, False)
    """
    return form_of(answer).is_open


def plainly_equal(a: str, b: str) -> bool:
    """Say whether two answers are equal under the plain rules."""
    return bool(compare(form_of(a), form_of(b)))


def compare(a: Form, b: Form) -> bool | None:
    """Say whether two answers are equal, None if that needs mathematics."""
    if isinstance(a.key, str) or isinstance(b.key, str):
        return True if a.key == b.key else False if a.is_text or b.is_text else None
    # Comparing two floats takes a twentieth of the time of two fractions, and most are far apart.
    if not near(a.size, b.size):
        return False
    return a.key == b.key or _rounds_to(a.key, b) or _rounds_to(b.key, a)


def near(size: float, other: float) -> bool:
    """Say whether two numbers of these sizes may be equal."""
    return math.isclose(size, other, rel_tol=1e-5)


def form_of(answer: str) -> Form:
    """Return the form of an answer under the plain rules."""
    text = answer.strip()
    return _form(text) if len(text) <= _LONGEST else Form(text, text, is_text=True)


_LONGEST = 400
"""In characters. Longer answers, and deeper nested brackets, are compared as they are written."""

_DEEPEST = 12
_MOST_WRAPPERS = 8
_FINE = 6
"""The minimum number of decimal places and digits of a decimal that may be a rounded value."""

_SPELLINGS = str.maketrans(
    {
        "−": "-", "–": "-", "⁄": "/", "÷": "/", "×": r"\times ", "·": r"\cdot ", "°": r"^\circ ",
        "π": r"\pi ", "∞": r"\infty ", "√": r"\sqrt ", "≤": r"\le ", "≥": r"\ge ", "∪": r"\cup ",
        "½": r"\frac12 ", "²": "^2", "³": "^3", "％": "%", "~": " ",
    }
)  # fmt: skip
_TIGHT_COMMA = re.compile(r"(?<!\\)(?:\\!)*+,\s*+(?:\\!\s*+)++")
_SPACING = re.compile(r"(?:(?<!\\)\\(?:[,!;: ]|(?:quad|qquad|displaystyle)(?![A-Za-z]))|\s)++")
_SIZING = re.compile(r"\\(?:left|right)(?![A-Za-z])\s*+\.?+|\\[bB]igg?+[lr]?+(?![A-Za-z])")
_FRACTION = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_NAME = re.compile(
    r"(?<![A-Za-z\\])(pi|(?:arc)?(?:sin|cos|tan)|cot|sec|csc|log|ln|exp|max|min|gcd|lcm)(?![A-Za-z])"
)
_FENCES = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"))
_WRAPPER = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mbox|boxed|fbox)\s*+\{|\{|\((?=[^,;]*+$)"
)
_BRACKET = re.compile(r"\\.|[][(){}]", re.DOTALL)
_BRACKET_OR_MARK = re.compile(r"\\.|[][(){},=]", re.DOTALL)
_RELATION = re.compile(r"[,;<>!~:&]|==|\\(?:\\|[lg]eq?|ne|neq|approx|equiv|in|text|quad)(?![A-Za-z])")
_COMMAND, _LETTER = re.compile(r"\\[A-Za-z]++"), re.compile(r"[^\W\d_]")
_OPENING, _CLOSING = ("(", "[", "{", r"\{"), (")", "]", "}", r"\}")
_LIST = re.compile(r"(\\\{|[(\[])?(.*?)(\\\}|[)\]])?", re.DOTALL)
_SPACE = re.compile(r"(\\[A-Za-z]++ )(?=[A-Za-z])|((?<=[0-9]) (?=,?[0-9])|(?<=,) (?=[0-9]))| ")
_LEFT_SIDE = re.compile(r"(?:[A-Za-z]|\\[a-z]++)(?:_\{?[A-Za-z0-9]++\}?)?=")

_DECIMAL = r"([+-]?(?:(?:[0-9]{1,3}(?:[, ][0-9]{3})++|[0-9]++)(?:\.[0-9]*+)?|\.[0-9]++))"
_UNIT = r"(?:\\?%|percent|\^\\circ|\^\{\\circ\}|\\degree)?"
_POWER = r"(?:(?:[eE]|(?:\\times|\\cdot|\*)10\^)(?:\{([+-]?[0-9]{1,3})\}|([+-]?[0-9]{1,3})))?"
_NUMBER = re.compile(rf"(?:(-?)\\?[$€£])?{_DECIMAL}{_POWER}{_UNIT}")
_PART = rf"(?:\{{{_DECIMAL}\}}|([0-9]))"
_RATIO = re.compile(rf"(-?)(?:\\frac{_PART}{_PART}|{_DECIMAL}/{_DECIMAL}){_UNIT}")

_CHOICE = re.compile(r"([A-Z])[):]?")
_WORDS = re.compile(r"[^\W\d_]{3,}(?:(?:[ '’]|, ?)[^\W\d_]++)*|no", re.IGNORECASE)
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}+(?:[ ,]++[A-Za-z'’]{2,}+){2}")
_RESPELLINGS = (
    (re.compile(r"\\frac([0-9])([0-9])"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\sqrt([0-9])"), r"\\sqrt{\1}"),
    (re.compile(r"([_^])\{([A-Za-z0-9])\}"), r"\1\2"),
    (re.compile(r"\\(?:cdot|times)(?: |(?![A-Za-z]))"), "*"),
)


@lru_cache(maxsize=8192)
def _form(text: str) -> Form:
    latex = _tidy(text)
    if not latex or _depth(latex) > _DEEPEST:
        return Form(text, text, is_text=True)
    compact = _SPACE.sub(lambda match: match[1] or match[2] or "", latex)
    number = _number(compact)
    left_side = None if number else _LEFT_SIDE.match(compact)
    if left_side:
        number = _number(compact[left_side.end() :])
    if number:
        return number
    result = _result(latex)
    if result is not None:
        return _form(result)
    choice = _CHOICE.fullmatch(latex)
    if choice:
        return Form(choice[1], choice[1], is_text=True)
    if _WORDS.fullmatch(latex) or _PROSE.search(latex):
        return Form(latex.casefold(), latex, is_text=True)
    compact = compact.replace(" ,", ",").replace(", ", ",")
    for pattern, spelling in _RESPELLINGS:
        compact = pattern.sub(spelling, compact)
    return _list(compact) or Form(compact, latex)


def _tidy(text: str) -> str:
    """Return a text without its wrapping, in LaTeX notation, each gap one space wide."""
    text = _NAME.sub(r"\\\1 ", text.replace("√(", "sqrt(").translate(_SPELLINGS))
    text = _SPACING.sub(" ", _TIGHT_COMMA.sub(",", text.replace("{,}", ",")))
    text = _FRACTION.sub(r"\\frac", _SIZING.sub("", text))
    for _ in range(_MOST_WRAPPERS):
        text = text.strip()
        before = text
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1]
        for start, end in _FENCES:
            inside = text[len(start) : -len(end)]
            if text.startswith(start) and text.endswith(end) and start not in inside:
                text = inside
        wrapper = _WRAPPER.match(text)
        if wrapper and _closes_last(text, wrapper.end()):
            text = text[wrapper.end() : -1]
        if text == before:
            break
    return text.strip()


def _closes_last(text: str, start: int) -> bool:
    """Say whether the bracket that was opened just before `start` is closed by the last character."""
    depth = 1
    for match in _BRACKET.finditer(text, start):
        depth += (match[0] in _OPENING) - (match[0] in _CLOSING)
        if not depth:
            return match.end() == len(text)
    return False


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth += (match[0] in _OPENING) - (match[0] in _CLOSING)
        deepest = max(deepest, depth)
    return deepest


def _list(compact: str) -> Form | None:
    """Return the form of a list: its elements' forms in its brackets, sorted if the brackets are braces."""
    start, inside, end = _LIST.fullmatch(compact).groups("")  # type: ignore[union-attr]
    texts = _split(inside)
    if len(texts) < 2 or bool(start) != bool(end) or "=" in inside:
        return None
    elements = [_form(text.strip()) for text in texts]
    numbers = tuple(element.key for element in elements if isinstance(element.key, Fraction))
    if len(numbers) < len(elements):
        if not start:
            return None
        numbers = ()
    if start == r"\{":
        elements.sort(key=lambda element: str(element.key))
    key = ",".join(str(element.key) for element in elements)
    latex = ", ".join(element.latex for element in elements)
    return Form(start + key + end, start + latex + end, numbers)


def _result(latex: str) -> str | None:
    """Return the last side of a chain of equations, or of an equation whose left side has no letter."""
    if "=" not in latex or _RELATION.search(latex):
        return None
    *sides, last = _split(latex, "=") or [""]
    is_chain = len(sides) > 1 or (sides and not _LETTER.search(_COMMAND.sub("", sides[0])))
    return last.strip() or None if is_chain and all(side.strip() for side in sides) else None


def _split(text: str, separator: str = ",") -> list[str]:
    """Return the parts between separators outside brackets; nothing if a closing bracket was never opened."""
    texts, depth, begin = [], 0, 0
    for match in _BRACKET_OR_MARK.finditer(text):
        depth += (match[0] in _OPENING) - (match[0] in _CLOSING)
        if depth < 0:
            return []
        if match[0] == separator and not depth:
            texts.append(text[begin : match.start()])
            begin = match.end()
    return [*texts, text[begin:]]


def _number(compact: str) -> Form | None:
    """Return the form of a text that is a number, in a parser's notation."""
    plain = _NUMBER.fullmatch(compact)
    ratio = None if plain else _RATIO.fullmatch(compact)
    places = 0
    if plain:
        value, places = _decimal(plain[2])
        power = int(plain[3] or plain[4] or 0)
        value *= Fraction(10) ** power * (-1 if plain[1] else 1)
        places = max(0, places - power)
    elif ratio:
        (above, _), (below, _) = (_decimal(part) for part in ratio.groups()[1:] if part)
        if not below:
            return None
        value = above / below * (-1 if ratio[1] else 1)
    else:
        return None
    try:
        size = float(value)
    except OverflowError:
        size = math.inf if value > 0 else -math.inf
    return Form(value, _written(value, places), (value,), size, places)


def _decimal(digits: str) -> tuple[Fraction, int]:
    whole, _, places = digits.replace(",", "").replace(" ", "").partition(".")
    return Fraction(int(whole + places), 10 ** len(places)), len(places)


def _written(value: Fraction, places: int) -> str:
    sign, value = ("-", -value) if value < 0 else ("", value)
    if places:
        digits = str(int(value * 10**places)).rjust(places + 1, "0")
        return f"{sign}{digits[:-places]}.{digits[-places:]}"
    if value.denominator == 1:
        return f"{sign}{value}"
    return f"{sign}\\frac{{{value.numerator}}}{{{value.denominator}}}"


def _rounds_to(value: Fraction, decimal: Form) -> bool:
    return is_fine(decimal) and round(value, decimal.places) == decimal.key


def is_fine(decimal: Form) -> bool:
    """Say whether a number is a decimal that others may have been rounded to."""
    assert isinstance(decimal.key, Fraction)
    return decimal.places >= _FINE and abs(decimal.key) * 10**decimal.places >= 10 ** (_FINE - 1)


def is_longer(number: Form, places: int) -> bool:
    """Say whether rounding a number to this number of decimal places may change it."""
    assert isinstance(number.key, Fraction)
    return number.places > places or (not number.places and number.key.denominator > 1)


def scaled(number: Form, places: int) -> int:
    """Return a number times 10 to the power of `places`, rounded as `round` does.

    >>> scaled(form_of("2/3"), 3), scaled(form_of("0.0005"), 3), scaled(form_of("-0.0015"), 3)
    (667, 0, -2)
    """
    assert isinstance(number.key, Fraction)
    above, below = number.key.numerator * 10**places, number.key.denominator
    whole, rest = divmod(above, below)
    rounds_up = 2 * rest > below or (2 * rest == below and whole % 2 == 1)
    return int(whole + rounds_up)
