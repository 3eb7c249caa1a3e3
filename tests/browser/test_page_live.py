"""The page in a real browser, against the real server over trajectories that are played back."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from browser.scripted_votes import HOSTILE, Json, trajectories
from distrivote import Problem, SamplingParams, SelfStepConf, Trajectory
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import EngineError
from distrivote.generation.sampling import generate, todo
from distrivote.store.runs.manifest import Manifest
from distrivote.store.runs.writer import RunWriter
from distrivote.trajectory import Insertion, Interventions

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from browser.conftest import Watched
    from distrivote.server.settings import Settings

pytestmark = pytest.mark.browser
pytest.importorskip("fastapi")

QUESTION = "Tom has 5 apples and buys 7 more. How many has he?"


def stored(made: Json) -> Trajectory:
    """Return a made-up trajectory as an engine gives it: words are its tokens."""
    tokens: list[str] = []
    confidences: list[float] = []
    ends, start = [], 0
    for end, confidence in zip(made["step_text_ends"], made["step_confidences"], strict=True):
        words = re.findall(r"\S+\s*", made["text"][start:end])
        tokens += words
        confidences += [confidence] * len(words)
        ends.append(len(tokens))
        start = end
    offsets = np.cumsum([0, *map(len, tokens)]).tolist()
    insertions = [Insertion(offsets.index(each["text_start"]), 1) for each in made["reflections"]]
    record = Interventions(tuple(insertions), tuple(ends), tuple(made["step_confidences"]))
    top = np.repeat(-np.array(confidences)[:, None], 20, axis=1)
    return Trajectory(
        made["text"], tuple(tokens), top, np.full(len(tokens), -0.1), "stop", interventions=record
    )


def plain(text: str) -> Trajectory:
    return Trajectory(text, (text,), np.full((1, 20), -9.0), np.array([-0.1]), "stop")


class Unhurried(ReplayEngine):
    """Takes a moment for each trajectory, so that there is something to watch; fails where it is told to."""

    pause = 0.0
    fails_after: int | None = None

    def sample(self, *args: Any, **options: Any) -> Iterator[Trajectory]:  # type: ignore[override]
        for n, trajectory in enumerate(super().sample(*args, **options)):
            if n == self.fails_after:
                raise EngineError("it ran out of memory")
            time.sleep(self.pause)
            yield trajectory


@contextmanager
def serving(engine: ReplayEngine, settings: Settings) -> Iterator[str]:
    import uvicorn

    from distrivote.server.app import create_app

    config = uvicorn.Config(create_app(engine, settings=settings), port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def engine() -> Unhurried:
    return Unhurried([stored(made) for made in trajectories(32)], "played-back")


@pytest.fixture
def page(watched: Watched, engine: Unhurried, tmp_path: Path) -> Iterator[Page]:
    from distrivote.server.settings import Settings

    params = SamplingParams()
    manifest = Manifest.of("replay", "replay", "plain", "made up", params, SelfStepConf(), budget=32)
    problems = [Problem(f"Question {n}: {QUESTION}", f"set/{n}", "12" if n else "35") for n in range(3)]
    with RunWriter(tmp_path / "my-run", manifest) as writer:
        list(generate(engine, todo(problems, 32, writer.done()), writer, params))
    with serving(engine, Settings(run=tmp_path / "my-run")) as url:
        watched.page.goto(url)
        watched.page.wait_for_selector("body[data-ready]")
        yield watched.page


def ask(page: Page, until: str = ".card[data-state=finished]") -> None:
    page.fill("#question", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(until)


def test_a_question_is_asked_watched_and_read(page: Page, engine: Unhurried) -> None:
    engine.pause = 0.25
    ask(page, until=".rows li:nth-child(5)")
    page.wait_for_selector(".card[data-state=running] .answer-text")
    engine.pause = 0.0  # it was seen midway, however slow the machine
    page.wait_for_selector(".card[data-state=finished]")
    assert page.inner_text(".card .answer") == "12"
    assert page.locator(".rows li").count() == 32
    made = next(each for each in trajectories(32) if each["reflections"])
    page.locator(f".rows li[data-index='{made['index']}'] button").click()
    chips = page.locator(".reader .chip").all_inner_texts()
    assert chips == [f"{value:.1f}" for value in made["step_confidences"]]
    assert page.locator("mark.reflected").count() == len(made["reflections"])
    assert page.locator(".step-chart .threshold").count() == len(made["step_confidences"]) - 1


def test_every_method_and_rule_of_the_server_can_be_chosen(page: Page) -> None:
    for method in page.locator("#method option").all_inner_texts():
        page.select_option("#method", method)
        ask(page)
        assert page.locator(".votes tbody tr").count() > 0
    page.click("#more summary")
    rules = page.locator("#stop-when option").evaluate_all("all => all.map((each) => each.value)")
    for rule in rules:
        page.select_option("#stop-when", rule)
        ask(page)
    page.uncheck("#ssc")
    ask(page)


def test_an_engine_that_dies_midway_leaves_a_vote_that_says_so(page: Page, engine: Unhurried) -> None:
    engine.fails_after = 20
    ask(page)
    assert page.locator(".rows li").count() == 20
    assert "it ran out of memory" in page.inner_text(".card .note")
    engine.fails_after = 0
    ask(page, until="#failure:not([hidden])")
    assert "ran out of memory" in page.inner_text("#failure-words")


def test_model_output_stays_text_through_the_real_server(watched: Watched) -> None:
    from distrivote.server.settings import Settings

    long = "All work and no play. " * 50_000
    texts = [f"{HOSTILE} \\boxed{{{HOSTILE}}}", f"{long}\\boxed{{1}}"]
    page = watched.page
    with serving(ReplayEngine([plain(text) for text in texts] * 4), Settings(budget=8)) as url:
        page.goto(url)
        ask(page)
        page.locator(".rows li[data-index='0'] button").click()
        assert HOSTILE in (page.text_content(".reader .text") or "")
        page.keyboard.press("Escape")
        page.locator(".rows li[data-index='1'] button").click()
        page.wait_for_selector(".reader .piece")
        shown = page.evaluate(
            "[...document.querySelectorAll('.piece')].map((each) => each.textContent).join('')"
        )
        assert shown == texts[1]
        assert page.locator("main script, dialog script, img").count() == 0


def test_a_withheld_answer_is_not_presented_as_the_answer(watched: Watched, engine: Unhurried) -> None:
    from distrivote.server.settings import Settings

    page = watched.page
    with serving(engine, Settings(min_probability=1.0)) as url:
        page.goto(url)
        ask(page)
        assert page.inner_text(".card .eyebrow") == "Withheld"
        assert page.text_content(".card .answer") == "withheld: 12"
        weight = "getComputedStyle(document.querySelector('.card .answer-text')).fontWeight"
        assert page.evaluate(weight) == "400"
        assert "Withheld: the probability" in page.inner_text(".card .note")
        assert page.locator(".chosen").count() == 0


def test_without_a_cut_nothing_is_called_likely(page: Page) -> None:
    page.select_option("#method", "sc")
    ask(page)
    n_answered = sum(each["answer"] is not None for each in trajectories(32))
    assert page.inner_text(".sides") == f"answers {n_answered}"
    assert page.locator(".rows li[data-fate=counted]").count() == n_answered
    page.locator(".rows li[data-fate=counted] button").first.click()
    assert " · counted · " in page.inner_text(".reader-inner > .quiet")
    assert "likely" not in page.inner_text(".trajectories") + page.inner_text(".reader")
    page.keyboard.press("Escape")
    page.select_option("#method", "dis-gmm")
    ask(page)
    assert "likely right" in page.inner_text(".sides")
    assert "likely right" in page.inner_text(".trajectories .legend")


@pytest.mark.parametrize(
    "watched", [{"viewport": {"width": 360, "height": 740}}], indirect=True, ids=["phone"]
)
@pytest.mark.parametrize("n_terms", [8, 14])
def test_a_long_formula_stays_inside_its_box(watched: Watched, n_terms: int) -> None:
    from distrivote.server.settings import Settings

    answer = " + ".join(f"{n}x^{{{n}}}" for n in range(n_terms, 0, -1))
    text = f"So $${answer}$$ and \\boxed{{{answer}}}"
    page = watched.page
    with serving(ReplayEngine([plain(text)] * 4), Settings(budget=4)) as url:
        page.goto(url)
        ask(page)
        assert page.locator(".card math").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.votes tbody th')).overflow") == "hidden"
        )
        page.locator(".rows button").first.click()
        assert page.evaluate("document.querySelector('.reader-inner').scrollWidth") <= 360


def test_text_from_right_to_left_is_laid_out_so(watched: Watched) -> None:
    from distrivote.server.settings import Settings

    page = watched.page
    text = "توم لديه 5 تفاحات (من السوق). \\boxed{12 تفاحة}"
    direction = "all => all.map((each) => getComputedStyle(each).direction)"
    with serving(ReplayEngine([plain(text)] * 4), Settings(budget=4)) as url:
        page.goto(url)
        ask(page)
        page.fill("#question", "كم تفاحة لديه؟")
        page.locator(".rows button").first.click()
        for place in ("#question", ".answer", ".given", ".votes .answer-text", ".step-text"):
            assert set(page.locator(place).evaluate_all(direction)) == {"rtl"}, place


def test_a_stored_run_is_looked_at(page: Page) -> None:
    page.click("#to-run")
    page.wait_for_selector("#run-rows tr")
    assert page.locator("#run-rows tr").count() == 3
    assert [text.strip() for text in page.locator(".right-mark").all_inner_texts()] == ["✗", "✓", "✓"]
    assert "2 of 3 right" in page.inner_text("#run-scores")
    page.click("#run-rows tr:nth-child(2)")
    page.wait_for_selector("#run-vote .rows li")
    assert page.inner_text("#run-vote .card .answer") == "12"
    assert "✓ right" in page.inner_text("#run-vote .verdict")
    page.locator("#run-vote .rows button").first.click()
    page.wait_for_selector(".reader .step-text")
    assert "The answer is" in page.inner_text(".reader .text")
    page.keyboard.press("Escape")
    page.click("#run-after")
    page.wait_for_function("() => document.querySelector('#run-question-id').textContent === 'set/2'")


def test_what_an_imported_run_does_not_know_is_not_called_0(watched: Watched, tmp_path: Path) -> None:
    from distrivote.cli.main import main
    from distrivote.server.settings import Settings

    rows = "".join(f"q,{answer},{9 + n}\n" for n, answer in enumerate(["12", "12", "35"]))
    (tmp_path / "answers.csv").write_text(f"question_id,answer,confidence\n{rows}")
    with pytest.raises(SystemExit):
        main(["import", str(tmp_path / "answers.csv"), "-o", str(tmp_path / "run")])
    page = watched.page
    with serving(ReplayEngine([plain("12")]), Settings(run=tmp_path / "run")) as url:
        page.goto(f"{url}/#/run")
        page.wait_for_selector("#run-rows tr")
        assert page.locator("#run-rows td").last.inner_text() == "–"
        page.goto(f"{url}/#/run/q")
        page.wait_for_selector("#run-vote .rows li")
        assert set(page.locator("#run-vote .rows .tokens").all_inner_texts()) == {"–"}
        facts = page.inner_text("#run-vote .facts").split("\n")
        assert facts[facts.index("tokens spent") + 1] == "–"
        assert "token" not in (page.locator("#run-vote .rows button").first.get_attribute("aria-label") or "")
