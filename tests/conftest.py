"""What tests of several folders share."""

from __future__ import annotations

import functools
import importlib
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from goldens.warm import Warm
from strategies import LAW

settings.register_profile("law", LAW, max_examples=100)
settings.load_profile("law")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # In the background of a shell it is ignored, and would be in each command that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """The process that commands are forked from; it needs forks of POSIX."""
    with Warm() as warm:
        yield warm


@pytest.fixture(scope="session", autouse=True)
def one_ssl_context() -> Iterator[None]:
    """Let the HTTP clients of tests share one set of certificates: each would load it for 40 ms."""
    if "httpx2" not in sys.modules:
        yield
        return
    http = importlib.import_module("httpcore2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "default_ssl_context", functools.cache(http.default_ssl_context))
        yield
