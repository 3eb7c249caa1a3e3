"""Pickles of plain values, read without running anything.

A pickle is a program for a small stack machine, and the standard unpickler lets it import and call anything
that it names. This machine supports values, lists, dicts and NumPy's numbers, and calls nothing: a name that
is not on its list is an error. It also makes large collections fast to read: a run of numbers becomes one
array at once, while the standard unpickler makes an object (with NumPy's scalars three more) of each.
Measured on 64 traces of 8,000 tokens: the standard library reads NumPy scalars at 48 MB/s with 11 bytes of
memory per byte; bench/store.py measures this one.

A list of numbers is returned as an array of float64 or as `Unread`, integers that are not parsed yet.
Protocols 2 to 5 are read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from distrivote.store.importers.pickle_names import Name, NotPlainError, built, called
from distrivote.store.importers.pickle_runs import Floats, RunReader, Unread

_MAX_LONG = 64
"""Maximum bytes of an integer: our files have fewer, and huge ones take long to print."""


class PickleError(Exception):
    """What is wrong with a pickle, and where."""


class _List(list[Any]):
    """A list that is being built; while it holds only runs of numbers, they are kept as runs."""

    __slots__ = ("runs",)

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Floats | memoryview] = []

    def add(self, items: list[Any]) -> None:
        if items and not self and all(type(item) is float for item in items):
            self.runs.append(np.array(items))
        elif items:
            self.spread()
            self.extend(items)

    def spread(self) -> None:
        """Turn the runs into items."""
        runs, self.runs = self.runs, []
        for run in runs:
            self.extend(Unread((run,)).values() if isinstance(run, memoryview) else run.tolist())

    def settled(self) -> Floats | Unread | list[Any]:
        """Return an array, unread integers, or a list if it is mixed."""
        floats = [run for run in self.runs if not isinstance(run, memoryview)]
        whole = [run for run in self.runs if isinstance(run, memoryview)]
        if floats and whole:
            self.spread()
            return self
        return Unread(tuple(whole)) if whole else np.concatenate(floats)


_MARK = object()


def read_pickle(data: bytes | memoryview) -> Any:
    """Return the value in a pickle; PickleError if it is damaged or holds more than plain values.

    >>> import pickle
    >>> read_pickle(pickle.dumps({"answer": "4", "confs": [9.5, 8.25]}))
    {'answer': '4', 'confs': array([9.5 , 8.25])}
    """
    machine = _Machine(data)
    try:
        return _plain(machine.run())
    except (NotPlainError, PickleError) as error:
        raise PickleError(f"{error} (byte {machine.at:,})") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, struct.error) as error:
        raise PickleError(f"it is damaged (byte {machine.at:,})") from error


def _plain(value: Any) -> Any:
    """Turn the lists of a value into lists and arrays, in place and without recursion."""
    top = [value]
    seen: set[int] = set()
    todo: list[Any] = [top]
    while todo:
        holder = todo.pop()
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, item in list(pairs):
            if isinstance(item, _List) and item.runs:
                holder[key] = item.settled()  # never in a tuple: see `fixed`
            elif isinstance(item, (list, dict, tuple)) and id(item) not in seen:
                seen.add(id(item))
                todo.append(item)
    return top[0]


class _Machine:
    """The stack machine: its state, and the rest of the program."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data)
        self.at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.n_kept = 0
        self.runs = RunReader(self.data)

    def run(self) -> Any:
        n = len(self.data)
        while self.at < n:
            code = self.data[self.at]
            self.at += 1
            if code == 0x2E:  # STOP
                return self.stack.pop()
            operation = _OPERATIONS.get(code)
            if operation is None:
                raise PickleError(f"it has the code {code:#04x}, which plain values do not need")
            operation(self)
        raise PickleError("it is truncated")

    def enter_frame(self) -> None:
        self.at = self.runs.enter_frame(self.at - 1)

    def take(self, n: int) -> memoryview:
        piece = self.data[self.at : self.at + n]
        if len(piece) != n:
            raise PickleError("it is truncated")
        self.at += n
        return piece

    def number(self, n: int) -> int:
        return int.from_bytes(self.take(n), "little")

    def skip(self, value: Any) -> None:
        """Discard something that was read."""

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop_to_mark(self) -> list[Any]:
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise PickleError("it is damaged")
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def fixed(self, items: list[Any]) -> list[Any]:
        """Finish items before they go into an immutable container."""
        for item in items:
            if type(item) is _List:
                item.spread()
        return items

    def mark(self) -> None:
        """Begin items, or append a whole run of numbers to the list on top."""
        if self.stack and type(self.stack[-1]) is _List and self._take_numbers(self.stack[-1]):
            return
        self.stack.append(_MARK)

    def _take_numbers(self, target: _List) -> bool:
        """Append a run of numbers up to the end of the items, if they are all numbers."""
        run = None if target else self.runs.read(self.at, self.n_kept, self.memo)
        if run is None:
            return False
        self.at, self.n_kept = run.end, run.n_kept
        target.runs += run.pieces
        return True

    def keep(self, place: int | None = None) -> None:
        if place is None:
            place, self.n_kept = self.n_kept, self.n_kept + 1
        self.memo[place] = self.stack[-1]

    def kept(self, place: int) -> Any:
        if place in self.memo:
            return self.memo[place]
        scalar = self.runs.kept(place)
        if scalar is None:
            raise PickleError("it is damaged")
        return scalar


