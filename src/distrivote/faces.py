"""The public names of a package, loaded on first use (PEP 562).

A package's `__init__` lists its names for people and type checkers, and again by module for this function:
importing the package loads none of the modules, so that `--help` does not have to import NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def face(package: str, homes: Mapping[str, str], packages: str = "") -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    Args:
        package: Its `__name__`.
        homes: By module, relative to the package, the names that it defines, with spaces between them.
        packages: The packages inside it that can be used without an import of their own.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in packages.split():
            return import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
