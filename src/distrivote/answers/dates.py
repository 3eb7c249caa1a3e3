"""Dates as people write them in prose: July 4, 1776; 4. Juli 1776; 4 de julio de 1776; 1776年7月4日."""

from __future__ import annotations

import re

_MONTHS = [
    "january february march april may june july august september october november december",
    "jan feb mar apr - jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
]
_MONTH = {name: at + 1 for row in _MONTHS for at, name in enumerate(row.split()) if name != "-"}
MONTHS = "|".join(sorted(_MONTH, key=len, reverse=True))
_DAY = r"([0-3]?[0-9])(?:st|nd|rd|th|er|\.|º)?"
DATE = re.compile(
    rf"\b(?:{_DAY}\s(?:of\s|de\s)?({MONTHS})\b\.?(?:,?\s(?:de\s|of\s|del\s)?([0-9]{{4}})\b)?"
    rf"|({MONTHS})\b\.?\s{_DAY}(?:,?\s([0-9]{{4}}))?\b)|([0-9]{{4}})年([0-9]{{1,2}})月([0-9]{{1,2}})[日号]",
    re.IGNORECASE,
)
"""A day of a month, with or without a year."""


def date(text: str) -> str | None:
    """Return a text that is a date as year-month-day, None if it is not a date.

    >>> date("July 4, 1776"), date("4. Juli 1776"), date("4 July"), date("1776")
    ('1776-07-04', '1776-07-04', '07-04', None)
    """
    found = DATE.fullmatch(text)
    if found is None:
        return None
    day, month, year, month_first, day_after, year_after, han_year, han_month, han_day = found.groups()
    name = month or month_first
    number = _MONTH[name.lower()] if name else int(han_month)
    parts = f"{number:02}-{int(day or day_after or han_day):02}"
    whole = year or year_after or han_year
    return parts if whole is None else f"{whole}-{parts}"
