"""Hooks of MkDocs that change links and check the built site.

- A link whose text is its file, `[openai.md](openai.md)`, gets the title of the page as text.
- Links to files of the repository become plain text: on a code host `[bench/voting.py](../bench/voting.py)`
  leads to the file, but the site has no such page, and the project names no host.
- The build fails if a page would load anything from another host: the site has to work offline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+[^)\s]*\)")
_FILE_NAME = re.compile(r"\[((?:docs/)?[\w-]+\.md)\]\(([\w/-]+\.md)(#[\w-]+)?\)")
_LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"'\s>]*"
    r"|<link\b(?=[^>]*rel=[\"']?(?:stylesheet|icon|preload|preconnect|modulepreload))[^>]*"
    r"\bhref=[\"']?(?:https?:)?//[^\"'\s>]*",
    re.IGNORECASE,
)


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Give links the titles of their pages, and remove links that leave the docs folder."""
    if "/" in page.file.src_uri:
        return markdown
    titles = dict(_titles(config.nav))

    def named(link: re.Match[str]) -> str:
        return f"[{titles.get(link[2], link[1])}]({link[2]}{link[3] or ''})"

    return _FILE_NAME.sub(named, _OUTSIDE.sub(r"\1", markdown))


def _titles(nav: Any) -> Iterator[tuple[str, str]]:
    """Yield the files of the navigation with their titles."""
    for entry in nav:
        for title, inside in entry.items():
            if isinstance(inside, str):
                yield inside, title
            else:
                yield from _titles(inside)


def on_post_build(config: Any, **_: Any) -> None:
    """Fail if a page would load a script, a style or a picture from another host."""
    from mkdocs.exceptions import PluginError

    for path in sorted(Path(config.site_dir).rglob("*.html")):
        found = _LOADED.search(path.read_text(encoding="utf-8"))
        if found:
            raise PluginError(f"{path.name} loads something from another host: {found[0]}")
