"""Ways to spoil a file or an answer: bytes changed, values replaced, words put together at random."""

from __future__ import annotations

import copy
import json
import math
import random
from pathlib import Path
from typing import Any

_BYTES = (b"\0", b"\xff", b"\xc3\x28", b'"', b"\\", b"{", b"[", b"]", b"}", b",", b"\n", b"\r", b"e", b"-")
_WORDS = (
    b"null", b"NaN", b"-Infinity", b"1e999", b"9" * 400, b'"\\ud800"', b"{}", b"[[[[[[", b"true",
    b"\xef\xbb\xbf", b"question_id", b"answer", b"confidence", b"\x80\x05", b"PAR1", b"\xff\xff\xff\x7f",
    b"\x7f" * 8,
)  # fmt: skip


def spoiled(rng: random.Random, content: bytes, others: list[bytes]) -> bytes:
    """Return some bytes with one to six things changed."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(8):
            case 0 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 1 if data:
                data[at % len(data)] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
            case 2:
                del data[at : at + rng.choice((1, 4, 64, len(data)))]
            case 3:
                data[at:at] = data[at : at + rng.choice((1, 8, 64))] * rng.choice((1, 2, 50))
            case 4:
                data[at:at] = rng.choice(_BYTES) * rng.choice((1, 1, 3, 200))
            case 5:
                data[at:at] = rng.choice(_WORDS)
            case 6:
                other = rng.choice(others)
                data[at:] = other[rng.randrange(len(other) + 1) :]
            case _ if data:
                at %= len(data)
                data[at : at + 4] = rng.getrandbits(32).to_bytes(4, "little")
    return bytes(data)


_STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3, 2**31, 2**63, 10**30, -(10**400), 0.5, -0.0, 1e308, -1e308, 5e-324,
    math.inf, -math.inf, math.nan, "", " ", "4", "\ud800", "\0", "a\nb", "../../x", "é" * 60, "7" * 5000,
    r"\boxed{", "attachment://k", [], {}, [[]], [None], {"": None}, {"text": 1}, [{}], [1, "x"],
    {"content": [], "tokens": []},
)  # fmt: skip


def spoiled_json(rng: random.Random, value: Any) -> Any:
    """Return a copy of a JSON value with one to three values inside replaced, gone or doubled."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.choice((1, 1, 2, 3))):
        place, key = [value], 0
        while (
            isinstance(place[key], dict | list) and place[key] and (rng.random() < 0.8 or place[key] is value)
        ):
            place = place[key]
            key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
        if place == [value]:
            return copy.deepcopy(rng.choice(_STRANGE))
        match rng.randrange(6):
            case 0:
                del place[key]
            case 1 if isinstance(place, list):
                place.extend(copy.deepcopy(place))
            case 2:
                place[key] = {"x": place[key]}
            case 3:
                place[key] = [copy.deepcopy(place[key]) for _ in range(rng.randrange(4))]
            case _:
                place[key] = copy.deepcopy(rng.choice(_STRANGE))
        if not isinstance(value, dict | list) or not value:
            break
    return value


def lines(records: list[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


REPLY = (
    "\\boxed{", "\\boxed {", "}", "{", "\\{", "\\}", "\\\\", "answer is ", "Answer: ", "answer", "####",
    " 42", "1,234", "-7/8", "3.5e10", "(C)", "**C**", "\\text{B}", " ", "\n", "\n\n", "</think>",
    "<think>", "$", "\\(", "\\)", ".", ",", "−", "²", "\ud800", "\0", "\u2028", "é", "A", "option ",
    "\\frac{1}{2}", "is", ":", "=", "*", "_", "0x1", "1e", "٣", "😀",
)  # fmt: skip
FORMULA = (
    "1", "2", "9", "0", ".", ",", "{,}", "/", "^", "_", "{", "}", "(", ")", "[", "]", "\\{", "\\}",
    "\\frac", "\\frac12", "\\dfrac{", "\\sqrt", "\\sqrt[3]", "x", "y", "=", "+", "-", "−", "\\cdot ",
    "\\times ", "*", "\\left(", "\\right)", "\\text{", "\\boxed{", "$", "$$", "\\(", "\\)", "%", "\\%",
    "^\\circ", "°", "\\pi", "π", "∞", "!", "|", "\\le ", "<", "\\cup ", "\\infty", "10^", "e5", "E-3",
    " ", "\n", "\\,", "\\ ", "sin", "log", "no", "Paris", "the answer", "A", "(B)", "\ud800", "\0", "½",
    "²", "1,234", "0.333333", "999999999", "٣", "\\mathbf{", "**", "..", "\\pm ", "\\begin{pmatrix}",
    "\\\\", "&", "\\end{pmatrix}", "€", "\\$",
)  # fmt: skip


def text(rng: random.Random, words: tuple[str, ...]) -> str:
    n = rng.choice((1, 2, 4, 8, 16, 40))
    picked = [rng.choice(words) * rng.choice((1, 1, 1, 1, 2, 5, 30)) for _ in range(rng.randrange(1, n + 1))]
    if rng.random() < 0.1:
        picked.append("".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(8))))
    return "".join(picked)
