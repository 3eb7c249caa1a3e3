"""Compares a server's own data with the received reply: the number of tokens, and the model.

An event of a stream that is lost or repeated changes a text and its tokens alike, so that they still match
each other. Only the server's own count reveals it. Servers count differently (the end-of-text token may be
shown, or counted, or neither), so each is compared with its own usual difference.
"""

from __future__ import annotations

import re
from collections import Counter

_N_USUAL = 3
"""After this number of equal differences, the difference counts as the server's usual one."""

_N_UNSTEADY = 8
"""After this number of replies without a usual difference, counts are no longer compared."""

_ANY_MODEL = {"auto", "default", "latest"}
"""Names that stand for any model."""


class TokenCounts:
    """How one server counts the tokens of its replies.

    >>> counts = TokenCounts()
    >>> counts.flaw(n_shown=6, n_read=6, n_counted=8, is_cut=False)
    '6 tokens came where the server counted 8'
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[bool, int], Counter[int]] = {}

    def flaw(self, *, n_shown: int, n_read: int, n_counted: int, is_cut: bool) -> str | None:
        """Return what is wrong with a reply of `n_shown` tokens, None if nothing is.

        `n_read` includes tokens that are not part of the text, the end of the text above all; `is_cut` says
        that it ended at the limit, so that there was no such token.
        """
        n_after, missing = n_read - n_shown, n_counted - n_shown
        seen = self._seen.setdefault((is_cut, n_after), Counter())
        seen[missing] += 1
        n_replies = seen.total()
        usual = max(seen, key=lambda each: (seen[each], -abs(each)))
        if 2 * seen[usual] < n_replies and n_replies >= _N_UNSTEADY:
            return None
        if seen[usual] >= _N_USUAL and 2 * seen[usual] >= n_replies:
            is_right = missing == usual
        else:
            is_right = missing in (0, n_after) or (missing == 1 and not is_cut)
        return None if is_right else f"{n_shown} tokens came where the server counted {n_counted}"


def is_same_model(asked: str, said: str) -> bool:
    """Return whether a name may be an alias of the requested model.

    >>> is_same_model("gpt-4o", "gpt-4o-2024-08-06"), is_same_model("org/Model-7B", "models/model-7b.gguf")
    (True, True)
    >>> is_same_model("large", "small")
    False
    """
    one, other = _plain(asked), _plain(said)
    return asked.rpartition("/")[2] in _ANY_MODEL or one in other or other in one


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.rpartition("/")[2].casefold().removesuffix(".gguf"))
