"""Which server gets the next request: by load, with a pause for those that fail.

- The one with the fewest trajectories in progress is used; of equals, the one that was used least.
- A server that fails three times in a row is set aside for a second, then tried with one request; each
  time that fails too, the pause doubles, up to a minute.
- A server that names a time for retries gets no request until then, whatever was in progress there.
- A server that never answered is set aside at once. One that refuses everything is out until the next call.
- A server that has left the fleet gets no more requests; those that it has may end.
- With a limit for each server, one that has as many trajectories in progress gets no more.
- When all are set aside and none can be tried within 10 seconds, the fleet is down.

Times are arguments: nothing here reads a clock or uses a socket.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from distrivote.engines.openai.faults import Fault, Scope
from distrivote.engines.openai.patience import PATIENCE, Patience


class Health:
    """What is known of one server's health."""

    def __init__(self, patience: Patience = PATIENCE) -> None:
        self.patience = patience
        self.n_live = 0
        self.n_begun = 0
        self.n_failures = 0
        """In a row."""

        self.answered = False
        """Whether it ever answered."""

        self.n_succeeded = 0
        """Finished replies, and refusals."""

        self.n_chunks = 0
        """Chunks of replies, finished or not."""

        self.failing_since: float | None = None
        """Since when there were only failures."""

        self.resume = -math.inf
        """When one that was set aside is tried again."""

        self.not_before = -math.inf
        """When it allows the next request."""

        self.out = False
        """Whether it is not used for the rest of the call."""

        self.gone = False
        """Whether it has left the fleet for good."""

        self.fault: Fault | None = None
        self._n_pauses = 0
        self._set_aside = -math.inf  # the time of that: results of earlier requests are not news

    @property
    def aside(self) -> bool:
        return self.n_failures >= self.patience.n_failures

    @property
    def free_at(self) -> float:
        return max(self.resume, self.not_before)

    def is_free(self, now: float) -> bool:
        """Return whether it may get a request; one that was set aside is tried with one request at a time."""
        return not self.out and not self.gone and now >= self.free_at

    def begin(self, now: float) -> None:
        self.n_live += 1
        self.n_begun += 1
        if self.aside:
            self.resume = now + self.patience.aside.delay(self._n_pauses)  # until the trial has ended

    def end(self) -> None:
        self.n_live -= 1

    def hear(self) -> None:
        """Record that data arrived."""
        self.answered = True
        self.failing_since = None

    def succeed(self) -> None:
        """Record a finished reply."""
        self.n_succeeded += 1
        self._recover()

    def _recover(self) -> None:
        self.hear()
        self.n_failures, self._n_pauses, self.resume = 0, 0, -math.inf

    def fail(self, fault: Fault, begun: float, now: float) -> None:
        """Record a failed request that was sent at `begun`."""
        self.fault = fault
        self.out = self.out or fault.scope is Scope.SERVER
        if fault.scope is not Scope.PASSING:
            self.succeed()
        elif fault.retry_after is not None:
            # It is reachable and names a time for a retry: not a failure.
            self._recover()
            self.not_before = max(self.not_before, now + min(fault.retry_after, self.patience.aside.longest))
        elif not self.aside or begun > self._set_aside:
            self._fail(fault, begun, now)

    def _fail(self, fault: Fault, begun: float, now: float) -> None:
        self.answered = self.answered or fault.status is not None
        if self.failing_since is None:
            # A broken stream may have started long ago, but its failure is new information.
            self.failing_since = max(begun, now - self.patience.connect)
        self.n_failures = self.n_failures + 1 if self.answered else self.patience.n_failures
        if self.aside:
            self._set_aside = now
            self.resume = now + self.patience.aside.delay(self._n_pauses)
            self._n_pauses += 1


class Choice(NamedTuple):
    """The server to use, or how long to wait for one."""

    number: int | None
    wait: float = 0.0


_FULL_SECONDS = 0.05
"""Between two looks at servers that have as many trajectories as they may."""


def choose(
    servers: Sequence[Health], now: float, avoid: int | None = None, limit: int | None = None
) -> Choice:
    """Return which server to use now; one to avoid is used only if there is no other.

    None has more than `limit` trajectories in progress.

    Raises the last fault when no server is left, or all are down.
    """
    left = [server for server in servers if not server.out and not server.gone]
    if not left:
        raise _last_fault(servers)
    free = [number for number, server in enumerate(servers) if server.is_free(now)]
    if free and limit is not None:
        free = [number for number in free if servers[number].n_live < limit]
        if not free:
            return Choice(None, _FULL_SECONDS)
    if free:
        return Choice(min(free, key=lambda i: (i == avoid, servers[i].n_live, servers[i].n_begun, i)))
    if all(map(_is_down, left)):
        raise _last_fault(left)
    return Choice(None, max(min(server.free_at for server in left) - now, 0.02))


def _is_down(server: Health) -> bool:
    """Return whether a server is set aside and can't be tried again in time."""
    if not server.aside or server.failing_since is None:
        return False
    is_there = server.n_succeeded > 0 and server.fault is not None and server.fault.reached
    patience = server.patience
    longest = patience.without_known_server if is_there else patience.without_server
    return not server.answered or server.resume + patience.connect - server.failing_since > longest


def _last_fault(servers: Sequence[Health]) -> Fault:
    faults = [server.fault for server in servers if server.fault is not None]
    assert faults
    if len(faults) == 1:
        return faults[0]
    passing = any(fault.scope is Scope.PASSING for fault in faults)
    hint = "; ".join(map(str, faults))
    return Fault("no server is left", Scope.PASSING if passing else Scope.SERVER, hint=hint)
