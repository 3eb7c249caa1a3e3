"""How long the OpenAI engine waits and how often it tries again: every timeout, delay and limit, once.

There are three loops that retry. A trajectory that failed is asked for again (`scheduler`), a server that
keeps failing is left alone for a while (`fleet`), and a question about what a server can do is repeated
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
        """Return the delay that comes after `n_before` others."""
        return min(self.first * 2.0 ** min(n_before, 64), self.longest)


@dataclass(frozen=True, slots=True)
class Patience:
    """All timeouts, delays and limits of retries."""

    timeout: float = 600.0
    """Without anything from a server before its reply counts as failed."""

    connect: float = 3.0
    """For a server to accept a connection."""

    n_attempts: int = 8
    """How often a trajectory is asked for, before it counts as missing."""

    n_attempts_in_all: int = 100
    """The same with attempts that do not count: "later", from a server that answers others meanwhile."""

    retry: Backoff = Backoff(0.5, 30.0)
    """Between two attempts at a trajectory, once every server has been asked; times a random factor."""

    n_failures: int = 3
    """Failures in a row after which a server is set aside."""

    aside: Backoff = Backoff(1.0, 60.0)
    """How long a server is set aside; also the longest wait that a server may ask for."""

    without_server: float = 10.0
    """Without any server before the call fails."""

    without_known_server: float = 60.0
    """The same where a server that gave whole replies still takes connections: some fail now and then."""

    n_probes: int = 6
    """How often a question about what a server can do is asked, where it fails for a moment."""

    probe: Backoff = Backoff(0.1, 3.0)
    """Between two of them; one that took longer than the longest delay before it failed is not repeated."""

    n_logprob_probes: int = 3
    """How often a server is asked that gives fewer log-probabilities than it was asked for."""

    discovery: float = 15.0
    """How long the other servers wait for one that does not answer at the start of a call."""

    usage: float = 1.0
    """How long a finished reply waits for the token counts that follow it."""

    drain: float = 0.5
    """How long a finished stream is read to its end, so that its connection can be used again."""

    n_flaw_retries: int = 3
    """How often a reply with a flaw is asked for again."""

    n_flaws_kept: int = 3
    """Trajectories in a row whose flaw stayed, after which a server is not asked again for flaws."""

    n_first_flawed: int = 4
    """Replies with a flaw that are asked for again at a server that has given none without; if these have it
    too, no more are."""

    n_garbled: int = 3
    """Replies in a row that are no replies, after which a server is of no use."""

    cancel: float = 2.0
    """How long a closed iterator waits for its streams to end."""


PATIENCE = Patience()
