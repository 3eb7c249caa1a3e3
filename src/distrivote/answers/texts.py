"""Whole replies as answers: which of them have the same content, and which represents the others.

After ModeX (arXiv 2601.02535). The similarity of two texts is the mean of the Jaccard indices of their 1-, 2-
and 3-grams of words. Case, markup and punctuation do not count, a character is a word where a script has no
spaces, and reasoning before the end of thinking is left out. A similarity gives a link:

    0    at 0.06 and below: texts that only have the language or the subject in common
    1    at 0.2 and above: the same content in other words

Connected texts are split into classes by answers/spectral.py. The texts are put into a fixed order first:
neither the classes nor the medoid depend on the order of replies. Time is linear in the text and quadratic in
the number of different replies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from distrivote.answers.extract import reply_start
from distrivote.answers.spectral import LEAST, Indices, groups
from distrivote.trajectory import Floats

LOW, HIGH = 0.06, 0.2
"""The similarities of link 0 and of link 1. In the tests, replies with the same content have 0.07 to 0.6, and
those with different content 0 to 0.05."""

ORDERS = (1, 2, 3)
MOST = 2048
"""The maximum number of different texts that are compared with each other, the most frequent first. Further
texts join their classes; those that are similar to none are sorted in the next round."""

_ROUNDS = 4
"""The maximum number of rounds; after them every text that is left is a class of its own."""

_DENSE = 40
"""An n-gram in more texts than this is counted by a matrix product, a rarer one pair by pair."""

_BLOCK = 4096
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+(?:['’][^\W_{_ALONE}]+)*")


def words_of(text: str) -> list[str]:
    """Return the words of a reply, in lower case.

    >>> words_of("It's **Paris**, 巴黎!")
    ["it's", 'paris', '巴', '黎']
    """
    reply = text[reply_start(text) :]
    plain = reply if reply.isascii() else unicodedata.normalize("NFKC", reply).replace("’", "'")
    return _WORD.findall(plain.casefold())


def sort_texts(texts: Sequence[str]) -> tuple[int, ...]:
    """Return the class of each text, numbered in the order of first occurrence.

    >>> sort_texts(["The sea is calm.", "Sorry, I can't help.", "the sea is **calm**"])
    (0, 1, 0)
    """
    keys, counts, place = _distinct(texts)
    if not keys:
        return ()
    group_of = np.arange(len(keys))  # a class has the index of its first text as its number
    left = np.arange(len(keys))
    for _ in range(_ROUNDS):
        core = left[_heaviest(counts[left], MOST)]
        similar = _similarities([keys[at] for at in core])
        for group in groups(_links(similar), counts[core]):
            group_of[core[group]] = core[group[0]]
        left = _unlike(keys, counts, core, np.setdiff1d(left, core), group_of)
        if not len(left):
            break
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(int(group_of[at]), len(numbers)) for at in place)


def medoid(texts: Sequence[str], weights: Sequence[float] | Floats) -> int:
    """Return the index of the text that is most similar to all, weighted (minimum Bayes risk).

    A weight that is not finite counts as the mean of the others, a negative one as 0. Of equally good texts
    the one with the highest weight is taken.

    >>> medoid(["a b c", "a b d", "x y z"], [1, 2, 9]), medoid(["a b c", "a b d", "x y z"], [4, 5, 1])
    (2, 1)
    """
    if not texts or len(texts) != len(weights):
        raise ValueError(f"{len(texts)} texts have {len(weights)} weights")
    sure = _positive(np.asarray(weights, np.float64))
    keys, _, place = _distinct(texts)
    mass = np.zeros(len(keys))
    np.add.at(mass, place, sure)
    core = _heaviest(mass, MOST)
    scores = np.full(len(keys), -1.0)
    scores[core] = np.round(_similarities([keys[at] for at in core]) @ mass[core] / mass.sum(), 12)
    best = max(scores[at] for at in place)
    ranked = (at for at in range(len(texts)) if scores[place[at]] == best)
    return min(ranked, key=lambda at: (-sure[at], keys[place[at]], texts[at], at))


def similarity(a: str, b: str) -> float:
    """Return how similar two texts are, from 0 to 1.

    >>> similarity("a b c", "A, b, c!"), similarity("a b c", "a b d"), similarity("a", "b")
    (1.0, 0.27777777777777773, 0.0)
    """
    keys, _, place = _distinct((a, b))
    return float(_similarities(keys)[place[0], place[1]])


def _links(similarities: Floats) -> Floats:
    return np.clip((similarities - LOW) / (HIGH - LOW), 0.0, 1.0)


def _heaviest(mass: Floats, most: int) -> Indices:
    """Return the indices of the largest values, in order; equal values are taken from the whole range."""
    scattered = np.arange(len(mass)) * 0.6180339887 % 1
    return np.sort(np.lexsort((scattered, -mass))[:most])


def _unlike(
    keys: Sequence[tuple[str, ...]], counts: Floats, core: Indices, left: Indices, group_of: Indices
) -> Indices:
    """Put each remaining text into the most similar class of the core; return those similar to none."""
    heads: dict[int, int] = {}  # the most frequent text of each class
    for at in core[np.argsort(-counts[core], kind="stable")]:
        heads.setdefault(int(group_of[at]), int(at))
    first = np.array([*heads.values()][: MOST // 4])
    unlike = [left[:0]]
    for begin in range(0, len(left), MOST):
        some = left[begin : begin + MOST]
        links = _links(_similarities([keys[at] for at in (*first, *some)])[len(first) :, : len(first)])
        is_linked = links.max(axis=1) >= LEAST
        group_of[some[is_linked]] = group_of[first[links.argmax(axis=1)[is_linked]]]
        unlike.append(some[~is_linked])
    return np.concatenate(unlike)


def _positive(weights: Floats) -> Floats:
    """Return the weights without missing or negative values, scaled so that the largest is 1."""
    known = weights[np.isfinite(weights)]
    if not known.size or known.max() <= 0:
        return np.ones(len(weights))
    scaled = np.clip(known / known.max(), 0.0, None)
    result = np.full(len(weights), float(scaled.mean()))
    result[np.isfinite(weights)] = scaled
    return result


def _distinct(texts: Sequence[str]) -> tuple[list[tuple[str, ...]], Floats, list[int]]:
    """Return the different texts by their words in a fixed order, how often each occurs, and where each is.

    A text without words, such as punctuation, counts as it is written.
    """
    known: dict[str, tuple[str, ...]] = {}
    said = [known.get(text) or known.setdefault(text, _key(text)) for text in texts]
    keys = sorted(set(said))
    number = {key: at for at, key in enumerate(keys)}
    place = [number[key] for key in said]
    return keys, np.bincount(place, minlength=len(keys)).astype(np.float64), place


def _key(text: str) -> tuple[str, ...]:
    return tuple(words_of(text)) or (text[reply_start(text) :].strip(),)


def _similarities(keys: Sequence[tuple[str, ...]]) -> Floats:
    """Return the similarity of every two texts, (n, n); an n-gram order longer than one of them gives 0."""
    n = len(keys)
    lengths = np.array([len(key) for key in keys])
    owner = np.repeat(np.arange(n), lengths)
    vocabulary: dict[str, int] = {}
    number = vocabulary.setdefault
    ids = np.array([number(word, len(vocabulary)) for key in keys for word in key], np.int64)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(ids))  # words to the end of the text
    grams, n_grams = ids, len(vocabulary)
    total = np.zeros((n, n))
    orders = np.zeros(n)
    for order in ORDERS:
        if order > 1:
            # An n-gram is the (n-1)-gram before it and a word.
            grams, n_grams = grams[:-1] * len(vocabulary) + ids[order - 1 :], n_grams * len(vocabulary)
            if n_grams * max(n, len(vocabulary)) >= 2**62:  # renumbered, so that no product overflows
                known, grams = np.unique(grams, return_inverse=True)
                n_grams = len(known)
        whole = left[: len(grams)] >= order
        total += _jaccard(owner[: len(grams)][whole], grams[whole], n)
        orders += lengths >= order
    result = total / np.maximum(np.minimum.outer(orders, orders), 1)
    np.fill_diagonal(result, 1.0)
    return result


def _jaccard(owner: Indices, grams: Indices, n: int) -> Floats:
    """Return for every two texts the number of n-grams in both, as a share of those in either."""
    both = np.zeros((n, n))
    if grams.size:
        pairs = np.sort(grams * n + owner)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # each n-gram of a text once, sorted by n-gram
        gram = pairs // n
        text = pairs - gram * n
        starts = np.flatnonzero(np.diff(gram, prepend=-1))
        spread = np.diff(starts, append=len(gram))
        both = _shared(text, starts, spread, n)
    sizes = both.diagonal()
    either = np.add.outer(sizes, sizes) - both
    return np.divide(both, either, out=np.zeros((n, n)), where=either > 0)


def _shared(text: Indices, starts: Indices, spread: Indices, n: int) -> Floats:
    """Count the n-grams that every two texts share; each n-gram's texts are a run of `text`."""
    counts = np.zeros(n * n)
    for size in range(1, _DENSE + 1):  # all n-grams that are in `size` texts at once
        runs = text[starts[spread == size][:, None] + np.arange(size)]
        if len(runs):
            first, second = np.triu_indices(size)
            counts += np.bincount((runs[:, first] * n + runs[:, second]).ravel(), minlength=n * n)
    both = counts.reshape(n, n)
    both = both + both.T - np.diag(both.diagonal())
    common = np.flatnonzero(spread > _DENSE)
    for begin in range(0, len(common), _BLOCK):
        block = common[begin : begin + _BLOCK]
        present = np.zeros((n, len(block)), np.float32)  # sums below 2**24 are exact
        for column, at in enumerate(block):
            present[text[starts[at] : starts[at] + spread[at]], column] = 1
        both += present @ present.T
    return both
