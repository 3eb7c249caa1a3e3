"""Built-in notes: the same everywhere, varied, and their facts are those that an independent reader finds."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from distrivote.answers.structured.parse import loaded
from distrivote.benchmarks import notes
from distrivote.errors import InputError
from distrivote.problem import Problem

NUMBERS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
DAY = r"\d+ [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d+, \d{4}|[A-Z][a-z]+, \d+ [A-Z][a-z]{2} \d{4}|\d\d\.\d\d\.\d{4}"
FORMATS = ("%d %B %Y", "%B %d, %Y", "%A, %d %b %Y", "%d.%m.%Y")


def on(text: str) -> date:
    for form in FORMATS:
        try:
            return datetime.strptime(text, form).date()
        except ValueError:
            continue
    pytest.fail(f"nobody taught the test to read {text!r}")


def at(text: str) -> str:
    """Return a time of day as 24 hours."""
    if match := re.fullmatch(r"(\d+)(?::(\d\d))? (am|pm)", text):
        hour, minute, half = int(match[1]), int(match[2] or 0), match[3]
        late = half == "pm"
    else:
        match = re.fullmatch(
            r"(?:(quarter past|half past|quarter to) )?(\w+)(?: o'clock)? in the (\w+)", text
        )
        assert match is not None, text
        minute = {None: 0, "quarter past": 15, "half past": 30, "quarter to": -15}[match[1]]
        hour, late = NUMBERS.index(match[2]), match[3] != "morning"
        if minute < 0 and hour == 12 and match[3] == "morning":
            return "11:45"
        if minute < 0 and hour in (1, 12):  # a quarter to one is before one
            hour, minute, late = 12 if hour == 1 else 11, 45, hour == 1
    whole = (hour % 12 + 12 * late) * 60 + minute
    return f"{whole // 60:02d}:{whole % 60:02d}"


def number(text: str) -> int:
    return 12 if text == "a dozen" else NUMBERS.index(text) if text in NUMBERS else int(text)


def until(text: str, start: date) -> str:
    if match := re.search(r"within (\d+) days", text):
        return (start + timedelta(days=int(match[1]))).isoformat()
    return on(re.search(rf"by ({DAY})", text)[1]).isoformat()  # type: ignore[index]


def receipt(text: str) -> dict[str, Any]:
    shop, when, *_ = text.split("\n")
    items = re.findall(r"^(\d+) x (.+)  [\d,.]+$", text, re.MULTILINE)
    total = float(re.search(r"TOTAL  ([\d,.]+)", text)[1].replace(",", ""))  # type: ignore[index]
    prices = re.findall(r"^(?:\d+ x .+|Discount)  (-?[\d,.]+)$", text, re.MULTILINE)
    assert sum(round(float(price.replace(",", "")) * 100) for price in prices) == round(total * 100)
    return {
        "shop": shop,
        "date": on(when.split("  ")[0]).isoformat(),
        "items": [{"name": name, "quantity": int(n)} for n, name in items],
        "total": total,
        "payment": "card" if "Card ending" in text else "cash",
    }


def order(text: str) -> dict[str, Any]:
    sent, body, *_ = text.split("\n")
    wanted = re.search(r"order (.+?)\. Please deliver to (.+?, \w+), ", body)
    assert wanted is not None
    items = {
        name: number(n)
        for n, name in re.findall(r"(a dozen|\w+) packs of ([a-z ]+?)(?=,| and |$)", wanted[1])
    }
    if match := re.search(r"make that (.+) packs of (.+)\.", text):
        items[match[2]] = number(match[1])
    return {
        "customer": text.rpartition("Best wishes, ")[2],
        "items": [{"name": name, "quantity": n} for name, n in items.items()],
        "address": wanted[2],
        "deliver_by": until(body, on(sent.removeprefix("Sent: "))),
        "gift": "present" in text,
    }


def meeting(text: str) -> dict[str, Any]:
    match = re.fullmatch(
        rf"(.+): ({DAY}), (.+), (until|for) (.+), in (.+)\.\nWith (.+)\.(?:\nUpdate: (.+) can't come, (.+)"
        r" takes the place\.)?",
        text,
    )
    assert match is not None, text
    start = at(match[3])
    minutes = int(start[:2]) * 60 + int(start[3:])
    last = minutes + int(match[5].split()[0]) if match[4] == "for" else None
    people = {name for name in re.split(r", | and ", match[7]) if name != match[8]}
    return {
        "title": match[1],
        "date": on(match[2]).isoformat(),
        "start": start,
        "end": at(match[5]) if last is None else f"{last // 60:02d}:{last % 60:02d}",
        "place": match[6],
        "people": sorted(people | ({match[9]} if match[9] else set())),
    }


def invoice(text: str) -> dict[str, Any]:
    match = re.match(rf"Invoice (\S+) to (.+?), ({DAY})\n", text)
    assert match is not None, text
    net, vat, due = (float(each.replace(",", "")) for each in re.findall(r": [€£$]([\d,.]+)", text))
    assert net + vat == due
    return {
        "number": match[1],
        "customer": match[2],
        "amount": due,
        "currency": {"€": "EUR", "£": "GBP", "$": "USD"}[re.search("[€£$]", text)[0]],  # type: ignore[index]
        "due": until(text, on(match[3])),
        "paid": "RECEIVED" in text,
    }


def booking(text: str) -> dict[str, Any]:
    who, rest = re.match(r"Booking for (.+?): (.+)\.\n", text).groups()  # type: ignore[union-attr]
    first, *second = (on(each) for each in re.findall(DAY, rest))
    last = second[0] if second else first + timedelta(days=number(re.match(r"(\w+) nights? from", rest)[1]))  # type: ignore[index]
    if match := re.search(r"stay (\w+) more", text):
        last += timedelta(days=number(match[1]))
    children = re.search(r"(\w+) (?:child|children)\b", rest)
    return {
        "guest": who,
        "arrival": first.isoformat(),
        "departure": last.isoformat(),
        "adults": number(re.search(r"(\w+) adults?\b", rest)[1]),  # type: ignore[index]
        "children": number(children[1]) if children else 0,
        "breakfast": "With breakfast" in text,
    }


def call(text: str) -> dict[str, Any]:
    match = re.match(
        r"Message, (\w+), (.+)\n(.+?) from (.+) called about the (\w+)\. Please call back"
        rf" (?:tomorrow|on ({DAY})) at (.+?)\. ",
        text,
    )
    assert match is not None, text
    taken = on(match[2])
    assert DAYS[taken.weekday()] == match[1]
    phone = re.search(r"number is ([\d ]+)\.", text)
    return {
        "caller": match[3],
        "company": match[4],
        "phone": phone[1] if phone else None,
        "call_back_on": (on(match[6]) if match[6] else taken + timedelta(days=1)).isoformat(),
        "call_back_at": at(match[7]),
        "about": match[5],
    }


READERS = {
    "shop": receipt, "customer": order, "title": meeting, "number": invoice, "guest": booking, "caller": call,
}  # fmt: skip
"""The first key that is asked for -> the reader of that kind of note."""


def parts(problem: Problem) -> tuple[str, list[str]]:
    """Return the note of a question, and the keys that it asks for."""
    match = re.fullmatch(
        r"Read this note\.\n\n(.+)\n\nReturn one JSON object with these keys:\n(.+)\n\nReply with the JSON"
        r" object only, on one line\.",
        problem.question,
        re.DOTALL,
    )
    assert match is not None, problem.question
    return match[1], re.findall(r"^- (\w+): \S", match[2], re.MULTILINE)


@pytest.mark.parametrize("seed", [0, 1, 2026])
def test_an_independent_reader_finds_the_same_facts(seed: int) -> None:
    for problem in notes.problems(seed, 400):
        text, keys = parts(problem)
        assert problem.answer is not None
        answer = loaded(problem.answer)
        assert list(answer) == keys
        assert answer == READERS[keys[0]](text), problem.question


def test_every_kind_comes_up_about_equally_often() -> None:
    # A fixed seed: six counts of 1200 around 200, within five standard deviations (12.9 each).
    counts = Counter(parts(problem)[1][0] for problem in notes.problems(0, 1200))
    assert set(counts) == set(READERS)
    assert all(abs(n - 200) < 65 for n in counts.values()), counts


def test_the_same_seed_makes_the_same_notes_on_every_machine() -> None:
    problems = notes.problems(0, 40)
    text = "\n".join(f"{p.id} {p.question} {p.answer}" for p in problems)
    assert hashlib.sha256(text.encode()).hexdigest() == CHECKSUM
    assert (problems[0].id, json.loads(problems[0].answer or "")) == PINNED


def test_a_larger_size_only_adds() -> None:
    assert notes.problems(0, 100)[:40] == notes.problems(0, 40)
    questions = [{problem.question for problem in notes.problems(seed, 50)} for seed in (0, 1)]
    assert not questions[0] & questions[1]


def test_any_size_gives_notes_that_differ_and_are_put_plainly() -> None:
    problems = notes.problems(3, 2000)
    assert len({problem.id for problem in problems}) == len({p.question for p in problems}) == 2000
    assert {problem.template for problem in problems} == {"plain"}
    with pytest.raises(InputError, match="size is 0"):
        notes.problems(0, 0)


PINNED = (
    "notes-0001",
    {
        "caller": "Omar Ito",
        "company": "Cedar & Sons",
        "phone": "523 8054",
        "call_back_on": "2027-01-15",
        "call_back_at": "12:15",
        "about": "delivery",
    },
)
CHECKSUM = "a62d6acd81146f685d10ddb37b4fa718d38c8a1fe42adb241e2daf66ee74ea90"
