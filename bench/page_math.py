"""How many formulas of a file of questions and answers the page draws, in Chromium under the page's policy.

    python bench/page_math.py math500.jsonl
    python bench/page_math.py math500.jsonl --static OTHER/src/distrivote/server/static

A formula counts as drawn if it becomes MathML in which no command is left as text.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import sync_playwright

from distrivote.server.guard import HEADERS

_FORMULA = re.compile(r"\$\$([^$]+)\$\$|\\\[(.+?)\\\]|\\\((.+?)\\\)|\$([^$]+)\$", re.DOTALL)
_DRAWN = r"""async (formulas) => {
  const { formula } = await import("/math.js");
  return formulas.filter((source) => {
    const math = formula(source);
    const texts = [...(math?.querySelectorAll("mtext") ?? [])];
    return math !== null && !texts.some((each) => /\\[a-zA-Z]/.test(each.textContent));
  });
}"""


class _Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", HEADERS["content-security-policy"])
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--static", type=Path, default=Path(str(files("distrivote.server") / "static")))
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.file.read_text("utf-8").splitlines()]
    questions = [row["question"].partition("[asy]")[0] for row in rows]
    found = [match for question in questions for match in _FORMULA.finditer(question)]
    kinds = {
        "answers": {row["answer"] for row in rows},
        "formulas of the questions": {next(part for part in match.groups() if part) for match in found},
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, directory=str(given.static)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        for name, formulas in kinds.items():
            drawn = page.evaluate(_DRAWN, sorted(formulas))
            print(f"{name}: {len(drawn)} of {len(formulas)} are drawn")
            for source in sorted(formulas - set(drawn)):
                print(f"  not drawn: {source[:100]!r}")
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
