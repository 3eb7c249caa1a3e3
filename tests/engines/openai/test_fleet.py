"""Which server is asked, with times as arguments."""

from __future__ import annotations

import pytest

from distrivote.engines.openai.faults import Fault, Scope, unreachable
from distrivote.engines.openai.fleet import Health, choose


def passing(**more: float) -> Fault:
    return Fault("it failed", Scope.PASSING, retry_after=more.get("retry_after"))


def good() -> Health:
    server = Health()
    server.succeed()
    return server


def test_the_one_with_the_fewest_under_way_is_asked() -> None:
    servers = [good(), good()]
    order = []
    for _ in range(4):
        number = choose(servers, 0.0).number
        assert number is not None
        servers[number].begin(0.0)
        order.append(number)
    assert order == [0, 1, 0, 1]
    servers[1].end()
    assert choose(servers, 0.0).number == 1


def test_a_server_to_avoid_is_asked_only_if_there_is_no_other() -> None:
    servers = [good(), good()]
    servers[1].begin(0.0)
    assert choose(servers, 0.0, avoid=0).number == 1
    assert choose(servers[:1], 0.0, avoid=0).number == 0


def test_three_failures_in_a_row_set_a_server_aside_and_pauses_double() -> None:
    servers = [good(), good()]
    for _ in range(2):
        servers[0].fail(passing(), 0.0, 1.0)
    assert not servers[0].aside
    servers[0].fail(passing(), 0.5, 1.0)
    assert servers[0].aside
    assert choose(servers, 1.9).number == 1
    servers[1].begin(2.0)
    assert choose(servers, 2.0).number == 0  # a second is over
    servers[0].begin(2.0)
    assert choose(servers, 2.1).number == 1  # one trial at a time
    servers[0].fail(passing(), 2.0, 2.2)
    servers[0].end()
    assert choose(servers, 4.1).number == 1
    assert choose(servers, 4.3).number == 0
    for start in (20.0, 60.0, 120.0, 200.0, 400.0):
        servers[0].begin(start)
        servers[0].fail(passing(), start, start)
        servers[0].end()
    assert servers[0].resume == 460.0  # a minute at most


def test_failures_of_what_was_sent_before_count_once() -> None:
    server = good()
    for _ in range(64):
        server.fail(passing(), 0.0, 1.0)
    assert server.resume == 2.0


def test_a_success_makes_a_server_whole_again() -> None:
    server = good()
    for _ in range(3):
        server.fail(passing(), 0.0, 1.0)
    server.succeed()
    assert not server.aside
    assert server.is_free(1.0)


def test_a_server_that_never_answered_fails_at_once() -> None:
    servers = [Health(), good()]
    servers[0].fail(passing(), 0.0, 0.1)
    assert choose(servers, 0.2).number == 1
    with pytest.raises(Fault, match="it failed"):
        choose(servers[:1], 0.2)


def given_up_at(server: Health, now: float, seconds: float, fault: Fault) -> float:
    """Try a server that fails after so many seconds until it counts as down, and say when."""
    while True:
        try:
            choice = choose([server], now)
        except Fault:
            return now
        if choice.number is None:
            now += choice.wait
            continue
        server.begin(now)
        server.fail(fault, now, now + seconds)
        server.end()
        now += seconds


@pytest.mark.parametrize("seconds", [0.1, 3.0], ids=["refused", "hangs"])
def test_all_servers_down_is_known_within_ten_seconds(seconds: float) -> None:
    server, fault = good(), unreachable("a", "nobody there")
    for _ in range(3):
        server.fail(fault, 100.0, 100.0 + seconds)
    assert 100.5 + seconds < given_up_at(server, 100.0 + seconds, seconds, fault) < 110.0


def test_a_server_that_is_there_and_fails_is_given_a_minute() -> None:
    server = good()
    for _ in range(3):
        server.fail(passing(), 100.0, 100.1)
    assert 110.0 < given_up_at(server, 100.1, 0.1, passing()) < 160.0


def test_streams_that_break_all_at_once_after_a_long_time_are_no_reason_to_give_up() -> None:
    server = good()
    for _ in range(64):
        server.fail(passing(), 0.0, 600.0)
    assert choose([server], 600.1).number is None
    assert choose([server], 601.0).number == 0


def test_a_server_that_says_when_to_come_back_is_not_set_aside() -> None:
    server = good()
    for _ in range(5):
        server.fail(passing(retry_after=30.0), 0.0, 1.0)
    assert not server.aside
    assert choose([server], 2.0) == (None, 29.0)
    assert choose([server], 31.0).number == 0


def test_what_ends_well_does_not_shorten_the_time_that_a_server_asked_for() -> None:
    server = good()
    server.fail(passing(retry_after=30.0), 0.0, 1.0)
    server.succeed()
    assert choose([server], 2.0) == (None, 29.0)
    server.fail(passing(retry_after=5.0), 0.0, 3.0)
    assert choose([server], 8.5).number is None
    assert choose([server], 31.0).number == 0


def test_a_server_that_refuses_everything_is_out() -> None:
    servers = [good(), good()]
    servers[0].fail(Fault("wrong key at a", Scope.SERVER), 0.0, 1.0)
    assert choose(servers, 1000.0).number == 1
    servers[1].fail(Fault("wrong key at b", Scope.SERVER), 0.0, 1.0)
    with pytest.raises(Fault, match="no server is left: wrong key at a; wrong key at b"):
        choose(servers, 1000.0)


def test_a_refused_request_says_nothing_against_the_server() -> None:
    server = good()
    for _ in range(5):
        server.fail(Fault("too long", Scope.REQUEST), 0.0, 1.0)
    assert server.is_free(1.0)
