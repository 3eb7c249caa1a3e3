"""The report's page in a real browser: it is drawn, sorts, explains, and asks nobody for anything.

Debian's Chromium is driven by Playwright: `apt-get install chromium`, then `make test-browser`. With
DISTRIVOTE_SCREENSHOTS naming a folder, pictures of the page are kept there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from report.made_up import made_up_report

pytestmark = pytest.mark.browser
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("chromium is not installed", allow_module_level=True)

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
DRAWN = "[...document.querySelectorAll('.chart')].every((chart) => chart.querySelector('svg'))"
WIDE, PHONE = 1280, 390


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    from distrivote.report.files.files import write_report

    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(made_up_report(), str(path))
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


class Visit:
    """One page with everything that it said and asked for."""

    def __init__(self, browser: Any, address: str, width: int, scheme: str) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, has_touch=width == PHONE
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def draw_all(self) -> None:
        charts = self.page.locator(".chart")
        for index in range(charts.count()):
            charts.nth(index).scroll_into_view_if_needed()
        self.page.wait_for_function(DRAWN)


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Any]:
    visits = []

    def start(width: int = WIDE, scheme: str = "light") -> Visit:
        visits.append(Visit(browser, address, width, scheme))
        return visits[-1]

    yield start
    for each in visits:
        each.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_it_is_drawn_without_a_word_or_a_request(visit: Any, address: str, width: int, scheme: str) -> None:
    seen = visit(width, scheme)
    seen.draw_all()
    assert seen.said == []
    assert seen.asked == [address]
    assert seen.page.title() == "DistriVoting, evaluated"
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width, "the page scrolls sideways"
    background = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 24, 27)")
    folder = os.environ.get("DISTRIVOTE_SCREENSHOTS")
    if folder:
        seen.page.evaluate("scrollTo(0, 0)")
        seen.page.screenshot(path=Path(folder) / f"report-{width}-{scheme}.png", full_page=True)


def column(seen: Visit, number: int) -> list[str]:
    cells = seen.page.locator(f"#experiment-main tbody tr > :nth-child({number})").all_inner_texts()
    return [cell.split("\n")[0].rstrip("≈") for cell in cells]


def test_a_table_sorts_by_click_and_by_key_and_back(visit: Any) -> None:
    seen = visit()
    original = column(seen, 1)
    header = seen.page.locator("#experiment-main thead th").nth(1)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    values = [float(text.rstrip("%")) for text in column(seen, 2)]
    assert values == sorted(values, reverse=True)
    assert column(seen, 1)[0] == "DIS-GMM*"
    header.locator("button").focus()
    seen.page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert column(seen, 1)[0] == "BoN"
    seen.page.keyboard.press("Space")
    assert header.get_attribute("aria-sort") is None
    assert column(seen, 1) == original


def test_what_is_missing_stays_last_both_ways(visit: Any) -> None:
    seen = visit()
    button = seen.page.get_by_role("button", name="Tokens").first
    table = seen.page.locator("table").filter(has=button).first
    for direction in ("descending", "ascending"):
        button.click()
        assert table.locator("th[aria-sort]").get_attribute("aria-sort") == direction
        assert "数学" in table.locator("tbody tr").last.inner_text()


def test_a_tooltip_says_the_value_and_its_interval(visit: Any) -> None:
    seen = visit()
    seen.draw_all()
    bar = seen.page.locator("[data-chart='1'] .mark-rect path, [data-chart='1'] .mark-bar path").first
    bar.hover(force=True)
    tip = seen.page.locator("#vg-tooltip-element")
    tip.wait_for(state="visible")
    words = tip.inner_text()
    assert "68.9%" in words
    assert "65.9% to 71.9%" in words


def test_text_from_a_run_in_a_chart_is_only_text(visit: Any) -> None:
    seen = visit()
    seen.draw_all()
    assert seen.page.locator("script").count() == 3
    assert seen.page.title() != "owned"


def test_charts_are_drawn_again_when_night_falls(visit: Any) -> None:
    seen = visit()
    seen.draw_all()
    blue = "[data-chart='1'] path[fill='#0072B2']"
    assert seen.page.locator(blue).count() == 9
    seen.page.emulate_media(color_scheme="dark")
    seen.page.locator("[data-chart='1'] path[fill='#56B4E9']").first.wait_for(state="attached")
    assert seen.page.locator(blue).count() == 0
    assert seen.said == []


def test_the_policy_stops_what_should_not_run(visit: Any) -> None:
    seen = visit()
    added = "Object.assign(document.createElement('script'), {textContent: 'window.owned = 1'})"
    seen.page.evaluate(f"document.body.append({added})")
    assert seen.page.evaluate("window.owned === undefined")
    assert any("Content Security Policy" in words for words in seen.said)


def test_the_contents_lead_to_the_experiments(visit: Any) -> None:
    seen = visit(PHONE)
    seen.page.locator("nav a").last.click()
    seen.page.locator("#experiment-passk h2").wait_for(state="visible")
    assert seen.page.url.endswith("#experiment-passk")
