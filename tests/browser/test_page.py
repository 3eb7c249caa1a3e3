"""The page in a real browser, against a server that plays the documented events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from browser.scripted_server import KEY, MEGABYTE, Script, serving
from browser.scripted_votes import HOSTILE, final, trajectories
from distrivote.voting.explain import likely

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from browser.conftest import Watched

pytestmark = pytest.mark.browser

QUESTION = "Tom has 5 apples and buys 7 more. How many has he?"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def ask(page: Page, question: str, until: str = ".card[data-state=finished]") -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")
    page.wait_for_selector(until)


def test_a_question_is_asked_with_enter_and_answered(page: Page, script: Script) -> None:
    ask(page, QUESTION)
    expected = final(trajectories(32, seed=sum(map(ord, QUESTION))), 32)
    assert script.asked[0]["question"] == QUESTION
    assert script.asked[0]["ssc"]["reflection"] == "wait"
    assert page.inner_text(".card .answer") == expected["answer"]
    assert page.inner_text(".probable").startswith(likely(expected["probability"]))
    assert f"{expected['n_tokens']:,}" in page.inner_text(".facts")
    assert page.locator(".rows li").count() == 32
    assert page.locator(".rows li").first.get_attribute("data-index") == "31"


def test_another_question_takes_the_last_answer_away_at_once(page: Page) -> None:
    ask(page, QUESTION)
    state, n_votes = page.evaluate(
        """() => {
          document.querySelector("#ask-form").requestSubmit();
          const card = document.querySelector(".card");
          return [card.dataset.state, document.querySelectorAll(".votes tbody tr").length];
        }"""
    )
    assert (state, n_votes) == ("waiting", 0)
    page.wait_for_selector(".card[data-state=finished]")  # else the server may end first


def test_the_panels_show_the_votes_numbers(page: Page) -> None:
    ask(page, QUESTION)
    tally = final(trajectories(32, seed=sum(map(ord, QUESTION))), 32)
    split = tally["first_split"]
    assert f"likely wrong {split['n_negative']}" in page.inner_text(".sides")
    assert f"likely right {split['n_positive']}" in page.inner_text(".sides")
    page.wait_for_function(
        "t => document.querySelector('.cut-label').textContent === t", arg=f"cut {split['cut']:.1f}"
    )
    rows = [row.split() for row in page.locator(".votes tbody tr").all_inner_texts()]
    first = tally["answers"][0]
    assert rows[0] == [
        first,
        *(str(tally[stage][first]) for stage in ("votes", "likely_right_votes", "kept_votes")),
        f"{tally['shares'][first]:.0%}",
    ]
    rejected = page.locator(".votes tr.rejected")
    assert rejected.locator("s").count() == 1
    assert "rejected" in rejected.inner_text()
    told = tally["explanation"].splitlines()
    assert page.locator(".words li").all_inner_texts()[: len(told)] == told


def test_the_axes_stay_while_trajectories_come(page: Page) -> None:
    grown = page.evaluate(
        """async () => {
          const { Range } = await import("/numbers.js");
          const range = new Range();
          const seen = [];
          for (const value of [14, 14.2, 13.9, 15, 9, 9.1, 15, 12, 20, 8.9]) {
            range.take([value]);
            seen.push([range.low, range.high, range.place(value)]);
          }
          return seen;
        }"""
    )
    lows, highs, places = zip(*grown, strict=True)
    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs)
    assert len({(low, high) for low, high, _ in grown}) <= 4
    assert all(0 <= place <= 1 for place in places)


def test_a_range_takes_more_values_than_a_call_takes_arguments(page: Page) -> None:
    script = """async () => {
      const { Range } = await import("/numbers.js");
      const range = new Range();
      range.take(Array.from({ length: 300_000 }, (_, i) => 5 + (i % 11)));
      return [range.low, range.high];
    }"""
    assert page.evaluate(script) == [4, 16]


def test_times_are_rounded_before_they_are_split(page: Page) -> None:
    cases = {89.94: "89.9 s", 89.96: "1 min 30 s", 119.7: "2 min 0 s", 150.2: "2 min 30 s"}
    for time, expected in cases.items():
        written = page.evaluate("async (s) => (await import('/numbers.js')).seconds(s)", time)
        assert written == expected, time


def test_stop_ends_the_sampling_and_keeps_what_came(page: Page, script: Script) -> None:
    script.pause = 0.05
    ask(page, QUESTION, until=".rows li:nth-child(3)")
    page.click("#stop")
    page.wait_for_selector(".card[data-state=stopped]")
    assert page.is_visible("#ask")
    assert "Stopped with" in page.inner_text("#progress-words")
    assert script.gone.wait(10)
    ask(page, "again", until=".rows li:nth-child(2)")


def test_a_trajectory_is_read_with_the_keyboard_alone(page: Page) -> None:
    ask(page, QUESTION)
    page.locator(".rows button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expected = trajectories(32, seed=sum(map(ord, QUESTION)))[30]
    assert page.inner_text("#reader-title").startswith("Trajectory 31")
    assert page.locator(".reader .step").count() == len(expected["step_confidences"])
    chips = page.locator(".reader .chip").all_inner_texts()
    assert chips == [f"{value:.1f}" for value in expected["step_confidences"]]
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#reader-title").startswith("Trajectory 32")
    page.keyboard.press("Escape")
    assert not page.locator(".reader").is_visible()
    assert page.evaluate("document.activeElement.closest('li').dataset.index") == "30"


def test_the_keyboard_stays_with_the_reader_at_the_last_row(page: Page) -> None:
    ask(page, QUESTION)
    page.locator(".rows button").nth(-2).click()
    page.focus("[aria-label='The row below']")
    page.keyboard.press("Enter")
    assert page.inner_text("#reader-title").startswith("Trajectory 1 ")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#reader-title").startswith("Trajectory 2 ")


ROWS = """async (pool) => {
  const [{ Rows }, { Vote }] = await Promise.all([import("/rows.js"), import("/vote.js")]);
  const [rows, vote] = [new Rows(() => {}, "surest"), new Vote()];
  document.body.append(rows.element);
  pool.slice(0, 4).forEach((each) => vote.add(each));
  rows.update(vote);
  const indices = () => rows.inOrder().map(({ index }) => index);
"""


def test_a_focused_row_keeps_the_focus_while_others_come(page: Page) -> None:
    script = f"""{ROWS}
      const held = rows.list.querySelectorAll("button")[1];
      held.focus();
      let nLost = 0;
      held.addEventListener("blur", () => (nLost += 1));
      for (const each of pool.slice(4)) {{
        vote.add(each);
        rows.update(vote);
      }}
      return [nLost, document.activeElement === held, indices()];
    }}"""
    pool = trajectories(24)
    surest = [each["index"] for each in sorted(pool, key=lambda each: -each["confidence"])]
    assert page.evaluate(script, pool) == [0, True, surest]


def test_an_order_can_be_chosen_before_the_newest_row_is_drawn(page: Page) -> None:
    script = f"""{ROWS}
      vote.add(pool[4]);
      rows.order.value = "number";
      rows.order.dispatchEvent(new Event("change"));
      const before = indices();
      rows.update(vote);
      return [before, indices()];
    }}"""
    assert page.evaluate(script, trajectories(5)) == [[0, 1, 2, 3], [0, 1, 2, 3, 4]]


def test_reflections_and_thresholds_are_marked(page: Page) -> None:
    ask(page, QUESTION)
    pool = trajectories(32, seed=sum(map(ord, QUESTION)))
    reflected = next(each for each in pool if each["reflections"])
    row = page.locator(f".rows li[data-index='{reflected['index']}']")
    assert row.locator("path.reflection").count() == len(reflected["reflections"])
    assert row.locator("path.threshold").get_attribute("d")
    row.locator("button").click()
    assert page.locator("mark.reflected").count() == len(reflected["reflections"])
    assert page.locator("mark.reflected").first.text_content() == "reflection: wait,"
    assert page.locator(".step-chart .threshold").count() == len(reflected["step_confidences"]) - 1
    assert page.locator(".reader math").count() > 0


def test_model_output_is_shown_as_text_whatever_it_says(page: Page) -> None:
    ask(page, "hostile")
    assert page.text_content(".card .answer").startswith("<script>alert(1)</script><img")
    page.locator(".rows button").first.click()
    assert page.text_content(".reader .text") == HOSTILE
    assert page.locator("main script, dialog script, img").count() == 0


def test_characters_that_hide_or_reorder_text_are_shown_as_signs(page: Page) -> None:
    text = "a\x1b[31mb\u202ec\x00\x7f\u2066\n\té"
    made = page.evaluate(
        """async (text) => {
          const [dom, { prose }] = await Promise.all([import("/dom.js"), import("/prose.js")]);
          const said = dom.el("p");
          dom.say(said, text);
          const nodes = [dom.el("p", {}, text), said, dom.el("p", {}, ...prose(text))];
          return [...nodes, dom.el("p", {}, ...prose(`${text}$x\u202ey$`))].map((one) => one.textContent);
        }""",
        text,
    )
    shown = "a␛[31mb\\u202ec␀␡\\u2066\n\té"
    assert made[:3] == [shown] * 3
    assert made[3].startswith(shown)
    assert "\u202e" not in made[3]


def test_a_megabyte_is_shown_whole(page: Page) -> None:
    ask(page, "megabyte")
    page.locator(".rows li[data-index='0'] button").click()
    page.wait_for_selector(".reader .piece")
    shown = page.evaluate("[...document.querySelectorAll('.piece')].map((each) => each.textContent).join('')")
    assert shown.rstrip() == MEGABYTE.rstrip()


def test_only_changes_of_state_are_announced(page: Page) -> None:
    page.evaluate(
        """() => {
          window.said = [];
          const keep = (records) => said.push(...records.flatMap(({ addedNodes }) => [...addedNodes]));
          for (const status of document.querySelectorAll("#ask-view [role=status]"))
            new MutationObserver(keep).observe(status, { childList: true });
        }"""
    )
    ask(page, QUESTION)
    assert page.evaluate("said.map((each) => each.textContent)") == [
        "Sending the question…",
        "Waiting: one question is before yours",
        "Sampling",
        "Done: 32 trajectories in 4.8 s",
    ]


def test_what_goes_wrong_is_said(page: Page) -> None:
    ask(page, "nothing", until="#failure:not([hidden])")
    assert "None of 32 trajectories gave an answer" in page.inner_text("#failure")
    assert "Choose a Kind of answer under More" in page.inner_text("#failure-todo")
    assert page.locator("#answer").is_visible()
    assert not page.locator(".vote").first.is_visible()
    ask(page, "dies")
    assert "the engine failed after 5 of 32" in page.inner_text(".card .note")
    assert not page.is_visible("#failure")


def test_a_server_with_a_key_asks_for_it(watched: Watched) -> None:
    page = watched.page
    with serving(Script(key=KEY)) as url:
        page.goto(url)
        for key in ("wrong", KEY):
            page.wait_for_selector("#key-dialog[open]")
            page.fill("#key", key)
            page.keyboard.press("Enter")
        page.wait_for_selector("body[data-ready]")
        ask(page, QUESTION)
    # The browser itself notes each refusal.
    refusals = [text for text in watched.complaints if "401" in text]
    assert len(refusals) == 2
    watched.complaints[:] = [text for text in watched.complaints if text not in refusals]


def test_a_stored_run_is_sorted_filtered_and_walked(page: Page) -> None:
    page.click("#to-run")
    page.wait_for_selector("#run-rows tr")
    assert page.locator("#run-rows tr").count() == 30
    page.click("#run-heads th:nth-child(5) button")
    shares = [int(text.rstrip("%")) for text in page.locator("#run-rows td:nth-child(5)").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    page.select_option("#run-filter", "wrong")
    marks = page.locator("#run-rows td:first-child").all_inner_texts()
    assert set(marks) == {"✗"}
    page.fill("#run-search", "no such thing")
    assert "No question fits" in page.inner_text("#run-empty")
    page.fill("#run-search", "")
    page.select_option("#run-filter", "all")
    page.click("#run-heads th:nth-child(2) button")
    page.locator("#run-rows a").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#run-vote .rows li")
    assert page.inner_text("#run-question-id") == "set/1"
    page.keyboard.press("Escape")
    page.wait_for_selector("#run-table:not([hidden])")
    page.wait_for_function("() => document.activeElement.dataset.id === 'set/1'")


def test_a_question_of_a_run_shows_its_vote_and_texts(page: Page) -> None:
    page.goto(page.url.split("#")[0] + "#/run/set%2F3")
    page.wait_for_selector("#run-vote .rows li")
    assert page.locator("#run-vote .rows li").count() == 32
    assert page.locator("#run-vote .verdict .right, #run-vote .verdict .wrong").count() == 1
    page.locator("#run-vote .rows button").first.click()
    page.wait_for_selector(".reader .step-text")
    assert "The answer is" in page.inner_text(".reader .text")


@pytest.mark.parametrize(
    "watched",
    [PHONE, PHONE | {"color_scheme": "dark", "reduced_motion": "reduce"}],
    indirect=True,
    ids=["phone", "phone, dark, still"],
)
def test_nothing_sticks_out_on_a_phone(page: Page) -> None:
    def fits() -> bool:
        return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

    assert fits()
    ask(page, QUESTION)
    assert fits()
    page.locator(".rows button").first.click()
    assert page.evaluate("document.querySelector('.reader-inner').scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    page.click("#to-run")
    page.wait_for_selector("#run-rows tr")
    assert fits()


@pytest.mark.parametrize(
    ("watched", "top"),
    [
        ({"viewport": {"width": 1280, "height": 900}}, None),
        ({"viewport": {"width": 1280, "height": 1600}}, 16),
    ],
    indirect=["watched"],
    ids=["higher than the window", "lower than the window"],
)
def test_the_whole_story_can_be_seen_beside_many_rows(page: Page, top: int | None) -> None:
    page.fill("#budget", "128")
    ask(page, QUESTION)
    box = "document.querySelector('.story').getBoundingClientRect()"
    page.evaluate(f"scrollTo(0, {box}.bottom - innerHeight + 16)")
    for further in (0, 2000):
        page.evaluate("further => scrollBy(0, further)", further)
        words = page.evaluate("document.querySelector('.words').getBoundingClientRect().toJSON()")
        assert 0 <= words["top"] <= words["bottom"] <= page.evaluate("innerHeight")
    if top is not None:
        assert page.evaluate(f"{box}.top") == top


def test_every_control_has_a_name(page: Page) -> None:
    ask(page, QUESTION)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, a")].filter((each) =>
          each.checkVisibility() && !each.getAttribute("aria-label") && !each.textContent.trim()
          && !each.labels?.length
        ).map((each) => each.outerHTML)"""
    )
    assert nameless == []