def _append(machine: _Machine) -> None:
    item = machine.stack.pop()
    _list(machine.stack[-1]).add([item])


def _appends(machine: _Machine) -> None:
    items = machine.pop_to_mark()
    _list(machine.stack[-1]).add(items)


def _list(value: Any) -> _List:
    if type(value) is not _List:
        raise PickleError("it is damaged")
    return value


def _set_items(machine: _Machine) -> None:
    items = machine.pop_to_mark()
    target = machine.stack[-1]
    if type(target) is not dict:
        raise PickleError("it is damaged")
    target.update(zip(items[::2], items[1::2], strict=True))


def _set_item(machine: _Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    target = machine.stack[-1]
    if type(target) is not dict:
        raise PickleError("it is damaged")
    target[key] = value


def _add_items(machine: _Machine) -> None:
    items = machine.pop_to_mark()
    machine.stack[-1].update(items)


def _long(machine: _Machine, n: int) -> None:
    if n > _MAX_LONG:
        raise PickleError(f"it has a whole number of {n:,} bytes")
    machine.push(int.from_bytes(machine.take(n), "little", signed=True))


def _text(machine: _Machine, n: int) -> None:
    machine.push(str(machine.take(n), "utf-8", "surrogatepass"))


def _tuple(n: int) -> Callable[[_Machine], None]:
    def make(machine: _Machine) -> None:
        if len(machine.stack) < n:
            raise PickleError("it is damaged")
        machine.stack[-n:] = [tuple(machine.fixed(machine.stack[-n:]))]

    return make


def _global(machine: _Machine) -> None:
    lines = []
    for _ in range(2):
        match = re.compile(rb"([^\n]{0,200})\n").match(machine.data, machine.at)
        if match is None:
            raise PickleError("it is damaged")
        machine.at = match.end()
        lines.append(match.group(1).decode("utf-8", "replace"))
    machine.push(Name.allowed(*lines))


def _stack_global(machine: _Machine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    machine.push(Name.allowed(str(module), str(name)))


def _reduce(machine: _Machine) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    machine.push(called(function, arguments))


def _build(machine: _Machine) -> None:
    state, value = machine.stack.pop(), machine.stack[-1]
    machine.stack[-1] = built(value, state)
    # What was memoized before it was complete is the same object.
    for place in [place for place, item in list(machine.memo.items())[-8:] if item is value]:
        machine.memo[place] = machine.stack[-1]


_OPERATIONS: dict[int, Callable[[_Machine], None]] = {
    0x80: lambda m: m.skip(m.number(1)),  # PROTO
    0x95: lambda m: m.enter_frame(),
    0x28: _Machine.mark,
    0x30: lambda m: m.skip(m.stack.pop()),  # POP
    0x31: lambda m: m.skip(m.pop_to_mark()),  # POP_MARK
    0x4E: lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    0x4B: lambda m: m.push(m.number(1)),
    0x4D: lambda m: m.push(m.number(2)),
    0x4A: lambda m: m.push(int.from_bytes(m.take(4), "little", signed=True)),
    0x8A: lambda m: _long(m, m.number(1)),
    0x8B: lambda m: _long(m, m.number(4)),
    0x47: lambda m: m.push(struct.unpack(">d", m.take(8))[0]),
    0x8C: lambda m: _text(m, m.number(1)),
    0x58: lambda m: _text(m, m.number(4)),
    0x8D: lambda m: _text(m, m.number(8)),
    0x43: lambda m: m.push(bytes(m.take(m.number(1)))),
    0x42: lambda m: m.push(bytes(m.take(m.number(4)))),
    0x8E: lambda m: m.push(bytes(m.take(m.number(8)))),
    0x96: lambda m: m.push(bytes(m.take(m.number(8)))),  # BYTEARRAY8
    0x5D: lambda m: m.push(_List()),
    0x7D: lambda m: m.push({}),
    0x8F: lambda m: m.push(set()),
    0x29: lambda m: m.push(()),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    0x74: lambda m: m.push(tuple(m.fixed(m.pop_to_mark()))),
    0x61: _append,
    0x65: _appends,
    0x73: _set_item,
    0x75: _set_items,
    0x90: _add_items,
    0x91: lambda m: m.push(frozenset(m.pop_to_mark())),
    0x94: lambda m: m.keep(),
    0x71: lambda m: m.keep(m.number(1)),
    0x72: lambda m: m.keep(m.number(4)),
    0x68: lambda m: m.push(m.kept(m.number(1))),
    0x6A: lambda m: m.push(m.kept(m.number(4))),
    0x63: _global,
    0x93: _stack_global,
    0x52: _reduce,
    0x62: _build,
}
"""Every opcode that plain values need -> what it does; NEWOBJ, INST, OBJ, EXT and the like are left out."""
