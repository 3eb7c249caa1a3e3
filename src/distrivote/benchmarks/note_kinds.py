"""The kinds of notes: each draws facts and writes them as a person would. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

from distrivote.benchmarks import note_words as words
from distrivote.benchmarks.draws import Draws

_TEXT = "text, as in the note"
_PERSON = "full name"
_DATE = "date as YYYY-MM-DD"
_TIME = "time as HH:MM, 24 hours"
_NUMBER = "number"
_FLAG = "true or false"
_ITEMS = 'list of {"name": text, "quantity": number}, in the order of the note'


class Field(NamedTuple):
    """One key of the object that is asked for."""

    key: str
    form: str
    """What the question says about the value."""

    value: Any


class Note(NamedTuple):
    """A note and the facts in it."""

    text: str
    fields: tuple[Field, ...]


def _receipt(draws: Draws) -> Note:
    shop, on, at = draws.pick(words.SHOPS), words.day(draws), draws.between(9 * 60, 20 * 60 - 1)
    items = [(name, draws.between(1, 6)) for name in words.some(draws, words.GOODS, draws.between(2, 4))]
    prices = [quantity * draws.between(45, 899) for _, quantity in items]
    subtotal = sum(prices)
    less = draws.between(1, 9) * 10 if draws.between(1, 2) == 1 else 0
    lines = [f"{n} x {name}  {words.money(price)}" for (name, n), price in zip(items, prices, strict=True)]
    if less:
        lines += [f"Subtotal  {words.money(subtotal)}", f"Discount  -{words.money(less)}"]
    total = subtotal - less
    by_card = draws.between(1, 2) == 1
    given = -(-total // 1000) * 1000
    lines.append(f"TOTAL  {words.money(total)}")
    lines.append(
        f"Card ending {draws.between(1000, 9999)}"
        if by_card
        else f"Given  {words.money(given)}\nChange  {words.money(given - total)}"
    )
    text = "\n".join([shop, f"{words.spelled_day(draws, on)}  {words.clock(at)}", *lines])
    return Note(
        text,
        (
            Field("shop", _TEXT, shop),
            Field("date", _DATE, on.isoformat()),
            Field("items", _ITEMS, _listed(items)),
            Field("total", _NUMBER, words.amount(total)),
            Field("payment", '"card" or "cash"', "card" if by_card else "cash"),
        ),
    )


def _order(draws: Draws) -> Note:
    customer, sent = words.person(draws), words.day(draws)
    address = f"{draws.between(1, 99)} {draws.pick(words.STREETS)}, {draws.pick(words.TOWNS)}"
    items = [(name, draws.between(2, 12)) for name in words.some(draws, words.GOODS, draws.between(2, 4))]
    wanted = words.joined([f"{words.spelled_number(draws, n)} packs of {name}" for name, n in items])
    until, deadline = _later(draws, sent)
    gift = draws.between(1, 2) == 1
    text = [
        f"Sent: {words.spelled_day(draws, sent)}",
        f"Hello, I would like to order {wanted}. Please deliver to {address}, {deadline}.",
        "It is a present, so no price tags please." if gift else "It is for our own office.",
    ]
    if draws.between(1, 3) == 1:
        place = draws.between(0, len(items) - 1)
        name, before = items[place]
        items[place] = (name, before + draws.between(1, 4))
        said = words.spelled_number(draws, items[place][1])
        text.append(f"PS: On second thought, make that {said} packs of {name}.")
    text.append(f"Best wishes, {customer}")
    return Note(
        "\n".join(text),
        (
            Field("customer", _PERSON, customer),
            Field("items", _ITEMS, _listed(items)),
            Field("address", _TEXT, address),
            Field("deliver_by", _DATE, until.isoformat()),
            Field("gift", _FLAG, gift),
        ),
    )


def _meeting(draws: Draws) -> Note:
    title = draws.pick(
        ("Budget review", "Garden planning", "Project kick-off", "Team lunch", "Website check")
    )
    place = draws.pick(("Cafe Lumen", "Room 4.12", "Room B", "the library", "the old mill"))
    on, start = words.day(draws), draws.between(8 * 4, 18 * 4) * 15
    length = draws.pick((30, 45, 60, 90, 120))
    *names, other = words.people(draws, draws.between(3, 4))
    begins = words.spelled_time(draws, start)
    ends = (
        f"until {words.spelled_time(draws, start + length)}"
        if draws.between(1, 2) == 1
        else f"for {length} minutes"
    )
    text = [
        f"{title}: {words.spelled_day(draws, on)}, {begins}, {ends}, in {place}.",
        f"With {words.joined(names)}.",
    ]
    if draws.between(1, 3) == 1:
        gone = draws.between(0, len(names) - 1)
        text.append(f"Update: {names[gone]} can't come, {other} takes the place.")
        names[gone] = other
    return Note(
        "\n".join(text),
        (
            Field("title", _TEXT, title),
            Field("date", _DATE, on.isoformat()),
            Field("start", _TIME, words.clock(start)),
            Field("end", _TIME, words.clock(start + length)),
            Field("place", _TEXT, place),
            Field("people", "list of the full names of those who come, in alphabetical order", sorted(names)),
        ),
    )


def _invoice(draws: Draws) -> Note:
    number = f"{draws.pick('ABKRS')}{draws.between(100, 999)}-{draws.between(10, 99)}"
    customer, written = draws.pick(words.COMPANIES), words.day(draws)
    net = draws.between(200, 40_000) * 25
    vat = net // 5
    currency, sign = draws.pick((("EUR", "€"), ("GBP", "£"), ("USD", "$")))
    due, deadline = _later(draws, written)
    paid = draws.between(1, 3) == 1
    text = [
        f"Invoice {number} to {customer}, {words.spelled_day(draws, written)}",
        f"Work as agreed: {sign}{words.money(net)}",
        f"VAT 20%: {sign}{words.money(vat)}",
        f"Amount due: {sign}{words.money(net + vat)}",
        f"Please pay {deadline}.",
        "Stamped: RECEIVED WITH THANKS"
        if paid
        else f"Reminder sent to {words.person(draws)}, no money so far.",
    ]
    return Note(
        "\n".join(text),
        (
            Field("number", _TEXT, number),
            Field("customer", _TEXT, customer),
            Field("amount", "number, with VAT", words.amount(net + vat)),
            Field("currency", "code of three letters", currency),
            Field("due", _DATE, due.isoformat()),
            Field("paid", _FLAG, paid),
        ),
    )


def _booking(draws: Draws) -> Note:
    guest, arrival, nights = words.person(draws), words.day(draws), draws.between(1, 9)
    leaves = arrival + timedelta(days=nights)
    adults, children = draws.between(1, 4), draws.between(0, 3)
    breakfast = draws.between(1, 2) == 1
    stay = (
        f"{words.spelled_number(draws, nights)} {'night' if nights == 1 else 'nights'} from"
        f" {words.spelled_day(draws, arrival)}"
        if draws.between(1, 2) == 1
        else f"{words.spelled_day(draws, arrival)} to {words.spelled_day(draws, leaves)}"
    )
    party = f"{words.spelled_number(draws, adults)} {'adult' if adults == 1 else 'adults'}"
    if children:
        party += f" and {words.spelled_number(draws, children)} {'child' if children == 1 else 'children'}"
    text = [
        f"Booking for {guest}: {stay}, {party}.",
        "With breakfast." if breakfast else "They bring their own food and want no breakfast.",
    ]
    if draws.between(1, 3) == 1:
        nights = draws.between(1, 3)
        leaves += timedelta(days=nights)
        more = f"{words.spelled_number(draws, nights)} more {'night' if nights == 1 else 'nights'}"
        text.append(f"Called again: they stay {more}.")
    return Note(
        "\n".join(text),
        (
            Field("guest", _PERSON, guest),
            Field("arrival", _DATE, arrival.isoformat()),
            Field("departure", _DATE, leaves.isoformat()),
            Field("adults", _NUMBER, adults),
            Field("children", _NUMBER, children),
            Field("breakfast", _FLAG, breakfast),
        ),
    )


def _call(draws: Draws) -> Note:
    caller, company, taken = words.person(draws), draws.pick(words.COMPANIES), words.day(draws)
    digits = f"{draws.between(200, 999)} {draws.between(1000, 9999)}"
    topic = draws.pick(("contract", "delivery", "invoice", "repair"))
    at = draws.between(8 * 4, 17 * 4) * 15
    has_number = draws.between(1, 3) > 1
    is_next = draws.between(1, 3) == 1
    back = taken + timedelta(days=1 if is_next else draws.between(2, 9))
    when = "tomorrow" if is_next else f"on {words.spelled_day(draws, back)}"
    text = (
        f"Message, {words.weekday(taken)}, {words.dated(taken)}\n"
        f"{caller} from {company} called about the {topic}. Please call back {when} at"
        f" {words.spelled_time(draws, at)}."
        + (f" The number is {digits}." if has_number else " You have the number, I was told.")
    )
    return Note(
        text,
        (
            Field("caller", _PERSON, caller),
            Field("company", _TEXT, company),
            Field("phone", "text, as in the note; null if it is not there", digits if has_number else None),
            Field("call_back_on", _DATE, back.isoformat()),
            Field("call_back_at", _TIME, words.clock(at)),
            Field("about", '"contract", "delivery", "invoice" or "repair"', topic),
        ),
    )


def _later(draws: Draws, start: date) -> tuple[date, str]:
    """Return a later day, and how a note that is dated `start` asks for something until then."""
    if draws.between(1, 4) == 1:
        days = draws.pick((3, 5, 7, 10, 14))
        return start + timedelta(days=days), f"within {days} days"
    until = start + timedelta(days=draws.between(2, 40))
    return until, f"by {words.spelled_day(draws, until)}"


def _listed(items: list[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"name": name, "quantity": quantity} for name, quantity in items]


KINDS: tuple[Callable[[Draws], Note], ...] = (_receipt, _order, _meeting, _invoice, _booking, _call)
