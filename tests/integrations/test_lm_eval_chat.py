"""A chat server behind lm-evaluation-harness, asked for log-probabilities: a real one on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

pytest.importorskip("lm_eval", reason="lm-eval is not installed (make test-integrations)")

from lm_eval.api.registry import get_model

from distrivote.errors import UnknownNameError
from distrivote.integrations.lm_eval import Reply
from distrivote.integrations.lm_eval_chat import ConfidentChat

pytestmark = [
    pytest.mark.integrations,
    # The harness's own, and those of what it stands on.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

# Of eight repeats the five unsure ones are wrong and the three sure ones right.
SAID = [("41", 0.5), ("42", 0.99), ("41", 0.52), ("42", 0.98), ("41", 0.48), ("42", 0.985)]
SAID += [("41", 0.55), ("41", 0.45)]


def choice(answer: str, probability: float) -> dict[str, Any]:
    tokens = ["So", " it", " is", r" \boxed{", answer, "}."]
    top = [{"token": "x", "logprob": log(p)} for p in [probability, *[(1 - probability) / 19] * 19]]
    entries = [{"token": t, "logprob": log(probability), "top_logprobs": top} for t in tokens]
    message = {"role": "assistant", "content": "".join(tokens)}
    return {"index": 0, "message": message, "logprobs": {"content": entries}, "finish_reason": "stop"}


class Server(NamedTuple):
    address: str
    requests: list[dict[str, Any]]


@pytest.fixture
def server() -> Iterator[Server]:
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps({"choices": [choice(*SAID[(len(requests) - 1) % len(SAID)])]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield Server(f"http://127.0.0.1:{running.server_port}/v1/chat/completions", requests)
        running.shutdown()


TASK_FILE = r"""
task: sums
dataset_path: json
dataset_kwargs:
  data_files: {test: DATA}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
repeats: 8
generation_kwargs: {do_sample: true, temperature: 0.6, until: ["Q:"]}
filter_list:
  - name: dis-gmm
    filter: [{function: distrivote, extract: boxed}, {function: take_first}]
  - name: majority
    filter: [{function: distrivote, method: sc, extract: boxed}, {function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""


def test_the_harnesss_command_votes_by_the_servers_log_probabilities(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"question": "What is 6 * 7?", "answer": "42"}\n')
    (tmp_path / "sums.yaml").write_text(TASK_FILE.replace("DATA", str(tmp_path / "data.jsonl")))
    command = [sys.executable, "-m", "distrivote.integrations.lm_eval_chat", "run"]
    command += ["--model", "distrivote-chat", "--apply_chat_template", "--tasks", "sums"]
    command += ["--model_args", f"model=any,base_url={server.address},extract=boxed"]
    command += ["--include_path", str(tmp_path), "--output_path", "out", "--log_samples"]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").rglob("samples_sums_*.jsonl")
    samples = {sample["filter"]: sample for sample in map(json.loads, path.read_text().splitlines())}
    assert len(samples["dis-gmm"]["resps"][0]) == 8
    assert (samples["dis-gmm"]["filtered_resps"], samples["dis-gmm"]["exact_match"]) == (["42"], 1.0)
    assert (samples["majority"]["filtered_resps"], samples["majority"]["exact_match"]) == (["41"], 0.0)
    assert len(server.requests) == 8
    for request in server.requests:
        assert (request["logprobs"], request["top_logprobs"], request["temperature"]) == (True, 20, 0.6)
        assert "seed" not in request  # else a server that minds it would give eight equal replies


def chat(**settings: Any) -> ConfidentChat:
    return ConfidentChat(model="any", base_url="http://127.0.0.1:9/v1/chat/completions", **settings)


def test_a_seed_of_the_tasks_own_is_sent() -> None:
    payload = chat()._create_payload([], gen_kwargs={"seed": 7}, generate=True, seed=1234)
    assert payload["seed"] == 7


def test_replies_without_log_probabilities_or_text_pass_through() -> None:
    plain = choice("42", 0.9) | {"logprobs": None}
    silent = {"index": 0, "message": {"content": None}}
    replies = chat().parse_generations([{"choices": [plain]}, {"choices": [silent]}, {"error": "filtered"}])
    assert replies == [r"So it is \boxed{42}.", None, ""]
    (one, other) = chat().parse_generations([{"choices": [plain]}, {"choices": [choice("42", 0.9)]}])
    assert isinstance(one, Reply)
    assert one.confidence is None
    assert isinstance(other, Reply)
    assert other.confidence is not None


def test_settings_are_checked_before_anything_is_asked() -> None:
    with pytest.raises(UnknownNameError, match="bocksed"):
        chat(extract="bocksed")
    with pytest.raises(UnknownNameError, match="maen"):
        chat(measure="maen")


def test_the_model_has_a_name_in_the_harness() -> None:
    assert get_model("distrivote-chat") is ConfidentChat
