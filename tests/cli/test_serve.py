"""`distrivote serve`: what it refuses before it starts, and that it starts."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from importlib import util
from pathlib import Path

import httpx2 as httpx
import pytest
import typer
from typer.testing import CliRunner

from distrivote.cli import serve as command
from distrivote.cli.serve import serve
from distrivote.cli.words import worded
from distrivote.errors import InputError, MissingPackageError
from distrivote.server.settings import Settings, check_host

APP = typer.Typer()
APP.command()(serve)
COMMAND = [sys.executable, "-c", "import typer; from distrivote.cli.serve import serve; typer.run(serve)"]


def error_of(*args: str) -> BaseException | None:
    return CliRunner().invoke(APP, args, env={"DISTRIVOTE_API_KEY": ""}).exception


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.org"])
def test_a_host_that_others_can_reach_needs_a_key(host: str) -> None:
    with pytest.raises(InputError, match=r"give `api_key` .* or leave out `host`"):
        check_host(host, None)
    check_host(host, "key")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_the_loopback_needs_none(host: str) -> None:
    check_host(host, None)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--host", "0.0.0.0"), "everyone who can reach this machine"),
        (("--method", "dis-gnn"), "did you mean dis-gmm"),
        (("--signal", "auto"), "the signal auto weighs the signals of many questions"),
        (("--signal", "entropi"), "did you mean entropy"),
        (("--max-budget", "0"), "max_budget is 0"),
        (("--budget", "300"), "raise --max-budget"),
        (("--max-concurrency", "0"), "max_concurrency is 0"),
        (("--template", "poem"), "the template is 'poem'"),
        (("--run", "no-such-folder"), "is not a run"),
        (("--api-key", "two words"), "holds spaces"),
        (("--engine", "openai"), "give --base-url"),
    ],
)
def test_what_is_wrong_is_said_before_a_model_is_loaded(args: tuple[str, ...], words: str) -> None:
    error = error_of(*args)
    assert isinstance(error, InputError)
    assert words in worded(error)


def test_without_its_packages_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    error = error_of()
    assert isinstance(error, MissingPackageError)
    assert "pip install '.[server]'" in str(error)


@pytest.mark.parametrize(("args", "ssc"), [((), None), (("--ssc",), True), (("--no-ssc",), False)])
def test_selfstepconf_can_be_off_where_a_request_does_not_say_it(
    monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], ssc: bool | None
) -> None:
    served: list[Settings] = []
    monkeypatch.setattr(command, "_serve", lambda _choice, _method, settings, *_: served.append(settings))
    assert error_of("--base-url", "http://127.0.0.1:9/v1", *args) is None
    assert [settings.ssc for settings in served] == [ssc]


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(Settings(api_key="secret"))


@pytest.mark.model
def test_it_serves_the_built_in_model_until_it_is_interrupted(tmp_path: Path) -> None:
    words = [*COMMAND, "--port", "0", "--max-tokens", "48", "--budget", "8"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr is not None
        try:
            address = next(
                found[0] for line in process.stderr if (found := re.findall(r"http://\S+:\d+", line))
            )
            body = {"model": "smollm2-135m", "messages": [{"role": "user", "content": "What is 3 + 4?"}]}
            body["distrivote"] = {"template": "worked"}
            reply = httpx.post(f"{address}/v1/chat/completions", json=body, timeout=300).json()
            assert reply["distrivote"]["n_trajectories"] == 8
            assert reply["usage"]["completion_tokens"] == reply["distrivote"]["n_tokens"] > 8
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