@pytest.fixture
def drawn(page: Page) -> Callable[[str], str]:
    def draw(source: str) -> str:
        script = """async (source) => {
          const { formula } = await import("/math.js");
          return formula(source)?.outerHTML.replace(/^<math[^>]*>|<.math>$/g, "") ?? "none";
        }"""
        return str(page.evaluate(script, source))

    return draw


def test_mathematics_is_drawn(drawn: Callable[[str], str]) -> None:
    cases = {
        r"\frac{1}{2}": "<mfrac><mn>1</mn><mn>2</mn></mfrac>",
        r"\frac12": "<mfrac><mn>1</mn><mn>2</mn></mfrac>",
        "x^2_i": "<msubsup><mi>x</mi><mi>i</mi>",
        r"\sqrt[3]{8}": "<mroot><mn>8</mn><mn>3</mn></mroot>",
        r"\pi \le 3{,}000": "<mrow><mi>π</mi><mo>≤</mo><mn>3,000</mn></mrow>",
        r"\boxed{7}": "<mrow",
        r"\sum_{i=1}^n": '<msubsup><mo movablelimits="false">∑</mo><mrow><mi>i</mi><mo>=</mo>',
        r"\overline{BC}": "<menclose",
        r"\mbox{ cm}^2": "<msup><mtext>",
        r"\text{if } x": "<mrow><mtext>if&nbsp;</mtext><mi>x</mi></mrow>",
        r"\unknown{x}": "none",
        r"\href{javascript:alert(1)}{x}": "none",
        r"\includegraphics{https://example.org/x.png}": "none",
        r"\def\a{\a\a}\a": "none",
        "x\u202e": "none",
        r"<img src=x onerror=alert(1)>": "<mrow><mo>&lt;</mo><mi>i</mi>",
        "{" * 500: "none",
        r"\frac{1": "none",
        "}": "none",
        r"\begin{cases} 1 & x \\ 2 & y \end{cases}": "<mrow><mo",
    }
    for source, expected in cases.items():
        assert drawn(source).startswith(expected), source


