"""The names that a pickle of plain values may use, and what each of them builds. Nothing else is called.

NumPy writes a scalar as scalar(kind, bytes) and an array as an empty one that is filled afterwards, or,
in protocol 5, as one made from bytes. Kinds are numbers and texts of a fixed size: no objects.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

_SCALAR = "scalar"
_NUMPY = {
    (f"numpy.{core}.{module}", name)
    for core in ("core", "_core")
    for module, name in (("multiarray", _SCALAR), ("multiarray", "_reconstruct"), ("numeric", "_frombuffer"))
}
_ALLOWED = _NUMPY | {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "bytearray"),
    ("builtins", "bytes"),
    ("builtins", "complex"),
    ("collections", "OrderedDict"),
    ("_codecs", "encode"),
}
_MAX_ARRAY = 1 << 30
"""In bytes."""


class NotPlainError(Exception):
    """The pickle asks for an object that is not a plain value."""


class Name(NamedTuple):
    """A name in a pickle; it is inert and can't be called."""

    module: str
    name: str

    @classmethod
    def allowed(cls, module: str, name: str) -> Self:
        """Return the name if it is on the list."""
        module = "builtins" if module == "__builtin__" else module  # the name in Python 2, used by protocol 2
        if (module, name) not in _ALLOWED:
            shown = f"{module}.{name}"[:100]
            raise NotPlainError(f"it holds {shown!r}, which is not a plain value: nothing was run")
        return cls(module, name)

    @property
    def is_scalar(self) -> bool:
        return self.name == _SCALAR


class _Unfilled:
    """An array or a dtype whose state has not been set yet."""

    def __init__(self, kind: Any = None) -> None:
        self.kind = kind


def called(function: Any, arguments: Any) -> Any:
    """Return what NumPy or a builtin returns for these arguments."""
    if not isinstance(function, Name) or not isinstance(arguments, tuple):
        raise NotPlainError("it calls something that has no name: nothing was run")
    name = function.name
    if name == _SCALAR:
        kind, raw = arguments
        return _array(kind, (), raw).item()
    if name == "_reconstruct":
        return _Unfilled()
    if name == "_frombuffer":
        raw, kind, shape, order = arguments
        return _array(kind, shape, raw, order == "F")
    if name == "dtype":
        return _Unfilled(_kind(arguments[0]))
    if name == "OrderedDict":
        return dict(arguments[0]) if arguments else {}
    if name == "complex":
        return complex(*arguments)
    if name == "encode":
        text, encoding = arguments
        return text.encode({"latin1": "latin1"}[encoding])
    if name in ("bytes", "bytearray"):
        # A number would allocate that many bytes.
        (content,) = arguments or (b"",)
        return bytes(_require(content, bytes))
    if name in ("set", "frozenset"):
        (content,) = arguments or ((),)
        return frozenset(_require(content, list))
    raise NotPlainError(f"it calls {name}: nothing was run")


def built(value: Any, state: Any) -> Any:
    """Return a value with its state set."""
    if not isinstance(value, _Unfilled):
        raise NotPlainError("it sets the state of a plain value: nothing was run")
    if value.kind is not None:
        order = state[1]
        return value.kind.newbyteorder(order) if order in ("<", ">") else value.kind
    _version, shape, kind, is_fortran, raw = state
    return _array(kind, shape, raw, bool(is_fortran))


def _kind(text: Any) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(_require(text, str))
    if kind.kind not in "biufcSU" or kind.itemsize > 1 << 16:
        raise NotPlainError(f"it holds an array of {text!r}, which is not a kind of number")
    return kind


def _array(kind: Any, shape: Any, raw: Any, is_fortran: bool = False) -> np.ndarray:
    if isinstance(kind, _Unfilled):
        kind = kind.kind
    kind = _require(kind, np.dtype)
    raw = _require(raw, bytes)
    sizes = [_require(n, int) for n in _require(shape, tuple)]
    # Checked before anything is allocated.
    if math.prod(sizes) * kind.itemsize != len(raw) or len(raw) > _MAX_ARRAY or min(sizes, default=0) < 0:
        raise NotPlainError("it holds an array whose size is not that of its content")
    return np.frombuffer(raw, kind).reshape(sizes, order="F" if is_fortran else "C")


def _require(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise NotPlainError(f"it makes something of a {type(value).__name__}, not of a {kind.__name__}")
    return value
