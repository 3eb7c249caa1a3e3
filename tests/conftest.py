"""What tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from goldens.warm import Warm


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """The process that commands are forked from; it needs forks of POSIX."""
    with Warm() as warm:
        yield warm