def test_amounts_of_money_and_words_are_no_mathematics(page: Page) -> None:
    script = """async (text) => {
      const { prose } = await import("/prose.js");
      return prose(text).filter((node) => node.nodeName === "math")
        .map((node) => node.getAttribute("aria-label"));
    }"""
    cases = {
        "It cost $5 and $7.": [],
        "so $x = 5$ and $y$": ["x = 5", "y"],
        r"thus \boxed{\frac{1}{2}} holds": [r"\boxed{\frac{1}{2}}"],
        r"\[ x^2 \] and \( y \) and $$z$$": [" x^2 ", " y ", "z"],
        r"broken \boxed{1 and \frac{2": [],
        r"so \boxed{user_name of the account}": [],
        r"so \boxed{\text{no solution}}": [r"\boxed{\text{no solution}}"],
        "$" * 1000: [],
        "\\": [],
    }
    for text, expected in cases.items():
        assert page.evaluate(script, text) == expected, text


def test_answers_in_words_are_no_mathematics(page: Page) -> None:
    script = """async (answer) => {
      const { answerSpan } = await import("/prose.js");
      const [node, ...rest] = answerSpan(answer).childNodes;
      return rest.length === 0 && node.nodeName === "math";
    }"""
    formulas = [
        r"\frac{abc}{4R}", "x_{max}", "v_{initial}", "ab^2", "2ab_1", "4xyz^3", "a_nb_n", "H_2O", "CaCO_3",
        r"\text{no solution}", r"x = 2 \text{ or } y_1", "10 cm^2", r"\operatorname{rank} A", r"\angle ABCD",
        r"\begin{array}{cccc} 1 & 2 & 3 & 4 \end{array}", r"2ab \pi cd",
        r"\alpha \beta", r"3 \times 10^8 m s^{-1}",
    ]  # fmt: skip
    words = [
        "user_name of the account", "the file read_me.txt", "USER_NAME", "my_id", "a^b is not c",
        "x^2 if x > 0", "x_1 or x_2", "2^n mod 7", r"\frac{1}{2} hour", "المساحة r^2", "units^2",
    ]  # fmt: skip
    assert [text for text in formulas if not page.evaluate(script, text)] == []
    assert [text for text in words if page.evaluate(script, text)] == []


