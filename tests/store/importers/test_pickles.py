"""Pickles of plain values against the standard library's reader, and pickles that attack."""

from __future__ import annotations

import collections
import contextlib
import io
import pickle
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distrivote.store.importers.pickle_runs import Unread
from distrivote.store.importers.pickles import PickleError, read_pickle

PROTOCOLS = (2, 3, 4, 5)


def opened(value: Any) -> Any:
    """Return what was read as the standard library would give it."""
    if isinstance(value, Unread):
        return value.values()
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1:
        return value.tolist()
    if isinstance(value, dict):
        return {key: opened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [opened(item) for item in value]
    if isinstance(value, tuple):
        return tuple(opened(item) for item in value)
    return value


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner, inner)
        | st.lists(st.integers(-300, 70_000), min_size=1)
        | st.lists(st.floats(allow_nan=False), min_size=1)
    ),
    max_leaves=30,
)


@given(plain, st.sampled_from(PROTOCOLS))
@settings(max_examples=150)
def test_plain_values_come_back(value: Any, protocol: int) -> None:
    assert opened(read_pickle(pickle.dumps(value, protocol))) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("n", [1, 2, 999, 1000, 1001, 5_000, 30_000])
def test_long_lists_of_numbers_come_back(n: int, protocol: int) -> None:
    rng = np.random.default_rng(n)
    floats, whole = rng.normal(size=n), rng.integers(-5, 200_000, n).tolist()
    value = {"f": floats.tolist(), "s": list(floats), "i": whole, "m": [1, *floats.tolist(), 2], "t": "x" * n}
    got = read_pickle(pickle.dumps(value, protocol))
    assert np.array_equal(got["f"], floats)
    assert np.array_equal(got["s"], floats)
    assert opened(got["i"]) == whole
    assert got["m"] == value["m"]
    assert got["t"] == value["t"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_numpy_scalars_that_are_named_again_are_found(protocol: int) -> None:
    scalars = list(np.random.default_rng(0).normal(size=4_000))
    value = {"all": scalars, "one": scalars[1234], "last": scalars[-1], "some": scalars[10:3_000:7]}
    got = read_pickle(pickle.dumps(value, protocol))
    assert got["one"] == scalars[1234]
    assert got["last"] == scalars[-1]
    assert np.array_equal(got["some"], scalars[10:3_000:7])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(5, dtype=">i4"),
        np.array([], np.float32),
        np.array(["a", "bc"]),
        np.array([True, False]),
        np.float32(1.5),
        np.int64(7),
        np.bool_(True),
    ],
    ids=repr,
)
def test_arrays_and_scalars_of_every_kind_come_back(array: Any, protocol: int) -> None:
    got = read_pickle(pickle.dumps({"x": array}, protocol))["x"]
    assert np.array_equal(got, array)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sets_ordered_dicts_and_shared_lists_come_back(protocol: int) -> None:
    shared = [1.5, 2.5]
    value = (collections.OrderedDict(a=1), {3, 4}, frozenset({5}), bytearray(b"x"), [shared, shared])
    first, second, third, fourth, fifth = opened(read_pickle(pickle.dumps(value, protocol)))
    assert (first, set(second), set(third), bytes(fourth)) == ({"a": 1}, {3, 4}, {5}, b"x")
    assert fifth == [shared, shared]


