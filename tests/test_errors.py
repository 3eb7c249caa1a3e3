"""Errors as data: each door says the same fault in its own words, and no door speaks of another's."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import typer.main

import distrivote
from distrivote.cli.main import app
from distrivote.cli.words import option, worded
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.faults import Scope, fault_of_reply
from distrivote.engines.replay import ReplayEngine
from distrivote.errors import DistrivoteError, EngineError, InputError, MissingPackageError, UnknownNameError
from distrivote.flow import solve
from distrivote.server.errors import failure_of
from distrivote.server.settings import Settings
from distrivote.server.words import API, PAGE
from distrivote.steering import SelfStepConf
from distrivote.voting.abstaining import withheld
from distrivote.voting.vote import vote
from engines.scripted_server import ScriptedServer, Token, ToyServer
from serving import POOL, serving

PACKAGE = Path(distrivote.__file__).parent


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with ScriptedServer(ToyServer(lambda _: [Token("\\boxed{4}")], gives=0)) as server:
        yield server.url


def said_by_command(*words: str) -> str:
    command = [sys.executable, "-m", "distrivote", *words]
    made = subprocess.run(command, capture_output=True, text=True)
    return made.stderr.strip().splitlines()[-1].removeprefix("distrivote: error: ")


def asked(url: str, **settings: Any) -> dict[str, Any]:
    model = httpx.get(f"{url}/v1/models").json()["data"][0]["id"]
    body = {"model": model, "messages": [{"role": "user", "content": "2 + 2?"}], "distrivote": settings}
    error: dict[str, Any] = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).json()["error"]
    return error


def test_a_server_without_log_probabilities_is_told_in_the_words_of_each_door(upstream: str) -> None:
    command = said_by_command("ask", "2 + 2?", "--base-url", upstream, "--budget", "2", "--ssc")
    with closing(OpenAIEngine(upstream)) as engine:
        with pytest.raises(EngineError) as caught:
            solve(engine, "2 + 2?", budget=2, steering=SelfStepConf())
        with serving(engine, Settings(budget=2, ssc=True)) as url:
            request = asked(url)
    same = f"{upstream} gives no log-probabilities, which SelfStepConf needs: use "
    then = " for plain sampling, which can be voted on by majority (sc)"
    assert command == same + "--no-ssc" + then
    assert str(caught.value) == same + "`steering=None`" + then
    assert request["message"] == same + '"distrivote": {"ssc": false}' + then
    assert (caught.value.argument, request["param"]) == ("steering", "distrivote.ssc")


def test_an_unknown_method_names_the_argument_that_is_wrong() -> None:
    with pytest.raises(UnknownNameError) as caught:
        vote(["1"], [1.0], "dis-gnm")
    assert (caught.value.argument, caught.value.message) == ("method", "unknown method 'dis-gnm'")
    with serving(ReplayEngine(POOL)) as url:
        request = asked(url, method="dis-gnm")
    assert (request["message"], request["param"]) == (str(caught.value), "distrivote.method")
    assert said_by_command("ask", "?", "--method", "dis-gnm") == str(caught.value)


def test_a_budget_that_a_server_does_not_take_is_the_field_of_its_request() -> None:
    with serving(ReplayEngine(POOL), Settings(budget=2, max_budget=4)) as url:
        request = asked(url, budget=5)
        page = httpx.post(f"{url}/api/ask", json={"question": "?", "budget": 5}).json()["error"]
    assert request["message"] == "the budget is 5: this server takes 1 to 4 trajectories"
    assert (request["param"], page["param"]) == ("distrivote.budget", "budget")


@pytest.mark.parametrize(
    ("hint", "command", "request_", "page"),
    [
        ("lower `max_tokens`", "lower --max-tokens", "lower max_tokens", "lower max_tokens"),
        ("give `temperature=1`", "give --temperature 1", 'give "temperature": 1', 'give "temperature": 1'),
        (
            "check `base_urls`",
            "check --base-url",
            "check the server's base_urls",
            "check the server's base_urls",
        ),
        ("use `steering=None`", "use --no-ssc", 'use "distrivote": {"ssc": false}', 'use "ssc": false'),
        ("see `unknown`", "see `unknown`", "see the server's unknown", "see the server's unknown"),
    ],
)
def test_a_hint_is_written_in_the_words_of_the_door(
    hint: str, command: str, request_: str, page: str
) -> None:
    error = InputError("what `max_tokens` they said", hint=hint)
    before = "what `max_tokens` they said: "  # a message may quote others, and stays as it is
    assert str(error) == before + hint
    assert worded(error) == before + command
    assert failure_of(error, API).message == before + request_
    assert failure_of(error, PAGE).message == before + page


def test_notes_of_an_error_are_reworded_too() -> None:
    assert worded('`same="notation"` grades without it') == "--same notation grades without it"


@pytest.mark.parametrize(
    "error",
    [
        InputError("no", hint="give `budget`", argument="budget"),
        UnknownNameError("method", "x", ["y"], argument="method"),
        EngineError("no", retryable=True, hint="wait"),
        MissingPackageError("ray", "ray", "a cluster"),
    ],
)
def test_errors_keep_their_parts_from_process_to_process(error: DistrivoteError) -> None:
    error.add_note("a line")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_a_missing_package_is_installed_from_the_project_s_folder() -> None:
    error = MissingPackageError("ray", "ray", "a cluster")
    assert str(error) == (
        "a cluster needs ray, which is not installed: pip install '.[ray]' in the project's folder"
    )


def test_a_model_that_a_server_lacks_is_known_by_the_argument() -> None:
    fault = fault_of_reply("http://h", "x", 404, {}, b'{"error": "model m not found"}', model="m", key=None)
    assert (fault.scope, fault.argument) == (Scope.SERVER, "model")
    assert (fault.error().argument, fault.error().hint) == ("model", "give one that it has as `model`")


def test_the_sentence_that_withholds_an_answer_does_not_say_it() -> None:
    tally = vote(["secret"] * 3 + ["other"], [1.0, 2.0, 3.0, 4.0])
    reason = withheld(tally, 1.0)
    assert reason is not None
    assert str(tally.answer) not in reason


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every string of the package that is no docstring, with its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                yield path.relative_to(PACKAGE), node.value


FLAGS_OF_OTHERS = {
    ("answers/mathprocess.py", "--force-reinstall"),  # pip's
    ("engines/llamacpp/wheels.py", None),  # command lines of pip and uv
    ("engines/openai/discovery.py", "--logits-processors"),  # vLLM's
    ("report/files/page.py", None),  # CSS
    ("report/terminal/votes.py", "--json"),  # printed by a command alone
}


def test_only_the_command_line_speaks_of_options() -> None:
    found = [
        (str(path), flag)
        for path, text in texts()
        if path.parts[0] != "cli"
        for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)
    ]
    known = FLAGS_OF_OTHERS | {(path, flag) for path, flag in found if (path, None) in FLAGS_OF_OTHERS}
    assert [each for each in found if each not in known] == []


def test_every_argument_that_a_hint_names_is_an_option_of_a_command() -> None:
    group: Any = typer.main.get_command(app)
    options = {
        name
        for command in group.commands.values()
        for each in command.params
        for name in (*each.opts, *each.secondary_opts)
    }
    named = {
        (found[0], found[1] or None)
        for path, text in texts()
        if path.parts[0] not in ("cli", "server", "bench")
        and path.parts[:2] not in (("report", "documents"), ("integrations", "dspy.py"))  # no command has it
        if "\n" not in text  # a hint is one line; the card of a data set is not one
        for found in re.findall(r"`([a-z_]+)(?:=([^`]*))?`", text)
    }
    assert len(named) > 20
    unknown = {name for name, _ in named if option(name) not in options}
    assert unknown == set()
