"""lm-evaluation-harness: a filter that votes over the repeats of a document.

    repeats: 32
    filter_list:
      - name: dis-gmm
        filter:
          - {function: !function distrivote.integrations.lm_eval.DistrivoteFilter, extract: boxed}
          - {function: take_first}

Once this module is imported, `function: distrivote` names the filter too.

The harness passes replies as strings, without log-probabilities; then majority voting decides. Your own model
may return `Reply(text, confidence)`, a pair of the two, or a dict with these keys; a `Reply` is a string for
everything else in the harness. `lm_eval_chat` has such a model.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

from distrivote.answers.equality import equality
from distrivote.answers.extract import extractor
from distrivote.defaults import METHOD
from distrivote.errors import InputError, MissingPackageError
from distrivote.integrations.repeats import vote_on
from distrivote.prompts import DEFAULT_SAME
from distrivote.voting.methods import parse_method

try:
    from lm_eval.api.filter import Filter
    from lm_eval.api.registry import register_filter
except ImportError as error:
    raise MissingPackageError("lm-eval", "lm-eval", "voting in lm-evaluation-harness") from error

NO_ANSWER = "[invalid]"
"""What the harness's own filters return if they find no answer."""

_log = logging.getLogger(__name__)


class Reply(str):
    """A reply with its confidence.

    >>> reply = Reply("The answer is 4.", 9.5)
    >>> reply.endswith("4."), reply.confidence
    (True, 9.5)
    """

    confidence: float | None

    def __new__(cls, text: str, confidence: float | None = None) -> Self:
        reply = super().__new__(cls, text)
        reply.confidence = confidence
        return reply


@register_filter("distrivote")
class DistrivoteFilter(Filter):
    """Replaces a document's replies by the answer that wins their vote, "[invalid]" for none.

    All repeats vote, and all stay in the logged samples. On a tie the answer that came first wins.
    """

    def __init__(
        self,
        method: str = METHOD,
        extract: str = "auto",
        pattern: str | None = None,
        same: str = DEFAULT_SAME,
    ) -> None:
        """Accept the settings of a task file.

        Args:
            method: A name such as "dis-gmm" or "wsc-top:0.1".
            extract: How the answer is found in a reply: auto, boxed, choice or number.
            pattern: A regular expression with one group, instead of `extract`.
            same: When two answers are equal: text, notation, math or choice.
        """
        self._method = parse_method(method)
        self._find = extractor(extract if pattern is None else re.compile(pattern))
        self._same = equality(same)

    def apply(self, resps: Iterable[Iterable[Any]], docs: list[dict[str, Any]]) -> list[list[str]]:  # noqa: ARG002
        """Return a list of one answer for each document's list of replies."""
        elected, n_fallen_back, n_unmeasured = [], 0, 0
        for place, replies in enumerate(resps):
            read = [_reply(reply, f"document {place}, reply {i}") for i, reply in enumerate(replies)]
            tally = vote_on(
                [self._answer(reply.text) for reply in read],
                [reply.confidence for reply in read],
                self._method,
                same=self._same,
            ).tally
            n_fallen_back += tally.fallback
            n_unmeasured += tally.n_unmeasured
            elected.append([NO_ANSWER if tally.answer is None else str(tally.answer)])
        if n_fallen_back:
            _log.warning(
                "%d of %d documents have no reply with a confidence: majority voting decided there, not %s",
                *(n_fallen_back, len(elected), self._method.name),
            )
        elif n_unmeasured:
            _log.warning("%d replies have no confidence: they count in the majority only", n_unmeasured)
        return elected

    def _answer(self, text: str) -> str | None:
        found = None if text.strip() == NO_ANSWER else self._find(text)
        return None if found is None else found.answer


class _Read(NamedTuple):
    text: str
    confidence: float | None


def _reply(reply: Any, where: str) -> _Read:
    """Read a reply in any of its forms."""
    text, confidence = reply, None
    if isinstance(reply, str):
        confidence = getattr(reply, "confidence", None)
    elif isinstance(reply, Mapping):
        text, confidence = reply.get("text"), reply.get("confidence")
    elif isinstance(reply, (tuple, list)) and len(reply) == 2:
        text, confidence = reply
    if not isinstance(text, str):
        raise InputError(
            f"{where} is {reply!r:.80}: let the model return a string, a Reply, a (text, confidence) pair,"
            ' or a dict with "text" and "confidence"'
        )
    return _Read(text, confidence)
