"""The text of each token of a reply, such that the texts join to the reply.

Servers make that harder than it sounds:

- A token of a few bytes (part of an emoji) has no text of its own. Where the reply has `bytes`, its
  character goes to the token that completes it; otherwise to the next token whose text is known.
- Some servers send tokens as their vocabulary writes them ("Ġthe", "▁the"); these are decoded.
- What comes after the end of the text, the end-of-text token or a stop string, is left out.
- Where the tokens include thinking that the text does not (a server that splits it off), the tokens are
  right and the text is completed from them. If only the thinking has no log-probabilities, it is left out.
- Tokens that can't be aligned with the text are an error.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

_CUT = "\ufffd"
"""What stands for a part of a character."""

_SPECIAL = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]")
"""A token that is no text: the end of a text, a role, a byte by its name."""

_MAX_GAP = 64
"""The longest run of characters that no token accounts for, before the tokens count as wrong."""


class Spelling(NamedTuple):
    """The tokens of one reply as the server sent them."""

    pieces: list[str]
    encoded: list[bytes]
    """The bytes of each token; empty if the server does not send them."""


def spelled(content: str, thinking: str, tokens: Spelling) -> list[str] | None:
    """Return the text of each token up to the end of the reply, None if they do not fit it."""
    for texts in _readings(tokens):
        end = _reply_end("".join(texts), content, thinking)
        if end is not None:
            return cut(texts, end)
    return _laid_over(tokens.pieces, thinking + content)


def _readings(tokens: Spelling) -> Iterator[list[str]]:
    """Yield the possible texts of the tokens, the likeliest first."""
    if tokens.encoded:
        yield _decoded(tokens.encoded)
    yield tokens.pieces
    yield _decoded(vocabulary_bytes(piece) for piece in tokens.pieces)
    yield [piece.replace("▁", " ") for piece in tokens.pieces]


def _decoded(encoded: Iterable[bytes]) -> list[str]:
    """Decode UTF-8 that may be cut inside characters; a cut character goes to the token that completes it."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    return [decoder.decode(part) for part in encoded]


def _byte_alphabet() -> dict[str, int]:
    """Return the byte for each character of a byte-level vocabulary (GPT-2's and its successors')."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(b): b for b in shown} | {chr(256 + i): b for i, b in enumerate(hidden)}


_BYTES = _byte_alphabet()


def vocabulary_bytes(piece: str) -> bytes:
    if all(char in _BYTES for char in piece):
        return bytes(_BYTES[char] for char in piece)
    return piece.encode("utf-8", "surrogatepass")


def _reply_end(joined: str, content: str, thinking: str) -> int | None:
    """Return where the reply ends in the joined tokens, None if they do not contain it."""
    if not thinking and joined.startswith(content):
        return len(content)
    body = content.strip() or thinking.strip()
    at = joined.rfind(body)
    if at < 0:
        return None
    before = joined[:at].strip()
    split_off = "</think>" in before or (thinking and thinking.strip() in before)
    return at + len(body) if not before or split_off or not content.strip() else None


def cut(texts: list[str], end: int) -> list[str]:
    """Return the texts up to a character offset, without tokens that begin at or after it."""
    ends = list(accumulate(map(len, texts)))
    last = bisect_left(ends, end)
    if end <= 0 or last == len(texts):
        return texts[: last if end > 0 else 0]
    return [*texts[:last], texts[last][: end - (ends[last] - len(texts[last]))]]


def _laid_over(pieces: list[str], text: str) -> list[str] | None:
    """Find each piece in the text, in order, and cut the text after each; None if they do not fit.

    A piece that is not found (part of a character, a special token) gets no characters; the characters
    that it may stand for may be skipped before the next piece that is found. If the pieces between two that
    are found say something else than the text between them, they belong to another text, and so they do if
    more are missing than found, and more than two. What comes behind the text is not compared.
    """
    ends: list[int] = []
    unfound: list[str] = []
    n_here = n_missing = 0
    at, gap, n_found = 0, 1, 0  # a gap of 1: decoders drop the space at the beginning of a token
    for piece in pieces:
        known = piece.strip(_CUT)
        found = text.find(known, at, at + gap + len(known)) if known else -1
        n_here += found >= 0
        n_missing += found < 0 and at < len(text) and bool(known) and not _is_special(known)
        if found >= 0:
            if not _may_stand_for([*unfound, piece[: piece.find(known)]], text[at:found]):
                return None
            unfound = [piece[piece.find(known) + len(known) :]]
            at, gap, n_found = found + len(known), 1 + len(piece) - len(known), len(ends) + 1
        else:
            unfound.append(piece or _CUT)
            gap += max(len(piece), 1)
        if gap > _MAX_GAP and at < len(text):
            return None
        ends.append(at)
    left = text[at:]
    if len(left) > gap or n_missing > max(n_here, 2):
        return None
    if left and not (_may_stand_for(unfound, left) or "".join(unfound).lstrip().startswith(left.strip())):
        return None
    rest = min(n_found, len(ends) - 1)  # the first token that may stand for what is left
    ends[rest:] = [len(text)] * (len(ends) - rest)
    texts = [text[start:end] for start, end in pairwise([0, *ends])]
    return cut(texts, len(text))


def _may_stand_for(pieces: list[str], text: str) -> bool:
    """Return whether pieces that are not in a text may be what stands in their place.

    Servers tidy spaces; half a character, a special token and a character in another form can be anything.
    """
    said = "".join(pieces)
    return (
        "".join(said.split()) == "".join(text.split()) or not said.isascii() or any(map(_is_special, pieces))
    )


def _is_special(piece: str) -> bool:
    return _SPECIAL.fullmatch(piece.strip()) is not None
