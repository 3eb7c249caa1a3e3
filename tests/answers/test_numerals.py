"""Numbers and dates as people write them."""

from __future__ import annotations

import datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrivote.answers.dates import DATE, date
from distrivote.answers.numerals import NUMERAL, numbers_in, numeral
from strategies import MANY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("-12", -12),
        ("+12", 12),
        ("007", 7),
        ("1,250", 1250),
        ("1.250", Fraction(5, 4)),
        ("€1.250", 1250),
        ("1.250 €", 1250),
        ("1.250 Euro", 1250),
        ("EUR 1.250", 1250),
        ("€0.125", Fraction(1, 8)),
        ("0,125", Fraction(1, 8)),
        ("$1.250", Fraction(5, 4)),
        ("1.250.000", 1_250_000),
        ("1,250,000.5", Fraction(2_500_001, 2)),
        ("-$5", -5),
        ("$-5", -5),
        ("1.250,5", Fraction(2501, 2)),
        ("12,5", Fraction(25, 2)),
        ("1234,567", Fraction(1_234_567, 1000)),
        ("3/4", Fraction(3, 4)),
        ("3/0", None),
        ("1/2 cup", Fraction(1, 2)),
        ("1 1/2 cups", Fraction(3, 2)),
        ("5%", 5),
        ("20 °C", 20),
        ("12 km/h", 12),
        ("12 pears in total", 12),
        ("12 of the pears in total", None),
        ("1.2.3", None),
        ("1,2,3", None),
        ("12:30", None),
        ("", None),
        ("2.1 million", 2_100_000),
        ("3 Milliarden Euro", 3_000_000_000),
        ("1,5 Mio. €", 1_500_000),
        ("3万", 30_000),
        ("1.2亿人", 120_000_000),
        ("3 × 10^8 m/s", 300_000_000),
        ("2 x 10^-3", Fraction(1, 500)),
        ("five", 5),
        ("Zwölf", 12),
        ("ninety-nine", 99),
        ("hundred", 100),
        ("fifty thousand", None),
        ("five six", None),
        ("十", 10),
        ("十二", 12),
        ("二十", 20),
        ("三百零五", 305),
        ("两", 2),
        ("梨", None),
        ("elf pears", 11),
        ("x", None),
        ("12x34", None),
        ("9" * 300, None),
    ],
)
def test_a_text_is_a_number_or_not(text: str, expected: Fraction | int | None) -> None:
    assert numeral(text) == expected


@MANY
@given(
    st.integers(0, 10**9),
    st.integers(0, 99),
    st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", "."), (" ", "."), ("", "."), ("", ",")]),
    st.booleans(),
)
def test_every_way_to_separate_digits_is_read(
    whole: int, cents: int, signs: tuple[str, str], negative: bool
) -> None:
    thousands, point = signs
    text = f"{'-' if negative else ''}{whole:,}".replace(",", thousands) + f"{point}{cents:02}"
    value = (whole + Fraction(cents, 100)) * (-1 if negative else 1)
    assert numeral(text) == value
    found = NUMERAL.search(f"It costs {text} dollars.")
    assert found is not None
    assert found[0] == text


@MANY
@given(st.integers(1000, 10**9), st.sampled_from([",", " ", "'"]))
def test_whole_numbers_with_separators_are_read(whole: int, thousands: str) -> None:
    assert numeral(f"{whole:,}".replace(",", thousands)) == whole
    assert numeral(f"€{whole:,}".replace(",", ".")) == whole


@MANY
@given(st.text(max_size=30))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert numeral(text) is None or isinstance(numeral(text), Fraction)
    assert list(numbers_in(text)) == sorted(numbers_in(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in 1914", [1914]),
        ("5 + 7 = 12", [5, 7, 12]),
        ("H2O", []),
        ("none", []),
        ("two and 2", [2, 2]),
        ("one of us", []),
        ("−3 °C", [-3]),
        ("3-5", [3, 5]),
        ("v1.2", [2]),
        ("12 个梨", [12]),
    ],
)
def test_the_numbers_in_a_text(text: str, expected: list[int]) -> None:
    assert list(numbers_in(text)) == expected


MONTHS = {
    "{d} {m} {y}": "January February March April May June July August September October November December",
    "{m} {d}, {y}": "January February March April May June July August September October November December",
    "{d}. {m} {y}": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "{d} {m}  {y}": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "{d} de {m} de {y}": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre"
    " diciembre",
}


@MANY
@given(st.dates(datetime.date(1000, 1, 1)), st.sampled_from(sorted(MONTHS)))
def test_a_date_is_the_same_in_every_language(day: datetime.date, style: str) -> None:
    name = MONTHS[style].split()[day.month - 1]
    text = style.format(d=day.day, m=name, y=day.year).replace("  ", " ")
    assert date(text) == day.isoformat()
    found = DATE.search(f"It was {text}.")
    assert found is not None
    assert found[0] == text
    assert date(f"{day.year}年{day.month}月{day.day}日") == day.isoformat()


@pytest.mark.parametrize("text", ["1776", "July", "July 1776", "May", "12", "4/7/1776", "", "Juliet 4"])
def test_what_has_no_day_is_no_date(text: str) -> None:
    assert date(text) is None