def test_formulas_among_words_are_drawn(page: Page) -> None:
    script = """async (answer) => {
      const { answerSpan } = await import("/prose.js");
      return [...answerSpan(answer).childNodes].map((node) => node.nodeName + node.textContent);
    }"""
    assert page.evaluate(script, r"about \frac{1}{2} hour") == ["#textabout ", "math12", "#text hour"]


def test_a_rejected_formula_is_struck_through(page: Page) -> None:
    script = """async (rejected) => {
      const { answerSpan } = await import("/prose.js");
      const span = answerSpan("x^2", { rejected });
      document.body.append(span);
      return getComputedStyle(span.firstChild).backgroundImage === "none";
    }"""
    assert page.evaluate(script, False)
    assert not page.evaluate(script, True)


def test_the_last_step_is_named_whole(page: Page) -> None:
    script = """async (nSteps) => {
      const [{ stepChart }, { Range }] = await Promise.all([import("/sparkline.js"), import("/numbers.js")]);
      const steps = Array.from({ length: nSteps }, (_, i) => 8 + (i % 5));
      const range = new Range();
      range.take(steps);
      const trajectory = { step_confidences: steps, thresholds: [], reflections: [] };
      const chart = stepChart(trajectory, range, 300, () => {});
      document.body.append(chart);
      const last = [...chart.querySelectorAll("text")].at(-1);
      const { x, width } = last.getBBox();
      return [last.textContent, x + width <= 300];
    }"""
    for n_steps in (1, 2, 10, 400):
        assert page.evaluate(script, n_steps) == [f"step {n_steps}", True]


def test_events_are_the_same_for_every_chunking(page: Page) -> None:
    script = """async (size) => {
      const { events } = await import("/server.js");
      const text = ": hello\\n\\nevent: a\\ndata: {\\"x\\": \\"é🙂\\"}\\n\\n" +
        "data: 1\\r\\n\\r\\nevent: b\\ndata: [1,\\ndata: 2]\\n\\nevent: cut";
      const bytes = new TextEncoder().encode(text);
      const body = new ReadableStream({ start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      } });
      const seen = [];
      for await (const event of events(body)) seen.push([event.name, event.data]);
      return seen;
    }"""
    expected = [["a", {"x": "é🙂"}], ["message", 1], ["b", [1, 2]]]
    for size in (1, 2, 3, 7, 1000):
        assert page.evaluate(script, size) == expected
