"""Voting inside lm-evaluation-harness: real evaluations, real sample logs, its real command."""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lm_eval", reason="lm-eval is not installed (make test-integrations)")

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import get_filter
from lm_eval.tasks import TaskManager

import distrivote
from distrivote.errors import InputError, UnknownNameError
from distrivote.integrations.lm_eval import DistrivoteFilter, Reply

pytestmark = [
    pytest.mark.integrations,
    # The harness's own, and those of what it stands on.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

QUESTIONS = [("What is 6 * 7?", "42"), ("What is 9 + 8?", "17")]
# Of eight repeats the five unsure ones are wrong and the three sure ones right.
CONFIDENCES = [3.1, 9.2, 2.9, 9.0, 3.0, 9.4, 3.2, 2.8]


def text(question: str, repeat: int) -> str:
    right = dict(QUESTIONS)[question]
    return rf"So it is \boxed{{{right if CONFIDENCES[repeat] > 5 else '13'}}}."


class TinyModel(LM):  # type: ignore[misc]
    """Gives the eight repeats of each question in turn, in a form of the test's choosing."""

    def __init__(self, form: Callable[[str, float], Any]) -> None:
        super().__init__()
        self._form = form

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[Any]:  # noqa: ARG002
        asked: dict[str, int] = {}
        replies = []
        for request in requests:
            question = request.args[0]
            repeat = asked[question] = asked.get(question, -1) + 1
            replies.append(self._form(text(question, repeat), CONFIDENCES[repeat]))
        return replies

    def loglikelihood(self, requests: list[Any]) -> list[Any]:
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


def evaluate(model: LM, task: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a task, without reading through the thousands that the harness has."""
    tasks = TaskManager(include_defaults=False)
    found: dict[str, Any] = simple_evaluate(model, tasks=[task], task_manager=tasks, bootstrap_iters=0)
    return found


@pytest.fixture
def task(tmp_path: Path) -> dict[str, Any]:
    data = tmp_path / "questions.jsonl"
    data.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in QUESTIONS))
    return {
        "task": "sums",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}, "cache_dir": str(tmp_path / "cache")},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "repeats": len(CONFIDENCES),
        "generation_kwargs": {"do_sample": True, "temperature": 0.6, "until": ["Q:"]},
        "filter_list": [
            {
                "name": method,
                "filter": [
                    {"function": "distrivote", "method": method, "extract": "boxed"},
                    {"function": "take_first"},
                ],
            }
            for method in ("dis-gmm", "sc")
        ],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }


FORMS: dict[str, Callable[[str, float], Any]] = {
    "reply": Reply,
    "pair": lambda text, confidence: (text, confidence),
    "dict": lambda text, confidence: {"text": text, "confidence": confidence},
}


@pytest.mark.parametrize("form", FORMS)
def test_sure_repeats_win_over_a_wrong_majority(task: dict[str, Any], form: str) -> None:
    results = evaluate(TinyModel(FORMS[form]), task)
    found = results["results"]["sums"]
    assert found["exact_match,dis-gmm"] == 1.0
    assert found["exact_match,sc"] == 0.0


def test_all_repeats_vote_and_all_are_logged(task: dict[str, Any]) -> None:
    samples = evaluate(TinyModel(Reply), task)["samples"]["sums"]
    assert len(samples) == 4
    for sample in samples:
        question = sample["doc"]["question"]
        assert sample["resps"] == [[text(question, i) for i in range(len(CONFIDENCES))]]
        elected = sample["doc"]["answer"] if sample["filter"] == "dis-gmm" else "13"
        assert sample["filtered_resps"] == [elected]


def test_plain_strings_are_voted_on_by_majority_and_it_is_said_once(
    task: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "distrivote"):
        results = evaluate(TinyModel(lambda text, _: text), task)
    assert results["results"]["sums"]["exact_match,dis-gmm"] == 0.0
    said = [record.getMessage() for record in caplog.records if record.name.startswith("distrivote")]
    assert said == [
        "2 of 2 documents have no reply with a confidence: majority voting decided there, not dis-gmm"
    ]


TASK_FILE = """
task: sums
dataset_path: json
dataset_kwargs:
  data_files: {test: DATA}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
repeats: 4
generation_kwargs: {do_sample: true, temperature: 0.6, until: ["Q:"]}
filter_list:
  - name: vote
    filter:
      - function: !function distrivote.integrations.lm_eval.DistrivoteFilter
        pattern: "(lol)"
      - function: take_first
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""


def test_the_harnesss_command_runs_a_task_file_with_the_filter(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"question": "What does it say?", "answer": "lol"}\n')
    (tmp_path / "sums.yaml").write_text(TASK_FILE.replace("DATA", str(tmp_path / "data.jsonl")))
    command = [str(Path(sys.executable).parent / "lm_eval"), "run", "--model", "dummy", "--tasks", "sums"]
    command += ["--include_path", str(tmp_path), "--output_path", "out", "--log_samples"]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").rglob("samples_sums_*.jsonl")
    sample = json.loads(path.read_text())
    assert sample["resps"] == [["lol"] * 4]
    assert (sample["filtered_resps"], sample["exact_match"]) == (["lol"], 1.0)
    assert "majority voting decided there" in done.stderr + done.stdout


def test_the_page_of_the_docs_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for kind, block in blocks:
        if kind == "py" and "lm_eval" in block:
            exec(compile(block, "integrations.md", "exec"), names)
        if kind == "yaml":
            (tmp_path / "sums.yaml").write_text(block)
    (tmp_path / "sums.jsonl").write_text('{"question": "What is 6 * 7?", "answer": "42"}\n')
    monkeypatch.chdir(tmp_path)
    tasks = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = simple_evaluate(names["Guessing"](), tasks=["sums"], task_manager=tasks, bootstrap_iters=0)
    assert found["results"]["sums"]["exact_match,dis-gmm"] == 1.0
    assert found["results"]["sums"]["exact_match,majority"] == 1.0


@pytest.mark.parametrize(
    ("replies", "settings", "elected"),
    [
        ([], {}, "[invalid]"),
        (["", "I do not know what that could be, nor does anyone."], {}, "[invalid]"),
        (["[invalid]", "[invalid]", "7"], {}, "7"),
        (["The answer is (B).", "A is wrong, so the answer is A.", "B"], {"extract": "choice"}, "B"),
        (["It is 1,000.", "1000", "999"], {"extract": "number"}, "1000"),
        (["#### 5", "#### 6", "#### 5"], {"pattern": "#### (.*)"}, "5"),
        (["4", "5"], {}, "4"),  # a tie: the one that came first
        (["0.5", "7", "1/2"], {}, "0.5"),
        ([r"\boxed{7}", r"\boxed{(x+1)^2}", r"\boxed{x^2+2x+1}"], {}, "(x+1)^2"),
        ([("4", None), ("5", 3.0), ("5", 4.0)], {}, "5"),
        ([("4", 9.0), ("", 1.0)], {}, "4"),
    ],
)
def test_replies_become_one_answer(replies: list[Any], settings: dict[str, Any], elected: str) -> None:
    assert DistrivoteFilter(**settings).apply([replies], [{}]) == [[elected]]


def test_what_is_given_wrong_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="dis-gnm"):
        DistrivoteFilter(method="dis-gnm")
    with pytest.raises(UnknownNameError, match="bocksed"):
        DistrivoteFilter(extract="bocksed")
    with pytest.raises(InputError, match=r"document 1, reply 0 is \(-3.2, True\)"):
        DistrivoteFilter().apply([["4"], [(-3.2, True)]], [{}, {}])


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.floats(0.5, 30)), min_size=1, max_size=12))
def test_it_elects_as_the_library_does(pool: list[tuple[str, float]]) -> None:
    (elected,) = DistrivoteFilter().apply([[Reply(*each) for each in pool]], [{}])
    assert elected == [distrivote.vote([a for a, _ in pool], [c for _, c in pool]).answer]


def test_the_filter_has_a_name_in_the_harness() -> None:
    assert get_filter("distrivote") is DistrivoteFilter


def test_a_reply_survives_the_harnesss_cache() -> None:
    back = pickle.loads(pickle.dumps(Reply("4", 9.5)))
    assert (back, back.confidence, json.dumps(back)) == ("4", 9.5, '"4"')
