"""Where one reasoning step ends and the next begins, token by token.

A splitter is a rule; `start()` returns a stream that takes one token at a time and says whether that token
ended a step. A stream keeps a few characters and counters, whatever the length of the trajectory. It uses the
text and, for some rules, the entropy of each token; no log-probabilities and no answers.

- The token that completes a boundary belongs to the step that it ends, with all its characters:
  "a\\n\\nb" ends a step after b.
- White space at the beginning of a step never ends it, so a run of newlines is one boundary, and it
  does not matter how the tokenizer cut it: "\\n\\n", ".\\n\\n", "\\n" then "\\n".
- What follows the last boundary is a step of its own if it has any text. White space alone is not: it
  belongs to the step before it, so that a newline after the answer does not become the last step.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, repeat
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from distrivote.errors import InputError
from distrivote.names import SPLITTER, Own, check_call, found, guarded, own_of, unknown

_TEXT = re.compile(r"\S")


class StepStream(Protocol):
    """The tokens of one trajectory, one after the other."""

    def push(self, text: str, entropy: float = math.nan) -> bool:
        """Add the next token and say whether it ended a step."""

    def flush(self) -> bool:
        """End the trajectory and say whether an unfinished step with text was left."""


class Splitter(Protocol):
    """A rule that cuts trajectories into steps."""

    uses_entropy: ClassVar[bool]
    """Whether its streams use the entropy (nats) of the tokens."""

    def start(self) -> StepStream:
        """Return the stream of a new trajectory."""


@dataclass(frozen=True, slots=True)
class DelimiterSplitter:
    """A step ends with the token in which its text first completes the delimiter."""

    delimiter: str = "\n\n"

    exact_token: bool = False
    """Whether only a token that is the delimiter and nothing else ends a step."""

    uses_entropy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.delimiter:
            raise InputError('the delimiter is empty: give at least one character, such as "\\n"')

    def start(self) -> StepStream:
        if self.exact_token:
            return _ExactTokenStream(self.delimiter)
        return _DelimiterStream(self.delimiter)


@dataclass(frozen=True, slots=True)
class WindowSplitter:
    """A step has a fixed number of tokens, and more while they are only white space."""

    n_tokens: int

    uses_entropy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_tokens < 1:
            raise InputError(f"a window of {self.n_tokens} tokens: give at least 1")

    def start(self) -> StepStream:
        return _WindowStream(self.n_tokens)


@dataclass(frozen=True, slots=True)
class EntropySplitter:
    """A step ends with a token of high entropy, if it has enough tokens with that one.

    A token whose entropy is not known ends nothing.
    """

    threshold: float = 0.672
    """In nats; the entropy must be above it."""

    min_tokens: int = 200

    uses_entropy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if math.isnan(self.threshold) or self.min_tokens < 1:
            raise InputError(
                f"a threshold of {self.threshold} nats and steps of at least {self.min_tokens} tokens:"
                " give a number, and at least 1 token"
            )

    def start(self) -> StepStream:
        return _EntropyStream(self.threshold, self.min_tokens)


OwnSplit: TypeAlias = Callable[[str], bool]
"""A function of one's own: the text of a step so far -> whether it ends here."""


@dataclass(frozen=True, slots=True)
class OwnSplitter:
    """A function of the user's as a splitter."""

    name: str
    ends: OwnSplit = field(compare=False)

    uses_entropy: ClassVar[bool] = False

    def start(self) -> StepStream:
        return _OwnStream(self.ends)


def splitter(name: str | Splitter | OwnSplit) -> Splitter:
    """Return the splitter that a name stands for; a splitter unchanged, and a function as one.

    `paragraph` (or "\\n\\n"), `line` (or "\\n"), `exact` (only a token that is "\\n\\n" and nothing
    else), `window:512` (that many tokens), `entropy` (or `entropy:0.5`, in nats).

    >>> splitter("window:512")
    WindowSplitter(n_tokens=512)
    """
    if not isinstance(name, str):
        return _own_splitter(Own("own", name) if hasattr(name, "start") else own_of(SPLITTER, name))
    # A shell passes a backslash and an n where Python has a newline.
    plain = name.replace("\\n", "\n")
    if plain in _NAMED:
        return _NAMED[plain]
    kind, _, value = plain.partition(":")
    if kind == "window" and value.isdecimal() and len(value) < 19:
        return WindowSplitter(int(value))
    if kind == "entropy":
        try:
            return EntropySplitter(float(value))
        except ValueError:
            pass
    own = found(SPLITTER, name, SPLITTERS)
    if own is None:
        raise unknown(SPLITTER, name, SPLITTERS)
    return _own_splitter(own)


def _own_splitter(own: Own) -> Splitter:
    if hasattr(own.value, "start") and not isinstance(own.value, type):
        made: Splitter = own.value
        return made
    check_call(SPLITTER, own, 1)
    return OwnSplitter(own.name, guarded(SPLITTER, own))


