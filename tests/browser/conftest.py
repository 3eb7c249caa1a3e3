"""A real browser for the page's tests: Debian's Chromium, driven by Playwright, with nothing let out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from browser.scripted_server import Script, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium: apt-get install chromium, or name one in CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Watched:
    """A page, and everything that it must not do."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(15_000)
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda message: self._heard(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)


@pytest.fixture(params=[{}], ids=["desk"])
def watched(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A page that has complained of nothing and asked nobody but its server, at the end of the test too."""
    look = {"viewport": {"width": 1280, "height": 900}} | request.param
    context = browser.new_context(**look)
    watched = Watched(context)
    yield watched
    address = urlsplit(watched.page.url).netloc
    context.close()
    assert watched.complaints == []
    assert watched.hosts <= {address}


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def page(watched: Watched, script: Script) -> Iterator[Page]:
    """The page over a server that plays the documented events, as its script says."""
    with serving(script) as url:
        watched.page.goto(url)
        watched.page.wait_for_selector("body[data-ready]")
        yield watched.page
