"""Numbers as people write them in prose, in several languages.

    1,250.50   1.250,50   1 250,50   1'250.50   one number: the last of two separators is decimal
    1,250      a comma and three digits: 1250; any other comma is decimal (3,5)
    1.250.000  the same separator twice: thousands
    1.250      a point and three digits: 1.25, but 1250 next to a euro sign: euros have no third decimal
    2.1 million, 3 × 10^8, 3万, 1/2, 2 1/2, ½, twelve, zwölf, douze, doce, 十二

A currency, %, ° or up to three words after a number are its unit, which does not count.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

_SCALES = {
    "thousand": 3, "tausend": 3, "mille": 3, "mil": 3, "million": 6, "millions": 6, "millionen": 6, "mio": 6,
    "millón": 6, "millones": 6, "milione": 6, "milioni": 6, "milhão": 6, "milhões": 6, "billion": 9,
    "billions": 9,
    "milliarde": 9, "milliarden": 9, "mrd": 9, "milliard": 9, "milliards": 9, "miliardi": 9, "trillion": 12,
    "trillions": 12, "тысяч": 3, "миллион": 6, "миллиона": 6, "миллионов": 6,
    "万": 4, "萬": 4, "亿": 8, "億": 8,
}  # fmt: skip
_SPELLED = [
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty",
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"
    " siebzehn achtzehn neunzehn zwanzig",
    "zéro - deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept"
    " dix-huit dix-neuf vingt",
    "cero - dos tres cuatro cinco seis siete ocho nueve diez - doce trece catorce quince dieciséis"
    " diecisiete dieciocho diecinueve veinte",
    "- - - tre quattro cinque - sette - nove dieci undici dodici tredici quattordici quindici sedici"
    " diciassette diciotto diciannove venti",
    "- - dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezasseis dezassete"
    " dezoito dezanove vinte",
    "- один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
]
"""From 0 up; words that mean something else in another of these languages are left out."""

WORDS = {word: at for row in _SPELLED for at, word in enumerate(row.split()) if word != "-"}
_TENS = {
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100,
    "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70, "achtzig": 80, "neunzig": 90,
    "hundert": 100, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60, "cent": 100, "treinta": 30,
    "cuarenta": 40, "cincuenta": 50, "sesenta": 60, "cien": 100,
}  # fmt: skip
WORDS.update(_TENS)
_HAN = {sign: at for at, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}

_GROUPED = r"[0-9]{1,3}(?:[,.' ’\u00a0\u202f][0-9]{3}(?![0-9]))++"
_MIXED = r"[0-9]{1,3}\s[0-9]{1,2}/[0-9]{1,3}(?![0-9/])"
_POWER = r"\s?[×x*·]\s?10(?:\^\{?[-−]?[0-9]{1,3}\}?|[⁻⁰¹²³⁴-⁹]{1,4})"
_LATIN = "|".join(sorted((name for name in _SCALES if len(name) > 1), key=len, reverse=True))
_SCALE = rf"(?:{_LATIN})(?![^\W\d_])|[万萬亿億]"
NUMERAL = re.compile(
    rf"(?:(?<![\w)\]}}])[-+−])?(?:[$€£¥]\s?)?(?<![A-Za-z0-9])(?:{_MIXED}|{_GROUPED}|[0-9]++)(?:[.,][0-9]++)?"
    rf"(?:\s?/\s?[0-9]++|(?::[0-9]{{1,2}})++|{_POWER})?"
    rf"(?:\s?(?:%|€|£|(?:EUR|Euros?|euros?)\b|{_SCALE}))?",
)
"""A number in a text, or a time or ratio (3:30), with a sign, a currency, a power of ten and a scale."""

SPELLED = re.compile(
    rf"\b(?:{'|'.join(sorted((w for w, at in WORDS.items() if at > 1), key=len, reverse=True))})\b",
    re.IGNORECASE,
)
"""A number in letters, from two on: "one" is also a pronoun."""

_WHOLE = re.compile(
    r"([-+]?)\s?([$€£¥]|US\$|EUR|USD|CHF)?\s?(-?)([0-9](?:[0-9.,'’ ]*[0-9])?)(?:\s?/\s?([0-9]+))?"
    r"(?:\s?[×x*·]\s?10\^\{?(-?[0-9]{1,3})\}?)?"
    rf"(?:\s?({_SCALE})\.?)?\s?((?:%|€|£|\$|°\s?[^\W\d_]?|[^\W\d_]+(?:[ /-][^\W\d_]+){{0,2}})?\.?)",
    re.IGNORECASE,
)
_MIXED_WHOLE = re.compile(r"(-?)([0-9]{1,3})\s([0-9]{1,2})/([1-9][0-9]{0,2})(?:[\s-][^\W\d_]+){0,3}")
_LONGEST = 200
_EURO = re.compile(r"€|eur", re.IGNORECASE)
_DIGITS = re.compile(r"([0-9]{1,3}(?:([,.' ’])[0-9]{3}(?:\2[0-9]{3})*)?|[0-9]+)(?:([,.])([0-9]+))?")


def numeral(text: str) -> Fraction | None:
    """Return the value of a text that is a number, without its unit; None if it is not a number.

    >>> [str(numeral(text)) for text in ("€1.250", "1.250", "3,5 kg", "12 pears", "twelve", "10 to 20")]
    ['1250', '5/4', '7/2', '12', '12', 'None']
    """
    if len(text) > _LONGEST:
        return None
    mixed = _MIXED_WHOLE.fullmatch(text)
    if mixed is not None:
        part = int(mixed[2]) + Fraction(int(mixed[3]), int(mixed[4]))
        return -part if mixed[1] else part
    found = _WHOLE.fullmatch(text)
    if found is None:
        return _spelled(text)
    sign, currency, inner, digits, below, power, scale, unit = found.groups()
    value = _digits(digits, bool(_EURO.match(currency or "") or _EURO.match(unit)))
    if value is None or (below is not None and not int(below)):
        return None
    value = (
        value / int(below or 1) * Fraction(10) ** (int(power or 0) + _SCALES.get((scale or "").lower(), 0))
    )
    return -value if sign == "-" or inner else value


def numbers_in(text: str) -> tuple[Fraction, ...]:
    """Return the numbers in a text, sorted, each as often as it occurs.

    >>> [str(number) for number in numbers_in("In 1914, 12 men; twelve came back")]
    ['12', '12', '1914']
    """
    spans = [*NUMERAL.finditer(text), *SPELLED.finditer(text)]
    values = (numeral(unicodedata.normalize("NFKC", span[0]).replace("−", "-")) for span in spans)
    return tuple(sorted(value for value in values if value is not None))


def _digits(digits: str, is_euro: bool) -> Fraction | None:
    found = _DIGITS.fullmatch(digits)
    if found is None:
        return None
    whole, separator, point, places = found.groups()
    if separator == point is not None:  # 1.250.5
        return None
    if separator is not None and (whole.startswith("0") or (separator == "." and point is None)):
        is_single = whole.count(separator) == 1
        if is_single and (whole.startswith("0") or not is_euro) and point is None:
            whole, places = whole.split(separator)  # 0,125 and 1.250 are decimals
            separator = None
        elif whole.startswith("0"):
            return None
    if separator is not None:
        whole = whole.replace(separator, "")
    places = places or ""
    return Fraction(int(whole + places), 10 ** len(places))


def _spelled(text: str) -> Fraction | None:
    word, *unit = text.casefold().split(maxsplit=1)[:2] or [""]
    if word in WORDS and (not unit or re.fullmatch(r"[^\W\d_]+(?: [^\W\d_]+)?", unit[0])):
        return None if unit and unit[0].split()[0] in WORDS | _SCALES else Fraction(WORDS[word])
    tens, _, ones = word.partition("-")
    if not unit and 20 <= WORDS.get(tens, 0) < 100 and 0 < WORDS.get(ones, 0) < 10:  # twenty-one
        return Fraction(WORDS[tens] + WORDS[ones])
    han = re.fullmatch(
        r"(?:([一二三四五六七八九两])百零?)?(?:([一二三四五六七八九]?)(十))?([〇零一二三四五六七八九两兩]?)",
        text,
    )
    if han is None or not text:
        return None
    hundreds, tens, ten, ones = han.groups()
    n_tens = (_HAN[tens] if tens else 1) if ten else 0
    return Fraction(100 * _HAN.get(hundreds or "", 0) + 10 * n_tens + _HAN.get(ones, 0))
