"""Answers that attack whoever compares them: a pool of a hundred ends within ten seconds, anywhere.

The ten seconds are a process that is ended and fails the test; nothing here looks at a clock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest

from distrivote.answers.equivalence import classify
from distrivote.answers.extract import extractor
from distrivote.answers.forms import normal_form

needs_math_verify = pytest.mark.skipif(
    find_spec("math_verify") is None, reason="distrivote[math] is not installed"
)
SECONDS = 10
LOADING = 50
"""Seconds for starting Python and loading math-verify on a busy machine, which are not part of the ten."""

KINDS = [
    "9^9^9",
    "9^{9^{9^9}}",
    "9!!!!",
    "(9^9)!!",
    r"\sin(9!!!)",
    r"10^{10^{10^{10}}}",
    r"2^{2^{2^{2^{2^{2}}}}}",
    r"\prod_{i=1}^{9^9} i^i",
    r"\sum_{i=1}^{10^9} \frac{1}{i!}",
    r"\int_0^{10^9} \sin(x^x) dx",
    r"\binom{10^9}{5 \cdot 10^8}",
    "x^{9^{9^9}} - 1 = y^{9^{9^9}}",
    "(x+y+z+w)^{9999}",
    "|" * 60 + "1" + "|" * 60,
    "{" * 10_000 + "1" + "}" * 10_000,
    r"\frac{1}{" * 5000 + "2" + "}" * 5000,
    r"\sqrt{" * 3000 + "2" + "}" * 3000,
    "(" * 12 + "x" + ")" * 12 + "^{99}",
    "x+" * 5000 + "x",
    "9" * 100_000,
    "1" * 4301,
    "0." + "3" * 5000,
    "1e999999999",
    r"5\cdot10^{999}",
    "1,000" * 80,
    "$" * 400,
    "\\" * 401,
    " " * 5000 + "1",
    r"\left(" * 30 + "1" + r"\right)" * 30,
    r"\text{" * 50 + "a" + "}" * 50,
    "a=" * 150 + "1",
    "x_{" * 60 + "1" + "}" * 60,
]
ATTACKS = [f"{attack}+{i}" if i else attack for i in range(4) for attack in KINDS][:100]
HONEST = ["(x+1)^2", "x^2+2x+1", "7", "7.0"]

PRELUDE = f"""
import json, sys
from distrivote.answers.equivalence import classify
from distrivote.answers.mathverify import MathVerifier, shared_verifier
pool = json.load(sys.stdin)
shared_verifier().warm()
import faulthandler
def begin():
    # From here on there are ten seconds: then the process ends itself, whatever it is doing.
    faulthandler.dump_traceback_later({SECONDS}, exit=True)
"""


def ran(code: str) -> object:
    """Return what a program prints as JSON, which has ten seconds from where it says begin()."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        input=json.dumps(ATTACKS + HONEST * 3),
        capture_output=True,
        text=True,
        timeout=LOADING + SECONDS,
    )
    assert done.returncode == 0, done.stderr[-1500:]
    return json.loads(done.stdout)


def test_there_are_a_hundred_attacks() -> None:
    assert len(ATTACKS) == len(set(ATTACKS)) == 100


@needs_math_verify
def test_a_pool_of_a_hundred_attacks_ends_within_ten_seconds() -> None:
    ids = ran("""
        begin()
        print(json.dumps(classify(pool).ids))
    """)
    assert isinstance(ids, list)
    assert ids[100] == ids[101]
    assert ids[102] == ids[103]
    assert ids[100] != ids[102]


@needs_math_verify
def test_four_threads_with_such_pools_end_within_ten_seconds() -> None:
    ids = ran("""
        from concurrent.futures import ThreadPoolExecutor
        begin()
        def judge(_):
            return classify(pool).ids
        with ThreadPoolExecutor(4) as threads:
            print(json.dumps(list(threads.map(judge, range(4)))))
    """)
    assert isinstance(ids, list)
    assert all(each[102] == each[103] for each in ids)


@needs_math_verify
@pytest.mark.skipif(find_spec("fastapi") is None, reason="distrivote[server] is not installed")
def test_the_server_answers_a_question_with_such_replies_within_ten_seconds() -> None:
    reply = ran("""
        from starlette.testclient import TestClient
        from distrivote import Trajectory
        from distrivote.engines.replay import ReplayEngine
        from distrivote.server.app import create_app
        from distrivote.server.settings import Settings
        texts = [f"It is \\\\boxed{{{answer}}}." for answer in pool]
        engine = ReplayEngine([Trajectory(text) for text in texts])
        with TestClient(create_app(engine, "sc", Settings(budget=len(texts)))) as client:
            begin()
            body = {"model": "replay", "messages": [{"role": "user", "content": "?"}]}
            reply = client.post("/v1/chat/completions", json=body)
            print(json.dumps([reply.status_code, reply.json()]))
    """)
    assert isinstance(reply, list)
    assert reply[0] == 200, reply
    assert reply[1]["choices"][0]["message"]["content"]


def test_the_plain_rules_need_no_time_for_them() -> None:
    found = classify(ATTACKS + HONEST, "notation")
    assert len(found.ids) == 104
    assert found.ids[102] == found.ids[103]
    for attack in ATTACKS:
        normal_form(attack)
        for how in ("auto", "boxed", "choice", "number"):
            extractor(how)(f"So \\boxed{{{attack}}}. The answer is {attack}")
