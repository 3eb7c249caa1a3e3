"""An engineer with a model behind an OpenAI-compatible server who wants better answers today."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from engines.llamacpp_server import llamacpp_server
from journeys.walk import Walk, mentioned

pytestmark = pytest.mark.model

PROGRAM = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="none", timeout=600)
model = client.models.list().data[0].id
reply = client.chat.completions.create(
    model=f"auto@4/{model}",
    messages=[{"role": "user", "content": "Tom has 5 apples and buys 7 more. How many has he?"}],
    max_tokens=64,
    extra_body={"distrivote": {"template": "worked"}},
)
print(reply.choices[0].message.content)
print(reply.distrivote["answer"], reply.distrivote["majority"], reply.distrivote["probability"])
"""


def test_an_engineer_checks_the_server_asks_it_and_puts_a_vote_before_it(tmp_path: Path) -> None:
    mentioned("--base-url", "distrivote serve", "distrivote doctor", "changing its base URL")
    walk = Walk(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    with llamacpp_server() as server:
        url = f"{server}/v1"
        checked = json.loads(walk.types(f"distrivote doctor --base-url {url} --json"))
        (found,) = (each for each in checked["findings"] if each["kind"] == "server")
        assert "20 of 20 log-probabilities" in found["detail"]
        question = '"Tom has 5 apples and buys 7 more. How many has he?"'
        assert walk.types(
            f"distrivote ask {question} --base-url {url} --budget 4 --max-tokens 64 --template worked"
        ).strip()
        command = ["distrivote", "serve", "--base-url", url, "--port", "0", "--budget", "4"]
        serving = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=walk.environment)
        try:
            assert serving.stderr is not None
            address = serving.stderr.readline().rpartition(" ")[2].strip()
            assert walk.types(f"python program.py {address}").strip()
            assert "distrivote" in walk.types(f"curl -s {address.removesuffix('/v1')}/metrics")
        finally:
            serving.terminate()
            serving.communicate(timeout=30)
