"""How long the OpenAI engine waits and how often it retries: every timeout, delay and limit, defined once.

Retries happen in three places. A trajectory that failed is retried (`scheduler`), a server that
keeps failing is not used for a while (`fleet`), and a probe of a server's capabilities is repeated
(`capabilities`). All times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that double from the first to the longest.

    >>> backoff = Backoff(0.5, 30.0)
    >>> [backoff.delay(n) for n in (0, 1, 2, 9, 5000)]
    [0.5, 1.0, 2.0, 30.0, 30.0]
    """

    first: float
    longest: float

    def delay(self, n_before: int) -> float:
        """Return the delay after `n_before` others."""
        return min(self.first * 2.0 ** min(n_before, 64), self.longest)


@dataclass(frozen=True, slots=True)
class Patience:
    """All timeouts, delays and limits of retries."""

    timeout: float = 600.0
    """Timeout without any data from a server, after which its reply counts as failed."""

    connect: float = 3.0
    """Timeout of connecting to a server."""

    n_attempts: int = 8
    """Attempts at a trajectory before it counts as missing."""

    n_attempts_in_all: int = 100
    """The same including attempts that do not count: "retry later" of a server that answers others."""

    retry: Backoff = Backoff(0.5, 30.0)
    """Between two attempts at a trajectory, once every server has been tried; times a random factor."""

    n_failures: int = 3
    """Failures in a row after which a server is set aside."""

    aside: Backoff = Backoff(1.0, 60.0)
    """How long a server is set aside; also the longest wait that a server may ask for."""

    without_server: float = 10.0
    """Timeout without any usable server, after which the call fails."""

    without_known_server: float = 60.0
    """The same if a server that gave complete replies still accepts connections: some fail occasionally."""

    n_probes: int = 6
    """Attempts at a probe of a server's capabilities, if it fails transiently."""

    probe: Backoff = Backoff(0.1, 3.0)
    """Between two of them; a probe that failed after more than the longest delay is not repeated."""

    n_logprob_probes: int = 3
    """Probes of a server that gives fewer log-probabilities than requested."""

    discovery: float = 15.0
    """How long the other servers wait for one that does not answer at the start of a call."""

    roster: float = 5.0
    """Between two readings of a file of servers, or of a name with several addresses."""

    n_replicas: int = 8
    """Probes of one address that has a plugin: behind it may be replicas that lack it."""

    usage: float = 1.0
    """How long a finished reply waits for the token counts that follow it."""

    drain: float = 0.5
    """How long a finished stream is read to its end, so that its connection can be used again."""

    n_flaw_retries: int = 3
    """Retries of a reply with a flaw."""

    n_flaws_kept: int = 3
    """Consecutive trajectories whose flaw remained, after which a server's flaws are not retried."""

    n_first_flawed: int = 4
    """Retries of flawed replies at a server that has given none without a flaw; if these have it
    too, no more are."""

    n_garbled: int = 3
    """Consecutive invalid replies after which a server is not used any more."""

    cancel: float = 2.0
    """How long a closed iterator waits for its streams to end."""


PATIENCE = Patience()
