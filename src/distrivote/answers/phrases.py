"""The words and signs of several languages by which a chat reply shows what its answer is, for `short`.

Every repetition is possessive or bounded, so no input makes them backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from distrivote.answers.dates import DATE, MONTHS
from distrivote.answers.numerals import NUMERAL

ANSWERS = (
    "answer", "result", "solution", "antwort", "ergebnis", "lösung", "réponse", "résultat", "respuesta",
    "resultado", "risposta", "risultato", "resposta", "antwoord", "ответ", "wynik", "odpowiedź",
)  # fmt: skip
_ASIAN_ANSWERS = ("答案", "结果", "結果", "答え", "正解", "정답")
MARKS = (*ANSWERS, *_ASIAN_ANSWERS, "####")
_IS = "is|was|are|were|would be|ist|war|lautet|beträgt|sind|est|était|sont|es|era|son|è|sono|é|são|равен|это"
STATEMENT = re.compile(
    rf"\b(?:{'|'.join(ANSWERS)})\b(?: (?:final|finale|correcta|corretta|correta))?[\s*_]{{0,4}}"
    rf"(?:\([^()\n]{{0,40}}\)[\s*_]{{0,3}})?"
    rf"(?:(?:to|for|of|auf|à|a|di|de|van)\b[^.:\n]{{0,120}}?)?"
    rf"(?:[:：=][\s*_]{{0,4}}|\b(?:{_IS})\b(?:[\s*_]{{0,3}}[:：])?[\s*_]{{0,4}})"
    rf"|(?:{'|'.join(_ASIAN_ANSWERS)})[\s*_]{{0,3}}(?:是|为|為|は|은|는)?[\s*_]{{0,3}}[:：]?[\s*_]{{0,3}}"
    r"|^####[ \t]+",
    re.IGNORECASE | re.MULTILINE,
)
YES_OR_NO = re.compile(
    r"[\s*_]*+(yes|no|ja|nein|oui|non|sí|sì|sim|não|да|нет|はい|いいえ|是的|不是|不|对|네|아니요)"
    r"[*_]{0,3}(?:[,.;:，。、]|\s[—–-]\s)",
    re.IGNORECASE,
)
BOLD = re.compile(r"\*\*(?!\s)([^*\n]{1,200}?)(?<!\s)\*\*|__(?!\s)([^_\n]{1,200}?)(?<!\s)__")
COPULA = re.compile(
    rf"\b(?:{_IS}|called|named|(?:comes|amounts|adds up) to|heißt|s'appelle|se llama|si chiama|equals)\b"
    r"[\s:]{1,3}"
    r"|\b(?:it|that|this|he|she|c)['’](?:s|est)\s|\s—\s(?=[А-ЯЁ])|[是为為は](?!的)[：:]?",
    re.IGNORECASE,
)
DEFINITE = re.compile(r"(?:the|der|die|das|le|la|les|el|los|las|il|lo|o|a|os|as)\s|l['’]", re.IGNORECASE)
THE = re.compile(r"(?:the|der|die|das|le|la|les|el|los|las|il|lo)\s|l['’]", re.IGNORECASE)
DESCRIBING = re.compile(
    r"\b(?:of|in|on|by|von|vom|de|du|des|del|di|do|da|most|least|only|first|second|third|last|erste[rn]?|einzige"
    r"|plus|más|più|mais|premier|primer[oa]?|primeir[oa])\b|\bd['’]|\w(?:est|ste|sten|ster)\b|[的の]",
    re.IGNORECASE,
)
PRONOUN = re.compile(
    r"(?:it|he|she|they|this|these|that|those|there|here|es|er|sie|dies|dort|il|elle|ils|elles|c|cela|ello"
    r"|está|tiene|si|ha|ele|ela|eles|他|她|它|这|那)(?:\b|['’])|[它他她这那]",
    re.IGNORECASE,
)
CLOSER = re.compile(
    r"(?:please )?(?:let me know|feel free|i hope|hope (?:this|that)|if you (?:have|need|want|would)"
    r"|lass mich|falls du|wenn (?:du|sie)|ich hoffe|n['’]hésite|si (?:vous|tu|tienes|necesitas)|espero"
    r"|j['’]espère|如果|希望)",
    re.IGNORECASE,
)
NOTHING = re.compile(
    r"(?:hello|hi|hey|thanks|thank you|you['’]re welcome|sure|sorry|i['’]m (?:sorry|not sure|unable)"
    r"|i (?:don['’]t|do not|can['’]t|cannot|am (?:sorry|not sure|unable))|hallo|danke|gern|tut mir|ich weiß"
    r"|bonjour|merci|désolé|je ne|hola|gracias|lo siento|no lo sé|你好|您好|谢谢|抱歉|对不起|我不知道)(?!\w)",
    re.IGNORECASE,
)
"""The beginning of a line that greets, thanks or says that there is no answer."""

MADE_BY = re.compile(
    r"\b(?:is|was|were|are)\s(?:written|invented|discovered|painted|composed|founded|created|developed|directed|designed|built|won"
    r"|made|led)\sby\s(?=[^\W\d_])",
    re.IGNORECASE,
)
ASIDE = re.compile(
    r",?\s(?:because|since|weil|denn|car|porque)\b|,\s(?:at|with|after|which|where|who)\s", re.I
)
WORD = re.compile(r"[^\W\d_]{2,}")
AMOUNTS = re.compile(f"{DATE.pattern}|{NUMERAL.pattern}", re.IGNORECASE)
AMOUNT = re.compile(
    rf"(?:(?:about|approximately|around|roughly|exactly|a total of|etwa|rund|insgesamt|environ|unos)\s)?"
    r"[*_$\\(]{0,4}"
    rf"({DATE.pattern}|{NUMERAL.pattern})",
    re.IGNORECASE,
)
EQUALS = re.compile(r"[=≈]\s*+(?:[^=≈>\n]{0,40}>>)?([^=≈\n]{1,80})$")
"""What follows the last equals sign; some models write a sum as 5 + 7 = <<5+7=12>>12."""
_POINT = r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bvs\.)(?<![A-Z]\.\s[A-Z]\.)"
"""The end of a sentence, and not of a title or an initial."""

SENTENCE_END = re.compile(
    rf"{_POINT}[\"'”»)*_]{{0,3}}\s++(?=\S)(?!(?:{MONTHS})\b|[A-Z]\.\s)|(?<=[。！？])|\n++", re.IGNORECASE
)
STEP = re.compile(r"(?:step|schritt|étape|paso|passo)\s*\d+|\d+[.)]", re.IGNORECASE)
ENDED = re.compile(r"(?:[*_`\"'”»)$]|[^\S\n])*+(?:[.!?](?:\s|$)|[。！？\n])")
STOP = re.compile(
    rf"[.!?]{_POINT}(?=\s|\*|$)(?!\s[A-Z]\.\s)|[。！？]"
    r"|,?\s(?:because|since|which|who|where|weil|denn|wobei|parce|puisque|car|porque|ya que|perché|poiché)\b"
    r"|,\s(?:not|nicht|pas|que|qui|che|dont|wo|onde|donde|und zwar)\s"
    r"|[，,]\s?(?:因为|因為)|(?<=[^\W\d_])\s\(",
    re.IGNORECASE,
)
BESIDE = re.compile(
    r"\b(?:for|per|in|within|at|from|out of|(?<!total )of|für|pro|von|aus|pour|par|por|de|en)"
    r"\s(?:the\s|all\s|each\s|every\s|a\s|about\s|only\s)?$",
    re.IGNORECASE,
)
"""Words before a number that is not the value of a sentence: $64 for 16 glasses."""

AND_AMOUNT = re.compile(r"(?<![\w.,])[0-9]+\s[^\W\d_]+,?\s(?:and|und|et|y|e)\s$")
CONNECTIVE = re.compile(r"(?:so|therefore|thus|hence|then|now|also|daher|somit|donc|ainsi|entonces)\b", re.I)
APPOSITION = re.compile(r",\s(?=[^\W\d_])")
JOINED = re.compile(r",.*,|\s(?:and|or|und|oder|et|ou|y|o|e)\s", re.DOTALL)
POLITE = re.compile(r"(?:です|でした|だ|である)$")


def last_match(
    pattern: re.Pattern[str], marks: Sequence[str], text: str, start: int, end: int
) -> re.Match[str] | None:
    """Return the last match of a pattern that begins with one of the marks, which are in lower case.

    Searching for the marks first is ten times as fast as searching for the pattern.
    """
    small = text.lower()
    if len(small) != len(text):  # a few capital letters become two characters in lower case
        small = text
    places = []
    for mark in marks:
        at = small.find(mark, start, end)
        while at >= 0:
            places.append(at)
            at = small.find(mark, at + 1, end)
    found = (pattern.match(text, at, end) for at in sorted(places, reverse=True))
    return next((match for match in found if match is not None), None)
