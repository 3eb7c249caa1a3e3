"""The checksums of published files, in the form of `sha256sum`.

`sha256sum -c` on such a list checks a clone at the commit that the registry names.
"""

from __future__ import annotations

from importlib.resources import files

from distrivote.pools.published import PublishedFile


def listed(name: str) -> tuple[PublishedFile, ...]:
    """Return the files of a set in the order of its list.

    >>> len(listed("boinf")), listed("boinf")[0].path
    (35, 'boinf/jsonl/analysis_aime2024_AM-Thinking-v1.jsonl')
    """
    text = (files("distrivote.pools") / "files" / f"{name}.sha256").read_text("utf-8")
    lines = (line.split("  ", 1) for line in text.splitlines())
    return tuple(PublishedFile(path, digest) for digest, path in lines)