_NAMED: dict[str, Splitter] = {
    "paragraph": DelimiterSplitter(),
    "\n\n": DelimiterSplitter(),
    "line": DelimiterSplitter("\n"),
    "\n": DelimiterSplitter("\n"),
    "exact": DelimiterSplitter(exact_token=True),
    "entropy": EntropySplitter(),
}
SPLITTERS = ("paragraph", "line", "exact", "window:512", "entropy")
"""The names that `splitter` accepts, each with an example of its value if it needs one."""


def step_ends(
    tokens: Sequence[str], splitter: Splitter, entropies: Iterable[float] | None = None
) -> npt.NDArray[np.int64]:
    """Return the exclusive end of every step, in tokens; the last one is the number of tokens.

    >>> step_ends(["One", ".\\n", "\\n", "Two", ".", "\\n"], DelimiterSplitter()).tolist()
    [3, 6]
    """
    if entropies is None and isinstance(splitter, DelimiterSplitter) and not splitter.exact_token:
        ends, is_pending = _delimited(tokens, splitter.delimiter)
    else:
        stream = splitter.start()
        pairs = zip(tokens, repeat(math.nan, len(tokens)) if entropies is None else entropies, strict=True)
        ends = [end for end, (text, entropy) in enumerate(pairs, 1) if stream.push(text, entropy)]
        is_pending = stream.flush()
    if is_pending or (tokens and not ends):
        ends.append(len(tokens))
    elif ends:
        ends[-1] = len(tokens)
    return np.array(ends, dtype=np.int64)


def _delimited(tokens: Sequence[str], delimiter: str) -> tuple[list[int], bool]:
    """Return where steps end and whether one is left, with the result of `_DelimiterStream`.

    The joined text is searched, which is much faster.
    """
    text, places = "".join(tokens), list(accumulate(map(len, tokens)))
    ends: list[int] = []
    here = 0
    while started := _TEXT.search(text, here):
        found = text.find(delimiter, started.start())
        if found < 0:
            return ends, True
        token = bisect_left(places, found + len(delimiter))
        ends.append(token + 1)
        here = places[token]
    return ends, False


class _DelimiterStream:
    __slots__ = ("_delimiter", "_started", "_tail")

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._started = False
        self._tail = ""  # the last characters of the step, one fewer than the delimiter has

    def push(self, text: str, entropy: float = math.nan) -> bool:  # noqa: ARG002
        if not self._started:
            text = text.lstrip()
            if not text:
                return False
            self._started = True
        text = self._tail + text
        if self._delimiter in text:
            self._started, self._tail = False, ""
            return True
        self._tail = text[max(0, len(text) - len(self._delimiter) + 1) :]
        return False

    def flush(self) -> bool:
        pending, self._started, self._tail = self._started, False, ""
        return pending


class _OwnStream:
    __slots__ = ("_ends", "_text")

    def __init__(self, ends: OwnSplit) -> None:
        self._ends, self._text = ends, ""

    def push(self, text: str, entropy: float = math.nan) -> bool:  # noqa: ARG002
        self._text += text
        if not _has_text(self._text) or not self._ends(self._text):
            return False
        self._text = ""
        return True

    def flush(self) -> bool:
        pending, self._text = _has_text(self._text), ""
        return pending


class _ExactTokenStream:
    __slots__ = ("_delimiter", "_started")

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._started = False

    def push(self, text: str, entropy: float = math.nan) -> bool:  # noqa: ARG002
        self._started = self._started or _has_text(text)
        if self._started and text == self._delimiter:
            self._started = False
            return True
        return False

    def flush(self) -> bool:
        pending, self._started = self._started, False
        return pending


class _CountedStream:
    """A step whose tokens are counted; it does not end while they are only white space."""

    __slots__ = ("_is_blank", "_n_pending", "_started")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._n_pending, self._started, self._is_blank = 0, False, True

    def _ends(self, text: str, n_tokens: int, ends_here: bool = True) -> bool:
        """Add a token, and end the step with it if that is allowed and it has enough tokens."""
        self._n_pending += 1
        self._started = self._started or _has_text(text)
        # A token without text is a part of a character, which servers count as text.
        self._is_blank = self._is_blank and text.isspace()
        if ends_here and not self._is_blank and self._n_pending >= n_tokens:
            self._begin()
            return True
        return False

    def flush(self) -> bool:
        pending = self._started
        self._begin()
        return pending


class _WindowStream(_CountedStream):
    __slots__ = ("_n_tokens",)

    def __init__(self, n_tokens: int) -> None:
        super().__init__()
        self._n_tokens = n_tokens

    def push(self, text: str, entropy: float = math.nan) -> bool:  # noqa: ARG002
        return self._ends(text, self._n_tokens)


class _EntropyStream(_CountedStream):
    __slots__ = ("_min_tokens", "_threshold")

    def __init__(self, threshold: float, min_tokens: int) -> None:
        super().__init__()
        self._threshold = threshold
        self._min_tokens = min_tokens

    def push(self, text: str, entropy: float = math.nan) -> bool:
        return self._ends(text, self._min_tokens, entropy > self._threshold)


def _has_text(text: str) -> bool:
    return bool(text) and not text.isspace()
