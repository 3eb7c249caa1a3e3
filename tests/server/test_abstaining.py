"""The server withholds improbable answers on request, and remembers how far a model's confidences go."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2 as httpx
import numpy as np
import pytest

from distrivote.engines.replay import ReplayEngine
from distrivote.errors import InputError
from distrivote.server.model_trust import MOST_MODELS, MOST_QUESTIONS, ModelTrust
from distrivote.server.settings import Settings
from distrivote.voting.ballot import Ballot
from distrivote.voting.trust import Trust
from serving import POOL, serving

ASKED = [{"role": "user", "content": "How many?"}]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(ReplayEngine(POOL, "replay"), Settings(budget=20)) as url:
        yield url


def chat(url: str, **fields: object) -> httpx.Response:
    body = {"model": "replay", "messages": ASKED, "distrivote": fields}
    return httpx.post(f"{url}/v1/chat/completions", json=body)


def test_a_reply_has_probabilities_and_how_confidence_was_weighed(url: str) -> None:
    vote = chat(url, method="auto").json()["distrivote"]
    assert vote["abstained"] is False
    assert vote["probability"] == vote["probabilities"][vote["answer"]] > 0
    assert vote["weighing"]["answer"] == "12"
    assert chat(url, method="dis-gmm").json()["distrivote"]["weighing"] is None


def test_an_improbable_answer_is_withheld_with_the_reason(url: str) -> None:
    reply = chat(url, method="auto", min_probability=1).json()
    vote = reply["distrivote"]
    assert (vote["answer"], vote["abstained"]) == (None, True)
    assert vote["withheld"] in vote["votes"]
    assert reply["choices"][0]["message"]["content"] == vote["withheld_reason"]
    assert vote["withheld_reason"].startswith("Withheld: the probability that the answer is right ")
    assert vote["explanation"].endswith(vote["withheld_reason"])


def test_a_stream_says_it_too(url: str) -> None:
    body = {"model": "replay", "messages": ASKED, "distrivote": {"min_probability": 1}, "stream": True}
    text = httpx.post(f"{url}/v1/chat/completions", json=body).text
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    assert any("Withheld" in (c["choices"][0]["delta"].get("content") or "") for c in chunks if c["choices"])


def test_the_page_hears_the_reason() -> None:
    with serving(ReplayEngine(POOL, "replay"), Settings(budget=20, min_probability=1.0)) as url:
        text = httpx.post(f"{url}/api/ask", json={"question": "How many?"}).text
        assert httpx.get(f"{url}/api/settings").json()["defaults"]["min_probability"] == 1.0
    final = json.loads(text.split("event: final\ndata: ")[1].splitlines()[0])
    assert (final["answer"], final["abstained"]) == (None, True)
    assert final["withheld"] in final["votes"]
    assert final["withheld_reason"].startswith("Withheld: ")
    assert final["withheld"] not in final["withheld_reason"].split()


def test_what_is_no_probability_is_refused(url: str) -> None:
    assert chat(url, min_probability=1.5).status_code == 400
    with pytest.raises(InputError, match="from 0 to 1"):
        Settings(min_probability=2.0)


def ballot(seed: int, separation: float) -> Ballot:
    rng = np.random.default_rng(seed)
    right = rng.random(24) < 0.6
    answers = np.where(right, 0, rng.integers(1, 4, 24)).tolist()
    return Ballot.of(answers, np.exp(rng.normal(0.0, 0.3, 24) + 0.3 * separation * right).tolist())


def test_the_memory_learns_what_a_models_confidences_are_worth() -> None:
    trusts = ModelTrust()
    for seed in range(40):
        trusts.learn("sure", ballot(seed, 2.0))
        trusts.learn("noisy", ballot(seed, 0.0))
    assert trusts.trust("sure").separation > 1.2
    assert abs(trusts.trust("noisy").separation) < 0.8
    assert trusts.trust("unknown") == Trust()


def test_the_memory_is_bounded() -> None:
    trusts = ModelTrust()
    for seed in range(MOST_QUESTIONS + 20):
        trusts.learn("one", ballot(seed % 7, 1.0))
    assert trusts.trust("one").n_questions == MOST_QUESTIONS
    for number in range(MOST_MODELS):
        trusts.learn(f"model {number}", ballot(1, 1.0))
    assert trusts.trust("one") == Trust()


def test_questions_that_tell_nothing_leave_nothing() -> None:
    trusts = ModelTrust()
    trusts.learn("m", Ballot.of([]))
    trusts.learn("m", Ballot.of(["a", "b"], [1.0, None]))
    trusts.learn("m", Ballot.of(["a", "a"], [1.0, 2.0]))
    trusts.learn("m", Ballot.of([None, None]))
    assert trusts.trust("m") == Trust()
