"""`majority` in the place of DSPy's own, on the real package and a scripted server of models."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
pytest.importorskip("dspy", reason="dspy is not installed (make test-integrations)")

import dspy

from distrivote.errors import InputError
from distrivote.integrations.dspy import majority, vote_on_completions
from engines.scripted_server import Reply, Request, ScriptedServer

pytestmark = pytest.mark.integrations

REPLIES = [("35", -1.0)] * 5 + [("12", -0.01)] * 4
"""Answers with the log-probability of their token: the minority is far surer."""


@pytest.fixture
def url() -> Iterator[str]:
    numbers = itertools.count()

    def answer(request: Request) -> Reply:
        said, logprob = REPLIES[next(numbers) % len(REPLIES)]
        tokens = ["[[ ## answer ## ]]\n", said, "\n\n[[ ## completed ## ]]"]
        content = [
            {
                "token": token,
                "logprob": logprob if token == said else -1e-4,
                "bytes": None,
                "top_logprobs": [
                    {"token": token, "logprob": logprob if token == said else -1e-4, "bytes": None},
                    {"token": "?", "logprob": -1.0 if logprob < -0.5 else -9.0, "bytes": None},
                ],
            }
            for token in tokens
        ]
        asked = request.body.get("logprobs")
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "".join(tokens)},
            "logprobs": {"content": content} if asked else None,
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
        kind = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
        return Reply(body=kind | {"choices": [choice], "usage": usage})

    with ScriptedServer(answer) as server:
        yield server.url


def sampled(url: str, **more: Any) -> Any:
    lm = dspy.LM("openai/m", api_base=url, api_key="none", cache=False, n=9, temperature=0.7, **more)
    with dspy.context(lm=lm):
        return dspy.Predict("question -> answer")(question="How many?")


def test_completions_with_log_probabilities_vote_by_confidence(url: str) -> None:
    given = sampled(url, logprobs=True, top_logprobs=2)
    assert dspy.majority(given).answer == "35"
    assert majority(given, method="bon").answer == "12"
    voted = vote_on_completions(given.completions, method="wsc")
    assert voted.tally.n_unmeasured == 0
    assert isinstance(voted.prediction, dspy.Prediction)
    assert voted.prediction.completions.signature is given.completions.signature


def test_the_example_of_the_documentation(url: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    (code,) = re.findall(r"```py\n(from distrivote.integrations.dspy.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["answer"](url, "m", "How many?") in ("12", "35")


def test_without_them_it_is_the_majority_as_in_dspy(url: str) -> None:
    given = sampled(url)
    assert majority(given).answer == dspy.majority(given).answer == "35"
    assert vote_on_completions(given).tally.fallback is not None


def of(*answers: Any) -> Any:
    return dspy.Prediction.from_completions([{"answer": answer} for answer in answers])


@pytest.mark.parametrize(
    ("answers", "winner"),
    [
        (("b", "a", "a"), "a"),
        (("The Paris.", "Lyon", "paris"), "The Paris."),
        (("twelve pears", "13", "12"), "twelve pears"),
        ((None, "", "x"), "x"),
        ((None, None), None),
        ((3, 4, 4), 4),
        (({"a": 1, "b": 2}, {"a": 3}, {"b": 2, "a": 1}), {"a": 1, "b": 2}),
    ],
)
def test_equal_answers_vote_together_and_the_first_of_them_is_returned(answers: Any, winner: Any) -> None:
    assert majority(of(*answers)).answer == winner


def test_a_sign_is_part_of_a_number() -> None:
    given = of("5", "-4", "4", "5")
    assert majority(given).answer == "5"
    assert dspy.majority(of("5", "-4", "4")).answer == "-4"  # DSPy's own takes both for 4


def test_a_function_of_the_caller_says_what_is_equal() -> None:
    given = of("5 apples", "6 apples", "6 pears", "7 pears", "no pears")
    assert majority(given, lambda text: text.split()[1]).answer == "6 pears"
    assert (
        majority(given, lambda text: None if "no" in text else text.split()[1], "answer").answer == "5 apples"
    )
    assert majority(of("a", "A", "A"), None).answer == "A"


def test_lists_and_named_fields_work_and_others_are_a_sentence() -> None:
    rows = [
        {"reason": "x", "answer": "1", "logprobs": None},
        {"reason": "x", "answer": "2", "logprobs": None},
    ]
    assert majority(rows).answer == "1"
    assert majority([*rows, rows[1]], field="answer").answer == "2"
    with pytest.raises(InputError, match="give a Prediction"):
        majority("abc")
    with pytest.raises(InputError, match="no completions"):
        majority([])
