"""What notes are written with: names and things, and the ways in which people write dates, times and numbers.

Every way of writing a value takes the value and draws how it is written. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from distrivote.benchmarks.draws import Draws

_FIRST = (
    "Aisha", "Ben", "Clara", "David", "Emma", "Felix", "Hugo", "Ines", "Jonas", "Julia", "Kofi", "Lena",
    "Leo", "Mei", "Nora", "Omar", "Paul", "Rosa", "Tariq", "Zoe",
)  # fmt: skip
_LAST = (
    "Abbott", "Berg", "Costa", "Dahl", "Evans", "Fischer", "Grant", "Haddad", "Ito", "Jensen", "Keller",
    "Lopez", "Marin", "Novak", "Okoro", "Petrov", "Quinn", "Rossi", "Singh", "Weiss",
)  # fmt: skip
SHOPS = (
    "Green Corner Market", "Harbour Books", "Mill Lane Bakery", "North Star Pharmacy", "Old Town Hardware",
    "Papaya Fruit & Veg", "Station Kiosk", "The Paper Shop",
)  # fmt: skip
COMPANIES = (
    "Alder Logistics", "Bluefin Travel", "Cedar & Sons", "Delta Print", "Ember Design",
    "Foxglove Garden Centre", "Granite Legal", "Hillside Clinic",
)  # fmt: skip
GOODS = (
    "apple juice", "batteries", "candles", "coffee beans", "dish soap", "eggs", "envelopes", "green tea",
    "light bulbs", "notebooks", "oat milk", "olive oil", "pencils", "rye bread", "sunflower seeds",
    "tomatoes",
)  # fmt: skip
STREETS = ("Mill Road", "Station Street", "Harbour Lane", "Church Hill", "Park Avenue", "Bridge Street")
TOWNS = ("Ashford", "Brampton", "Corby", "Dunmore", "Elmsworth", "Farley")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip


def person(draws: Draws) -> str:
    """Return a first and a last name."""
    return f"{draws.pick(_FIRST)} {draws.pick(_LAST)}"


def some(draws: Draws, items: Sequence[str], n: int) -> list[str]:
    """Return n items that differ."""
    return draws.shuffled(items)[:n]


def people(draws: Draws, n: int) -> list[str]:
    """Return n names without a first or last name in common."""
    return [
        f"{first} {last}" for first, last in zip(some(draws, _FIRST, n), some(draws, _LAST, n), strict=True)
    ]


def day(draws: Draws) -> date:
    """Return a day of 2026 or 2027."""
    return date(2026, 1, 1) + timedelta(days=draws.between(0, 729))


def spelled_day(draws: Draws, value: date) -> str:
    """Return a date as people write it; the month is a word or comes after the day."""
    month = _MONTHS[value.month - 1]
    match draws.between(1, 4):
        case 1:
            return dated(value)
        case 2:
            return f"{month} {value.day}, {value.year}"
        case 3:
            return f"{_DAYS[value.weekday()]}, {value.day} {month[:3]} {value.year}"
    return f"{value.day:02d}.{value.month:02d}.{value.year}"


def dated(value: date) -> str:
    """Return a date with its month as a word.

    >>> dated(date(2026, 3, 9))
    '9 March 2026'
    """
    return f"{value.day} {_MONTHS[value.month - 1]} {value.year}"


def weekday(value: date) -> str:
    """Return the name of the day of the week."""
    return _DAYS[value.weekday()]


def clock(minutes: int) -> str:
    """Return a time of day, in minutes since midnight, as 24 hours.

    >>> clock(14 * 60 + 5)
    '14:05'
    """
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def spelled_time(draws: Draws, minutes: int) -> str:
    """Return a time of day as people say it.

    >>> [spelled_time(Draws(seed), 14 * 60 + 45) for seed in range(2)]
    ['2:45 pm', 'quarter to three in the afternoon']
    """
    hour, minute = divmod(minutes, 60)
    twelve = hour % 12 or 12
    half = "am" if hour < 12 else "pm"
    part = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    if draws.between(1, 4) > 1 or minute % 15:
        return f"{twelve}:{minute:02d} {half}" if minute else f"{twelve} {half}"
    said = _NUMBERS[twelve]
    match minute:
        case 0:
            return f"{said} o'clock {part}"
        case 15:
            return f"quarter past {said} {part}"
        case 30:
            return f"half past {said} {part}"
    return f"quarter to {_NUMBERS[twelve % 12 + 1]} {part}"


def spelled_number(draws: Draws, value: int) -> str:
    """Return a small number as digits or as a word."""
    if value == 12 and draws.between(1, 2) == 1:
        return "a dozen"
    return _NUMBERS[value] if value < len(_NUMBERS) and draws.between(1, 3) > 1 else str(value)


def money(cents: int) -> str:
    """Return an amount with two places.

    >>> money(124950)
    '1,249.50'
    """
    return f"{cents // 100:,}.{cents % 100:02d}"


def amount(cents: int) -> float | int:
    """Return an amount as the number that JSON has for it.

    >>> amount(124950), amount(1200)
    (1249.5, 12)
    """
    return cents / 100 if cents % 100 else cents // 100


def joined(items: Sequence[str]) -> str:
    """Return items as an enumeration.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
