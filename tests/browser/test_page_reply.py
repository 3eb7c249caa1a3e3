"""The answer card, the settings behind More, the history of the browser, and what can be taken along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from browser.scripted_server import REPLY, Script

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def ask(page: Page, question: str, until: str = ".card[data-state=finished]") -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_selector(until)


def test_the_reply_is_rendered(page: Page) -> None:
    ask(page, "markdown")
    reply = page.locator(".reply-text")
    assert reply.locator("h5").inner_text() == "Plan"
    assert reply.locator("ol > li").count() == 2
    assert reply.locator("li strong").inner_text() == "five"
    assert reply.locator("li mfrac").count() == 1
    assert reply.locator("li code").inner_text() == "7"
    assert reply.locator("pre").inner_text() == "print(5 + 7)"
    assert reply.locator("td").all_inner_texts() == ["2", "12"]
    assert [link.get_attribute("href") for link in reply.locator("a").all()] == ["https://example.org/"]


def test_the_reply_is_copied_as_it_was_written(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(page, "markdown")
    page.click(".reply > button")
    page.wait_for_function("() => document.querySelector('.reply > button').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == REPLY


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a * b * c and 2*3*4", "<p>a * b * c and 2<em>3</em>4</p>"),
        ("snake_case_name", "<p>snake_case_name</p>"),
        ("$a_1 * b_2 * c$ is *x*", None),
        ("- a\n  - b\n- c", "<ul><li><p>a</p><ul><li>b</li></ul></li><li>c</li></ul>"),
        ("3. c\n4. d", '<ol start="3"><li>c</li><li>d</li></ol>'),
        ("```\nopen", "<pre><code>open</code></pre>"),
        ("<b>x</b> & <script>", "<p>&lt;b&gt;x&lt;/b&gt; &amp; &lt;script&gt;</p>"),
        ("It is\n12. The end", "<p>It is\n12. The end</p>"),
        ("> a\n> b", "<blockquote><p>a\nb</p></blockquote>"),
    ],
)
def test_markdown_becomes_nodes(page: Page, source: str, expected: str | None) -> None:
    script = """async (source) => {
      const { markdown } = await import("/markdown.js");
      const place = document.createElement("div");
      place.append(...markdown(source));
      for (const each of place.querySelectorAll("figcaption")) each.remove();
      for (const each of place.querySelectorAll("*"))
        for (const name of ["dir", "tabindex"]) each.removeAttribute(name);
      return place.innerHTML;
    }"""
    made = page.evaluate(script, source)
    if expected is None:
        assert "<em>x</em>" in made
        assert made.count("<em>") == 1
    else:
        assert expected in made


def test_a_probability_is_never_certain(page: Page) -> None:
    ask(page, "sure")
    assert page.inner_text(".probable").startswith("> 99%")


def test_no_probability_is_shown_that_was_not_calibrated(page: Page) -> None:
    ask(page, "text")
    assert not page.locator(".probable").first.is_visible()
    assert "answers say so" in page.inner_text(".card")


def test_it_says_what_decided_without_confidences(page: Page) -> None:
    ask(page, "no confidences")
    assert page.inner_text(".card .note").startswith("Majority voting decided")


def test_each_field_is_shown_with_the_value_that_came_second(page: Page) -> None:
    ask(page, "fields")
    rows = [
        row.locator("th, td").all_inner_texts() for row in page.locator("[aria-label=Fields] tbody tr").all()
    ]
    assert rows == [["name", "Tom", "9 of 10", "90%", "Tim (1)"], ["age", "7", "9 of 10", "90%", ""]]
    assert json.loads(page.inner_text(".reply-text pre")) == {"name": "Tom", "age": 7}


def test_one_trajectory_can_be_read_while_it_grows(page: Page) -> None:
    ask(page, "slow", until=".reply.grows")
    page.wait_for_function("() => document.querySelector('.reply-text').textContent === 'Once more'")
    assert page.inner_text(".reply h3") == "Trajectory 4, as it is written"
    page.click("#stop")
    page.wait_for_selector(".card[data-state=stopped]")
    assert not page.locator(".reply").first.is_visible()


def test_settings_behind_more_are_sent_if_they_were_changed(page: Page, script: Script) -> None:
    ask(page, "first")
    assert set(script.asked[-1]) == {"question", "budget", "method", "ssc"}
    page.click("#more summary")
    page.fill("#answer", "label:yes,no")
    page.select_option("#template", "plain")
    page.fill("#temperature", "0.9")
    page.fill("#max-tokens", "77")
    page.fill("#system", "Be brief.")
    page.uncheck("#ssc")
    ask(page, "second")
    changed = {"answer": "label:yes,no", "template": "plain", "temperature": 0.9, "max_tokens": 77}
    assert changed.items() <= script.asked[-1].items()
    assert (script.asked[-1]["system"], script.asked[-1]["ssc"]) == ("Be brief.", False)


def test_a_finished_vote_has_a_link_that_shows_it_again(page: Page, script: Script) -> None:
    ask(page, "markdown")
    link = page.url
    assert urlsplit(link).fragment.startswith("/ask/")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(".card[data-state=finished]")
    assert page.input_value("#question") == "markdown"
    assert page.locator(".rows li").count() == 32
    assert page.locator(".reply-text mfrac").count() == 1
    assert len(script.asked) == 1


def test_a_link_of_another_browser_fills_the_form_and_asks_nothing(page: Page, script: Script) -> None:
    origin = page.url.partition("#")[0]
    page.goto(f"{origin}#/ask/unknown?question=What+is+2%2B2%3F&budget=5&method=sc&temperature=1&ssc=off")
    page.wait_for_selector("#linked:not([hidden])")
    values = [page.input_value(f"#{name}") for name in ("question", "budget", "method", "temperature")]
    assert values == ["What is 2+2?", "5", "sc", "1"]
    assert not page.locator("#ssc").is_checked()
    assert script.asked == []


def test_the_history_lists_votes_newest_first_and_can_be_cleared(page: Page) -> None:
    for question in ("first one", "the second"):
        ask(page, question)
        page.wait_for_function(
            "text => decodeURIComponent(location.hash).includes(text)", arg=question.replace(" ", "+")
        )
    page.click("#history-open")
    assert page.locator("#history .asked").all_inner_texts() == ["the second", "first one"]
    page.click("#history li:last-child a")
    page.wait_for_function("() => document.querySelector('#question').value === 'first one'")
    page.click("#history-open")
    page.click("#history-clear")
    assert page.locator("#history li").count() == 0
    assert page.evaluate("localStorage.length") == 0


def test_a_vote_is_exported_as_json(page: Page, tmp_path: Path) -> None:
    ask(page, "markdown")
    with page.expect_download() as started:
        page.click("text=Export JSON")
    file = tmp_path / "vote.json"
    started.value.save_as(file)
    document = json.loads(file.read_text())
    assert document["question"] == "markdown"
    assert document["reply"] == REPLY
    assert len(document["trajectories"]) == 32
    assert document["trajectories"][0]["text"]


def test_a_setting_that_is_refused_is_named_as_on_the_page(page: Page) -> None:
    script = """async (error) => (await import("/failures.js")).failureOf(error)"""
    refused = page.evaluate(script, {"type": "invalid_request_error", "status": 400, "param": "ssc.alpha"})
    assert (refused["field"], refused["todo"]) == (
        "ssc",
        "Switch SelfStepConf off under More, then ask again.",
    )
    busy = page.evaluate(script, {"status": 429})
    assert busy["title"] == "The server is busy"
    lost = page.evaluate(script, {})
    assert lost["title"] == "The connection is lost"
