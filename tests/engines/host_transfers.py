"""Counts what a piece of code brings from a device to the host, or waits for."""

from __future__ import annotations

from typing import Any

from torch.overrides import TorchFunctionMode

_WAITING = {"cpu", "item", "tolist", "nonzero", "__bool__", "__int__", "__float__", "__index__"}


class HostTransfers(TorchFunctionMode):  # type: ignore[misc]
    """Within it, `count` goes up with every such call, on a CPU too, where they cost nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += getattr(function, "__name__", "") in _WAITING
        return function(*args, **(kwargs or {}))
