"""The page's view of a stored run when replies come late, in another order, or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from browser.scripted_server import KEY

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from browser.conftest import Watched
    from browser.scripted_server import Script

pytestmark = pytest.mark.browser

GONE = "The server can't be reached"


@pytest.fixture
def watched(watched: Watched) -> Iterator[Watched]:
    yield watched
    # The browser itself notes each reply that fails; what the page makes of it is tested here.
    watched.complaints[:] = [text for text in watched.complaints if "Failed to load resource" not in text]


class Held:
    """The replies to requests whose address has a part, kept until the test lets them go."""

    def __init__(self, page: Page, part: str) -> None:
        self.page = page
        self.routes: list[Route] = []
        page.route(lambda url: part in url, lambda route: self.routes.append(route))

    def wait(self) -> None:
        """Wait until a request is held."""
        deadline = time.monotonic() + 15
        while not self.routes:
            assert time.monotonic() < deadline, "no such request came"
            self.page.wait_for_timeout(10)

    def answer(self) -> None:
        self.wait()
        route = self.routes.pop()
        route.fulfill(response=route.fetch())
        self._arrive()

    def fail(self) -> None:
        self.wait()
        self.routes.pop().abort()
        self._arrive()

    def _arrive(self) -> None:
        # A later request was answered and the page had its turn, so it has dealt with the held one too.
        self.page.evaluate("fetch('/icon.svg').then(() => new Promise((done) => setTimeout(done)))")


def go(page: Page, id: str | None = None) -> None:
    page.evaluate(
        "hash => { location.hash = hash; }", "#/run" if id is None else f"#/run/{id.replace('/', '%2F')}"
    )


def wait_for_question(page: Page, id: str) -> None:
    page.wait_for_function("id => document.querySelector('#run-question-id').textContent === id", arg=id)
    page.wait_for_selector("#run:not([aria-busy]) #run-vote .rows li")


def wait_for_table(page: Page) -> None:
    page.wait_for_selector("#run:not([aria-busy]) #run-rows tr")


def scored(page: Page) -> str:
    """The method whose accuracy is shown."""
    return page.locator("#run-scores dt").first.inner_text()


def going_on(page: Page) -> Held:
    """Show a question and go to the one after it, set/4, whose reply is held."""
    go(page, "set/3")
    wait_for_question(page, "set/3")
    held = Held(page, "questions/set%2F4?")
    page.click("#run-after")
    held.wait()
    return held


def test_a_text_is_of_the_question_whose_vote_was_opened(page: Page) -> None:
    going_on(page)
    with page.expect_request(lambda request: "/samples/" in request.url) as asked:
        page.locator("#run-vote .rows button").first.dispatch_event("click")
    assert asked.value.url.endswith("/questions/set%2F3/samples/0")
    page.wait_for_selector(".reader .step-text")


def test_the_last_question_is_gone_while_the_next_one_loads(page: Page) -> None:
    held = going_on(page)
    assert page.inner_text("#run-question-id") == "set/4"
    assert page.inner_text("#run-place") == "5 of 30"
    assert not page.is_visible("#run-question-text")
    assert not page.is_visible("#run-vote")
    held.answer()
    wait_for_question(page, "set/4")
    assert page.inner_text("#run-question-text").startswith("Tom has 4 apples")


def test_the_method_that_is_chosen_is_the_one_that_is_shown(page: Page) -> None:
    go(page)
    wait_for_table(page)
    held = Held(page, "questions?method=sc")
    page.select_option("#run-method", "sc")
    held.wait()
    page.select_option("#run-method", "dis-gmm")
    wait_for_table(page)
    held.answer()
    assert (page.input_value("#run-method"), scored(page)) == ("dis-gmm", "dis-gmm")


def test_a_question_that_does_not_come_leaves_no_other_on_the_screen(page: Page) -> None:
    held = going_on(page)
    held.fail()
    page.wait_for_selector("#run-failure:not([hidden])")
    assert GONE in page.inner_text("#run-failure")
    assert page.inner_text("#run-question-id") == "set/4"
    assert not page.is_visible("#run-question-text")
    assert not page.is_visible("#run-vote")
    page.click("#run-failure >> text=Try again")
    held.answer()
    wait_for_question(page, "set/4")
    assert not page.is_visible("#run-failure")


def test_a_question_that_is_not_in_the_run_shows_no_empty_vote(page: Page) -> None:
    go(page, "nowhere")
    page.wait_for_selector("#run-failure:not([hidden])")
    assert "There is no such question" in page.inner_text("#run-failure")
    assert not page.is_visible("#run-vote")
    assert page.is_disabled("#run-before")
    assert page.is_disabled("#run-after")


def test_a_run_that_does_not_come_can_be_tried_again(page: Page) -> None:
    held = Held(page, "questions?method=")
    go(page, "set/3")
    held.fail()
    page.wait_for_selector("#run-failure:not([hidden])")
    assert not page.is_visible("#run-vote")
    assert page.is_disabled("#run-before")
    assert page.is_disabled("#run-after")
    page.click("#run-failure >> text=Try again")
    held.answer()
    wait_for_question(page, "set/3")
    assert page.inner_text("#run-place") == "4 of 30"


def test_the_failure_of_a_question_that_was_left_is_not_shown(page: Page) -> None:
    go(page, "set/3")
    wait_for_question(page, "set/3")
    left, wanted = Held(page, "questions/set%2F4?"), Held(page, "questions/set%2F5?")
    go(page, "set/4")
    left.wait()
    go(page, "set/5")
    wanted.wait()
    left.fail()
    assert page.get_attribute("#run", "aria-busy") == "true"
    assert not page.is_visible("#run-failure")
    wanted.answer()
    wait_for_question(page, "set/5")
    assert not page.is_visible("#run-failure")


def test_a_method_that_does_not_come_leaves_the_last_one_in_use(page: Page) -> None:
    go(page)
    wait_for_table(page)
    held = Held(page, "questions?method=sc")
    page.select_option("#run-method", "sc")
    held.fail()
    page.wait_for_selector("#run-failure:not([hidden])")
    assert (page.input_value("#run-method"), scored(page)) == ("dis-gmm", "dis-gmm")
    page.fill("#run-search", "Tom has 17 apples")
    assert page.locator("#run-rows tr").count() == 1
    page.click("#run-failure >> text=Try again")
    held.answer()
    page.wait_for_selector("#run-failure", state="hidden")
    wait_for_table(page)
    assert (page.input_value("#run-method"), scored(page)) == ("sc", "sc")


def give_key(page: Page, key: str) -> None:
    page.wait_for_selector("#key-dialog[open]")
    page.fill("#key", key)
    page.keyboard.press("Enter")


def test_the_table_asks_for_the_key(page: Page, script: Script) -> None:
    script.key = KEY
    go(page)
    give_key(page, "wrong")
    give_key(page, KEY)
    wait_for_table(page)
    assert not page.is_visible("#run-failure")


def test_a_question_and_a_text_ask_for_the_key(page: Page, script: Script) -> None:
    go(page)
    wait_for_table(page)
    script.key = KEY
    go(page, "set/3")
    give_key(page, KEY)
    wait_for_question(page, "set/3")
    script.key = "another"
    page.locator("#run-vote .rows button").first.click()
    give_key(page, "another")
    page.wait_for_selector(".reader .step-text")


def test_without_a_key_the_run_says_why_and_asks_again(page: Page, script: Script) -> None:
    script.key = KEY
    go(page)
    page.wait_for_selector("#key-dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("#run-failure:not([hidden])")
    assert "The API key is missing or wrong" in page.inner_text("#run-failure")
    page.click("#run-failure >> text=Try again")
    give_key(page, KEY)
    wait_for_table(page)


def test_a_change_of_method_leaves_the_keyboard_where_it_is(page: Page) -> None:
    go(page, "set/3")
    wait_for_question(page, "set/3")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.dataset.id === 'set/3'")
    page.focus("#run-method")
    page.select_option("#run-method", "sc")
    page.wait_for_function("() => document.querySelector('#run-scores').textContent.includes('sc')")
    assert page.evaluate("document.activeElement.id") == "run-method"
