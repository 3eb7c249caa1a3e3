"""The operator's settings, fixed when the server starts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from distrivote.answers.judging import asked_same
from distrivote.answers.kinds import asked_kind
from distrivote.confidence import measure_named
from distrivote.defaults import (
    ANSWER,
    BUDGET,
    MAX_CONCURRENCY,
    MAX_TOKENS,
    MAX_TOKENS_LIMIT,
    MIN_PROBABILITY,
    SERVER_MAX_BUDGET,
    TEMPLATE,
)
from distrivote.errors import InputError
from distrivote.prompts import TEMPLATE_NAMES
from distrivote.steering import steering_of
from distrivote.voting.abstaining import check_min_probability
from distrivote.voting.probability import Calibration

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Loopback names: other machines can't reach them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits, defaults and the key.

    >>> Settings(max_budget=64).max_budget
    64
    """

    api_key: str | None = field(default=None, repr=False)
    """The key that clients have to send; None: no key."""

    budget: int = BUDGET
    """Default number of trajectories per question."""

    max_budget: int = SERVER_MAX_BUDGET
    max_concurrency: int = MAX_CONCURRENCY
    """Requests in progress, sampling or queued; others get 429."""

    max_tokens: int = MAX_TOKENS
    """Default limit of tokens per trajectory; see `sends_max_tokens`."""

    sends_max_tokens: bool = False
    """Whether `max_tokens` is sent upstream if a request has none; if not, the upstream's default applies."""

    max_tokens_limit: int = MAX_TOKENS_LIMIT
    """The largest limit of tokens that a request may ask for."""

    max_body: int = 4_000_000
    """Maximum size of a request in bytes; larger ones are refused with 413."""

    body_seconds: float = 60.0
    """Timeout for a request's body, in seconds; slower ones are refused with 408."""

    template: str = TEMPLATE
    """The prompt template of the page. Conversations of the API are sent to the model unchanged."""

    answer: str = ANSWER
    """The default kind of answer."""

    forward: tuple[str, ...] = ()
    """Additional paths that are forwarded to the upstream."""

    run_code: bool = False
    """Whether programs that the model wrote may be run. No request can set it."""

    strict: bool = False
    """Whether it is an error if no reply has an answer; if not, the best reply is returned."""

    same: str | None = None
    """The default rule for when two answers are the same; None: that of the kind of answer. A judge,
    embeddings and commands can be named here only: no request may start programs or multiply its costs."""

    ssc: bool | None = None
    """Whether SelfStepConf is on by default; None: if the engine supports it."""

    steering: str | None = None
    """A custom controller as the default; None: SelfStepConf, depending on `ssc`."""

    min_probability: float = MIN_PROBABILITY
    """The default probability below which an answer is withheld."""

    max_error: float | None = None
    """The default largest share of wrong answers: see `voting.promises`."""

    calibration: Calibration = field(default_factory=Calibration)
    """Where probabilities come from."""

    measure: str | None = None
    """The measure of confidence, by name; None: the default of `solve`."""

    run: str | Path | None = None
    """A stored run that the page shows."""

    static: Path | None = None
    """The folder of the page; None: the one that comes with the package."""

    hosts: tuple[str, ...] = ()
    """Allowed host names; empty: any. Without a key these should be the loopback's,
    or a web page of another site could reach the server under its own host name (DNS rebinding)."""

    allow_origins: tuple[str, ...] = ()
    """Web pages of these origins may use the server from a browser; `*`: any, which needs a key."""

    def __post_init__(self) -> None:
        self._check_origins()
        for name in ("max_budget", "budget", "max_concurrency", "max_tokens", "max_tokens_limit", "max_body"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}", hint="give 1 or more", argument=name)
        check_min_probability(self.min_probability)
        asked_kind(self.answer)
        if self.steering is not None:
            steering_of(self.steering)
        if self.measure is not None:
            measure_named(self.measure)
        for path in self.forward:
            if not re.fullmatch(r"/v1/[a-z0-9_/-]{1,60}", path):
                raise InputError(
                    f"the address to forward is {path!r}", hint="give one like /v1/score", argument="forward"
                )
        asked_same(self.same)
        if self.budget > self.max_budget:
            raise InputError(
                f"the usual budget is {self.budget} and the largest {self.max_budget}",
                hint="raise `max_budget`, or lower `budget`",
                argument="budget",
            )
        if self.template not in TEMPLATE_NAMES:
            raise InputError(f"the template is {self.template!r}: give one of {', '.join(TEMPLATE_NAMES)}")
        key = self.api_key
        if key is not None and not (key.isascii() and key.isprintable() and key and " " not in key):
            raise InputError(
                "the server's API key is empty or holds spaces, line breaks or letters beyond ASCII: give"
                " another"
            )

    def _check_origins(self) -> None:
        for origin in self.allow_origins:
            if origin == "*" and self.api_key is None:
                raise InputError(
                    "every web page could use the model",
                    hint="give `api_key`, or name the origins",
                    argument="allow_origin",
                )
            if origin != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s*]+", origin):
                raise InputError(
                    f"the origin is {origin!r}",
                    hint="give one like https://example.com, without a path, or *",
                    argument="allow_origin",
                )


def check_host(host: str, api_key: str | None) -> None:
    """Raise InputError if others could reach the server without a key."""
    if host not in LOOPBACK and api_key is None:
        raise InputError(
            f"on {host} everyone who can reach this machine could use the model",
            hint="give `api_key` (or set DISTRIVOTE_API_KEY), or leave out `host` to serve this machine only",
            argument="api_key",
        )
