"""A fleet that changes: files that are read again, limits for each server, replicas without the plugin."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from distrivote.cli.findings import server_findings
from distrivote.engines.base import SamplingParams
from distrivote.engines.openai.checkup import check_server
from distrivote.engines.openai.engine import OpenAIEngine
from distrivote.engines.openai.fleet import Choice, Health, choose
from distrivote.engines.openai.patience import Backoff, Patience
from distrivote.engines.openai.roster import Roster
from distrivote.errors import InputError
from distrivote.problem import Message
from distrivote.steering import SelfStepConf
from engines.scripted_server import Reply, Request, ScriptedServer, Token, ToyServer

QUESTION = (Message("user", "What is 2 + 2?"),)
PARAMS = SamplingParams(max_tokens=50)
QUICK = Patience(retry=Backoff(0.01, 30.0), roster=0.02)


def toy(pause: float = 0.02) -> ToyServer:
    return ToyServer(lambda _: [Token("So "), Token("4")], pause=pause)


def shown(*entries: str) -> list[str]:
    return [address.shown for address in Roster(entries).addresses()]


def test_a_file_has_one_address_per_line(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    file.write_text("gpu1:8000  # the first\n\n# http://gpu3:8000\nhttp://gpu2:8000/v1\nhttp://gpu1:8000\n")
    assert shown(f"@{file}", "http://gpu4:1") == [
        *("http://gpu1:8000/v1", "http://gpu2:8000/v1", "http://gpu4:1/v1"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no address"),
        ("# none", "has no address"),
        ("@other", "has addresses only"),
        ("ftp://x", "ftp"),
    ],
)
def test_a_file_that_names_no_server_is_an_error(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "servers"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        Roster([f"@{file}"]).addresses()
    with pytest.raises(InputError, match="can't read the servers"):
        Roster([f"@{tmp_path / 'none'}"]).addresses()


@pytest.mark.parametrize(
    "line",
    [
        *("http://[::1/v1", "http://a:99999/v1", "http://\0/v1", "http://a b/v1", "dns:http://..a/v1"),
        *(
            f"dns:http://{'a' * 70}.test/v1",
            "http://\u2100.test/v1",
            f"http://{'a' * 100_000}",
            "http://x\x1b[31m",
        ),
    ],
)
def test_a_line_that_is_no_address_is_one_short_sentence(tmp_path: Path, line: str) -> None:
    file = tmp_path / "servers"
    file.write_text(f"gpu1:1\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match="servers, line 2: ") as caught:
        Roster([f"@{file}"]).addresses()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


def test_a_file_that_is_huge_or_no_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    file.write_bytes(b"#" * ((1 << 20) + 1))
    os.mkfifo(tmp_path / "pipe")
    for path, words in (
        (file, "more than 1 MB"),
        (tmp_path / "pipe", "no regular file"),
        (tmp_path, "directory"),
    ):
        with pytest.raises(InputError, match=f"can't read the servers in .*{words}"):
            Roster([f"@{path}"]).addresses()
    with pytest.raises(InputError, match="no regular file"):
        Roster(["@/dev/zero"]).addresses()


def test_a_bad_line_in_a_file_that_is_read_again_changes_nothing_and_is_told(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    file.write_text("gpu1:1")
    roster = Roster([f"@{file}"])
    first = roster.addresses()
    file.write_text("gpu1:1\nhttp://[::1/v1")
    assert (roster.addresses(), roster.notes) == (first, ())
    assert roster.addresses() == first
    assert [f"{file}, line 2: the base URL is 'http://[::1/v1'" in note for note in roster.notes] == [True]
    file.write_text("gpu1:1\ngpu2:1")
    assert len(roster.addresses()) == 2
    assert roster.notes == ()


def test_a_file_that_is_being_written_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    file.write_text("gpu1:1")
    roster = Roster([f"@{file}"])
    first = roster.addresses()
    file.write_text("")
    assert roster.addresses() == first
    file.unlink()
    assert roster.addresses() == first
    file.write_text("gpu2:1")
    assert [address.shown for address in roster.addresses()] == ["http://gpu2:1/v1"]


def test_a_name_is_all_of_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["10.0.0.2", "10.0.0.1", "10.0.0.2"]

    def resolved(_: str, port: int, **__: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (each, port)) for each in answers]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    roster = Roster(["dns:http://vllm:8000"])
    assert roster.changes
    assert [each.shown for each in roster.addresses()] == [
        "http://10.0.0.1:8000/v1",
        "http://10.0.0.2:8000/v1",
    ]
    with pytest.raises(InputError, match="certificate"):
        Roster(["dns:https://vllm"]).addresses()

    def fails(*_: object, **__: object) -> None:
        raise OSError("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    assert len(roster.addresses()) == 2
    with pytest.raises(InputError, match="vllm has no address"):
        Roster(["dns:http://vllm:8000"]).addresses()


def test_a_full_server_gets_no_more_and_one_that_left_gets_none() -> None:
    servers = [Health(), Health()]
    servers[0].begin(0.0)
    assert choose(servers, 0.0, limit=1) == Choice(1)
    servers[1].begin(0.0)
    assert choose(servers, 0.0, limit=1).number is None
    servers[0].end()
    servers[0].gone = True
    assert choose(servers, 0.0, limit=1).number is None
    assert choose(servers, 0.0).number == 1


def sampled_while(engine: OpenAIEngine, n: int, at: int, act: Callable[[], object]) -> list[str | None]:
    """Return the servers of n trajectories; act when so many have come."""

    async def sample() -> list[str | None]:
        found: list[str | None] = []
        async with aclosing(engine.asample(QUESTION, n, PARAMS)) as samples:
            async for trajectory in samples:
                found.append(trajectory.server)
                if len(found) == at:
                    act()
        return found

    with engine:
        return asyncio.run(sample())


def test_a_server_that_appears_gets_work(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    with ScriptedServer(toy()) as first, ScriptedServer(toy()) as second:
        file.write_text(first.url)
        engine = OpenAIEngine(f"@{file}", "toy", n_parallel=4, patience=QUICK)
        found = sampled_while(engine, 60, 4, lambda: file.write_text(f"{first.url}\n{second.url}"))
        assert len(found) == 60
        assert len(second.sampled()) > 5
        assert len(first.sampled()) + len(second.sampled()) == 60
        assert engine.notes == [f"{second.url} has joined the fleet"]


def test_the_trajectories_of_a_server_that_vanishes_go_to_others(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    with ScriptedServer(toy()) as first, ScriptedServer(toy(pause=0.1)) as second:
        file.write_text(f"{first.url}\n{second.url}")

        def leave() -> None:
            file.write_text(first.url)
            second.stop()

        engine = OpenAIEngine(f"@{file}", "toy", n_parallel=8, patience=QUICK)
        found = sampled_while(engine, 40, 12, leave)
        assert len(found) == 40
        assert f"{second.url} has left the fleet" in engine.notes


def test_a_server_that_left_the_file_may_end_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    with ScriptedServer(toy()) as first, ScriptedServer(toy(pause=0.2)) as second:
        file.write_text(f"{first.url}\n{second.url}")
        engine = OpenAIEngine(f"@{file}", "toy", n_parallel=4, patience=QUICK)
        found = sampled_while(engine, 30, 2, lambda: file.write_text(first.url))
        assert len(found) == 30
        assert second.n_left == 0
        assert len(first.sampled()) + len(second.sampled()) == 30


def test_each_server_has_its_limit_and_a_new_one_its_own(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    with ScriptedServer(toy(0.05)) as first, ScriptedServer(toy(0.05)) as second:
        file.write_text(first.url)
        engine = OpenAIEngine(f"@{file}", "toy", n_parallel=1, n_per_server=3, patience=QUICK)
        found = sampled_while(engine, 40, 3, lambda: file.write_text(f"{first.url}\n{second.url}"))
        assert len(found) == 40
        assert (first.max_open, second.max_open) == (3, 3)


def test_a_limit_is_a_number_above_0() -> None:
    with pytest.raises(InputError, match="n_per_server is 0"):
        OpenAIEngine("http://localhost:1", "toy", n_per_server=0)


@pytest.mark.parametrize("ssc_by", ["auto", "plugin"])
def test_replicas_without_the_plugin_behind_one_address_are_noticed(ssc_by: str) -> None:
    with_it = ToyServer(lambda _: [Token("So "), Token("4")], plugin=True, prefill="asked")
    without = replace(with_it, plugin=False)
    turns = count()

    def router(request: Request) -> Reply:
        return (without if next(turns) % 4 == 3 else with_it)(request)

    with ScriptedServer(router) as server:
        engine = OpenAIEngine(server.url, "toy", ssc_by=ssc_by, patience=QUICK)
        steered = SelfStepConf()
        if ssc_by == "plugin":
            with pytest.raises(Exception, match="does not run the SelfStepConf plugin"):
                list(engine.sample(QUESTION, 2, PARAMS, steered))
        else:
            assert len(list(engine.sample(QUESTION, 2, PARAMS, steered))) == 2
            # Every replica steers by continuation.
            assert not any("vllm_xargs" in body for body in server.sampled())
        assert any("replicas without the SelfStepConf plugin" in note for note in engine.notes)
        engine.close()


def test_a_checkup_counts_the_replicas_without_the_plugin() -> None:
    with_it = ToyServer(lambda _: [Token("So "), Token("4")], plugin=True)
    without, turns = replace(with_it, plugin=False), count()

    def router(request: Request) -> Reply:
        lacks = "vllm_xargs" in (request.body or {}) and next(turns) % 4 == 3
        return (without if lacks else with_it)(request)

    with ScriptedServer(router) as server:
        seen = check_server(server.url)
        assert (seen.ssc_by, seen.plugin_in) == (None, "6 of 8")
        (finding,) = server_findings([server.url], None, None)
        assert "its plugin in" in finding.detail
        assert "some replicas lack it" in finding.detail
    with ScriptedServer(with_it) as server:
        seen = check_server(server.url)
        assert (seen.ssc_by, seen.plugin_in) == ("plugin", None)