class Evil:
    """Pickles itself as a call of anything."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def code(*parts: bytes) -> bytes:
    return b"\x80\x04" + b"".join(parts) + b"."


def named(module: str, name: str) -> bytes:
    return b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name)) + b"\x93"


def attacks() -> dict[str, bytes]:
    import os
    import subprocess

    marker = "import os; os.environ['HACKED'] = '1'"
    made: dict[str, Any] = {
        "os.system": Evil(os.system, "true"),
        "builtins.eval": Evil(eval, marker),
        "builtins.exec": Evil(exec, marker),
        "builtins.getattr": Evil(getattr, "x", "upper"),
        "builtins.__import__": Evil(__import__, "os"),
        "builtins.open": Evil(open, "/tmp/hacked", "w"),
        "subprocess.Popen": Evil(subprocess.Popen, ["true"]),
        "io.FileIO": Evil(io.FileIO, "/tmp/hacked", "w"),
        "nested": [{"confs": [1.0], "x": {"y": [Evil(os.system, "true")]}}],
        "in a tuple": (1, (2, (3, Evil(eval, marker)))),
        "as a key": {("k", 1): Evil(eval, marker)},
        "numpy objects": np.array([Evil(os.system, "true")], dtype=object),
        "numpy.load": Evil(np.load, "/tmp/hacked.npy", None, True),
        "bytearray of 2**40": Evil(bytearray, 2**40),
        "range": Evil(range, 10**12),
        "own class": Evil(Evil, eval, marker),
    }
    handmade = {
        "inst": b"\x80\x02(S'true'\nios\nsystem\n.",
        "obj": code(b"(", named("os", "system"), b"\x8c\x04true", b"o"),
        "newobj": code(named("os", "system"), b")\x81"),
        "newobj_ex": code(named("os", "system"), b")}\x92"),
        "extension": code(b"\x82\x01"),
        "persistent id": code(b"\x8c\x01xQ"),
        "global by line": b"\x80\x02cos\nsystem\n(\x8c\x04truetR.",
        "call of a text": code(b"\x8c\x06system\x8c\x04true\x85R"),
        "call of a list": code(b"]\x8c\x04true\x85R"),
        "build on a dict": code(b"}", b"}\x8c\x01x\x8c\x01ysb"),
        "dotted name": code(named("builtins", "set.__class__.__base__"), b")R"),
        "huge array": code(
            named("numpy._core.multiarray", "_reconstruct"), named("numpy", "ndarray"),
            b"K\x00\x85C\x01b\x87R(K\x01J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", named("numpy", "dtype"),
            b"\x8c\x02f8\x89\x88\x87R\x89C\x00tb",
        ),
        "array of objects": code(named("numpy", "dtype"), b"\x8c\x01O\x89\x88\x87R"),
        "structured array": code(named("numpy", "dtype"), b"\x8c\x05f8,f8\x89\x88\x87R"),
        "huge text": code(b"\x8d" + struct.pack("<Q", 2**62) + b"x"),
        "huge bytes": code(b"\x8e" + struct.pack("<Q", 2**62)),
        "huge whole number": code(b"\x8b" + struct.pack("<i", 2**30) + b"\x01" * 100),
        "frame over everything": code(b"\x95" + struct.pack("<Q", 2**63) + b"N", b"\x8e" + b"\xff" * 8),
        "memo that is not there": code(b"j\xff\xff\xff\x7f"),
        "empty stack": code(b"\x86"),
        "unhashable key": code(b"}](NNuN\x8c\x01xs" + b"](e" + b"(]Nu"),
        "append to a text": code(b"\x8c\x01xNa"),
        "bytes by codec": code(named("_codecs", "encode"), b"\x8c\x01x\x8c\x04zlib\x86R"),
    }  # fmt: skip
    return {name: pickle.dumps(value, 4) for name, value in made.items()} | handmade


@pytest.mark.parametrize("name", attacks())
def test_nothing_that_is_not_plain_gets_in(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HACKED", raising=False)
    with pytest.raises(PickleError, match="byte"):
        read_pickle(attacks()[name])


def test_shared_lists_that_would_explode_stay_small() -> None:
    value: list[Any] = ["lol"]
    for _ in range(200):
        value = [value, value, value]
    assert isinstance(read_pickle(pickle.dumps(value, 4)), list)


@pytest.mark.slow
def test_a_list_that_holds_itself_and_deep_nesting_are_read() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert isinstance(read_pickle(pickle.dumps(loop, 4)), list)
    deep = b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b"."
    assert isinstance(read_pickle(deep), list)


def test_a_pickle_that_is_cut_short_anywhere_is_refused() -> None:
    content = pickle.dumps({"confs": list(np.arange(40.0)), "ids": list(range(60)), "text": "é" * 30}, 4)
    for end in range(len(content)):
        with pytest.raises(PickleError):
            read_pickle(content[:end])


@given(st.data())
@settings(max_examples=200)
def test_changed_bytes_give_a_value_or_an_error_and_nothing_else(data: st.DataObject) -> None:
    value = {"confs": list(np.arange(40.0)), "ids": list(range(60)), "x": np.arange(3), "t": ("a", [1.0])}
    content = bytearray(pickle.dumps(value, data.draw(st.sampled_from(PROTOCOLS))))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(PickleError):
        read_pickle(bytes(content))
