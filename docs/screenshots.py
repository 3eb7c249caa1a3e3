"""Take the pictures of the page and of a report: `python docs/screenshots.py [page|report]`. Needs Chromium.

The page is asked a sum, answered by the built-in model; the report is about examples/runs/smollm2-basic.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "img"
RUN = str(ROOT / "examples" / "runs" / "smollm2-basic")
QUESTION = "Tom has 5 apples and buys 7 more. How many does he have?"
DISTRIVOTE = [sys.executable, "-m", "distrivote"]
LOOKS = {"light": (1280, 1000), "dark": (390, 1400)}
"""A desk in light colours, a phone in dark ones."""


def main() -> None:
    """Write page-light.png, page-dark.png, report-light.png and report-dark.png."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium found; set CHROMIUM to its path")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if "report" not in sys.argv:
            with serving() as address:
                pictures(browser, address, "page", ask)
        if "page" not in sys.argv:
            report = Path(folder) / "report.html"
            evaluate = [*DISTRIVOTE, "evaluate", RUN, "--budget", "32", "--repeats", "16", "-o", report]
            subprocess.run(evaluate, check=True, stdout=subprocess.DEVNULL)
            pictures(browser, report.as_uri(), "report", wait_for_charts)
        browser.close()


@contextmanager
def serving() -> Iterator[str]:
    """Serve the built-in model, and yield the address of its page."""
    command = [*DISTRIVOTE, "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        yield server.stderr.readline().rpartition(" ")[2].strip().removesuffix("/v1")
        server.terminate()


def pictures(browser: Browser, address: str, name: str, prepare: Callable[[Page], None]) -> None:
    """Write what a visitor sees first, in both looks."""
    for scheme, (width, height) in LOOKS.items():
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        page.goto(address)
        prepare(page)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(1000)  # for what moves
        page.screenshot(path=IMAGES / f"{name}-{scheme}.png")
        context.close()


def ask(page: Page) -> None:
    """Ask the question, and wait for the vote."""
    page.wait_for_selector("body[data-ready]")
    page.locator("#more summary").click()
    page.fill("#max-tokens", "64")
    page.locator("#more summary").click()
    page.fill("#question", QUESTION)
    page.click("#ask")
    page.wait_for_selector("#stop", state="hidden", timeout=300_000)


def wait_for_charts(page: Page) -> None:
    """Wait until the first chart is drawn."""
    page.wait_for_selector(".chart svg, .chart canvas", timeout=30_000)


if __name__ == "__main__":
    main()
