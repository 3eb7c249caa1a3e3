"""Which server is asked, with times as arguments."""

from __future__ import annotations

import pytest

from distrivote.engines.openai_faults import Fault, Scope
from distrivote.engines.openai_fleet import Standing, choose


def passing(**more: float) -> Fault:
    return Fault("it failed", Scope.PASSING, retry_after=more.get("retry_after"))


def good(url: str) -> Standing:
    server = Standing(url)
    server.succeed()
    return server


def test_the_one_with_the_fewest_under_way_is_asked() -> None:
    servers = [good("a"), good("b")]
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
    servers = [good("a"), good("b")]
    servers[1].begin(0.0)
    assert choose(servers, 0.0, avoid=0).number == 1
    assert choose(servers[:1], 0.0, avoid=0).number == 0


def test_three_failures_in_a_row_set_a_server_aside_and_pauses_double() -> None:
    servers = [good("a"), good("b")]
    for _ in range(2):
        servers[0].fail(passing(), 0.0, 1.0)
    assert not servers[0].aside
    servers[0].fail(passing(), 0.5, 1.0)
    assert servers[0].aside
    assert choose(servers, 5.9).number == 1
    servers[1].begin(6.0)
    assert choose(servers, 6.0).number == 0  # 5 seconds are over
    servers[0].begin(6.0)
    assert choose(servers, 6.1).number == 1  # one trial at a time
    servers[0].fail(passing(), 6.0, 6.2)
    servers[0].end()
    assert choose(servers, 16.1).number == 1
    assert choose(servers, 16.3).number == 0
    for start in (20.0, 60.0, 120.0, 200.0):
        servers[0].begin(start)
        servers[0].fail(passing(), start, start)
        servers[0].end()
    assert servers[0].resume == 260.0  # a minute at most


def test_failures_of_what_was_sent_before_count_once() -> None:
    server = good("a")
    for _ in range(64):
        server.fail(passing(), 0.0, 1.0)
    assert server.resume == 6.0


def test_a_success_makes_a_server_whole_again() -> None:
    server = good("a")
    for _ in range(3):
        server.fail(passing(), 0.0, 1.0)
    server.succeed()
    assert not server.aside
    assert server.is_free(1.0)


def test_a_server_that_never_answered_fails_at_once() -> None:
    servers = [Standing("a"), good("b")]
    servers[0].fail(passing(), 0.0, 0.1)
    assert choose(servers, 0.2).number == 1
    with pytest.raises(Fault, match="it failed"):
        choose(servers[:1], 0.2)


def test_all_servers_down_is_known_within_ten_seconds() -> None:
    server = good("a")
    for _ in range(3):
        server.fail(passing(), 100.0, 100.1)
    assert choose([server], 100.2).number is None  # it is tried once more
    server.begin(105.2)
    server.fail(passing(), 105.2, 105.3)
    server.end()
    with pytest.raises(Fault):
        choose([server], 105.4)


def test_connections_that_hang_are_not_waited_for_twice() -> None:
    server = good("a")
    for _ in range(3):
        server.fail(passing(), 100.0, 103.0)
    with pytest.raises(Fault):
        choose([server], 103.0)


def test_a_server_that_says_when_to_come_back_is_not_set_aside() -> None:
    server = good("a")
    for _ in range(5):
        server.fail(passing(retry_after=30.0), 0.0, 1.0)
    assert not server.aside
    assert choose([server], 2.0) == (None, 29.0)
    assert choose([server], 31.0).number == 0


def test_a_server_that_refuses_everything_is_out() -> None:
    servers = [good("a"), good("b")]
    servers[0].fail(Fault("wrong key at a", Scope.SERVER), 0.0, 1.0)
    assert choose(servers, 1000.0).number == 1
    servers[1].fail(Fault("wrong key at b", Scope.SERVER), 0.0, 1.0)
    with pytest.raises(Fault, match="no server is left: wrong key at a; wrong key at b"):
        choose(servers, 1000.0)


def test_a_refused_request_says_nothing_against_the_server() -> None:
    server = good("a")
    for _ in range(5):
        server.fail(Fault("too long", Scope.REQUEST), 0.0, 1.0)
    assert server.is_free(1.0)
