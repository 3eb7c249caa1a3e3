from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distrivote.engines.vllm.absent import PRIME, Absent, Request, Seen, seen_before
from distrivote.steering import SelfStepConf
from strategies import LAW


def request(origin: object) -> Request:
    return Request(SelfStepConf(), 20, origin)


def test_a_request_is_found_again_once() -> None:
    absent: Absent[str] = Absent()
    absent.keep(request("a"), Seen(2, 7), "state")
    assert absent.take(request("b"), Seen(2, 7)) is None
    assert absent.take(Request(SelfStepConf(delta=0.5), 20, "a"), Seen(2, 7)) is None
    assert absent.take(request("a"), Seen(2, 8)) is None
    assert absent.take(request("a"), Seen(2, 7)) == "state"
    assert absent.take(request("a"), Seen(2, 7)) is None


def test_those_that_left_first_are_forgotten_first() -> None:
    absent: Absent[int] = Absent()
    for number in range(3000):
        absent.keep(request(number), Seen(0, 0), number)
    assert len(absent) == 1024
    assert absent.take(request(0), Seen(0, 0)) is None
    assert absent.take(request(2999), Seen(0, 0)) == 2999


@LAW
@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=50))
def test_digests_in_arrays_are_the_same(tokens: list[int]) -> None:
    digests = np.zeros(1, dtype=np.uint64)
    before = digests
    for token in tokens:
        before, digests = digests, digests * np.uint64(PRIME) + np.uint64(token)
    everything, all_but_one = seen_before(tokens)
    assert everything == (len(tokens), int(digests[0]))
    assert all_but_one == (len(tokens) - 1, int(before[0]))
