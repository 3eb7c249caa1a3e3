"""The reply of /v1/embeddings."""

from __future__ import annotations

from typing import Any

from distrivote.errors import EngineError


def vectors_of(reply: Any, n: int) -> list[list[float]]:
    """Return the vectors of a reply in the order of the texts; EngineError if there is not one for each.

    >>> vectors_of({"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}, 2)
    [[1.0, 0.0], [0.0, 1.0]]
    """
    try:
        found = {int(row.get("index", at)): row["embedding"] for at, row in enumerate(reply["data"])}
        vectors = [[float(value) for value in found[at]] for at in range(n)]
    except (KeyError, TypeError, ValueError, AttributeError):
        vectors = []
    if len({len(vector) for vector in vectors}) != 1 or not vectors[0]:
        raise EngineError(f"the server's reply has no embeddings of the same length for {n} texts")
    return vectors
